"""Gather the evidence for a result: shared or near values, row coverage, fan-out and examples."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from lakejoin.engines.query import Query, locate_codes
from lakejoin.kernels.packing import intersect_groups
from lakejoin.model import Array
from lakejoin.store.dictionary import NOT_FOUND
from lakejoin.values.column_names import make_names_unique

if TYPE_CHECKING:
    from lakejoin.store.segment import Segment


EXAMPLES = 3
SEPARATOR = " · "  # between the values of a combination in an example


class SearchedValues(Protocol):
    """What a search looks for: the distinct values of a column, or combinations of several."""

    @property
    def table(self) -> str:
        """The name of the query table."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The query column, or the columns of the key."""

    @property
    def counts(self) -> Array:
        """How many query rows hold each value."""

    @property
    def rows(self) -> int:
        """The number of query rows, with or without a value."""

    def __len__(self) -> int:
        """The number of distinct values."""

    def texts_of(self, positions: Array) -> list[pa.LargeStringArray]:
        """The values at some positions as the query table spells them, by column."""


class QueryCodes:
    """The codes of a query in the segments. Only the last segment's are cached: a query of a
    million values takes four megabytes per segment."""

    def __init__(self, query: Query, segments: Sequence[Segment]) -> None:
        self.query = query
        self.segments = segments
        self._lock = threading.Lock()
        self._cached: tuple[int, Array, Array] | None = None

    def __call__(self, segment_index: int) -> tuple[Array, Array]:
        """The codes of the values a segment has, ascending, and their positions in the query."""
        with self._lock:
            if self._cached is None or self._cached[0] != segment_index:
                codes = locate_codes(self.query, segment_index, self.segments[segment_index])
                known = np.flatnonzero(codes != NOT_FOUND)
                order = known[np.argsort(codes[known], kind="stable")]
                self._cached = (segment_index, codes[order], order)
            return self._cached[1:]


@dataclass(frozen=True, slots=True, eq=False)
class SharedValues:
    """The values that a query and a column share: their positions in the query, ascending, and
    how many rows of the column hold each."""

    positions: Array
    lake_rows: Array


def find_shared_values(located: QueryCodes, segment_index: int, column: int) -> SharedValues:
    codes, order = located(segment_index)
    postings = located.segments[segment_index].postings
    mine, theirs = np.empty((2, len(codes)), dtype=np.int64)
    n = intersect_groups(codes, postings.groups_of(column), postings.group_start(), mine, theirs)
    positions, repeats = order[mine[:n]], postings.repeats_of(column)[theirs[:n]]
    order_by_position = np.argsort(positions)
    return SharedValues(positions[order_by_position], repeats[order_by_position])


@dataclass(frozen=True, slots=True)
class Evidence:
    """Figures and examples of a join with a column.

    `row_coverage` is the share of query rows with a match, `fan_out` the joined rows per query row;
    query rows without a value count too. Examples are the values of the most query rows, ties in
    query order. `distance` is the median distance to the nearest match, if values need not be
    equal.
    """

    row_coverage: float
    fan_out: float
    matched: tuple[str, ...]
    unmatched: tuple[str, ...]
    distance: float | None = None


class RowFigures(NamedTuple):
    """The share of query rows with a match, and the joined rows per query row."""

    row_coverage: float
    fan_out: float


def count_rows(query: SearchedValues, meeting: SharedValues) -> RowFigures:
    mine = query.counts[meeting.positions]
    return RowFigures(
        float(mine.sum() / query.rows), float((mine * meeting.lake_rows).sum() / query.rows)
    )


def compute_evidence(query: SearchedValues, meeting: SharedValues) -> Evidence:
    return Evidence(
        *count_rows(query, meeting),
        spell_values(query, find_most_frequent(query.counts, meeting.positions, EXAMPLES)),
        spell_values(
            query, find_most_frequent(query.counts, _find_unmatched(query, meeting), EXAMPLES)
        ),
    )


def list_matches(query: SearchedValues, meeting: SharedValues, limit: int | None) -> pa.Table:
    """The shared values with the number of rows on both sides, most query rows first."""
    order = find_most_frequent(query.counts, meeting.positions, limit)
    theirs = meeting.lake_rows[np.searchsorted(meeting.positions, order)]
    mine = query.counts[order]
    return _to_table(query, order, {"mine": mine, "theirs": theirs})


def list_unmatched(query: SearchedValues, meeting: SharedValues, limit: int | None) -> pa.Table:
    """The query values without a match and their number of rows, most rows first."""
    order = find_most_frequent(query.counts, _find_unmatched(query, meeting), limit)
    return _to_table(query, order, {"mine": query.counts[order]})


def _to_table(query: SearchedValues, positions: Array, counts: dict[str, Array]) -> pa.Table:
    """A table of values with counts: in one column `value`, or in the key's columns, with
    underscores after names that are taken."""
    texts, names = query.texts_of(positions), ["value"]
    if len(texts) > 1:
        names = make_names_unique(query.columns, ("mine", "theirs"))
    return pa.table({**dict(zip(names, texts, strict=True)), **counts})


def _find_unmatched(query: SearchedValues, meeting: SharedValues) -> Array:
    unmatched = np.ones(len(query), dtype=bool)
    unmatched[meeting.positions] = False
    return np.flatnonzero(unmatched)


def find_most_frequent(counts: Array, positions: Array, limit: int | None) -> Array:
    """The positions with the largest counts, largest first, ties in order.

    >>> find_most_frequent(np.array([1, 5, 5, 2, 9]), np.array([0, 1, 2, 3]), 3).tolist()
    [1, 2, 3]
    """
    rows = counts[positions]
    if limit is not None and len(positions) > limit:
        # Sort only the counts above the last one kept, and the first that equal it.
        if limit <= 0:
            return positions[:0]
        cut = np.partition(rows, len(rows) - limit)[len(rows) - limit]
        above = np.flatnonzero(rows > cut)
        level = np.flatnonzero(rows == cut)[: limit - len(above)]
        chosen = np.sort(np.concatenate([above, level]))
        positions, rows = positions[chosen], rows[chosen]
    return np.asarray(positions[np.argsort(-rows, kind="stable")])


def spell_values(query: SearchedValues, positions: Array) -> tuple[str, ...]:
    """Values as the query table spells them; a combination becomes one text."""
    parts = [texts.to_pylist() for texts in query.texts_of(positions)]
    return tuple(SEPARATOR.join(values) for values in zip(*parts, strict=True))


PAIR_SEPARATOR = " ~ "  # between a query value and its match


@dataclass(frozen=True, eq=False)
class MatchingPairs:
    """The pairs of a query value and a lake value that are near each other.

    Sorted by `position`, that of the query value, then by `distance`. `partner` is the id of the
    lake value, which `rows` rows hold and which may be the `same` as the query value. `values`
    maps ids to canonical values, `spellings_of` to their spelling in the lake table. `chance` is
    that of each pair, if matches are judged.
    """

    position: Array
    partner: Array
    distance: Array
    rows: Array
    same: Array
    values: Callable[[Array], pa.LargeStringArray]
    spellings_of: Callable[[Array], pa.LargeStringArray]
    chance: Array | None = None

    def __len__(self) -> int:
        return len(self.position)

    @cached_property
    def first(self) -> Array:
        """The pair of each query value with its nearest match."""
        return np.flatnonzero(np.diff(self.position, prepend=-1))

    @property
    def shared_values(self) -> SharedValues:
        """The query values with a match, and how many lake rows their matches have in total."""
        if not len(self):
            return SharedValues(self.position, self.rows)
        return SharedValues(self.position[self.first], np.add.reduceat(self.rows, self.first))


def compute_near_evidence(query: SearchedValues, partners: MatchingPairs) -> Evidence:
    nearest = partners.distance[partners.first]
    return replace(
        compute_evidence(query, partners.shared_values),
        matched=_examples(query, partners),
        distance=float(np.median(nearest)) if len(nearest) else None,
    )


def _examples(query: SearchedValues, partners: MatchingPairs) -> tuple[str, ...]:
    """Values with their nearest match: differing pairs first, as they show what near means; then
    by query rows."""
    first = partners.first
    order = np.lexsort((-query.counts[partners.position[first]], partners.same[first]))[:EXAMPLES]
    chosen = first[order]
    mine = spell_values(query, partners.position[chosen])
    theirs = partners.spellings_of(partners.partner[chosen]).to_pylist()
    return tuple(f"{a}{PAIR_SEPARATOR}{b}" for a, b in zip(mine, theirs, strict=True))


def list_near_matches(
    query: SearchedValues,
    partners: MatchingPairs,
    limit: int | None,
    differing: bool = False,
    farthest: bool = False,
) -> pa.Table:
    """List the pairs, at most `limit`: the nearest first, or the `farthest`; all, or only
    `differing` values."""
    chosen = np.flatnonzero(~partners.same) if differing else np.arange(len(partners))
    distances = partners.distance[chosen]
    order = chosen[np.argsort(-distances if farthest else distances, kind="stable")[:limit]]
    positions = partners.position[order]
    chance = {} if partners.chance is None else {"chance": partners.chance[order]}
    return pa.table(
        {
            "value": pa.array(spell_values(query, positions), pa.large_string()),
            "partner": partners.spellings_of(partners.partner[order]),
            "distance": partners.distance[order],
            **chance,
            "mine": query.counts[positions],
            "theirs": partners.rows[order],
        }
    )
