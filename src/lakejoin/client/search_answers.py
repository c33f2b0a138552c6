"""Answers of searches on a server, read from JSON, with the same names as those of an opened
index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, overload

from lakejoin.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


Json = dict[str, Any]
Item = TypeVar("Item", bound="ServerObject")


@dataclass(frozen=True, eq=False, repr=False)
class ServerObject:
    """An object that a server sent: typed fields, and all of its JSON in `to_dict`."""

    raw: Json = field(default_factory=dict, kw_only=True)

    @classmethod
    def of(cls, data: Json, **others: Any) -> Self:
        """Read from JSON; `others` are fields that are passed instead. Unknown keys are only in
        `to_dict`; missing keys get the default of the field."""
        known = [field.name for field in fields(cls) if field.init and field.name in data]
        values = {name: _immutable(data[name]) for name in known if name not in others}
        return cls(**values, **others, raw=data)

    def to_dict(self) -> Json:
        """The JSON of this object."""
        return self.raw


@dataclass(frozen=True, eq=False, repr=False)
class ServerSequence(ServerObject, Sequence[Item]):
    """An object that a server sent and that is a sequence; a slice has the same type."""

    results: tuple[Item, ...] = ()

    _key = "results"  # the key of the list in the JSON

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.results)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Item | Self:
        if isinstance(index, slice):
            return replace(self, results=self.results[index])
        return self.results[index]

    def to_dict(self) -> Json:
        """The JSON of this object, with the results that are left in a slice."""
        return {**self.raw, self._key: [result.to_dict() for result in self.results]}


def read_each(of: Callable[[Json], Item], data: Any) -> tuple[Item, ...]:
    """Read each object of a JSON list."""
    return tuple(of(item) for item in data or ())


def _immutable(value: Any) -> Any:
    """Convert lists to tuples."""
    return tuple(_immutable(item) for item in value) if isinstance(value, list) else value


# Fetches values that match and values that do not, for a rank and a limit.
Explain = Callable[[int, int | None], Json]


@dataclass(frozen=True, eq=False, repr=False)
class JoinCandidate(ServerObject):
    """One join candidate: the columns on both sides, what matches, its score and the evidence."""

    kind: str = "equal"
    how: str = ""
    mine: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()
    matched: int = 0
    containment: float = 0.0
    row_coverage: float | None = None
    fan_out: float | None = None
    chance: float | None = None
    score: float = 0.0
    reasons: tuple[Json, ...] = ()
    accidental: str = ""
    join: Json | None = None

    @property
    def pairs(self) -> str:
        """Which columns are joined, and how."""
        sign = "=" if self.kind == "equal" else "~"
        if len(self.mine) == len(self.theirs):
            both = zip(self.mine, self.theirs, strict=True)
            pairs = " and ".join(f"{one} {sign} {other}" for one, other in both)
        else:  # coordinates may be one column or two
            pairs = f"{', '.join(self.mine)} {sign} {', '.join(self.theirs)}"
        return f"{pairs} ({self.how})" if self.how else pairs

    def __repr__(self) -> str:
        return f"<JoinCandidate {self.pairs}>"


@dataclass(frozen=True, eq=False, repr=False)
class AddedColumn(ServerObject):
    """A column that a table would add, and the share of query rows that would get a value."""

    name: str = ""
    full: float | None = None

    def __repr__(self) -> str:
        from lakejoin.search.answer_display import format_percent

        return self.name if self.full is None else f"{self.name} ({format_percent(self.full)})"


@dataclass(frozen=True, eq=False, repr=False)
class ExplainedResult(ServerObject):
    """A result whose matching values can be fetched."""

    rank: int = 0
    table: str = ""
    id: str = ""
    explain: Explain | None = field(default=None, kw_only=True)

    def matches(self, limit: int | None = None) -> pa.Table:
        """The values that match: `value` as in the query table, and how many rows have it there
        (`mine`) and in the lake table (`theirs`); near values also with `partner` and `distance`.
        Without `limit`, as many as the server returns."""
        return _rows(self._explained(limit)["matches"])

    def unmatched(self, limit: int | None = None) -> pa.Table:
        """The query values without a partner: `value`, and how many query rows have it (`mine`)."""
        return _rows(self._explained(limit)["unmatched"])

    def sql(self) -> str:
        """DuckDB SQL that joins the query table with this table."""
        sql = self._explained(1)["sql"]
        if not isinstance(sql, str):
            raise InputError(f"the join with {self.table} cannot be written in SQL")
        return sql

    def _explained(self, limit: int | None) -> Json:
        if self.explain is None:
            raise InputError("this answer is preliminary: use the final one")
        return self.explain(self.rank, limit)


@dataclass(frozen=True, eq=False, repr=False)
class FusedResult(ExplainedResult):
    """A table of the lake, and the candidates for joining it, best first."""

    score: float = 0.0
    ways: tuple[JoinCandidate, ...] = ()
    adds: tuple[AddedColumn, ...] = ()
    versions: tuple[str, ...] = ()
    accidental: str = ""
    reason: str = ""

    @classmethod
    def of(cls, data: Json, **others: Any) -> Self:
        """Read from JSON."""
        ways, adds = (
            read_each(JoinCandidate.of, data.get("ways")),
            read_each(AddedColumn.of, data.get("adds")),
        )
        return super().of(data, ways=ways, adds=adds, **others)

    def __repr__(self) -> str:
        added = ", ".join(map(repr, self.adds[:8]))
        more = f" and {len(self.adds) - 8:,} more" if len(self.adds) > 8 else ""
        adds = f"\n     adds {added}{more}" if self.adds else ""
        return f"{self.rank:>3}  {self.score:.2f}  {self.table}\n     {self.reason}{adds}"


@dataclass(frozen=True, eq=False, repr=False)
class FusedAnswer(ServerSequence[FusedResult]):
    """The tables that join, at most `k`, best first; a sequence of `FusedResult`.

    `columns` are the query columns that were searched for. `misses` are tables with coincidental
    overlap. An answer that is not `final` is preliminary, and a better one follows.
    """

    table: str = ""
    columns: tuple[tuple[str, ...], ...] = ()
    misses: tuple[FusedResult, ...] = ()
    k: int = 10
    seconds: float = 0.0
    seconds_by: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    final: bool = True
    cached: bool = False

    by: ClassVar[str] = "fused"
    error: ClassVar[None] = None  # only `Failed` has an error, in `search_many`

    @classmethod
    def of(cls, data: Json, **others: Any) -> Self:
        """Read from JSON; `explain` is for the results, `explain_miss` for the misses."""
        explain, explain_miss = (others.pop(name, None) for name in ("explain", "explain_miss"))

        def read_result(result: Json) -> FusedResult:
            return FusedResult.of(result, explain=explain)

        def read_miss(result: Json) -> FusedResult:
            return FusedResult.of(result, explain=explain_miss)

        query = data.get("query", {})
        return super().of(
            data,
            table=query.get("table", ""),
            columns=tuple(tuple(names) for names in query.get("columns", ())),
            results=read_each(read_result, data.get("results")),
            misses=read_each(read_miss, data.get("misses")),
            **others,
        )

    def __repr__(self) -> str:
        columns = ", ".join(" + ".join(names) for names in self.columns)
        lines = [f"{self.table} · {columns}: {_tables_that_join(len(self))}"]
        lines += map(repr, self.results)
        lines += [
            f"coincidental overlap: {miss.table} ({miss.accidental})" for miss in self.misses[:3]
        ]
        return "\n".join([*lines, *self.notes])


@dataclass(frozen=True, eq=False, repr=False)
class SearchedQuery(ServerObject):
    """What was searched for: columns of a table, their distinct values and rows."""

    table: str = ""
    columns: tuple[str, ...] = ()
    size: int = 0
    rows: int = 0

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"{', '.join(self.columns)} of {self.table} ({self.size:,} distinct values)"


@dataclass(frozen=True, eq=False, repr=False)
class Result(ExplainedResult):
    """A column of the lake that joins with the query column, or a table that joins with a composite
    key.

    `matched` of the `query_size` distinct query values are among its `column_size` values, or are
    near some of them (`pairs` in total, at a median `distance`); `containment` is that share.
    """

    columns: tuple[str, ...] = ()
    matched: int = 0
    containment: float = 0.0
    query_size: int = 0
    column_size: int = 0
    row_coverage: float | None = None
    fan_out: float | None = None
    examples: dict[str, list[str]] = field(default_factory=dict)
    copy: str = ""
    estimate: float | None = None
    error: float | None = None
    runner_up: Json | None = None
    pairs: int | None = None
    distance: float | None = None
    join: Json | None = None

    def __repr__(self) -> str:
        from lakejoin.search.answer_display import format_percent

        share = f"{format_percent(self.containment)} ({self.matched:,} of {self.query_size:,})"
        return f"{self.rank:>3}  {self.table}: {', '.join(self.columns)}  {share}"


@dataclass(frozen=True, eq=False, repr=False)
class Answer(ServerSequence[Result]):
    """The columns found for one query, or the tables found for a composite key; best first."""

    query: SearchedQuery = field(default_factory=SearchedQuery)
    by: str = "overlap"
    k: int | None = None
    min: float | None = None
    tau: float | None = None
    within: str | None = None
    measure: str | None = None
    counters: Json = field(default_factory=dict)
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    final: bool = True
    cached: bool = False

    error: ClassVar[None] = None  # only `Failed` has an error, in `search_many`

    @classmethod
    def of(cls, data: Json, **others: Any) -> Self:
        """Read from JSON; `explain` is for the results."""
        explain = others.pop("explain", None)

        def read_result(result: Json) -> Result:
            return Result.of(result, explain=explain)

        query = SearchedQuery.of(data.get("query", {}))
        return super().of(
            data, query=query, results=read_each(read_result, data.get("results")), **others
        )

    def __repr__(self) -> str:
        lines = [f"{self.query!r}: {len(self):,} found by {self.by}"]
        return "\n".join([*lines, *map(repr, self.results), *self.notes])


class Answers(tuple[Answer, ...]):
    """The answers for several columns of one table, in the order of its columns."""

    __slots__ = ()
    error = None

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self))

    def to_dict(self) -> Json:
        """The JSON of all answers, under the key `answers`."""
        return {"answers": [answer.to_dict() for answer in self]}


def _rows(items: list[Json]) -> pa.Table:
    """JSON objects as rows; the values of a composite key get a column each."""
    import pyarrow as pa

    rows = [
        {**item["value"], **{name: cell for name, cell in item.items() if name != "value"}}
        if isinstance(item.get("value"), dict)
        else item
        for item in items
    ]
    return pa.Table.from_pylist(rows)


def _tables_that_join(count: int) -> str:
    return {0: "no table joins", 1: "1 table joins"}.get(count, f"{count:,} tables join")
