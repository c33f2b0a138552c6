"""The worker process, which searches and joins for the server, one job at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from lakejoin.app.server.child_side import Message, Tell, Work, serve_jobs
from lakejoin.app.server.desk import Desk
from lakejoin.app.server.work import coding, describing, joining, relating, searching

Job = Callable[[Desk, Message, Tell], Any]

JOBS: dict[str, Job] = {
    "search": searching.search,
    "explain": searching.explain,
    "preview": joining.preview,
    "join": joining.run,
    "predicate": relating.predicate,
    "union": relating.union,
    "paths": relating.paths,
    "graph": relating.graph,
    "around": relating.around,
    "describe": describing.describe,
    "arrow": describing.as_arrow,
    "code": coding.code,
}
_NICENESS = 5  # the server itself goes first


def prepare(setup: Message) -> Work:
    """Open the lake, and warm up while the first jobs run."""
    with suppress(OSError, AttributeError):
        os.nice(_NICENESS)
    workspace = Desk.of(setup)
    threading.Thread(target=_warm_up, args=[workspace], daemon=True).start()

    def work(job: Message, tell: Tell) -> Any:
        return JOBS[job["job"]](workspace, job, tell)

    return work


def _warm_up(workspace: Desk) -> None:
    """Load what a search needs by searching with a small table; real jobs report what fails."""
    with suppress(Exception):
        lake = workspace.lake()
        small = {"warm": ["up", "one", "two", "three", "four", "five"], "n": [1, 2, 3, 4, 5, 6]}
        for _ in lake.search_progressively(small, k=3):
            pass


if __name__ == "__main__":
    serve_jobs(prepare)
