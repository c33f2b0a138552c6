"""The worker process, which searches and joins for the server, one job at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from lakejoin.server.job_loop import JobHandler, Message, ProgressReporter, serve_jobs
from lakejoin.server.jobs import chain_code, join_jobs, relation_jobs, search_jobs
from lakejoin.server.jobs.join_jobs import Job
from lakejoin.server.workspace import Workspace

JOBS: dict[str, Callable[[Job], Any]] = {
    "search": search_jobs.search_tables,
    "explain": search_jobs.explain_result,
    "preview": join_jobs.preview_join,
    "join": join_jobs.store_join,
    "predicate": relation_jobs.suggest_predicates,
    "union": relation_jobs.find_unions,
    "paths": relation_jobs.find_paths,
    "graph": relation_jobs.describe_graph,
    "around": relation_jobs.find_neighbors,
    "describe": join_jobs.describe_result,
    "arrow": join_jobs.write_arrow,
    "code": chain_code.export_code,
}
_NICENESS = 5  # the server itself goes first


def prepare(setup: Message) -> JobHandler:
    """Open the lake, and warm up while the first jobs run."""
    with suppress(OSError, AttributeError):
        os.nice(_NICENESS)
    workspace = Workspace.from_setup(setup)
    threading.Thread(target=_warm_up, args=[workspace], daemon=True).start()

    def work(job: Message, tell: ProgressReporter) -> Any:
        def tell_unchanged(event: str, data: Any) -> None:
            workspace.run_unchanged(lambda: tell(event, data))

        return workspace.run_unchanged(
            lambda: JOBS[job["job"]](Job(workspace, job, tell_unchanged))
        )

    return work


def _warm_up(workspace: Workspace) -> None:
    """Load what a search needs by searching with a small table; real jobs report what fails."""
    with suppress(Exception):
        lake = workspace.lake()
        small = {"warm": ["up", "one", "two", "three", "four", "five"], "n": [1, 2, 3, 4, 5, 6]}
        for _ in lake.search_progressively(small, k=3):
            pass


if __name__ == "__main__":
    serve_jobs(prepare)
