"""What one file may unfold to, all its streams, members and tables together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from lakejoin.errors import UnreadableFile
from lakejoin.formats.table_stream import TableStream
from lakejoin.model import ReadLimits
from lakejoin.values.plain_columns import Losses

_REASONS = {
    "bytes": "too large when unpacked",
    "members": "too many members",
    "tables": "too many tables",
    "rows": "too many rows",
}


class FileBudget:
    """Counts what a file unfolds to; `is_spent` once a limit is reached, and the rest of the file
    is not read then.

    >>> budget = FileBudget(ReadLimits(members=1))
    >>> budget.spend("members", 1, "a.zip")
    >>> budget.spend("members", 1, "a.zip")
    Traceback (most recent call last):
        ...
    lakejoin.errors.UnreadableFile: a.zip: too many members (more than 1 members in one file; the \
rest of it is not read)
    """

    def __init__(self, limits: ReadLimits) -> None:
        self._limits = {
            "bytes": limits.expanded_bytes,
            "members": limits.members,
            "tables": limits.tables,
            "rows": limits.rows,
        }
        self._left = dict(self._limits)
        self.is_spent = False

    def spend(self, what: str, count: int, name: str) -> None:
        """Count some more; raises `UnreadableFile` if that is too much."""
        self._left[what] -= count
        if self._left[what] < 0:
            self.is_spent = True
            detail = (
                f"more than {self._limits[what]} {what} in one file; the rest of it is not read"
            )
            raise UnreadableFile(name, _REASONS[what], detail)

    def limit_rows(self, stream: TableStream) -> TableStream:
        """The same table, whose rows are counted while it is read."""
        meter, read_batches = Meter(self, "rows", stream.name), stream.read_batches

        def counting(losses: Losses) -> Iterator[pa.RecordBatch]:
            rows = 0
            for batch in read_batches(losses):
                rows += batch.num_rows
                meter.reach(rows)
                yield batch

        return replace(stream, read_batches=counting)


class Meter:
    """Counts what is read of one stream or table, once however often it is read."""

    def __init__(self, budget: FileBudget, what: str, name: str) -> None:
        self._budget = budget
        self._what = what
        self._name = name
        self._furthest = 0

    def reach(self, position: int) -> None:
        """Count up to this position; raises `UnreadableFile` if that is too much."""
        if position > self._furthest:
            more, self._furthest = position - self._furthest, position
            self._budget.spend(self._what, more, self._name)
