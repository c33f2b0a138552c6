"""The answer of a union search: tables, how their columns align, and their new rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from lakejoin.model import Array
from lakejoin.union.column_likeness import Likeness

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.engines.query import QueryTable
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.segment import Segment

PREVIEWED = 5  # rows in a preview


@dataclass(frozen=True, slots=True)
class AlignedColumn:
    """A column of the query table and the column aligned with it, if any: `theirs` is its name,
    `number` its index in its segment, `score_likeness` how alike they are, and why."""

    mine: str
    theirs: str | None = None
    number: int | None = None
    likeness: Likeness = field(default_factory=lambda: Likeness(0.0, ()))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        signs = [
            {"what": sign.what, "says": sign.says, "words": sign.words}
            for sign in self.likeness.signs
        ]
        return {
            "mine": self.mine,
            "theirs": self.theirs,
            "score": self.likeness.score,
            "signs": signs,
        }


@dataclass(frozen=True, eq=False, repr=False)
class UnionResult:
    """A table whose rows could be appended to the query table.

    `alignment` has an entry for each column of the query table; `extra` are columns that align
    with none of them. `new` are the indexes of the rows, of all `rows`, that the query table does
    not have, by the aligned columns. `apart` says why the table should not be appended; empty if it
    can be. `versions` are the names of copies and other versions of it.
    """

    rank: int
    table: str
    score: float
    alignment: tuple[AlignedColumn, ...]
    extra: tuple[str, ...]
    new: Array
    rows: int
    apart: str
    versions: tuple[str, ...]
    _mine: QueryTable
    _segment: Segment
    _entry: TableEntry

    @property
    def new_rows(self) -> int:
        """How many rows the query table does not have."""
        return len(self.new)

    @property
    def pairs(self) -> tuple[AlignedColumn, ...]:
        """The aligned columns."""
        return tuple(pair for pair in self.alignment if pair.theirs is not None)

    @property
    def missing(self) -> tuple[str, ...]:
        """Columns of the query table that it lacks: they would stay empty in its rows."""
        return tuple(pair.mine for pair in self.alignment if pair.theirs is None)

    def preview(self, limit: int | None = PREVIEWED) -> pa.Table:
        """The first new rows, under the query table's column names; `None` for all."""
        from lakejoin.union.union_rows import read_new_rows

        return read_new_rows(self, limit)

    def to_dict(self) -> dict[str, Any]:
        """The result for JSON; the keys are stable."""
        return {
            "rank": self.rank,
            "table": self.table,
            "score": self.score,
            "alignment": [pair.to_dict() for pair in self.alignment],
            "extra": list(self.extra),
            "rows": self.rows,
            "new_rows": self.new_rows,
            "versions": list(self.versions),
            "apart": self.apart,
        }

    def __repr__(self) -> str:
        columns = ", ".join(f"{pair.mine} ← {pair.theirs}" for pair in self.pairs)
        rows = f"{self.new_rows:,} of {self.rows:,} rows"
        return f"{self.table} ({self.score:.2f}): {rows}; {columns}"


@dataclass(frozen=True, eq=False, repr=False)
class UnionAnswer(Sequence[UnionResult]):
    """The tables whose rows could be appended to the query table, at most `k`, the best first.

    `misses` have similar columns but should not be appended: versions of the query table, tables
    without new rows, and tables that should rather be joined; each says why (`apart`).
    """

    table: str
    columns: tuple[str, ...]
    results: tuple[UnionResult, ...]
    misses: tuple[UnionResult, ...]
    k: int
    seconds: float
    notes: tuple[str, ...]
    _mine: QueryTable

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[UnionResult]:
        return iter(self.results)

    @overload
    def __getitem__(self, index: int) -> UnionResult: ...
    @overload
    def __getitem__(self, index: slice) -> UnionAnswer: ...
    def __getitem__(self, index: int | slice) -> UnionResult | UnionAnswer:
        if isinstance(index, slice):
            return replace(self, results=self.results[index])
        return self.results[index]

    def to_arrow(self) -> pa.Table:
        """The query table, then the new rows of every result, with a column that names the source
        of each row. `answer[:2].to_arrow()` takes the first two results. A column keeps its type
        if all new values fit it, else it becomes text."""
        from lakejoin.union.union_rows import build_union

        return build_union(self._mine, self.results)

    def write(self, path: str | Path) -> int:
        """Write `to_arrow()` to a new file, by its extension (.csv, .csv.gz, .tsv, .parquet,
        .arrow); returns the number of rows. An existing file is never overwritten."""
        from lakejoin.union.union_rows import write_union

        return write_union(self._mine, self.results, path)

    def to_dict(self) -> dict[str, Any]:
        """The answer for JSON; the keys are stable."""
        return {
            "query": {"table": self.table, "columns": list(self.columns)},
            "k": self.k,
            "results": [result.to_dict() for result in self.results],
            "misses": [miss.to_dict() for miss in self.misses],
            "notes": list(self.notes),
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        lines = [f"{self.table}: {len(self)} tables whose rows could be appended"]
        return "\n".join([*lines, *(f"{result.rank}  {result!r}" for result in self.results)])
