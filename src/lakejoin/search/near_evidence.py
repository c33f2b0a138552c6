"""Evidence for a result by meaning or distance: pairs of near values, and figures of their join."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.evidence import (
    EXAMPLES,
    Evidence,
    SharedValues,
    SearchedValues,
    find_unmatched,
    find_most_frequent,
    spell_values,
)

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

PAIR_SEPARATOR = " ~ "  # between a query value and its match
MAX_LISTED_PAIRS = 8_000_000  # per result that can be listed: a pair takes about 100 bytes


@dataclass(frozen=True, eq=False)
class MatchingPairs:
    """The pairs of a query value and a lake value that are near each other.

    Sorted by `place`, the position of the query value, then by `distance`. `partner` is the id of
    the lake value, which `rows` rows hold and which may be the `same` as the query value. `values`
    maps ids to canonical values, `written` to their spelling in the lake table.
    """

    place: Array
    partner: Array
    distance: Array
    rows: Array
    same: Array
    values: Callable[[Array], pa.LargeStringArray]
    written: Callable[[Array], pa.LargeStringArray]

    def __len__(self) -> int:
        return len(self.place)

    @cached_property
    def first(self) -> Array:
        """The pair of each query value with its nearest match."""
        return np.flatnonzero(np.diff(self.place, prepend=-1))

    @property
    def meeting(self) -> SharedValues:
        """The query values with a match, and how many lake rows their matches have in total."""
        if not len(self):
            return SharedValues(self.place, self.rows)
        return SharedValues(self.place[self.first], np.add.reduceat(self.rows, self.first))


def compute_near_evidence(query: SearchedValues, partners: MatchingPairs) -> Evidence:
    """Compute the evidence from the pairs, with the median distance."""
    meeting = partners.meeting
    mine = query.counts[meeting.places]
    nearest = partners.distance[partners.first]
    return Evidence(
        float(mine.sum() / query.rows),
        float((mine * meeting.theirs).sum() / query.rows),
        _examples(query, partners),
        spell_values(query, find_most_frequent(query.counts, find_unmatched(query, meeting), EXAMPLES)),
        float(np.median(nearest)) if len(nearest) else None,
    )


def _examples(query: SearchedValues, partners: MatchingPairs) -> tuple[str, ...]:
    """Values with their nearest match: differing pairs first, as they show what near means; then
    by query rows."""
    first = partners.first
    order = np.lexsort((-query.counts[partners.place[first]], partners.same[first]))[:EXAMPLES]
    chosen = first[order]
    mine = spell_values(query, partners.place[chosen])
    theirs = partners.written(partners.partner[chosen]).to_pylist()
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
    import pyarrow as pa

    chosen = np.flatnonzero(~partners.same) if differing else np.arange(len(partners))
    distances = partners.distance[chosen]
    order = chosen[np.argsort(-distances if farthest else distances, kind="stable")[:limit]]
    positions = partners.place[order]
    return pa.table(
        {
            "value": pa.array(spell_values(query, positions), pa.large_string()),
            "partner": partners.written(partners.partner[order]),
            "distance": partners.distance[order],
            "mine": query.counts[positions],
            "theirs": partners.rows[order],
        }
    )


def list_near_unmatched(query: SearchedValues, partners: MatchingPairs, limit: int | None) -> pa.Table:
    """The query values without a match, most rows first."""
    import pyarrow as pa

    positions = find_most_frequent(query.counts, find_unmatched(query, partners.meeting), limit)
    values = pa.array(spell_values(query, positions), pa.large_string())
    return pa.table({"value": values, "mine": query.counts[positions]})
