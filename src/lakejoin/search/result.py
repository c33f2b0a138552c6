"""One result: a column or a table that was found, and the way to its evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lakejoin.errors import InputError
from lakejoin.search.evidence import Evidence, Meeting, Wanted, evidence_of, matches, told_apart
from lakejoin.search.evidence import unmatched as unmatched_values

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.search.mine import MyTable
    from lakejoin.search.near_evidence import Partners
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.manifest import Manifest
    from lakejoin.store.segment import Segment


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Where a result lies in the index, and what it was found for: the way to its evidence.

    `columns` are the numbers of its columns in the segment `number`, `places` those of mine in my
    table, in the same order. `meeting` gives the values that both share, `size` counts those of
    the columns.
    """

    query: Wanted
    segment: Segment
    number: int
    table: int
    columns: tuple[int, ...]
    mine: MyTable
    places: tuple[int, ...]
    manifest: Manifest
    meeting: Callable[[], Meeting]
    size: Callable[[], int]

    @property
    def entry(self) -> TableEntry:
        """What the catalog says of the table."""
        return self.segment.catalog.table(self.table)

    def place(self, part: int = 0) -> int:
        """The zero-based place of a column of the result in its table."""
        return self.columns[part] - self.entry.first


@dataclass(frozen=True)
class Result:
    """A column of the lake that joins with mine, or a table that joins with a composite key.

    `matched` of my `query_size` distinct values are among its `column_size`; `containment` is that
    share. `copy` is `"itself"` for a column of the query's own table, `"copy"` for one of a table
    with exactly the same rows, else empty.

    For a composite key, `columns` are those of the table in the order of mine, and values are
    combinations of values. `runner_up` is the next best choice of columns with its `matched`,
    where it has nearly as many; else None.

    From sketches, `estimate` is the containment that they told and `error` its standard deviation.
    Of a result that was not verified (`verified=False`), `containment` and `matched` come from the
    estimate, `row_coverage` and `fan_out` are None, and there are no examples.
    """

    rank: int
    table: str
    columns: tuple[str, ...]
    matched: int
    containment: float
    query_size: int
    _column_size: int | None  # None: counted when it is asked for
    copy: str = ""
    estimate: float | None = None
    error: float | None = None
    verified: bool = True
    runner_up: dict[str, Any] | None = field(default=None, hash=False)
    found: Found | None = field(default=None, repr=False, compare=False)

    @property
    def mapping(self) -> dict[str, str]:
        """Which of its columns each column of mine joins with.

        A column of mine whose name was there before gets underscores behind it, as in `matches`.
        """
        return dict(zip(told_apart(self._found.query.columns), self.columns, strict=True))

    @cached_property
    def column_size(self) -> int:
        """The distinct values of the column, or the combinations that the columns hold.

        The first results of an answer have it at once, the others when it is first asked for.
        """
        return self._found.size() if self._column_size is None else self._column_size

    @cached_property
    def evidence(self) -> Evidence | None:
        """Row coverage, fan-out and examples together; None where nothing was verified.

        The first results of an answer have it at once, the others when it is first asked for.
        """
        if not self.verified or self.found is None:
            return None
        return evidence_of(self.found.query, self.found.meeting())

    @property
    def row_coverage(self) -> float | None:
        """The share of my rows, those without a value included, that find a partner."""
        return self.evidence.row_coverage if self.evidence else None

    @property
    def fan_out(self) -> float | None:
        """The rows of the inner join per row of mine."""
        return self.evidence.fan_out if self.evidence else None

    @property
    def examples(self) -> dict[str, list[str]]:
        """Up to three `matched` and three `unmatched` values as I write them, those that most of
        my rows hold first; the parts of a combination stand with `·` between them."""
        if self.evidence is None:
            return {"matched": [], "unmatched": []}
        return {"matched": list(self.evidence.matched), "unmatched": list(self.evidence.unmatched)}

    def matches(self, limit: int | None = None) -> pa.Table:
        """The values that meet: `value` as I write it, rows of `mine`, rows of `theirs`; values
        that most of my rows hold first. Of a composite key, a column for each of its columns, by
        their names, stands in the place of `value`."""
        return matches(self._found.query, self._found.meeting(), limit)

    def unmatched(self, limit: int | None = None) -> pa.Table:
        """My values that find no partner: `value` (or the columns of the key), rows of `mine`."""
        return unmatched_values(self._found.query, self._found.meeting(), limit)

    def sql(self) -> str:
        """DuckDB SQL that makes the join of my table with this one."""
        from lakejoin.search.sql import join_sql

        return join_sql(self._found)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON has it; the keys are stable."""
        return {
            "rank": self.rank,
            "table": self.table,
            "columns": list(self.columns),
            "matched": self.matched,
            "containment": self.containment,
            "query_size": self.query_size,
            "column_size": self.column_size,
            "row_coverage": self.row_coverage,
            "fan_out": self.fan_out,
            "examples": self.examples,
            "copy": self.copy,
            "estimate": self.estimate,
            "error": self.error,
            "runner_up": self.runner_up,
        }

    @property
    def _found(self) -> Found:
        if self.found is None:
            raise InputError("this result is not tied to an index; search again")
        return self.found


@dataclass(frozen=True)
class NearResult(Result):
    """A column of the lake that is near mine, by meaning or by distance.

    `matched` of my values have a partner there that is near, and there are `pairs` of mine and
    theirs in all. `columns` may be two, of places. Of a result with more pairs than can be listed
    (`listed` is false) `row_coverage`, `fan_out` and `distance` are None, there are no examples,
    and `matches` is refused.
    """

    pairs: int = 0
    partners: Callable[[], Partners] | None = field(default=None, repr=False, compare=False)

    @property
    def mapping(self) -> dict[str, str]:
        """Which of its columns each column of mine goes with; a place in one column goes with both
        of another, named in one text."""
        mine = told_apart(self._found.query.columns)
        if len(mine) == len(self.columns):
            return dict(zip(mine, self.columns, strict=True))
        return dict.fromkeys(mine, ", ".join(self.columns))

    @property
    def listed(self) -> bool:
        """Whether the pairs are few enough to be held in memory and listed."""
        from lakejoin.search.near_evidence import MOST_PAIRS

        return self.pairs <= MOST_PAIRS

    @property
    def distance(self) -> float | None:
        """The median distance of my values' nearest partners, as `matches` tells distances."""
        return self.evidence.distance if self.evidence else None

    @cached_property
    def evidence(self) -> Evidence | None:
        """As of every result, over the pairs, unless they are too many; `distance` is the median
        of the nearest partners."""
        from lakejoin.search.near_evidence import near_evidence_of

        if not self.listed:
            return None
        return near_evidence_of(self._found.query, self._partners())

    def matches(self, limit: int | None = None, *, differing: bool = False) -> pa.Table:
        """The pairs that are near, the nearest first: `value` as I write it, `partner` as they do,
        their `distance`, rows of `mine` and of `theirs`. `differing` leaves out equal values."""
        from lakejoin.search.near_evidence import near_matches

        return near_matches(self._found.query, self._partners(), limit, differing)

    @property
    def equal(self) -> int:
        """How many of the pairs are of equal values."""
        return int(self._partners().same.sum())

    def unmatched(self, limit: int | None = None) -> pa.Table:
        """My values that have no partner: `value`, rows of `mine`."""
        from lakejoin.search.near_evidence import near_unmatched

        return near_unmatched(self._found.query, self._partners(), limit)

    def farthest(self, limit: int | None = None, *, differing: bool = False) -> pa.Table:
        """The same pairs, the farthest first: those that are only just near enough."""
        from lakejoin.search.near_evidence import near_matches

        return near_matches(self._found.query, self._partners(), limit, differing, farthest=True)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON has it: the keys of every result, `pairs` and `distance`."""
        return {**super().to_dict(), "pairs": self.pairs, "distance": self.distance}

    def sql(self) -> str:
        """DuckDB SQL that makes the join through a list of the pairs; refused for distances."""
        from lakejoin.search.near_sql import near_join_sql

        return near_join_sql(self._found, self._partners())

    def _partners(self) -> Partners:
        if self.partners is None:
            raise InputError("this result is not tied to an index; search again")
        if not self.listed:
            from lakejoin.search.near_evidence import MOST_PAIRS

            raise InputError(
                f"{self.table} has {self.pairs:,} pairs that are near, more than the "
                f"{MOST_PAIRS:,} that can be listed: search with a smaller tau or within"
            )
        return self.partners()
