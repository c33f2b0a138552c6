"""PEXESO for numeric vectors: groups around common centres, and dominance (Dong and others, 2020).

The vectors of a column are parted into groups around centres that all columns share. A query's are
as well; groups are compared by their centres' distance and their radii (`groups_lemmas`), through a
tree over the centres (`groups_tree`), and only what that leaves open is compared vector by vector.
Columns are checked one after the other (`groups_checking`), those first that tell the most of
others (`groups_dominance`). Algorithm 4 is `GroupMethod.counts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from lakejoin.engines.meaning.hits import VectorCounters
from lakejoin.errors import InputError
from lakejoin.model import Array
from published.groups_building import (
    build_groups,
    build_lists,
    choose_centres,
    rarest,
)
from published.groups_checking import check_columns
from published.groups_dominance import leading
from published.groups_state import (
    COMPARED,
    MEASURED,
    NEAR,
    OPEN,
    SETTLED,
    Asked,
    Goal,
    Marks,
)
from published.groups_tree import apart, build_tree
from published.loaded import Loaded, live, load
from published.metric import Reach, distances, number_of, reach_of
from published.pivots import choose_pivots, mapped

if TYPE_CHECKING:
    from lakejoin.engines.meaning.engine import VectorSpace


@dataclass(frozen=True, slots=True)
class GroupOptions:
    """How the group method works; the numbers are those that the paper found best.

    At most `centres` are `drawn` from the "space", as in the paper, or from the "data": in many
    dimensions all vectors are about equally far from what is drawn from the space. The tree has
    `pivots` levels. Of every list the first `share` decide which column is next. Without
    `dominance` it is the paper's PNODOM: no column tells anything of others. With `exact` columns
    are counted to the end, as all our methods do; else a count stops when it is enough.
    """

    centres: int = 1000
    drawn: str = "data"
    pivots: int = 7
    share: float = 0.08
    dominance: bool = True
    exact: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InputError(f"a share of a list is more than 0 and at most 1, not {self.share}")


class GroupMethod:
    """Counts by column with groups around centres. `counters` are those of the last call."""

    def __init__(self, loaded: Loaded, metric: str = "l2", options: GroupOptions | None = None):
        self.options = options or GroupOptions()
        self.counters = VectorCounters()
        self._metric = number_of(metric)
        self._zeros, self._vectors, self._values = loaded.zeros, loaded.vectors, len(loaded.ids)
        self.centres = choose_centres(loaded, self.options.centres, self.options.drawn)
        self.groups = build_groups(loaded, self.centres, self._metric)
        self._largest = float(self.groups.radius.max(initial=0.0))
        self._lists = build_lists(self.groups, len(self.centres))
        chosen = rarest(self.groups, len(self.centres))
        self._keys = build_lists(self.groups, len(self.centres), chosen)
        widest = np.full(len(self.centres), -1.0)
        np.maximum.at(widest, self.groups.centre, self.groups.radius)
        pivots = choose_pivots(self.centres, self.options.pivots, self._metric, "hf")
        self._tree = build_tree(mapped(self.centres, pivots, self._metric), widest)

    @classmethod
    def of(
        cls, space: VectorSpace, metric: str = "l2", options: GroupOptions | None = None
    ) -> Self:
        """The groups of a segment's vectors."""
        return cls(load(space), metric, options)

    def counts(
        self, queries: Array, radius: float, measure: str, least: int, allowed: Array
    ) -> Array:
        """By column, how many queries have a match ("hit") or how many pairs match ("all").

        Exact for columns that reach `least`, others have some number below it.
        """
        columns, vectors = len(self.groups.first) - 1, live(queries, self._zeros)
        self.counters = VectorCounters(1, self._values)
        count = np.zeros(columns, dtype=np.int64)
        if not self._values or not len(vectors):
            return count
        tally = np.zeros(3, dtype=np.int64)
        asked, reach = self._asked(vectors, radius, tally)
        may, does = np.zeros((2, len(vectors)), dtype=np.bool_)
        times, touched = np.zeros((2, columns), dtype=np.int64)
        state = np.where(allowed, OPEN, SETTLED).astype(np.uint8)
        radii = np.full(len(self.centres), -1.0)
        marks = Marks(state, count, may, does, times, touched, radii)
        options = self.options
        goal = Goal(least, measure == "all", options.exact, options.dominance)
        head = self._lists.start[:-1].copy()
        while True:
            often = leading(self.groups, self._lists, marks.state, head, options.share)
            order = np.argsort(-often, kind="stable")[: np.count_nonzero(often)]
            if not len(order):
                break
            check_columns(
                order, self.groups, self._lists, self._keys, self._vectors,
                asked, reach, goal, marks, tally,
            )  # fmt: skip
        bounded, verified, near = (int(tally[i]) for i in (COMPARED, MEASURED, NEAR))
        self.counters = VectorCounters(1, self._values, bounded, verified, near)
        return count

    def _asked(self, vectors: Array, radius: float, tally: Array) -> tuple[Asked, Reach]:
        """The query's groups, and how far their centres are from others."""
        centres, metric = self.centres, self._metric
        away = np.empty((len(vectors), len(centres)), dtype=np.float32)
        distances(metric, vectors, centres, away)
        # Centres are no farther from each other than twice what a query is from one.
        reach = reach_of(radius, metric, max(2 * float(away.max()), self._largest))
        centre, own = away.argmin(axis=1), away.min(axis=1)
        order = np.lexsort((own, centre))
        centre, own = centre[order], own[order]
        start = np.flatnonzero(np.append(True, centre[1:] != centre[:-1]))
        ends = np.append(start[1:], len(centre))
        of_centre = np.full(len(centres), -1, dtype=np.int64)
        of_centre[centre[start]] = np.arange(len(start))
        between = np.full((len(start), len(centres)), np.inf, dtype=np.float32)
        radii = own[ends - 1]
        tally[MEASURED] += away.size + apart(
            self._tree, centre[start], radii, centres, metric, reach.far, between
        )
        asked = Asked(
            centre[start],
            radii,
            np.append(start, len(centre)),
            np.add.reduceat((own <= reach.sure / 2).astype(np.int64), start),
            of_centre,
            np.ascontiguousarray(vectors[order]),
            np.ascontiguousarray(away[order]),
            between,
        )
        return asked, reach
