"""The answer to how one table leads to another: chains of joins, with the rows that survive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

from lakejoin.discovery.paths.hops import Hop
from lakejoin.discovery.paths.surviving import Survivors
from lakejoin.search.display import percent

if TYPE_CHECKING:
    from lakejoin.discovery.paths.tables import Tables


@dataclass(frozen=True, slots=True)
class Join:
    """One join of a path: `column` of `table` equals `other_column` of `other_table`; they share
    so many distinct values, which are a part `containment` of those of `column`."""

    table: str
    column: str
    other_table: str
    other_column: str
    shared: int
    containment: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
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

    Of the `total` rows of the first table, `rows` survive; the join has `joined` rows.
    """

    rank: int
    joins: tuple[Join, ...]
    survivors: Survivors
    _tables: Tables
    _route: tuple[Hop, ...]

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables on the way, with both ends."""
        return (self.joins[0].table, *(join.other_table for join in self.joins))

    @property
    def rows(self) -> int:
        """The rows of the first table that survive."""
        return self.survivors.rows

    @property
    def total(self) -> int:
        """All rows of the first table."""
        return self.survivors.total

    @property
    def joined(self) -> int:
        """The rows of the join of all tables."""
        return self.survivors.joined

    def sql(self) -> str:
        """DuckDB SQL that makes the join."""
        from lakejoin.discovery.paths.sql import path_sql

        return path_sql(self._tables, self._route)

    def to_dict(self) -> dict[str, Any]:
        """The path as JSON has it; the keys are stable."""
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
        told = f"{percent(self.survivors.share)} of {self.total:,} rows survive"
        return f"{self.joins[0].table}: {', then '.join(steps)} ({told})"


@dataclass(frozen=True, eq=False, repr=False)
class Paths(Sequence[Path]):
    """The paths from one table to another, at most `k`, those that most rows survive first.

    Where there is none, `none` says what comes nearest. `searched` is true where the index has no
    whole graph, and joins were searched for: then not all tables were looked at. `notes` say how
    the tables were read.
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
    def __getitem__(self, place: int) -> Path: ...
    @overload
    def __getitem__(self, place: slice) -> Paths: ...
    def __getitem__(self, place: int | slice) -> Path | Paths:
        if isinstance(place, slice):
            return replace(self, paths=self.paths[place])
        return self.paths[place]

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it; the keys are stable."""
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
