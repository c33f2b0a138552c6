"""What would a lake of 50 million tables need? From what was measured on a small one like it.

The lake is the WDC corpus of Zhu's thesis: 50,820,165 web tables, 262,893,406 columns. Each figure
is measured on a generated lake of the same shape and multiplied by how it grows; the sentences say
by what, so that anybody can put in other figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TABLES = 50_820_165
COLUMNS = 262_893_406
SEGMENT = 45_000  # columns, at most
WORKERS = 100  # of one core each
QUERIES = 10_000
PART = 200  # bytes of the name of a file of the graph, of which a segment has two


@dataclass(frozen=True, slots=True)
class Need:
    """What a job takes: seconds of one core, and bytes that it writes."""

    job: str
    core_seconds: float
    bytes: float
    why: str

    @property
    def hours(self) -> float:
        """Wall time with the workers."""
        return self.core_seconds / WORKERS / 3600


def estimate(figures: Mapping[str, Any]) -> list[Need]:
    """The needs of all jobs; `figures` are those that `scale.py` records.

    >>> measured = {"tables": 1000, "columns": 5000, "bytes": 10_000_000, "segments": 5,
    ...             "build_core_seconds": 5.0, "searches": 100, "search_core_seconds": 10.0,
    ...             "graph_core_seconds": 3.0, "graph_writing_seconds": 1.0, "pairs": 10_000,
    ...             "graph_bytes": 330_000, "task_seconds": 0.01}
    >>> [(one.job, round(one.core_seconds), round(one.bytes)) for one in estimate(measured)][:1]
    [('index', 254101, 508201650000)]
    """
    tables, columns = figures["tables"], figures["columns"]
    segments = -(-COLUMNS // SEGMENT)
    each = columns / figures["segments"]
    build = figures["build_core_seconds"] / tables
    look = figures["search_core_seconds"] / figures["searches"] / figures["segments"]
    twos = figures["segments"] * (figures["segments"] + 1) / 2
    written = figures["graph_writing_seconds"] / columns
    two = (figures["graph_core_seconds"] - written * columns) / twos * SEGMENT / each
    return [
        Need(
            "index",
            build * TABLES,
            figures["bytes"] / tables * TABLES,
            f"{1000 * build:.1f} ms and {figures['bytes'] / tables:,.0f} bytes a table",
        ),
        Need(
            f"{QUERIES:,} searches by overlap",
            look * QUERIES * segments,
            QUERIES * 2_000,
            f"{1000 * look:.2f} ms a search and segment of {each:,.0f} columns, times "
            f"{segments:,} segments; a search grows slower than its segment, so they may be larger",
        ),
        Need(
            "join graph",
            two * segments * (segments + 1) / 2 + written * COLUMNS,
            figures["graph_bytes"] / columns * COLUMNS,
            f"{two:.2f} s for two segments of {SEGMENT:,} columns, times "
            f"{segments * (segments + 1) // 2:,} twos: the part that is not linear; and "
            f"{1e6 * written:,.0f} µs a column to write its pairs",
        ),
    ]


def told(figures: Mapping[str, Any]) -> str:
    """The estimate in words."""
    lines = [f"50 million tables, {WORKERS} workers of one core:"]
    for one in estimate(figures):
        lines.append(
            f"  {one.job}: {one.core_seconds / 3600:,.0f} core hours, {one.hours:,.1f} hours, "
            f"{one.bytes / 1e12:.2f} TB written ({one.why})"
        )
    tasks = -(-COLUMNS // SEGMENT) * 3
    lines.append(
        f"  Spark itself: {1000 * figures['task_seconds']:.0f} ms a task, "
        f"{tasks * figures['task_seconds'] / 3600:.2f} core hours for {tasks:,} tasks"
    )
    pairs = figures["pairs"] / figures["columns"] * COLUMNS
    parts = 2 * -(-COLUMNS // SEGMENT)
    lines.append(
        f"  The graph has {pairs / 1e9:,.1f} billion pairs, in {parts:,} files that tasks write; "
        f"the driver holds their names, {parts * PART / 1e6:,.0f} MB."
    )
    return "\n".join(lines)
