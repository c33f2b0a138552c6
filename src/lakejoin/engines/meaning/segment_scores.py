"""Search the vectors of one segment: candidates, bounds by column, measured pairs, scores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from lakejoin.engines.meaning.column_counts import (
    CountBoard,
    ListedPairs,
    count_by_step,
    count_columns,
    count_nearest,
    distinct_ids,
    in_columns,
    mark_nearest,
)
from lakejoin.engines.meaning.hits import VectorCounters
from lakejoin.engines.meaning.vector_candidates import (
    CandidatePairs,
    CandidateSearch,
    merge_candidates,
)
from lakejoin.engines.meaning.vector_distances import (
    distances_of_pairs,
    limit,
    pairs_within,
)
from lakejoin.engines.meaning.vector_space import Nearness, VectorSpace
from lakejoin.model import Array

_MOST_CANDIDATES = 1 << 22  # candidates of a segment kept in memory, some 110 bytes each
_TURN = 4096  # queries per block if candidates are not kept
_DEAR = 1 << 12  # candidates up to which all are measured at once, if texts must be encoded
_TURN_SHARE = 0.15  # share of the candidates that is measured first
_NOTED = 1 << 27  # (column, query) pairs whose nearest match is kept at once, a byte each


@dataclass(frozen=True, slots=True, eq=False)
class ColumnScores:
    """Columns by size rank: how many query vectors have a match there, and in how many pairs.

    Only columns with a pair.
    """

    size_ranks: Array
    hits: Array
    pairs: Array

    def by(self, measure: str) -> Array:
        return self.hits if measure == "hit" else self.pairs

    def take(self, chosen: Array) -> ColumnScores:
        return ColumnScores(self.size_ranks[chosen], self.hits[chosen], self.pairs[chosen])


@dataclass(frozen=True, slots=True, eq=False)
class _Listed:
    """Candidates by query, and the lists of columns of their vectors."""

    candidates: CandidatePairs
    begin: Array
    length: Array
    entries: Array

    def pairs(self, query: Array) -> ListedPairs:
        """For compiled code, by the given queries."""
        return ListedPairs(query, self.begin, self.length, self.entries)

    def take(self, chosen: Array) -> _Listed:
        return _Listed(
            self.candidates.take(chosen), self.begin[chosen], self.length[chosen], self.entries
        )


class VectorSegmentSearch:
    """One search of one segment. `near` are its pairs (query, id), if kept."""

    def __init__(
        self, space: VectorSpace, queries: Array, nearness: Nearness, excluded: Array | None
    ) -> None:
        self.space = space
        self.queries = queries
        self.nearness = nearness
        self.allowed = space.lists.allowed(excluded)
        self.near: Array | None = None
        self.counters = VectorCounters(segments=1, values=space.compact.count)

    # -- scores ---------------------------------------------------------------------------------

    def scores(self, least: int, best: Array) -> ColumnScores:
        """The columns that score at least `least` and may be among the best k.

        `best` are the scores of other segments.
        """
        listed = self._all_candidates()
        if listed is None:
            steps, pairs = self._streamed(np.array([self.nearness.radius]))
            size_ranks = np.flatnonzero(pairs)
            column_scores = ColumnScores(
                size_ranks, steps[size_ranks, 0].astype(np.int64), pairs[size_ranks]
            )
        else:
            upper = self._count(listed)
            listed, least = self._leading(listed, upper, least, best)
            within = self._winnowed(self._with_a_chance(listed, upper, least), least)
            within = within.take(self._within(within.candidates))
            self._keep_near(within.candidates)
            column_scores = self._count(within)
        return column_scores.take(column_scores.by(self.nearness.measure) >= least)

    def _leading(
        self, listed: _Listed, upper: ColumnScores, least: int, best: Array
    ) -> tuple[_Listed, int]:
        """Measure the columns with the largest bounds: the others need at least their scores.

        Returns the candidates, those of these columns decided, and the least score that counts.
        """
        k, most = self.nearness.k, upper.by(self.nearness.measure)
        if k is None or len(most) <= k:
            return listed, least
        lead = upper.size_ranks[most >= _kth(most, k)]
        listed = self._settled(listed, np.flatnonzero(self._in(listed, lead)))
        # Other columns are counted in part, which is never too high.
        first = self._count(listed.take(listed.candidates.sure)).by(self.nearness.measure)
        reached = np.concatenate([best, first])
        return listed, max(least, _kth(reached, k) if len(reached) >= k else least)

    def _winnowed(self, listed: _Listed, least: int) -> _Listed:
        """If vectors are encoded from texts: measure queries with few candidates first.

        Columns that lose their chance that way need not be measured for queries with many. This
        continues as long as each round removes more candidates than it measures.
        """
        before = len(listed.candidates) - np.count_nonzero(listed.candidates.sure)
        while before > _DEAR and self.space.source.whole() is None:
            open_ = np.bincount(
                listed.candidates.query[~listed.candidates.sure], minlength=len(self.queries)
            )
            rising = np.argsort(open_, kind="stable")
            few = np.zeros(len(open_), dtype=np.bool_)
            few[rising[np.cumsum(open_[rising]) <= before * _TURN_SHARE]] = True
            chosen = np.flatnonzero(few[listed.candidates.query] & ~listed.candidates.sure)
            if not len(chosen):
                break
            listed = self._settled(listed, chosen)
            listed = self._with_a_chance(listed, self._count(listed), least)
            after = len(listed.candidates) - np.count_nonzero(listed.candidates.sure)
            if before - len(chosen) - after < len(chosen):
                break
            before = after
        return listed

    def _with_a_chance(self, listed: _Listed, upper: ColumnScores, least: int) -> _Listed:
        """The candidates of columns whose bound is enough."""
        promising = upper.size_ranks[upper.by(self.nearness.measure) >= least]
        return listed.take(self._in(listed, promising))

    def _settled(self, listed: _Listed, chosen: Array) -> _Listed:
        """Measure some candidates: then they are sure, or dropped."""
        within = self._within(listed.candidates.take(chosen))
        sure, stay = listed.candidates.sure.copy(), np.ones(len(listed.candidates), dtype=np.bool_)
        sure[chosen] = stay[chosen] = within
        settled = CandidatePairs(listed.candidates.query, listed.candidates.id, sure)
        return _Listed(settled, listed.begin, listed.length, listed.entries).take(stay)

    def _keep_near(self, within: CandidatePairs) -> None:
        self.counters.near += len(within)
        self.near = np.stack([within.query.astype(np.int64), within.id.astype(np.int64)])

    # -- by radius ------------------------------------------------------------------------------

    def reached(self, radii: Array, least: int) -> Array:
        """By radius, how many columns match at least `least` query vectors."""
        listed = self._all_candidates()
        steps = self._streamed(radii)[0] if listed is None else self._by_step(listed, radii, least)
        return np.count_nonzero(np.cumsum(steps, axis=1) >= least, axis=0)

    def _by_step(self, listed: _Listed, radii: Array, least: int) -> Array:
        """By column that can reach `least`, how many queries have their nearest match by step."""
        upper = self._count(listed)
        promising = upper.size_ranks[upper.hits >= least]
        part = listed.take(self._in(listed, promising))
        step = np.searchsorted(_limits(radii), self._distances(part.candidates))
        order = np.lexsort((step, part.candidates.query))
        order = order[step[order] < len(radii)]
        part, step = part.take(order), step[order]
        steps = np.zeros((len(promising), len(radii)), dtype=np.int32)
        last = np.zeros(len(promising), dtype=np.int32)
        with self._marked(promising) as slot:
            count_by_step(part.pairs(part.candidates.query), step, slot, last, steps)
        return steps

    def _streamed(self, radii: Array) -> tuple[Array, Array]:
        """For too many candidates to keep: by column, how many queries have their nearest match in
        each step, and how many pairs are within the largest radius.

        They come by vector, so that each is read once for many queries: for 4,096, or as many as
        there is room to keep the nearest match in every column.
        """
        limits, columns = _limits(radii), len(self.allowed)
        steps = np.zeros((columns, len(radii)), dtype=np.int32)
        pairs = np.zeros(columns, dtype=np.int64)
        finding = self._find(again=True)
        size = min(max(_NOTED // max(columns, 1), 1), _TURN)
        for begin in range(0, len(finding.queries), size):
            some = min(size, len(finding.queries) - begin)
            nearest = np.zeros((columns, some), dtype=np.uint8)
            for batch in finding.block(begin, begin + size):
                candidates, step = self._stepped(batch, limits)
                part = self._listed(candidates)
                self.counters.near += len(step)
                query = finding.position_of(part.candidates.query) - begin
                mark_nearest(part.pairs(query), step, self.allowed, nearest, pairs)
            count_nearest(nearest, steps)
        self.counters.bounded += finding.bounded
        return steps, pairs

    def _stepped(
        self, candidates: CandidatePairs, limits: list[float]
    ) -> tuple[CandidatePairs, Array]:
        """The candidates within the last limit, and the step of each."""
        if len(limits) == 1:
            candidates = candidates.take(self._measured(candidates))
            return candidates, np.zeros(len(candidates), dtype=np.int64)
        far = self._distances(candidates)
        candidates = candidates.take(far <= limits[-1])
        return candidates, np.searchsorted(limits, far[far <= limits[-1]])

    # -- candidates -----------------------------------------------------------------------------

    def _find(self, again: bool = False) -> CandidateSearch:
        nearness = self.nearness
        radius = limit(nearness.radius)
        finding = self.space.finder.find(self.queries, radius, nearness.method)
        if not again:
            methods = self.counters.methods
            methods[finding.name] = methods.get(finding.name, 0) + 1
        return finding

    def _all_candidates(self) -> _Listed | None:
        """All candidates at once; None if there are too many."""
        parts, total = [], 0
        finding = self._find()
        for part in finding:
            parts.append(part)
            total += len(part)
            if total > _MOST_CANDIDATES:
                return None
        self.counters.bounded += finding.bounded
        return self._listed(merge_candidates(parts))

    def _listed(self, candidates: CandidatePairs) -> _Listed:
        unique, which = self._distinct(candidates.id)
        begin, length = self.space.lists.spans(unique)
        entries = self.space.lists.entries(begin, length)
        return _Listed(candidates, begin[which], length[which], entries)

    # -- distances ------------------------------------------------------------------------------

    def _within(self, candidates: CandidatePairs) -> Array:
        within = candidates.sure.copy()
        unsure = np.flatnonzero(~within)
        within[unsure] = self._measured(candidates.take(unsure))
        return within

    def _measured(self, candidates: CandidatePairs) -> Array:
        """Whether each candidate is within the radius, measured even if it is sure."""
        measurable = self._measurable(candidates)
        return pairs_within(self.space.source, *measurable, self.nearness.radius)

    def _distances(self, candidates: CandidatePairs) -> Array:
        return distances_of_pairs(self.space.source, *self._measurable(candidates))

    def _measurable(self, candidates: CandidatePairs) -> tuple[Array, Array, Array, Array]:
        """The query vectors, each candidate's position among them, the distinct vector ids, and
        each candidate's position among these."""
        unique, which = self._distinct(candidates.id)
        self.counters.verified += len(candidates)
        self.counters.encoded += len(unique)
        return self.queries, candidates.query, unique, which

    def _distinct(self, ids: Array) -> tuple[Array, Array]:
        """The distinct ids, and the position of each id among them."""
        free = self.space.slots
        try:
            slot = free.pop()
        except IndexError:
            slot = np.zeros(self.space.compact.count, dtype=np.int32)
        which = np.empty(len(ids), dtype=np.int64)
        unique = np.empty(min(len(ids), len(slot)), dtype=np.int64)
        number = distinct_ids(ids, slot, which, unique)
        free.append(slot)
        return unique[:number], which

    # -- columns --------------------------------------------------------------------------------

    @contextmanager
    def _board(self) -> Iterator[CountBoard]:
        """A free board; whoever uses it clears it."""
        boards = self.space.boards
        try:
            board = boards.pop()
        except IndexError:
            board = CountBoard.of(len(self.allowed))
        yield board
        boards.append(board)

    @contextmanager
    def _marked(self, size_ranks: Array) -> Iterator[Array]:
        """By size rank, the position of each of these columns among them, plus one."""
        with self._board() as board:
            board.slot[size_ranks] = np.arange(1, len(size_ranks) + 1)
            yield board.slot
            board.slot[size_ranks] = 0

    def _count(self, part: _Listed) -> ColumnScores:
        with self._board() as board:
            number = count_columns(part.pairs(part.candidates.query), self.allowed, board)
            size_ranks = board.touched[:number].astype(np.int64)
            hits, pairs = board.hits[size_ranks].astype(np.int64), board.pairs[size_ranks]
            for counts in (board.seen, board.hits, board.pairs):
                counts[size_ranks] = 0
            return ColumnScores(size_ranks, hits, pairs)

    def _in(self, part: _Listed, size_ranks: Array) -> Array:
        """Whether the vector of each candidate is in any of the given columns."""
        out = np.empty(len(part.candidates), dtype=np.bool_)
        with self._marked(size_ranks) as slot:
            in_columns(part.pairs(part.candidates.query), slot, out)
        return out


def _kth(scores: Array, k: int) -> int:
    """The k-th largest of at least k scores."""
    return int(np.partition(scores, len(scores) - k)[len(scores) - k])


def _limits(radii: Array) -> list[float]:
    return [limit(radius) for radius in radii.tolist()]
