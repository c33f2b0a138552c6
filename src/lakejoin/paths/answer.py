"""The paths from one table to another: chains of joins with the number of rows that survive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from lakejoin.render.answer_base import AnswerBase, Detachable
from lakejoin.render.report import Cell, Column, Report, Row, line, lines
from lakejoin.text_format import clip, format_percent

_LONG_NAME = 200
_COLUMNS = (
    Column("#"),
    Column("from", right=False, keep="end"),
    Column("surviving", right=False),
    Column("rows", right=False),
    Column("joined", right=False),
)


@dataclass(frozen=True, slots=True)
class PathJoin:
    """One join of a path: `column` of `table` equals `other_column` of `other_table`.

    They share `shared` distinct values; `containment` is their share of the values of `column`.
    The `further` pairs of columns must be equal too, or the join would multiply rows.
    """

    table: str
    column: str
    other_table: str
    other_column: str
    shared: int
    containment: float
    further: tuple[tuple[str, str], ...] = ()

    @property
    def pairs(self) -> str:
        """The columns that must be equal, in words."""
        pairs = ((self.column, self.other_column), *self.further)
        return " and ".join(f"{mine} = {theirs}" for mine, theirs in pairs)


@dataclass(frozen=True, eq=False, repr=False)
class Path(Detachable):
    """A chain of joins from one table to another.

    Of the `total` rows of the first table, `rows` survive; the result has `joined` rows.

    >>> path = lake.paths("mine.csv", "cities.csv")[0]
    >>> len(path.joins), path.rows
    (1, 4)
    """

    rank: int
    joins: tuple[PathJoin, ...]
    rows: int
    total: int
    joined: int
    write_sql: Callable[[], str]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Path:
        """Read the JSON of `to_dict`."""
        joins = tuple(
            PathJoin(**{**join, "further": tuple(map(tuple, join["further"]))})
            for join in data["joins"]
        )
        figures = data["rows"], data["total"], data["joined"]
        return cls(data["rank"], joins, *figures, lambda: str(data["sql"]))

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables along the path, both ends included."""
        return (self.joins[0].table, *(join.other_table for join in self.joins))

    @property
    def share(self) -> float:
        """The share of the first table's rows that survive."""
        return self.rows / max(1, self.total)

    def sql(self) -> str:
        """The join as DuckDB SQL."""
        return self.write_sql()

    def to_dict(self) -> dict[str, Any]:
        """The path for JSON; the keys are stable."""
        return {
            "rank": self.rank,
            "joins": [asdict(join) for join in self.joins],
            "rows": self.rows,
            "total": self.total,
            "joined": self.joined,
            "sql": self.sql(),
        }

    def __repr__(self) -> str:
        steps = [f"{join.pairs} → {join.other_table}" for join in self.joins]
        surviving = f"{format_percent(self.share)} of {self.total:,} rows survive"
        return f"{self.joins[0].table}: {', then '.join(steps)} ({surviving})"

    def row(self) -> Row:
        """The row of a report."""
        cells = (
            Cell(str(self.rank), "dim"),
            Cell(clip(self.joins[0].table, _LONG_NAME), "bold"),
            Cell(f"{format_percent(self.share):>4}", bar=self.share),
            Cell(f"{self.rows:,} of {self.total:,} rows survive"),
            Cell(f"the join has {self.joined:,} rows"),
        )
        steps = (
            f"→ {clip(join.other_table, _LONG_NAME)}   on {join.pairs} "
            f"({format_percent(join.containment)} of the values)"
            for join in self.joins
        )
        return Row(cells, lines(steps))


@dataclass(frozen=True, eq=False, repr=False)
class Paths(Detachable, AnswerBase[Path]):
    """The paths from one table to another, at most `k`, those with the most surviving rows first.

    If there is no path, `none` says what comes closest. `searched` is true if the index has no
    complete join graph and joins were searched for, so that not all tables were considered.
    `notes` say how the tables were read.

    >>> paths = lake.paths("mine.csv", "cities.csv")
    >>> len(paths), paths.searched
    (1, False)
    """

    table: str
    other_table: str
    results: tuple[Path, ...]
    none: str
    searched: bool
    seconds: float
    notes: tuple[str, ...] = ()
    update: str = ""  # the command that lets the next search cover all tables, if one is known

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], update: str = "") -> Paths:
        """Read the JSON of `to_dict`, which does not have `update`."""
        return cls(
            data["table"],
            data["other_table"],
            tuple(map(Path.from_dict, data["paths"])),
            data["none"],
            data["searched"],
            data["seconds"],
            tuple(data["notes"]),
            update,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self).from_dict, update=self.update), (self.to_dict(),)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The paths, those with the most surviving rows first."""
        return self.results

    def to_dict(self) -> dict[str, Any]:
        """The answer for JSON; the keys are stable."""
        return {
            "table": self.table,
            "other_table": self.other_table,
            "paths": [path.to_dict() for path in self.results],
            "none": self.none,
            "searched": self.searched,
            "notes": list(self.notes),
            "seconds": self.seconds,
        }

    def report(self) -> Report:
        found = {0: self.none, 1: "1 path"}.get(len(self), f"{len(self):,} paths")
        title = f"{found} from {self.table} to {self.other_table}" if len(self) else found
        return Report(
            title=line(title),
            columns=_COLUMNS,
            rows=tuple(path.row() for path in self.results),
            notes=(*self.notes, *self._note_searched()),
        )

    def _note_searched(self) -> Iterator[str]:
        if self.searched:
            way_out = f"; cover all tables with: {self.update}" if self.update else ""
            yield f"joins were searched for from both ends{way_out}"
