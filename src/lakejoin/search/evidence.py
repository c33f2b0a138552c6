"""Why does this join? The values that meet, the rows that find a partner, and examples.

What is said of values here holds for the combinations of a composite key too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from lakejoin.search.query import Query, locate

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]

EXAMPLES = 3
SEPARATOR = " · "  # between the parts of a combination that is shown


class Wanted(Protocol):
    """What was searched for: the distinct values of a column, or combinations of several."""

    @property
    def table(self) -> str:
        """What my table is called."""

    @property
    def columns(self) -> tuple[str, ...]:
        """My column, or the columns of my key."""

    @property
    def counts(self) -> Array:
        """In how many of my rows each value is."""

    @property
    def rows(self) -> int:
        """All my rows, those without a value too."""

    def __len__(self) -> int:
        """How many distinct values there are."""

    def written(self, places: Array) -> list[pa.LargeStringArray]:
        """The values at some places as I wrote them, by column."""


class Located:
    """The codes of a query in the segments. Those of one segment are kept, and no more: a query
    of a million values has four megabytes of them in each."""

    def __init__(self, query: Query, segments: Sequence[Segment]) -> None:
        self.query = query
        self.segments = segments
        self._lock = threading.Lock()
        self._kept: tuple[int, Array, Array] | None = None

    def __call__(self, number: int) -> tuple[Array, Array]:
        """The codes that a segment knows, ascending, and the place of each in the query."""
        from lakejoin.store.dictionary import NOT_FOUND

        with self._lock:
            if self._kept is None or self._kept[0] != number:
                codes = locate(self.query, number, self.segments[number])
                found = np.flatnonzero(codes != NOT_FOUND)
                order = found[np.argsort(codes[found], kind="stable")]
                self._kept = (number, codes[order], order)
            return self._kept[1:]


@dataclass(frozen=True, slots=True, eq=False)
class Meeting:
    """The values that a query and a column share: their places in the query, ascending, and in
    how many rows of the column each occurs."""

    places: Array
    theirs: Array


def meet(located: Located, number: int, column: int) -> Meeting:
    """What the query shares with a searched column of a segment."""
    from lakejoin.search.meeting import meet_groups

    codes, order = located(number)
    postings = located.segments[number].postings
    mine, theirs = np.empty((2, len(codes)), dtype=np.int64)
    n = meet_groups(codes, postings.groups_of(column), postings.group_start(), mine, theirs)
    places, repeats = order[mine[:n]], postings.repeats_of(column)[theirs[:n]]
    by_place = np.argsort(places)
    return Meeting(places[by_place], repeats[by_place])


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a join with a column would be like.

    `row_coverage` is the share of my rows that find a partner, `fan_out` the rows of the join per
    row of mine; rows without a value count among mine. The examples are values that most of my
    rows hold; where as many rows hold several, they stand in the order of the query. `distance` is
    the median distance of the nearest partners, where values need not be equal.
    """

    row_coverage: float
    fan_out: float
    matched: tuple[str, ...]
    unmatched: tuple[str, ...]
    distance: float | None = None


def evidence_of(query: Wanted, meeting: Meeting) -> Evidence:
    """The evidence that a meeting gives."""
    mine = query.counts[meeting.places]
    return Evidence(
        float(mine.sum() / query.rows),
        float((mine * meeting.theirs).sum() / query.rows),
        shown(query, most_rows(query.counts, meeting.places, EXAMPLES)),
        shown(query, most_rows(query.counts, missing(query, meeting), EXAMPLES)),
    )


def matches(query: Wanted, meeting: Meeting, limit: int | None) -> pa.Table:
    """The shared values as I write them, with my rows and theirs, those of most rows first."""
    order = most_rows(query.counts, meeting.places, limit)
    theirs = meeting.theirs[np.searchsorted(meeting.places, order)]
    mine = query.counts[order]
    return _listed(query, order, {"mine": mine, "theirs": theirs})


def unmatched(query: Wanted, meeting: Meeting, limit: int | None) -> pa.Table:
    """My values without a partner, with my rows, those of most rows first."""
    order = most_rows(query.counts, missing(query, meeting), limit)
    return _listed(query, order, {"mine": query.counts[order]})


def value_names(query: Wanted) -> list[str]:
    """What `matches` and `unmatched` call the columns of values: `value`, or as the key's columns.

    A key column whose name is taken, by the numbers of rows too, gets underscores behind it.
    """
    if len(query.columns) == 1:
        return ["value"]
    return told_apart(query.columns, ("mine", "theirs"))


def told_apart(
    names: Iterable[str], taken: Iterable[str] = (), alike: Callable[[str], str] = str
) -> list[str]:
    """Names, with underscores behind those that were there before or are taken.

    >>> told_apart(["n", "n", "mine"], taken=["mine"]), told_apart(["N", "n"], alike=str.lower)
    (['n', 'n_', 'mine_'], ['N', 'n_'])
    """
    used = set(map(alike, taken))
    apart: list[str] = []
    for given in names:
        name = given
        while alike(name) in used:
            name += "_"
        used.add(alike(name))
        apart.append(name)
    return apart


def _listed(query: Wanted, places: Array, numbers: dict[str, Array]) -> pa.Table:
    import pyarrow as pa

    values = dict(zip(value_names(query), query.written(places), strict=True))
    return pa.table({**values, **numbers})


def missing(query: Wanted, meeting: Meeting) -> Array:
    """The places of the values that find no partner."""
    alone = np.ones(len(query), dtype=bool)
    alone[meeting.places] = False
    return np.flatnonzero(alone)


def most_rows(counts: Array, places: Array, limit: int | None) -> Array:
    """The places with the largest counts, the largest first and ties in order.

    >>> most_rows(np.array([1, 5, 5, 2, 9]), np.array([0, 1, 2, 3]), 3).tolist()
    [1, 2, 3]
    """
    number = counts[places]
    if limit is not None and len(places) > limit:
        # Only those above the last count that is kept, and the first that have it, are sorted.
        if limit <= 0:
            return places[:0]
        cut = np.partition(number, len(number) - limit)[len(number) - limit]
        above = np.flatnonzero(number > cut)
        level = np.flatnonzero(number == cut)[: limit - len(above)]
        chosen = np.sort(np.concatenate([above, level]))
        places, number = places[chosen], number[chosen]
    return np.asarray(places[np.argsort(-number, kind="stable")])


def shown(query: Wanted, places: Array) -> tuple[str, ...]:
    """Values as I wrote them; those of a combination in one text."""
    parts = [texts.to_pylist() for texts in query.written(places)]
    return tuple(SEPARATOR.join(values) for values in zip(*parts, strict=True))
