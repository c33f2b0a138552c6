"""The worker process, which searches and joins for the server, one job at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from lakejoin.inputs import LakeTable
from lakejoin.lake import Lake
from lakejoin.search.searcher import Searcher
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
_WORDS = {"warm": ["up", "one", "two", "three", "four", "fünf"], "n": [1, 2, 3, 4, 5, 6]}
_WARM_SECONDS = 0.9  # of CPU since the process began: then a job is better done than prepared for
_TABLES = 3


def prepare(setup: Message) -> JobHandler:
    """Open the lake and warm up."""
    workspace = Workspace.from_setup(setup)
    _warm_up(workspace)
    with suppress(OSError, AttributeError):
        os.nice(_NICENESS)

    def work(job: Message, tell: ProgressReporter) -> Any:
        def tell_unchanged(event: str, data: Any) -> None:
            workspace.run_unchanged(lambda: tell(event, data))

        return workspace.run_unchanged(
            lambda: JOBS[job["job"]](Job(workspace, job, tell_unchanged))
        )

    return work


def _warm_up(workspace: Workspace) -> None:
    """Load what a search needs, and read what every search reads of the index, by searching with
    small tables until that has taken long enough; real jobs report what fails."""
    with suppress(Exception):
        lake = workspace.lake()
        Searcher(lake.snapshot).meanings.explain_missing_encoder()  # opens what there is
        for table in (_WORDS, *_small_tables(lake)):
            for _ in lake.search_progressively(table, k=3):
                if time.process_time() > _WARM_SECONDS:
                    return


def _small_tables(lake: Lake) -> Iterator[LakeTable]:
    """Some tables of the lake with few rows and columns, but not too few."""
    for segment in lake.snapshot.segments[:1]:
        tables = segment.catalog.tables
        rows, width = tables["rows"].to_numpy(), tables["width"].to_numpy()
        fitting = (rows >= 20) & (rows <= 200) & (width >= 2) & (width <= 12)
        for table_id in np.flatnonzero(fitting)[:_TABLES].tolist():
            yield LakeTable(lake.snapshot, segment, segment.catalog.table(table_id))


if __name__ == "__main__":
    serve_jobs(prepare)
