"""The paths from one table to another: chains of joins with the number of rows that survive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

from lakejoin.paths.path_hops import Hop
from lakejoin.paths.path_routes import Survivors
from lakejoin.search.answer_display import format_percent

if TYPE_CHECKING:
    from lakejoin.paths.path_tables import PathTables


@dataclass(frozen=True, slots=True)
class PathJoin:
    """One join of a path: `column` of `table` equals `other_column` of `other_table`.

    They share `shared` distinct values; `containment` is their share of the values of `column`.
    """

    table: str
    column: str
    other_table: str
    other_column: str
    shared: int
    containment: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "table": self.table,
            "column": self.column,
            "other_table": self.other_table,
            "other_column": self.other_column,
            "shared": self.shared,
            "containment": self.containment,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """A chain of joins from one table to another.

    Of the `total` rows of the first table, `rows` survive; the result has `joined` rows.
    """

    rank: int
    joins: tuple[PathJoin, ...]
    survivors: Survivors
    _tables: PathTables
    _route: tuple[Hop, ...]

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables along the path, both ends included."""
        return (self.joins[0].table, *(join.other_table for join in self.joins))

    @property
    def rows(self) -> int:
        """How many rows of the first table survive."""
        return self.survivors.rows

    @property
    def total(self) -> int:
        """How many rows the first table has."""
        return self.survivors.total

    @property
    def joined(self) -> int:
        """How many rows the join of all tables has."""
        return self.survivors.joined

    def sql(self) -> str:
        """The join as DuckDB SQL."""
        from lakejoin.paths.path_sql import write_path_sql

        return write_path_sql(self._tables, self._route)

    def to_dict(self) -> dict[str, Any]:
        """The path for JSON; the keys are stable."""
        return {
            "rank": self.rank,
            "joins": [join.to_dict() for join in self.joins],
            "rows": self.rows,
            "total": self.total,
            "joined": self.joined,
            "sql": self.sql(),
        }

    def __repr__(self) -> str:
        steps = [f"{join.column} = {join.other_column} → {join.other_table}" for join in self.joins]
        surviving = f"{format_percent(self.survivors.share)} of {self.total:,} rows survive"
        return f"{self.joins[0].table}: {', then '.join(steps)} ({surviving})"


@dataclass(frozen=True, eq=False, repr=False)
class Paths(Sequence[Path]):
    """The paths from one table to another, at most `k`, those with the most surviving rows first.

    If there is no path, `none` says what comes closest. `is_searched` is true if the index has no
    complete join graph and joins were searched for, so that not all tables were considered.
    `notes` say how the tables were read.
    """

    table: str
    other_table: str
    paths: tuple[Path, ...]
    none: str
    searched: bool
    seconds: float
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.paths)

    def __iter__(self) -> Iterator[Path]:
        return iter(self.paths)

    @overload
    def __getitem__(self, index: int) -> Path: ...
    @overload
    def __getitem__(self, index: slice) -> Paths: ...
    def __getitem__(self, index: int | slice) -> Path | Paths:
        if isinstance(index, slice):
            return replace(self, paths=self.paths[index])
        return self.paths[index]

    def to_dict(self) -> dict[str, Any]:
        """The answer for JSON; the keys are stable."""
        return {
            "table": self.table,
            "other_table": self.other_table,
            "paths": [path.to_dict() for path in self.paths],
            "none": self.none,
            "searched": self.searched,
            "notes": list(self.notes),
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        return "\n".join(f"{path.rank}  {path!r}" for path in self.paths) or self.none
