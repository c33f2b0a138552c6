"""The best predicates over more than two tables (section V-D of the paper).

The same set-enumeration tree as over two tables, of pairs of columns of any two of the tables. A
predicate counts only if it connects all of them; on the way there, some are not connected yet.

- *Not closed*: predicates are remembered by the size of their join, as in the paper. One that an
  earlier one with the same size contains is not followed. What else is equal in the joins of the
  best is worked out in the end.
- *Bounds*: groups can multiply, so that only the size of the join bounds them, which says little
  before all tables are connected. But what is below must still connect them by a later pair, so
  that it has no more groups than the largest join with such a pair.

The joins are counted by `join_trees.py`, each from the tables. What takes too much to be counted is
left out with all below it, and the search is then said to be cut short.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations

from lakejoin.joins.predicates.coded import CodedTables
from lakejoin.joins.predicates.facts import Facts, least_of
from lakejoin.joins.predicates.groups import FirstPairs
from lakejoin.joins.predicates.join_trees import ColumnPair, JoinTrees, TooLarge, variables_of
from lakejoin.joins.predicates.preferences import PREFERENCES
from lakejoin.joins.predicates.ranking import Members, Rankings
from lakejoin.joins.predicates.search import Child, Search

_AS_MANY = 20  # predicates of two tables take as long as one of several


class SeveralTables(Search):
    """A search over several tables.

    `most` is what may be looked at of two tables; of more it is a twentieth, as each takes longer.
    """

    def run(self) -> None:
        """Looks at all that may be among the best."""
        self._best = Rankings(self.rankings, self.pruning.bounds)
        self._limit = None if self.most is None else max(1, self.most // _AS_MANY)
        self._left_out = False
        self._trees = JoinTrees(self.coded)
        self._by_size: dict[int, list[frozenset[int]]] = {}
        alone = self._alone()
        self.pairs = sorted(alone, key=lambda pair: (alone[pair].inner, pair))
        children = [(number, alone[pair]) for number, pair in enumerate(self.pairs)]
        self._facts_alone = [facts for _, facts in children]
        self.looked_at = len(children)
        self._start()
        self._follow((), children)
        self.complete = self.complete and not self._left_out

    def closed(self, members: Members, facts: Facts) -> Members:
        """The predicate with all pairs that are equal in every row of its join."""
        held = list(members)
        for number, alone in enumerate(self._facts_alone):
            if number not in held and _involves(alone, facts) and self._adds_nothing(held, number):
                held.append(number)
        return tuple(sorted(held))

    def enough(self, members: Members, facts: Facts, alike: Callable[[int], float]) -> Members:
        """Few of a predicate's pairs that make the same join, names that are alike kept."""
        taken = list(members)
        for number in sorted(members, key=lambda one: (alike(one), -one)):
            fewer = [one for one in taken if one != number]
            if self._connects(tuple(fewer)) and self._adds_nothing(fewer, number):
                taken = fewer
        return tuple(taken)

    def _adds_nothing(self, held: Sequence[int], number: int) -> bool:
        variables = variables_of(self.pairs[one] for one in held)
        left, right = self.pairs[number]
        if left in variables and variables[left] == variables.get(right):
            return True
        more, joined = self._joined((*held, number)), self._joined(held)
        return more is not None and joined is not None and more.inner == joined.inner

    def _start(self) -> None:
        """Looks first at what connects all tables by pairs that are good alone.

        So there is something to compare with, and an answer where the search is cut short.
        """
        for preference in PREFERENCES:
            members: Members = ()
            scores = [preference.score(self._of_two[pair]) for pair in self.pairs]
            for number in sorted(range(len(self.pairs)), key=lambda one: -scores[one]):
                if self._parts((*members, number)) < self._parts(members):
                    members = (*members, number)
            facts = self._joined(members) if self._connects(members) else None
            if facts is not None and facts.groups:
                self._best.add(tuple(sorted(members)), facts)

    def _alone(self) -> dict[ColumnPair, Facts]:
        """Every pair that shares a value, with the other tables multiplied."""
        self._of_two: dict[ColumnPair, Facts] = {}
        found = {}
        for left, right in combinations(range(len(self.coded.tables)), 2):
            two = CodedTables((self.coded.tables[left], self.coded.tables[right]), self.coded.count)
            for (i, j), facts in FirstPairs(two).facts().items():
                pair = (left, i), (right, j)
                self._of_two[pair] = facts
                found[pair] = self._trees.facts([pair])
        return found

    def _follow(self, members: Members, children: Sequence[Child]) -> None:
        """Looks at all below a predicate, whose children are counted already."""
        for at, (number, facts) in enumerate(children):
            bounded = replace(facts, most_groups=self._most_groups(members, children[at:]))
            least = least_of(bounded, bounded, bounded.most_groups)
            if self.complete and (self._best.may_hold(least) or self._best.ranks(facts)):
                self._enter((*members, number), bounded, children[at + 1 :])

    def _enter(self, members: Members, facts: Facts, later: Sequence[Child]) -> None:
        if self.pruning.closed and self._known(members, facts):
            return
        if self._connects(members):
            self._best.add(members, facts)
        self._follow(members, self._children(members, facts, later))

    def _children(self, members: Members, facts: Facts, later: Sequence[Child]) -> list[Child]:
        """The valid predicates with one later pair more that may be among the best."""
        children = []
        for number, alone in later:
            if not self._best.may_hold(least_of(facts, alone, facts.most_groups)):
                continue
            if self._limit is not None and self.looked_at >= self._limit:
                self.complete = False
                break
            smaller = self._joined((*members, number))
            self.count()
            if smaller is None:
                self._left_out = True
            elif smaller.groups:
                children.append((number, smaller))
        return children

    def _most_groups(self, members: Members, children: Sequence[Child]) -> int:
        """No predicate with the first of these children, and later ones, has more groups."""
        number, facts = children[0]
        tables = self._parts((*members, number))
        if tables == 1:
            return facts.inner
        joining = [
            other.inner
            for later, other in children[1:]
            if self._parts((*members, number, later)) < tables
        ]
        return min(facts.inner, max(joining, default=0))

    def _known(self, members: Members, facts: Facts) -> bool:
        """Whether an earlier predicate with the same join contains this one (theorem 3)."""
        mine = frozenset(members)
        same = self._by_size.setdefault(facts.inner, [])
        if any(mine < other and sorted(other) < sorted(mine) for other in same):
            return True
        same[:] = [other for other in same if not other < mine]
        same.append(mine)
        return False

    def _joined(self, members: Sequence[int]) -> Facts | None:
        """What a predicate counts; None if that takes too much."""
        try:
            return self._trees.facts(self.pairs[number] for number in members)
        except TooLarge:
            return None

    def _connects(self, members: Members) -> bool:
        return self._parts(members) == 1

    def _parts(self, members: Members) -> int:
        """Into how many parts, not connected with each other, the tables fall."""
        part = list(range(len(self.coded.tables)))
        for number in members:
            (left, _), (right, _) = self.pairs[number]
            part = [part[right] if one == part[left] else one for one in part]
        return len(set(part))


def _involves(alone: Facts, facts: Facts) -> bool:
    return all(a >= b for a, b in zip(alone.involved, facts.involved, strict=True))
