"""The vectors of one segment, searched: candidates, bounds by column, measured pairs, scores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from lakejoin.search.vectors.candidates import TOGETHER, Candidates, Finding, together
from lakejoin.search.vectors.counting import Board, count_by_step, count_columns, in_columns
from lakejoin.search.vectors.exact import distances, limit, straight
from lakejoin.search.vectors.hits import VectorCounters
from lakejoin.search.vectors.space import Nearness, Space

Array = np.ndarray[Any, Any]

_KEPT = 1 << 23  # candidates of a segment that are kept at once
_NEAR = 1 << 22  # pairs that are kept for the evidence
_MEASURED = 1 << 14  # vectors that are taken at once


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Columns by their stands: how many of my values have a partner there, and in how many pairs.

    Columns without a pair are left out.
    """

    stands: Array
    hits: Array
    pairs: Array

    def by(self, measure: str) -> Array:
        """The scores by a measure."""
        return self.hits if measure == "hit" else self.pairs

    def take(self, chosen: Array) -> Scores:
        """The columns at some places, or where a mask is set."""
        return Scores(self.stands[chosen], self.hits[chosen], self.pairs[chosen])


@dataclass(frozen=True, slots=True, eq=False)
class _Listed:
    """Candidates by query, and where the lists of columns of their vectors are."""

    found: Candidates
    begin: Array
    length: Array
    entries: Array

    def take(self, chosen: Array) -> _Listed:
        return _Listed(
            self.found.take(chosen), self.begin[chosen], self.length[chosen], self.entries
        )


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
        """The columns that score at least `least`, and are not surely behind the best k.

        `best` are the scores that other segments gave.
        """
        if self.nearness.method in ("grid", "groups"):
            self._allow_by_paper(least)
        kept = self._kept()
        if kept is None:
            found = self._sum_up(self._streamed())
        else:
            upper = self._count(kept)
            kept, least = self._leading(kept, upper, least, best)
            wanted = upper.stands[upper.by(self.nearness.measure) >= least]
            found = self._sum_up(iter([kept.take(self._in(kept, wanted))]))
        return found.take(found.by(self.nearness.measure) >= least)

    def _allow_by_paper(self, least: int) -> None:
        """Leaves only the columns that a method of the papers finds."""
        method, nearness = self.space.paper(self.nearness.method), self.nearness
        counts = method.counts(self.queries, nearness.radius, nearness.measure, least, self.allowed)
        self.allowed = self.allowed & (counts >= least)
        self.counters.add(method.counters)

    def _leading(
        self, kept: _Listed, upper: Scores, least: int, best: Array
    ) -> tuple[_Listed, int]:
        """Measures the columns that can score the most: what they reach, the others have to.

        Gives the candidates, those of these columns settled, and the least score that counts.
        """
        k, most = self.nearness.k, upper.by(self.nearness.measure)
        if k is None or len(most) <= k:
            return kept, least
        lead = upper.stands[most >= _kth(most, k)]
        chosen = np.flatnonzero(self._in(kept, lead))
        within = self._within(kept.found.take(chosen))
        sure, stay = kept.found.sure.copy(), np.ones(len(kept.found), dtype=np.bool_)
        sure[chosen] = stay[chosen] = within
        settled = Candidates(kept.found.query, kept.found.id, sure)
        kept = _Listed(settled, kept.begin, kept.length, kept.entries).take(stay)
        # A column beside these is counted in part, which is no more than it has.
        first = self._count(kept.take(kept.found.sure)).by(self.nearness.measure)
        reached = np.concatenate([best, first])
        return kept, max(least, _kth(reached, k) if len(reached) >= k else least)

    def _sum_up(self, parts: Iterator[_Listed]) -> Scores:
        """Counts the candidates that are within the radius."""
        near: list[Array] | None = []
        with self._board() as board:
            number = 0
            for part in parts:
                within = part.take(self._within(part.found))
                number = self._add(within, board, number)
                self.counters.near += len(within.found)
                if near is not None:
                    near.append(np.stack([within.found.query, within.found.id]).astype(np.int64))
                    near = near if sum(one.shape[1] for one in near) <= _NEAR else None
            scores = self._read(board, number)
        if near is not None:
            self.near = np.concatenate([np.zeros((2, 0), np.int64), *near], axis=1)
        return scores

    # -- by radius ------------------------------------------------------------------------------

    def reached(self, radii: Array, least: int) -> Array:
        """How many columns hold a partner for at least `least` of my values, by radius."""
        kept = self._kept()
        if kept is None:
            wanted = np.flatnonzero(self.allowed)
            parts = self._streamed()
        else:
            upper = self._count(kept)
            wanted = upper.stands[upper.hits >= least]
            parts = iter([kept.take(self._in(kept, wanted))])
        limits = [limit(radius) for radius in radii.tolist()]
        steps = np.zeros((len(wanted), len(radii)), dtype=np.int32)
        last = np.zeros(len(wanted), dtype=np.int32)
        with self._marked(wanted) as slot:
            for part in parts:
                step = np.searchsorted(limits, self._distances(part.found))
                order = np.lexsort((step, part.found.query))
                order = order[step[order] < len(radii)]
                one = part.take(order)
                query, step = one.found.query, step[order]
                count_by_step(query, step, one.begin, one.length, one.entries, slot, last, steps)
        return np.count_nonzero(np.cumsum(steps, axis=1) >= least, axis=0)

    # -- candidates -----------------------------------------------------------------------------

    def _find(self) -> Finding:
        nearness = self.nearness
        paper = nearness.method in ("grid", "groups")
        radius = limit(straight(nearness.radius, nearness.metric))
        finding = self.space.finder.find(self.queries, radius, "auto" if paper else nearness.method)
        name = nearness.method if paper else finding.name
        self.counters.methods[name] = self.counters.methods.get(name, 0) + 1
        return finding

    def candidates(self) -> Iterator[Candidates]:
        """All candidates, in parts of bounded size."""
        finding = self._find()
        yield from finding
        self.counters.bounded += finding.bounded

    def _kept(self) -> _Listed | None:
        """All candidates at once; None where they are too many."""
        parts, total = [], 0
        for part in self.candidates():
            parts.append(part)
            total += len(part)
            if total > _KEPT:
                return None
        return self._listed(parts)

    def _streamed(self) -> Iterator[_Listed]:
        """The candidates of few queries at a time: never more than are kept."""
        finding = self._find()
        size = min(max(_KEPT // max(self.space.compact.count, 1), 1), TOGETHER)
        for begin in range(0, len(finding.queries), size):
            yield self._listed(list(finding.block(begin, begin + size)))
        self.counters.bounded += finding.bounded

    def _listed(self, parts: list[Candidates]) -> _Listed:
        found = together(parts)
        if self.nearness.metric == "l1":  # the straight distance is smaller: none is sure
            found = Candidates(found.query, found.id, np.zeros(len(found), dtype=np.bool_))
        begin, length = self.space.lists.spans(found.id)
        return _Listed(found, begin, length, self.space.lists.entries(begin, length))

    # -- distances ------------------------------------------------------------------------------

    def _within(self, found: Candidates) -> Array:
        """Whether each candidate is within the radius."""
        within = found.sure.copy()
        unsure = np.flatnonzero(~within)
        within[unsure] = self._distances(found.take(unsure)) <= limit(self.nearness.radius)
        return within

    def _distances(self, found: Candidates) -> Array:
        unique, which = np.unique(found.id, return_inverse=True)
        self.counters.verified += len(found)
        self.counters.encoded += len(unique)
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

    def pairs_with(self, ids: Array) -> tuple[Array, Array, Array]:
        """(query, id, distance) of all pairs within the radius whose vectors are among some."""
        if self.near is not None:
            query, near = self.near[:, np.isin(self.near[1], ids)]
            parts = [Candidates(query, near, np.zeros(len(query), np.bool_))]
        else:
            parts = [part.take(np.isin(part.id, ids)) for part in self.candidates()]
        whole = together(parts)
        far = self._distances(whole)
        within = far <= limit(self.nearness.radius)
        return whole.query[within], whole.id[within], far[within]

    # -- columns --------------------------------------------------------------------------------

    @contextmanager
    def _board(self) -> Iterator[Board]:
        """A board that nobody else uses; whoever uses it wipes it."""
        boards = self.space.boards
        try:
            board = boards.pop()
        except IndexError:
            board = Board.of(len(self.allowed))
        yield board
        boards.append(board)

    @contextmanager
    def _marked(self, stands: Array) -> Iterator[Array]:
        """By stand, the place of each wanted column among them, plus one."""
        with self._board() as board:
            board.slot[stands] = np.arange(1, len(stands) + 1)
            yield board.slot
            board.slot[stands] = 0

    def _count(self, part: _Listed) -> Scores:
        with self._board() as board:
            return self._read(board, self._add(part, board, 0))

    def _add(self, part: _Listed, board: Board, number: int) -> int:
        return count_columns(
            part.found.query,
            part.begin,
            part.length,
            part.entries,
            self.allowed,
            board.seen,
            board.hits,
            board.pairs,
            board.touched,
            number,
        )

    def _read(self, board: Board, number: int) -> Scores:
        """The counts of the columns that were touched, which are then wiped."""
        stands = board.touched[:number].astype(np.int64)
        scores = Scores(stands, board.hits[stands].astype(np.int64), board.pairs[stands])
        board.wipe(stands)
        return scores

    def _in(self, part: _Listed, stands: Array) -> Array:
        """Whether the vector of each candidate is in any of some columns."""
        out = np.empty(len(part.found), dtype=np.bool_)
        with self._marked(stands) as slot:
            in_columns(part.begin, part.length, part.entries, slot, out)
        return out


def _kth(scores: Array, k: int) -> int:
    """The k-th largest of at least k scores."""
    return int(np.partition(scores, len(scores) - k)[len(scores) - k])
