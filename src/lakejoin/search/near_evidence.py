"""Why is this column near mine? The pairs of values with their distances, and what a join of them
would be like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.evidence import EXAMPLES, Evidence, Meeting, Wanted, missing, most_rows, shown

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

BETWEEN = " ~ "  # mine and theirs
MOST_PAIRS = 8_000_000  # that are listed of one result: a pair takes some 100 bytes meanwhile


@dataclass(frozen=True, eq=False)
class Partners:
    """The pairs of a value of mine and one of theirs that are near each other.

    They stand by `place`, my value's; then by rising `distance`. `partner` numbers theirs, which
    stands in `rows` rows and may be the `same` as mine. By their numbers, `values` gives the
    canonical values of some of theirs, and `written` how they are written there.
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
        """The pair of each of my values with its nearest partner."""
        return np.flatnonzero(np.diff(self.place, prepend=-1))

    @property
    def meeting(self) -> Meeting:
        """My values that have a partner, and in how many rows their partners are together."""
        if not len(self):
            return Meeting(self.place, self.rows)
        return Meeting(self.place[self.first], np.add.reduceat(self.rows, self.first))


def near_evidence_of(query: Wanted, partners: Partners) -> Evidence:
    """The evidence that pairs give: as that of equal values, and the median distance."""
    meeting = partners.meeting
    mine = query.counts[meeting.places]
    nearest = partners.distance[partners.first]
    return Evidence(
        float(mine.sum() / query.rows),
        float((mine * meeting.theirs).sum() / query.rows),
        _examples(query, partners),
        shown(query, most_rows(query.counts, missing(query, meeting), EXAMPLES)),
        float(np.median(nearest)) if len(nearest) else None,
    )


def _examples(query: Wanted, partners: Partners) -> tuple[str, ...]:
    """Values with their nearest partners: those that differ before those that are the same, as it
    is they that tell what near is; among each, those that most of my rows hold."""
    first = partners.first
    order = np.lexsort((-query.counts[partners.place[first]], partners.same[first]))[:EXAMPLES]
    chosen = first[order]
    mine = shown(query, partners.place[chosen])
    theirs = partners.written(partners.partner[chosen]).to_pylist()
    return tuple(f"{a}{BETWEEN}{b}" for a, b in zip(mine, theirs, strict=True))


def near_matches(
    query: Wanted,
    partners: Partners,
    limit: int | None,
    differing: bool = False,
    farthest: bool = False,
) -> pa.Table:
    """All pairs, or the first `limit`: the nearest first, or the farthest; those of equal values
    too, or only `differing` ones."""
    import pyarrow as pa

    chosen = np.flatnonzero(~partners.same) if differing else np.arange(len(partners))
    away = partners.distance[chosen]
    order = chosen[np.argsort(-away if farthest else away, kind="stable")[:limit]]
    places = partners.place[order]
    return pa.table(
        {
            "value": pa.array(shown(query, places), pa.large_string()),
            "partner": partners.written(partners.partner[order]),
            "distance": partners.distance[order],
            "mine": query.counts[places],
            "theirs": partners.rows[order],
        }
    )


def near_unmatched(query: Wanted, partners: Partners, limit: int | None) -> pa.Table:
    """My values without a partner, those of most rows first."""
    import pyarrow as pa

    places = most_rows(query.counts, missing(query, partners.meeting), limit)
    values = pa.array(shown(query, places), pa.large_string())
    return pa.table({"value": values, "mine": query.counts[places]})
