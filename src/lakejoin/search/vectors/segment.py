"""The vectors of one segment, searched: candidates, bounds by column, measured pairs, scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lakejoin.search.vectors.candidates import TOGETHER, Candidates, Finding, together
from lakejoin.search.vectors.counting import count_by_step, count_columns, in_columns
from lakejoin.search.vectors.exact import distances, limit, straight
from lakejoin.search.vectors.hits import VectorCounters
from lakejoin.search.vectors.space import Nearness, Space

Array = np.ndarray[Any, Any]

_KEPT = 1 << 23  # candidates of a segment that are kept at once
_NEAR = 1 << 22  # pairs that are kept for the evidence
_MEASURED = 1 << 14  # vectors that are taken at once


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """By stand: how many of my values have a partner in the column, and in how many pairs."""

    hits: Array
    pairs: Array

    def by(self, measure: str) -> Array:
        """The scores by a measure."""
        return self.hits if measure == "hit" else self.pairs


class SegmentSearch:
    """One search of one segment. `near` are the pairs (query, id) that it found, if kept."""

    def __init__(
        self, space: Space, queries: Array, nearness: Nearness, excluded: Array | None
    ) -> None:
        self.space = space
        self.queries = queries
        self.nearness = nearness
        self.allowed = space.lists.allowed(excluded)
        self.near: Array | None = None
        self.counters = VectorCounters(segments=1, values=space.compact.count)

    # -- scores ---------------------------------------------------------------------------------

    def scores(self, least: int, best: Array) -> Scores:
        """The scores of all columns that reach `least`, and are among the best k so far.

        `best` are the scores that other segments gave. Columns that do not reach it have a score
        below.
        """
        if self.nearness.method in ("grid", "groups"):
            self._allow_by_paper(least)
        return self._sum_up(self._parts(least, best))

    def _allow_by_paper(self, least: int) -> None:
        """Leaves only the columns that a method of the papers finds."""
        name = self.nearness.method
        method = self.space.paper(name)
        counts = method.counts(
            self.queries, self.nearness.radius, self.nearness.measure, least, self.allowed
        )
        self.allowed = self.allowed & (counts >= least)
        self.counters.add(method.counters)

    def _parts(self, least: int, best: Array) -> Iterator[Candidates]:
        """The candidates that matter, all at once or, where these are too many, by query."""
        kept = self._kept()
        if kept is None:
            yield from self._streamed()
        else:
            yield self._promising(kept, least, best)

    def _sum_up(self, parts: Iterator[Candidates]) -> Scores:
        total = self._none()
        seen = np.full(len(self.allowed), -1, dtype=np.int64)
        near: list[Array] | None = []
        for part in parts:
            within = part.take(self._within(part))
            self._count(within, self.allowed, total, seen)
            self.counters.near += len(within)
            if near is not None:
                near.append(np.stack([within.query.astype(np.int64), within.id.astype(np.int64)]))
                near = near if sum(one.shape[1] for one in near) <= _NEAR else None
        if near is not None:
            self.near = np.concatenate([np.zeros((2, 0), np.int64), *near], axis=1)
        return total

    def _promising(self, found: Candidates, least: int, best: Array) -> Candidates:
        """The candidates of the columns that can still be among those that are wanted."""
        upper = self._none()
        self._count(found, self.allowed, upper)
        most = np.where(self.allowed, upper.by(self.nearness.measure), 0)
        k = self.nearness.k
        if k is not None and np.count_nonzero(most) > k:
            # Those that can score the most go first: what they reach, the others have to reach.
            lead = most >= np.partition(most, len(most) - k)[len(most) - k]
            found = self._settled(found, lead)
            first = self._none()
            self._count(found.take(found.sure), lead, first)
            reached = np.concatenate([best, first.by(self.nearness.measure)])
            least = max(least, int(np.partition(reached, len(reached) - k)[len(reached) - k]))
        self.allowed = self.allowed & (most >= least)
        return found.take(self._in(found, self.allowed))

    def _settled(self, found: Candidates, columns: Array) -> Candidates:
        """The candidates without those of some columns that are too far; these are then sure."""
        chosen = np.flatnonzero(self._in(found, columns))
        within = self._within(found.take(chosen))
        sure, keep = found.sure.copy(), np.ones(len(found), dtype=np.bool_)
        sure[chosen] = keep[chosen] = within
        return Candidates(found.query, found.id, sure).take(keep)

    # -- by radius ------------------------------------------------------------------------------

    def reached(self, radii: Array, least: int) -> Array:
        """How many columns hold a partner for at least `least` of my values, by radius."""
        steps = np.zeros((len(self.allowed), len(radii)), dtype=np.int32)
        seen = np.full(len(self.allowed), -1, dtype=np.int64)
        for part in self._parts(least, np.zeros(0, np.int64)):
            far = self._distances(part)
            step = np.searchsorted([limit(radius) for radius in radii.tolist()], far)
            order = np.lexsort((step, part.query))
            order = order[step[order] < len(radii)]
            chosen = part.take(order)
            begin, length = self.space.lists.spans(chosen.id)
            entries = self.space.lists.entries(begin, length)
            count_by_step(
                chosen.query, step[order], begin, length, entries, self.allowed, seen, steps
            )
        return np.count_nonzero(np.cumsum(steps, axis=1) >= least, axis=0)

    # -- candidates -----------------------------------------------------------------------------

    def candidates(self) -> Iterator[Candidates]:
        """All candidates, in parts of bounded size."""
        finding = self._find()
        yield from finding
        self.counters.bounded += finding.bounded

    def _find(self) -> Finding:
        nearness = self.nearness
        method = "auto" if nearness.method in ("grid", "groups") else nearness.method
        radius = limit(straight(nearness.radius, nearness.metric))
        finding = self.space.finder.find(self.queries, radius, method)
        name = nearness.method if nearness.method != "auto" else finding.name
        self.counters.methods[name] = self.counters.methods.get(name, 0) + 1
        return finding

    def _kept(self) -> Candidates | None:
        parts, total = [], 0
        for part in self.candidates():
            parts.append(part)
            total += len(part)
            if total > _KEPT:
                return None
        return self._unsure(together(parts))

    def _streamed(self) -> Iterator[Candidates]:
        """The candidates of few queries at a time: never more than are kept."""
        finding = self._find()
        size = min(max(_KEPT // max(self.space.compact.count, 1), 1), TOGETHER)
        for begin in range(0, len(finding.queries), size):
            yield self._unsure(together(list(finding.block(begin, begin + size))))
        self.counters.bounded += finding.bounded

    def _unsure(self, found: Candidates) -> Candidates:
        """A straight distance within the radius says nothing of the one by another metric."""
        if self.nearness.metric != "l1":
            return found
        return Candidates(found.query, found.id, np.zeros(len(found), dtype=np.bool_))

    def _within(self, found: Candidates) -> Array:
        """Whether each candidate is within the radius."""
        within = found.sure.copy()
        unsure = found.take(~within)
        within[~within] = self._distances(unsure) <= limit(self.nearness.radius)
        return within

    def _distances(self, found: Candidates) -> Array:
        counters = self.counters
        unique, which = np.unique(found.id, return_inverse=True)
        counters.verified += len(found)
        counters.encoded += len(unique)
        out = np.empty(len(found), dtype=np.float64)
        order = np.argsort(which, kind="stable")
        for begin in range(0, len(unique), _MEASURED):
            vectors = self.space.source.take(unique[begin : begin + _MEASURED])
            first, last = np.searchsorted(which[order], [begin, begin + len(vectors)])
            some = order[first:last]
            out[some] = distances(
                self.queries, vectors, found.query[some], which[some] - begin, self.nearness.metric
            )
        return out

    # -- columns --------------------------------------------------------------------------------

    def _none(self) -> Scores:
        zeros = np.zeros((2, len(self.allowed)), dtype=np.int64)
        return Scores(zeros[0], zeros[1])

    def _count(
        self, found: Candidates, allowed: Array, out: Scores, seen: Array | None = None
    ) -> None:
        if seen is None:
            seen = np.full(len(allowed), -1, dtype=np.int64)
        begin, length = self.space.lists.spans(found.id)
        entries = self.space.lists.entries(begin, length)
        count_columns(found.query, begin, length, entries, allowed, seen, out.hits, out.pairs)

    def _in(self, found: Candidates, columns: Array) -> Array:
        begin, length = self.space.lists.spans(found.id)
        entries = self.space.lists.entries(begin, length)
        out = np.empty(len(found), dtype=np.bool_)
        in_columns(begin, length, entries, columns, out)
        return out

    def pairs_with(self, ids: Array) -> tuple[Array, Array, Array]:
        """(query, id, distance) of all pairs within the radius whose vectors are among some."""
        if self.near is not None:
            chosen = self.near[:, np.isin(self.near[1], ids)]
            parts = [Candidates(chosen[0], chosen[1], np.zeros(chosen.shape[1], np.bool_))]
        else:
            parts = [part.take(np.isin(part.id, ids)) for part in self.candidates()]
        whole = together(parts)
        far = self._distances(whole)
        within = far <= limit(self.nearness.radius)
        return whole.query[within], whole.id[within], far[within]
