"""The best predicates over two tables: a set-enumeration tree of pairs of columns, pruned.

A predicate is a sorted set of pairs, its children add a later pair (section V-A of the paper). The
total order of the pairs is free; here those with the smallest inner join come first, so that keys
stand near the root and what is below them is cheap to count (`groups.py`).

- *Invalid*: a pair that leaves no row is not followed.
- *Not closed* (theorem 3): where an earlier pair, that the predicate lacks, is equal in all rows of
  its join, every closed predicate below it is found elsewhere in the tree. Later pairs that are
  equal in all rows are taken in at once. The paper finds such pairs among the predicates that were
  enumerated before, by a table of join sizes; here the groups themselves are looked at, which is
  done at the first row that differs and also finds what was not enumerated yet.
- *Bounds*: what no preference could rank among its best is not followed. A child's bound is known
  before its join is counted: it involves no more rows, and has no more groups, than its parent with
  any one pair less. Where only columns of few values are left to be added, no group can split into
  more than these have combinations. All preferences that are asked for share one search.

All children of a predicate are counted before the first is entered, so that the bounds of the
others help; rows are kept along one path of the tree only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lakejoin.joins.options import Progress
from lakejoin.joins.predicates.coded import CodedTables
from lakejoin.joins.predicates.facts import Facts, least_of
from lakejoin.joins.predicates.groups import Codes, FirstPairs, Groups, most_splits
from lakejoin.joins.predicates.join_trees import ColumnPair
from lakejoin.joins.predicates.ranking import Members, Ranking, Rankings

Array = np.ndarray[Any, Any]
Place = tuple[int, int]  # the columns of a pair
Child = tuple[int, Facts]  # a further pair, and the facts of the predicate with it

_TOLD_EVERY = 100


@dataclass(frozen=True, slots=True)
class Pruning:
    """Which rules are used; without one the answer is the same, and takes longer."""

    bounds: bool = True
    closed: bool = True


@dataclass(eq=False)
class Search:
    """What a search is given, and how far it went: `most` predicates may be looked at, `looked_at`
    were. `pairs` are the pairs of columns by their numbers."""

    coded: CodedTables
    rankings: Sequence[Ranking]
    pruning: Pruning
    most: int | None
    tell: Progress
    looked_at: int = 0
    complete: bool = True
    pairs: list[ColumnPair] = field(default_factory=list)

    def count(self) -> None:
        """One more predicate was looked at."""
        self.looked_at += 1
        if self.looked_at % _TOLD_EVERY == 0:
            self.tell(f"{self.looked_at:,} predicates looked at")


@dataclass(eq=False)
class TwoTables(Search):
    """A search over two tables."""

    places: list[Place] = field(default_factory=list)

    def closed(self, members: Members, facts: Facts) -> Members:
        """The predicate with all pairs that are equal in every row: here all are found so."""
        return members

    def enough(self, members: Members, facts: Facts, alike: Callable[[int], float]) -> Members:
        """Few of a predicate's pairs that make the same join, names that are alike first."""
        alone = [one for one in members if self._alone[one].inner == facts.inner]
        if alone:
            return (max(alone, key=lambda one: (alike(one), -one)),)
        first = min(members, key=lambda one: (self._alone[one].inner, -alike(one)))
        taken, inner = [first], self._alone[first].inner
        groups = self.first.groups(self.places[first], self._alone[first])
        while inner > facts.inner:
            inner, _, one = min(
                (groups.facts(self._codes(one), self.first.sizes).inner, -alike(one), one)
                for one in members
                if one not in taken
            )
            groups = groups.with_pair(self._codes(one), self.first.sizes)
            taken.append(one)
        for one in taken[:-1]:  # a later pair may have made an earlier one needless
            others = [other for other in taken if other != one]
            if self._inner(others) == facts.inner:
                taken = others
        return tuple(sorted(taken))

    def _inner(self, members: Sequence[int]) -> int:
        """The rows of the join that some pairs make."""
        first, *others = members
        facts = self._alone[first]
        groups = self.first.groups(self.places[first], facts)
        for one in others:
            facts = groups.facts(self._codes(one), self.first.sizes)
            groups = groups.with_pair(self._codes(one), self.first.sizes)
        return facts.inner

    def run(self) -> None:
        """Looks at all that may be among the best."""
        self._best = Rankings(self.rankings, self.pruning.bounds)
        self.first = FirstPairs(self.coded)
        alone = self.first.facts()
        self.places = sorted(alone, key=lambda place: (alone[place].inner, place))
        self.pairs = [((0, left), (1, right)) for left, right in self.places]
        self._pairs = np.array(self.places, np.int64).reshape(-1, 2)
        self._involved = np.array([alone[place].involved for place in self.places]).reshape(-1, 2)
        self._alone = [alone[place] for place in self.places]
        self._splits = [*most_splits(self.first.columns, self.places), 1]
        children = [(number, alone[place]) for number, place in enumerate(self.places)]
        self.looked_at = len(children)
        for _, facts in children:
            self._best.tell(facts)
        for at, (number, facts) in enumerate(children):
            if not self._to_enter(number, facts):
                continue
            groups = self.first.groups(self.places[number], facts)
            self._enter((number,), groups, facts, children[at + 1 :])

    def _enter(
        self, members: Members, groups: Groups, facts: Facts, later: Sequence[Child]
    ) -> None:
        """Looks at a predicate and at all below it; `later` are the pairs that may be added.

        Its last pair is the one that it was made by; what it holds anyway may come behind that.
        """
        last = members[-1]
        held = self._held(members, groups, facts)
        if self.pruning.closed and any(number < last for number in held):
            return
        if self.pruning.closed:
            members, held = (*members, *held), []
        self._best.add(tuple(sorted((*members, *held))), facts)
        children, counted = self._children(members, last, groups, facts, later)
        for at, (number, smaller) in enumerate(children):
            if self.complete and number in counted and self._to_enter(number, smaller):
                rows = groups.with_pair(self._codes(number), self.first.sizes)
                self._enter((*members, number), rows, smaller, children[at + 1 :])

    def _children(
        self, members: Members, last: int, groups: Groups, facts: Facts, later: Sequence[Child]
    ) -> tuple[list[Child], set[int]]:
        """The later pairs that may be in one of the best below, and those that were counted.

        A pair with which nothing is gained by all that come behind it may still be added to an
        earlier one: it stays, with the facts that are known, but is not counted here.
        """
        children, counted = [], set()
        most = facts.groups * self._splits[last + 1]
        for number, alone in later:
            if number in members or not self._best.may_hold(least_of(facts, alone, most)):
                continue
            first = facts.groups * self._splits[number]
            if not self._best.may_hold(least_of(facts, alone, first)):
                children.append((number, alone))
                continue
            if self.most is not None and self.looked_at >= self.most:
                self.complete = False
                break
            smaller = groups.facts(self._codes(number), self.first.sizes)
            self.count()
            if smaller.groups:
                self._best.tell(smaller)
                if self._best.ranks(smaller) or self._best.may_hold(
                    least_of(smaller, smaller, most)
                ):
                    children.append((number, smaller))
                    counted.add(number)
        return children, counted

    def _held(self, members: Members, groups: Groups, facts: Facts) -> list[int]:
        """The other pairs that are equal in all rows of the join: they involve as many alone."""
        may: Array = np.all(self._involved >= np.array(facts.involved), axis=1)
        may[list(members)] = False
        numbers = np.flatnonzero(may)
        held = groups.held(self.first.columns, self._pairs[numbers])
        return list(numbers[held].tolist())

    def _codes(self, number: int) -> Codes:
        return self.first.codes(self.places[number])

    def _to_enter(self, number: int, facts: Facts) -> bool:
        """Whether a predicate, that ends with this pair, or one below it may be among the best."""
        most = facts.groups * self._splits[number + 1]
        return self._best.ranks(facts) or self._best.may_hold(least_of(facts, facts, most))
