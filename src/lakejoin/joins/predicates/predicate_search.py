"""The best predicates over two tables: a set-enumeration tree of pairs of columns, pruned.

A predicate is a sorted set of pairs; its children add a later pair (section V-A of the paper). The
order of the pairs is free; here those with the smallest inner join come first, so that keys are
near the root and everything below them is cheap to count (`row_groups`).

- *Invalid*: a pair that leaves no rows is not followed.
- *Not closed* (theorem 3): if an earlier pair that the predicate lacks is equal in all rows of its
  join, every closed predicate below it is found elsewhere in the tree. Later pairs that are equal
  in all rows are added at once. The paper finds such pairs among predicates enumerated before, by a
  table of join sizes; here the groups themselves are checked, which stops at the first row that
  differs and also finds predicates not enumerated yet.
- *Bounds*: what no preference could rank among its best is not followed. A child's bound is known
  before its join is counted: it involves no more rows and has no more groups than its parent, or
  than its new pair alone. If only columns of few values remain, no group can split into more than
  the number of their combinations. All requested preferences share one search.

All children of a predicate are counted before the first is entered, so that the bounds of the
others help; rows are kept along one path of the tree only.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from lakejoin.joins.options import Progress
from lakejoin.joins.predicates.coded_tables import CodedTables
from lakejoin.joins.predicates.join_trees import ColumnIdPair
from lakejoin.joins.predicates.preferences import Facts, Preference, bounding_facts
from lakejoin.joins.predicates.row_groups import Codes, Groups, SinglePairs, most_splits
from lakejoin.model import Array

ColumnIndices = tuple[int, int]  # of a pair of columns, left and right
Child = tuple[int, Facts]  # a further pair, and the facts of the predicate with it

_REPORT_EVERY = 100


@dataclass(frozen=True, slots=True)
class Pruning:
    """Which pruning rules to use; without them the answer is the same but slower."""

    bounds: bool = True
    closed: bool = True


@dataclass(eq=False)
class PredicateSearch:
    """The input and the progress of a search: `most` predicates may be looked at, `looked_at` were.
    `pairs` are the pairs of columns by index."""

    coded: CodedTables
    rankings: Sequence[Ranking]
    pruning: Pruning
    most: int | None
    report: Progress
    looked_at: int = 0
    complete: bool = True
    pairs: list[ColumnIdPair] = field(default_factory=list)

    def count(self) -> None:
        self.looked_at += 1
        if self.looked_at % _REPORT_EVERY == 0:
            self.report(f"{self.looked_at:,} predicates looked at")


@dataclass(eq=False)
class TwoTableSearch(PredicateSearch):
    """A search over two tables."""

    column_pairs: list[ColumnIndices] = field(default_factory=list)

    def closed(self, members: Members, facts: Facts) -> Members:
        """The predicate with all pairs that are equal in every row; here it already has them."""
        return members

    def enough(self, members: Members, facts: Facts, alike: Callable[[int], float]) -> Members:
        """Few of a predicate's pairs that make the same join, preferring similar names."""
        alone = [pair for pair in members if self._alone[pair].inner == facts.inner]
        if alone:
            return (max(alone, key=lambda pair: (alike(pair), -pair)),)
        first = min(members, key=lambda pair: (self._alone[pair].inner, -alike(pair)))
        taken, inner = [first], self._alone[first].inner
        groups = self.first.groups(self.column_pairs[first], self._alone[first])
        while inner > facts.inner:
            inner, _, pair = min(
                (groups.facts(self._codes(pair), self.first.sizes).inner, -alike(pair), pair)
                for pair in members
                if pair not in taken
            )
            groups = groups.with_pair(self._codes(pair), self.first.sizes)
            taken.append(pair)
        for pair in taken[:-1]:  # a later pair may have made an earlier one redundant
            others = [other for other in taken if other != pair]
            if self._inner(others) == facts.inner:
                taken = others
        return tuple(sorted(taken))

    def _inner(self, members: Sequence[int]) -> int:
        """The rows of the inner join by some pairs."""
        first, *others = members
        facts = self._alone[first]
        groups = self.first.groups(self.column_pairs[first], facts)
        for pair in others:
            facts = groups.facts(self._codes(pair), self.first.sizes)
            groups = groups.with_pair(self._codes(pair), self.first.sizes)
        return facts.inner

    def run(self) -> None:
        """Look at all predicates that may be among the best."""
        self._best = Rankings(self.rankings, self.pruning.bounds)
        self.first = SinglePairs(self.coded)
        alone = self.first.facts()
        self.column_pairs = sorted(alone, key=lambda pair: (alone[pair].inner, pair))
        self.pairs = [((0, left), (1, right)) for left, right in self.column_pairs]
        self._pairs = np.array(self.column_pairs, np.int64).reshape(-1, 2)
        self._involved = np.array([alone[pair].involved for pair in self.column_pairs]).reshape(
            -1, 2
        )
        self._alone = [alone[pair] for pair in self.column_pairs]
        self._splits = [*most_splits(self.first.columns, self.column_pairs), 1]
        children = list(enumerate(self._alone))
        self.looked_at = len(children)
        for _, facts in children:
            self._best.record(facts)
        for at, (index, facts) in enumerate(children):
            if not self._to_enter(index, facts):
                continue
            groups = self.first.groups(self.column_pairs[index], facts)
            self._enter((index,), groups, facts, children[at + 1 :])

    def _enter(
        self, members: Members, groups: Groups, facts: Facts, later: Sequence[Child]
    ) -> None:
        """Look at a predicate and at all below it; `later` are the pairs that may be added.

        Its last pair is the one it was made by; pairs that are equal anyway may come after it.
        """
        last = members[-1]
        implied = self._find_implied(members, groups, facts)
        if self.pruning.closed and any(index < last for index in implied):
            return
        if self.pruning.closed:
            members, implied = (*members, *implied), []
        self._best.add(tuple(sorted((*members, *implied))), facts)
        children, counted = self._children(members, last, groups, facts, later)
        for at, (index, smaller) in enumerate(children):
            if self.complete and index in counted and self._to_enter(index, smaller):
                rows = groups.with_pair(self._codes(index), self.first.sizes)
                self._enter((*members, index), rows, smaller, children[at + 1 :])

    def _children(
        self, members: Members, last: int, groups: Groups, facts: Facts, later: Sequence[Child]
    ) -> tuple[list[Child], set[int]]:
        """The later pairs that may be in one of the best below, and those that were counted.

        A pair that cannot lead to one of the best with the pairs after it may still be added to an
        earlier child: it stays, with its known facts, but is not counted here.
        """
        children, counted = [], set()
        most = facts.groups * self._splits[last + 1]
        for index, alone in later:
            if index in members or not self._best.may_improve(bounding_facts(facts, alone, most)):
                continue
            first = facts.groups * self._splits[index]
            if not self._best.may_improve(bounding_facts(facts, alone, first)):
                children.append((index, alone))
                continue
            if self.most is not None and self.looked_at >= self.most:
                self.complete = False
                break
            smaller = groups.facts(self._codes(index), self.first.sizes)
            self.count()
            if smaller.groups:
                self._best.record(smaller)
                if self._best.ranks(smaller) or self._best.may_improve(
                    bounding_facts(smaller, smaller, most)
                ):
                    children.append((index, smaller))
                    counted.add(index)
        return children, counted

    def _find_implied(self, members: Members, groups: Groups, facts: Facts) -> list[int]:
        """The other pairs that are equal in all rows of the join."""
        candidates: Array = np.all(self._involved >= np.array(facts.involved), axis=1)
        candidates[list(members)] = False
        indices = np.flatnonzero(candidates)
        implied = groups.find_implied(self.first.columns, self._pairs[indices])
        return list(indices[implied].tolist())

    def _codes(self, index: int) -> Codes:
        return self.first.codes(self.column_pairs[index])

    def _to_enter(self, index: int, facts: Facts) -> bool:
        """Whether a predicate that ends with this pair, or one below it, may be among the best."""
        most = facts.groups * self._splits[index + 1]
        return self._best.ranks(facts) or self._best.may_improve(bounding_facts(facts, facts, most))


Members = tuple[int, ...]  # a predicate, by the indices of its pairs
_Rank = tuple[float, int, int]  # negated score, negated involved rows, rows of the inner join


class _Best:
    """The ranks of the n best joins; joins with the same facts may be one, and count once."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._ranks: list[_Rank] = []
        self._seen: set[tuple[tuple[int, ...], int, int]] = set()

    def add(self, rank: _Rank, facts: Facts) -> None:
        key = facts.involved, facts.groups, facts.inner
        if key in self._seen or (len(self._ranks) == self._n and rank >= self._ranks[-1]):
            return
        self._seen.add(key)
        insort(self._ranks, rank)
        del self._ranks[self._n :]

    def last(self) -> _Rank | None:
        """The rank of the n-th best, if there are n."""
        return self._ranks[-1] if len(self._ranks) == self._n else None


class Ranking:
    """The `n` best predicates by a preference."""

    def __init__(self, preference: Preference, n: int) -> None:
        self.preference = preference
        self._known = _Best(n)  # of all known predicates
        self._best_listed = _Best(n)  # of those in `_listed`
        self._listed: dict[Members, tuple[_Rank, Facts]] = {}

    def record(self, facts: Facts) -> None:
        """Record that a predicate with these facts exists, closed or not."""
        self._known.add(self._rank(facts), facts)

    def add(self, members: Members, facts: Facts) -> None:
        """Add a predicate, if its facts are among the best."""
        self.record(facts)
        if self.ranks(facts):
            rank = self._rank(facts)
            self._best_listed.add(rank, facts)
            self._listed[members] = rank, facts

    def ranks(self, facts: Facts) -> bool:
        """Whether a predicate with these facts is among the best, or equal to the last of them."""
        last = self._known.last()
        return last is None or self._rank(facts) <= last

    def may_improve(self, facts: Facts) -> bool:
        """Whether there may be one of the best below a predicate with these facts.

        It must be better than the last one kept, and as good as the last one known.
        """
        bound = -self.preference.bound(facts), -facts.all_involved, facts.least_inner
        known, listed = self._known.last(), self._best_listed.last()
        return (known is None or bound <= known) and (listed is None or bound < listed)

    def in_order(self, alike: Callable[[Members], float]) -> list[tuple[Members, Facts]]:
        """All that may be among the best, best first, including predicates that are not closed.

        Ties are ordered by how much the names of their columns are `alike`.
        """
        listed = [(rank, -alike(members), members) for members, (rank, _) in self._listed.items()]
        return [(members, self._listed[members][1]) for _, _, members in sorted(listed)]

    def _rank(self, facts: Facts) -> _Rank:
        return -self.preference.score(facts), -facts.all_involved, facts.inner


class Rankings:
    """The rankings of all requested preferences; without `bounds`, nothing is ruled out."""

    def __init__(self, rankings: Sequence[Ranking], bounds: bool) -> None:
        self._rankings = rankings
        self._bounds = bounds

    def record(self, facts: Facts) -> None:
        for ranking in self._rankings:
            ranking.record(facts)

    def add(self, members: Members, facts: Facts) -> None:
        for ranking in self._rankings:
            ranking.add(members, facts)

    def ranks(self, facts: Facts) -> bool:
        return any(ranking.ranks(facts) for ranking in self._rankings)

    def may_improve(self, facts: Facts) -> bool:
        return not self._bounds or any(ranking.may_improve(facts) for ranking in self._rankings)
