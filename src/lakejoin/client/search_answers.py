"""What a server found: answers of searches, with the names that those of an opened index have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

from lakejoin.client.reading import Json, Several, Told, each
from lakejoin.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

# Of a rank, the values that meet and those that do not: so many of each.
Explain = Callable[[int, int | None], Json]


@dataclass(frozen=True, eq=False, repr=False)
class Way(Told):
    """One way to join: my columns with theirs, what meets, what it is worth and why."""

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
        """Which of my columns goes with which of theirs, and how."""
        sign = "=" if self.kind == "equal" else "~"
        if len(self.mine) == len(self.theirs):
            both = zip(self.mine, self.theirs, strict=True)
            told = " and ".join(f"{one} {sign} {other}" for one, other in both)
        else:  # a place may be one column or two
            told = f"{', '.join(self.mine)} {sign} {', '.join(self.theirs)}"
        return f"{told} ({self.how})" if self.how else told

    def __repr__(self) -> str:
        return f"<Way {self.pairs}>"


@dataclass(frozen=True, eq=False, repr=False)
class Added(Told):
    """A column that a table would add, and the share of my rows that would get a value."""

    name: str = ""
    full: float | None = None

    def __repr__(self) -> str:
        from lakejoin.search.display import percent

        return self.name if self.full is None else f"{self.name} ({percent(self.full)})"


@dataclass(frozen=True, eq=False, repr=False)
class Explained(Told):
    """A result whose values can be asked for, side by side."""

    rank: int = 0
    table: str = ""
    id: str = ""
    explain: Explain | None = field(default=None, kw_only=True)

    def matches(self, limit: int | None = None) -> pa.Table:
        """The values that meet: `value` as I write it, rows of `mine`, rows of `theirs`; near
        values also with their `partner` and `distance`. As many as the server hands out, where no
        `limit` is given."""
        return _rows(self._explained(limit)["matches"])

    def unmatched(self, limit: int | None = None) -> pa.Table:
        """My values that find no partner: `value`, rows of `mine`."""
        return _rows(self._explained(limit)["unmatched"])

    def sql(self) -> str:
        """DuckDB SQL that makes the join of my table with this one."""
        written = self._explained(1)["sql"]
        if not isinstance(written, str):
            raise InputError(f"the join with {self.table} cannot be written in SQL")
        return written

    def _explained(self, limit: int | None) -> Json:
        if self.explain is None:
            raise InputError("this answer is not final: take the last one, or search again")
        return self.explain(self.rank, limit)


@dataclass(frozen=True, eq=False, repr=False)
class FusedResult(Explained):
    """A table of the lake, and the ways in which it joins with mine, the best first."""

    score: float = 0.0
    ways: tuple[Way, ...] = ()
    adds: tuple[Added, ...] = ()
    versions: tuple[str, ...] = ()
    accidental: str = ""
    reason: str = ""

    @classmethod
    def of(cls, told: Json, **others: Any) -> Self:
        """As JSON has it."""
        ways, adds = each(Way.of, told.get("ways")), each(Added.of, told.get("adds"))
        return super().of(told, ways=ways, adds=adds, **others)

    def __repr__(self) -> str:
        added = ", ".join(map(repr, self.adds[:8]))
        more = f" and {len(self.adds) - 8:,} more" if len(self.adds) > 8 else ""
        adds = f"\n     adds {added}{more}" if self.adds else ""
        return f"{self.rank:>3}  {self.score:.2f}  {self.table}\n     {self.reason}{adds}"


@dataclass(frozen=True, eq=False, repr=False)
class FusedAnswer(Several[FusedResult]):
    """The tables that join, at most `k`, the best first; a sequence of `FusedResult`.

    `columns` are those of mine that were searched for. `misses` are tables that share values with
    mine by accident. One that is not `final` comes before the search is over, and a better one
    after it.
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
    error: ClassVar[None] = None  # beside `Failed`, where many are searched for

    @classmethod
    def of(cls, told: Json, **others: Any) -> Self:
        """As JSON has it; `explain` is for its results, `explain_miss` for its misses."""
        explain, explain_miss = (others.pop(name, None) for name in ("explain", "explain_miss"))

        def one(result: Json) -> FusedResult:
            return FusedResult.of(result, explain=explain)

        def miss(result: Json) -> FusedResult:
            return FusedResult.of(result, explain=explain_miss)

        query = told.get("query", {})
        return super().of(
            told,
            table=query.get("table", ""),
            columns=tuple(tuple(one) for one in query.get("columns", ())),
            results=each(one, told.get("results")),
            misses=each(miss, told.get("misses")),
            **others,
        )

    def __repr__(self) -> str:
        columns = ", ".join(" + ".join(one) for one in self.columns)
        lines = [f"{self.table} · {columns}: {_tables(len(self))} joins with it"]
        lines += map(repr, self.results)
        lines += [f"by accident: {one.table} ({one.accidental})" for one in self.misses[:3]]
        return "\n".join([*lines, *self.notes])


@dataclass(frozen=True, eq=False, repr=False)
class Asked(Told):
    """What was searched for: the columns of a table, with so many distinct values in its rows."""

    table: str = ""
    columns: tuple[str, ...] = ()
    size: int = 0
    rows: int = 0

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"{', '.join(self.columns)} of {self.table} ({self.size:,} distinct values)"


@dataclass(frozen=True, eq=False, repr=False)
class Result(Explained):
    """A column of the lake that joins with mine, or a table that joins with a composite key.

    `matched` of my `query_size` distinct values are among its `column_size`, or are near some of
    them (`pairs` in all, at a median `distance`); `containment` is that share.
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
        from lakejoin.search.display import percent

        share = f"{percent(self.containment)} ({self.matched:,} of {self.query_size:,})"
        return f"{self.rank:>3}  {self.table}: {', '.join(self.columns)}  {share}"


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Several[Result]):
    """The columns that were found for one query, or the tables for a composite key; best first."""

    query: Asked = field(default_factory=Asked)
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

    error: ClassVar[None] = None  # beside `Failed`, where many are searched for

    @classmethod
    def of(cls, told: Json, **others: Any) -> Self:
        """As JSON has it; `explain` is for its results."""
        explain = others.pop("explain", None)

        def one(result: Json) -> Result:
            return Result.of(result, explain=explain)

        query = Asked.of(told.get("query", {}))
        return super().of(told, query=query, results=each(one, told.get("results")), **others)

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
        """`answers`, each as `Answer.to_dict` has it."""
        return {"answers": [answer.to_dict() for answer in self]}


def _rows(listed: list[Json]) -> pa.Table:
    """Objects as rows; the parts of a composite value are columns of their own."""
    import pyarrow as pa

    rows = [
        {**one["value"], **{name: cell for name, cell in one.items() if name != "value"}}
        if isinstance(one.get("value"), dict)
        else one
        for one in listed
    ]
    return pa.Table.from_pylist(rows)


def _tables(count: int) -> str:
    return {0: "no table", 1: "1 table"}.get(count, f"{count:,} tables")
