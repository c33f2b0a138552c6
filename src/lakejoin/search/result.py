"""One result of a search: a column or table that joins, with its evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from lakejoin.errors import InputError
from lakejoin.render.answer_base import Detachable
from lakejoin.search.evidence import (
    Evidence,
    MatchingPairs,
    RowFigures,
    SearchedValues,
    SharedValues,
    compute_evidence,
    compute_near_evidence,
    count_rows,
    list_matches,
    list_near_matches,
    list_unmatched,
)
from lakejoin.values.column_names import make_names_unique

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.engines.query import QueryTable
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.manifest import Manifest
    from lakejoin.store.segment import Segment


@dataclass(frozen=True, slots=True, eq=False)
class ResultLocation:
    """Where a result is in the index and what it was found for; its evidence comes from here.

    `segment_columns` are the column indexes in segment `segment_index`, `query_columns` those in
    the query table, in the same order. `find_shared_values` finds the shared values, `count_values`
    counts the values of the result's columns.
    """

    query: SearchedValues
    segment: Segment
    segment_index: int
    table_index: int
    segment_columns: tuple[int, ...]
    query_table: QueryTable
    query_columns: tuple[int, ...]
    manifest: Manifest
    find_shared_values: Callable[[], SharedValues]
    count_values: Callable[[], int]

    @property
    def entry(self) -> TableEntry:
        return self.segment.catalog.table(self.table_index)

    def column_index(self, key_part: int = 0) -> int:
        """The index of a result column within its table."""
        return self.segment_columns[key_part] - self.entry.first


class ValueSource(Protocol):
    """Lists the values of a result whose index is elsewhere, such as on a server."""

    def matches(self, limit: int | None) -> pa.Table:
        """The values that match."""

    def unmatched(self, limit: int | None) -> pa.Table:
        """The query values without a match."""

    def sql(self) -> str:
        """SQL that joins the query table with the result."""


_KEYS = (
    "rank", "table", "columns", "matched", "containment", "query_size", "column_size",
    "row_coverage", "fan_out", "examples", "copy", "estimate", "error", "runner_up",
)  # fmt: skip
_COMPUTED = {"columns", "column_size", "row_coverage", "fan_out", "examples"}
MAX_LISTED_PAIRS = 8_000_000  # per result that can be listed: a pair takes about 100 bytes
_DETACHED = "this result is detached from its index; search again"


@dataclass(frozen=True)
class Result(Detachable):
    """A column in the lake that joins with the query column, or a table that joins with its key.

    `matched` of the `query_size` distinct query values are among its `column_size` values;
    `containment` is that share. `copy` is `"itself"` for a column of the query's own table,
    `"copy"` for a table with exactly the same rows, otherwise empty.

    For a composite key, `columns` are in the order of the key columns, and values are combinations.
    `runner_up` is the next best mapping of columns with its `matched`, if it has nearly as many;
    otherwise None.

    With sketches, `estimate` is their containment and `error` its standard deviation. If a result
    is not `verified`, `containment` and `matched` come from the estimate, `row_coverage` and
    `fan_out` are None, and there are no examples.

    >>> result = lake.overlap("mine.csv", on="city")[0]
    >>> result.columns, result.matched, result.containment
    (('name',), 4, 0.8)
    >>> result.unmatched().column("value").to_pylist()
    ['Paris']
    """

    rank: int
    table: str
    columns: tuple[str, ...]
    matched: int
    containment: float
    query_size: int
    _column_size: int | None  # None: counted on demand
    copy: str = ""
    estimate: float | None = None
    error: float | None = None
    verified: bool = True
    runner_up: dict[str, Any] | None = field(default=None, hash=False)
    found: ResultLocation | None = field(default=None, repr=False, compare=False)
    source: ValueSource | None = field(default=None, repr=False, compare=False)
    detached_from: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @classmethod
    def from_dict(
        cls,
        data: Mapping[str, Any],
        query_columns: Sequence[str] = (),
        source: ValueSource | None = None,
    ) -> Result:
        """Read a result (or `NearResult`) from the JSON of `to_dict`; `source` lists its values."""
        fields = {key: data[key] for key in _KEYS if key not in _COMPUTED}
        kind = Result
        if "pairs" in data:
            kind, fields["pairs"] = NearResult, data["pairs"]
        result = kind(
            columns=tuple(data["columns"]),
            _column_size=data["column_size"],
            verified=data["estimate"] is None or data["row_coverage"] is not None,
            source=source,
            detached_from=tuple(query_columns),
            **fields,
        )
        evidence = None
        if data["row_coverage"] is not None:
            examples = data["examples"]
            matched, unmatched = tuple(examples["matched"]), tuple(examples["unmatched"])
            figures = (data["row_coverage"], data["fan_out"])
            evidence = Evidence(*figures, matched, unmatched, data.get("distance"))
        vars(result)["evidence"] = evidence  # prime the cached property
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        return Result.from_dict, (self.to_dict(), self._query_columns)

    @property
    def _query_columns(self) -> tuple[str, ...]:
        return self.found.query.columns if self.found else self.detached_from

    @property
    def mapping(self) -> dict[str, str]:
        """Maps each query column to the lake column it joins with.

        Underscores are appended to query column names that repeat, as in `matches`.
        """
        return dict(zip(make_names_unique(self._query_columns), self.columns, strict=True))

    @cached_property
    def column_size(self) -> int:
        """The number of distinct values of the column, or combinations of the columns.

        Computed with the search for the first results, otherwise on demand.
        """
        return self._found.count_values() if self._column_size is None else self._column_size

    @cached_property
    def evidence(self) -> Evidence | None:
        """Row coverage, fan-out and examples; None if the result is not verified.

        Computed with the search for the first results, otherwise on demand.
        """
        if not self.verified or self.found is None:
            return None
        return compute_evidence(self.found.query, self.found.find_shared_values())

    @cached_property
    def _row_figures(self) -> RowFigures | None:
        """What ranking needs of the evidence; examples, which take longer, follow on demand."""
        if self._is_counted:
            return count_rows(self._found.query, self._found.find_shared_values())
        return (
            RowFigures(self.evidence.row_coverage, self.evidence.fan_out) if self.evidence else None
        )

    @property
    def _is_counted(self) -> bool:
        """Whether the figures are counted before there is any evidence."""
        return self.verified and self.found is not None and "evidence" not in vars(self)

    @property
    def row_coverage(self) -> float | None:
        """The share of query rows with a match, counting rows without a value."""
        return self._row_figures.row_coverage if self._row_figures else None

    @property
    def fan_out(self) -> float | None:
        """The rows of the inner join per query row."""
        return self._row_figures.fan_out if self._row_figures else None

    @property
    def examples(self) -> dict[str, list[str]]:
        """Up to three `matched` and three `unmatched` values as the query table spells them, most
        frequent first; the values of a combination are separated by `·`."""
        if self.evidence is None:
            return {"matched": [], "unmatched": []}
        return {"matched": list(self.evidence.matched), "unmatched": list(self.evidence.unmatched)}

    def matches(self, limit: int | None = None) -> pa.Table:
        """The shared values: `value` as the query table spells it, its rows there (`mine`) and in
        the lake table (`theirs`), most query rows first. For a composite key, the key columns
        replace `value`."""
        if self.source is not None:
            return self.source.matches(limit)
        return list_matches(self._found.query, self._found.find_shared_values(), limit)

    def unmatched(self, limit: int | None = None) -> pa.Table:
        """The query values without a match: `value` (or the key columns) and its rows, `mine`."""
        if self.source is not None:
            return self.source.unmatched(limit)
        return list_unmatched(self._found.query, self._shared_values(), limit)

    def _shared_values(self) -> SharedValues:
        return self._found.find_shared_values()

    def sql(self) -> str:
        """DuckDB SQL that joins the query table with this one."""
        from lakejoin.search.result_sql import write_join_sql

        return self.source.sql() if self.source is not None else write_join_sql(self._found)

    def to_dict(self) -> dict[str, Any]:
        """The result as a JSON object with stable keys."""
        return {**{key: getattr(self, key) for key in _KEYS}, "columns": list(self.columns)}

    @property
    def _found(self) -> ResultLocation:
        if self.found is None:
            raise InputError(_DETACHED)
        return self.found


@dataclass(frozen=True)
class NearResult(Result):
    """A column in the lake that matches the query column by meaning or distance.

    `matched` query values have a match there, in `pairs` pairs. `columns` may be two, for
    coordinates. If there are too many pairs to list (`listed` is false), `row_coverage`, `fan_out`
    and `distance` are None, there are no examples, and `matches` raises an error.

    >>> result = lake.nearby({"lat": [46.9489], "lon": [7.4391]}, within="2km")[0]
    >>> result.table, result.pairs
    ('cities.csv', 1)
    """

    pairs: int = 0
    partners: Callable[[], MatchingPairs] | None = field(default=None, repr=False, compare=False)

    @property
    def mapping(self) -> dict[str, str]:
        """Maps each query column to its lake column; coordinates that are one column on one side
        and two on the other map to all of them, in one text."""
        mine = make_names_unique(self._query_columns)
        if len(mine) == len(self.columns):
            return dict(zip(mine, self.columns, strict=True))
        return dict.fromkeys(mine, ", ".join(self.columns))

    @property
    def listed(self) -> bool:
        """Whether the pairs are few enough to list in memory."""
        return self.pairs <= MAX_LISTED_PAIRS

    @property
    def _is_counted(self) -> bool:
        return False

    @property
    def distance(self) -> float | None:
        """The median distance of query values to their nearest match, in the unit of `matches`."""
        return self.evidence.distance if self.evidence else None

    @cached_property
    def evidence(self) -> Evidence | None:
        """Row coverage, fan-out, examples and median distance; None if there are too many pairs."""
        if not self.listed:
            return None
        return compute_near_evidence(self._found.query, self._partners())

    def matches(self, limit: int | None = None, *, differing: bool = False) -> pa.Table:
        """The matching pairs, nearest first: `value` as spelled in the query table, `partner` as in
        the lake table, their `distance`, and their rows (`mine`, `theirs`). `differing` leaves out
        equal values."""
        if self.source is not None and not differing:
            return self.source.matches(limit)
        return list_near_matches(self._found.query, self._partners(), limit, differing)

    @property
    def equal(self) -> int:
        """The number of pairs of equal values."""
        return int(self._partners().same.sum())

    def _shared_values(self) -> SharedValues:
        return self._partners().shared_values

    def farthest(self, limit: int | None = None, *, differing: bool = False) -> pa.Table:
        """The matching pairs, farthest first: those that are only just near enough."""
        return list_near_matches(
            self._found.query, self._partners(), limit, differing, farthest=True
        )

    def to_dict(self) -> dict[str, Any]:
        """The result as a JSON object: the keys of every result, `pairs` and `distance`."""
        return {**super().to_dict(), "pairs": self.pairs, "distance": self.distance}

    def sql(self) -> str:
        """DuckDB SQL that joins through a list of the pairs; raises an error for distances."""
        from lakejoin.search.result_sql import write_pairs_join_sql

        if self.source is not None:
            return self.source.sql()
        return write_pairs_join_sql(self._found, self._partners())

    def _partners(self) -> MatchingPairs:
        if self.partners is None:
            raise InputError(_DETACHED)
        if not self.listed:
            raise InputError(
                f"{self.table} has {self.pairs:,} matching pairs, but only "
                f"{MAX_LISTED_PAIRS:,} can be listed: search with a smaller tau or within"
            )
        return self.partners()


def note_unlisted(results: Sequence[NearResult], by: str) -> list[str]:
    """The note about results with too many pairs to list."""
    many = sum(not result.listed for result in results)
    if not many:
        return []
    has = "1 result has" if many == 1 else f"{many:,} results have"
    return [
        f"{has} more than {MAX_LISTED_PAIRS:,} pairs, too many to list: counted only, without "
        f"examples; try a smaller {'tau' if by == 'meaning' else 'within'}"
    ]
