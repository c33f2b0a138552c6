"""The answer of a union search: tables, which columns go together, and the rows that are new."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from lakejoin.discovery.union.likeness import Likeness

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.search.mine import MyTable
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]

PREVIEWED = 5  # rows


@dataclass(frozen=True, slots=True)
class Aligned:
    """A column of mine and the one of theirs that goes with it, if there is one: `theirs` is its
    name, `number` where it is in its segment, `likeness` how alike they are, and why."""

    mine: str
    theirs: str | None = None
    number: int | None = None
    likeness: Likeness = field(default_factory=lambda: Likeness(0.0, ()))

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        signs = [
            {"what": one.what, "says": one.says, "words": one.words} for one in self.likeness.signs
        ]
        return {
            "mine": self.mine,
            "theirs": self.theirs,
            "score": self.likeness.score,
            "signs": signs,
        }


@dataclass(frozen=True, eq=False, repr=False)
class UnionResult:
    """A table whose rows could be appended to mine.

    `alignment` has an entry for each of my columns; `extra` are columns of theirs that go with
    none. `new` are the numbers of its rows that my table does not have, by the aligned columns, of
    `rows`. `apart` says why it is none to append, and is empty if it is one. `versions` are the
    names of tables that are copies or other versions of it.
    """

    rank: int
    table: str
    score: float
    alignment: tuple[Aligned, ...]
    extra: tuple[str, ...]
    new: Array
    rows: int
    apart: str
    versions: tuple[str, ...]
    _mine: MyTable
    _segment: Segment
    _entry: TableEntry

    @property
    def new_rows(self) -> int:
        """How many rows my table does not have."""
        return len(self.new)

    @property
    def pairs(self) -> tuple[Aligned, ...]:
        """The columns that go together."""
        return tuple(one for one in self.alignment if one.theirs is not None)

    @property
    def missing(self) -> tuple[str, ...]:
        """My columns that it has not: they would stay empty in its rows."""
        return tuple(one.mine for one in self.alignment if one.theirs is None)

    def preview(self, limit: int | None = PREVIEWED) -> pa.Table:
        """The first new rows, under the names of my columns; `None` is all of them."""
        from lakejoin.discovery.union.writing import new_rows

        return new_rows(self, limit)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON has it; the keys are stable."""
        return {
            "rank": self.rank,
            "table": self.table,
            "score": self.score,
            "alignment": [one.to_dict() for one in self.alignment],
            "extra": list(self.extra),
            "rows": self.rows,
            "new_rows": self.new_rows,
            "versions": list(self.versions),
            "apart": self.apart,
        }

    def __repr__(self) -> str:
        told = ", ".join(f"{one.mine} ← {one.theirs}" for one in self.pairs)
        return f"{self.table} ({self.score:.2f}): {self.new_rows:,} of {self.rows:,} rows; {told}"


@dataclass(frozen=True, eq=False, repr=False)
class UnionAnswer(Sequence[UnionResult]):
    """The tables whose rows could be appended to mine, at most `k`, the best first.

    `misses` have columns like mine and are none to append: versions of my table, tables that have
    no new rows, and tables that would rather be joined; each says why (`apart`).
    """

    table: str
    columns: tuple[str, ...]
    results: tuple[UnionResult, ...]
    misses: tuple[UnionResult, ...]
    k: int
    seconds: float
    notes: tuple[str, ...]
    _mine: MyTable

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[UnionResult]:
        return iter(self.results)

    @overload
    def __getitem__(self, place: int) -> UnionResult: ...
    @overload
    def __getitem__(self, place: slice) -> UnionAnswer: ...
    def __getitem__(self, place: int | slice) -> UnionResult | UnionAnswer:
        if isinstance(place, slice):
            return replace(self, results=self.results[place])
        return self.results[place]

    def to_arrow(self) -> pa.Table:
        """My table, then the new rows of every result, with a column that says where each row is
        from. `answer[:2].to_arrow()` takes the first two. A column of mine that has a type keeps
        it where all new values can have it; others are texts."""
        from lakejoin.discovery.union.writing import united

        return united(self._mine, self.results)

    def write(self, path: str | Path) -> int:
        """Writes `to_arrow()` to a new file by the ending of its name (.csv, .csv.gz, .tsv,
        .parquet, .arrow); gives the number of rows. A file that is there is never overwritten."""
        from lakejoin.discovery.union.writing import write_union

        return write_union(self._mine, self.results, path)

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it; the keys are stable."""
        return {
            "query": {"table": self.table, "columns": list(self.columns)},
            "k": self.k,
            "results": [one.to_dict() for one in self.results],
            "misses": [one.to_dict() for one in self.misses],
            "notes": list(self.notes),
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        lines = [f"{self.table}: {len(self)} tables whose rows could be appended"]
        return "\n".join([*lines, *(f"{one.rank}  {one!r}" for one in self.results)])
