"""The answer of a union search: tables, how their columns align, and their new rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakejoin.errors import InputError
from lakejoin.model import Array
from lakejoin.render.answer_base import AnswerBase, Detachable
from lakejoin.render.report import Cell, Column, Report, Row, line, lines
from lakejoin.text_format import clip, counted
from lakejoin.union.column_likeness import Likeness, LikenessSign

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.engines.query import QueryTable
    from lakejoin.store.segment import Segment

PREVIEWED = 5  # rows in a preview
_LONG = 200
_KEYS = ("rank", "table", "score", "alignment", "extra", "rows", "new_rows", "versions", "apart")
_MISSES_SHOWN = 5
_COLUMNS = (
    Column("#"),
    Column("table", right=False, keep="end"),
    Column("score", right=False),
    Column("rows", right=False),
    Column("columns", right=False),
)


@dataclass(frozen=True, slots=True, eq=False)
class NewRows:
    """Where the rows of a result are: their segment, and the indexes of the new ones."""

    segment: Segment
    indexes: Array


@dataclass(frozen=True, slots=True)
class AlignedColumn:
    """A column of the query table and the column aligned with it, if any: `theirs` is its name,
    `number` its index in its segment, `likeness` how alike they are, and why."""

    mine: str
    theirs: str | None = None
    number: int | None = None
    likeness: Likeness = field(default_factory=lambda: Likeness(0.0, ()))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AlignedColumn:
        """Read the JSON of `to_dict`."""
        signs = tuple(LikenessSign(**sign) for sign in data["signs"])
        return cls(data["mine"], data["theirs"], likeness=Likeness(data["score"], signs))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        signs = [asdict(sign) for sign in self.likeness.signs]
        like = self.likeness.score
        return {"mine": self.mine, "theirs": self.theirs, "score": like, "signs": signs}


@dataclass(frozen=True, eq=False, repr=False)
class UnionResult(Detachable):
    """A table whose rows could be appended to the query table.

    `alignment` has an entry for each column of the query table; `extra` are columns that align
    with none of them. `new_rows` of all `rows` are not in the query table, by the aligned columns.
    `apart` says why the table should not be appended; empty if it can be. `versions` are the names
    of copies and other versions of it.

    >>> result = lake.union({"name": ["Rome", "Ulm"], "land": ["Italy", "Germany"]})[0]
    >>> result.table, result.new_rows
    ('more.csv', 3)
    """

    rank: int
    table: str
    score: float
    alignment: tuple[AlignedColumn, ...]
    extra: tuple[str, ...]
    new_rows: int
    rows: int
    apart: str
    versions: tuple[str, ...]
    source: NewRows | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> UnionResult:
        """Read the JSON of `to_dict`."""
        lists = {
            "alignment": tuple(map(AlignedColumn.from_dict, data["alignment"])),
            "extra": tuple(data["extra"]),
            "versions": tuple(data["versions"]),
        }
        return cls(**{key: data[key] for key in _KEYS} | lists)

    @property
    def located(self) -> NewRows:
        """Where its rows are; an error if the index is elsewhere."""
        if self.source is None:
            raise InputError(
                "the rows of this table are on the server; open the index to read them"
            )
        return self.source

    @property
    def new(self) -> Array:
        """The indexes of the rows that the query table does not have."""
        return self.located.indexes

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
            **{key: getattr(self, key) for key in _KEYS},
            "alignment": [pair.to_dict() for pair in self.alignment],
            "extra": list(self.extra),
            "versions": list(self.versions),
        }

    def __repr__(self) -> str:
        columns = ", ".join(f"{pair.mine} ← {pair.theirs}" for pair in self.pairs)
        rows = f"{self.new_rows:,} of {self.rows:,} rows are new"
        return f"{self.table} ({self.score:.2f}): {rows}; {columns}"

    def row(self) -> Row:
        """The row of a report."""
        known = self.rows - self.new_rows
        new = counted(self.new_rows, "new row") + (f", {known:,} you already have" if known else "")
        cells = (
            Cell(str(self.rank), "dim"),
            Cell(clip(self.table, _LONG), "bold"),
            Cell(f"{self.score:.2f}", bar=self.score),
            Cell(new),
            Cell(f"{len(self.pairs)} of {counted(len(self.alignment), 'column')}"),
        )
        pairs = ", ".join(
            pair.mine if pair.mine == pair.theirs else f"{pair.mine} ← {pair.theirs}"
            for pair in self.pairs
        )
        details = (
            f"would be empty: {', '.join(self.missing)}" if self.missing else "",
            f"not appended: {', '.join(self.extra)}" if self.extra else "",
            f"copies or versions: {', '.join(self.versions)}" if self.versions else "",
        )
        beneath = lines((clip(text, _LONG) for text in details), style="dim")
        return Row(cells, (line(clip(pairs, _LONG)), *beneath))


@dataclass(frozen=True, eq=False, repr=False)
class UnionAnswer(Detachable, AnswerBase[UnionResult]):
    """The tables whose rows could be appended to the query table, at most `k`, the best first.

    `misses` have similar columns but should not be appended: versions of the query table, tables
    without new rows, and tables that should rather be joined; each says why (`apart`).

    >>> answer = lake.union({"name": ["Rome", "Ulm"], "land": ["Italy", "Germany"]})
    >>> answer[:1].to_arrow().num_rows
    5
    """

    table: str
    columns: tuple[str, ...]
    results: tuple[UnionResult, ...]
    misses: tuple[UnionResult, ...]
    k: int
    seconds: float
    notes: tuple[str, ...]
    query_table: QueryTable | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> UnionAnswer:
        """Read the JSON of `to_dict`."""
        return cls(
            data["query"]["table"],
            tuple(data["query"]["columns"]),
            tuple(map(UnionResult.from_dict, data["results"])),
            tuple(map(UnionResult.from_dict, data["misses"])),
            data["k"],
            data["seconds"],
            tuple(data["notes"]),
        )

    @property
    def _mine(self) -> QueryTable:
        if self.query_table is None:
            raise InputError("these tables are on the server; open the index to append their rows")
        return self.query_table

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

    def report(self) -> Report:
        """What the answer shows."""
        found = {0: "no table has rows", 1: "1 table has rows"}
        head = found.get(len(self), f"{len(self):,} tables have rows")
        misses = line(self.misses_text, style="warn")
        return Report(
            title=line(f"{clip(self.table, _LONG)}: {head} that could be appended"),
            columns=_COLUMNS,
            rows=tuple(result.row() for result in self.results),
            notes=self.notes,
            after=(line(), misses) if self.misses else (),
        )

    @property
    def misses_text(self) -> str:
        """The tables with similar columns that should not be appended, and why; empty if none."""
        if not self.misses:
            return ""
        texts = "; ".join(f"{miss.table} ({miss.apart})" for miss in self.misses[:_MISSES_SHOWN])
        more = len(self.misses) - _MISSES_SHOWN
        rest = f"; and {more:,} more" if more > 0 else ""
        return clip(f"similar columns, but not to be appended: {texts}{rest}", 900)
