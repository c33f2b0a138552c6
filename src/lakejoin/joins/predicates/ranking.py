"""The best predicates so far for one preference, and whether another could still be among them.

Of equal scores, the predicate that involves more rows is better, and then the one with the smaller
inner join. Both have bounds below a predicate: it involves no more rows, and its join has no fewer
rows than either table has involved.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from math import isinf

from lakejoin.joins.predicates.facts import Facts
from lakejoin.joins.predicates.preferences import Preference

_NEARLY = 1e-9  # scores that differ by less, relatively, are equal: sums depend on their order

# A predicate is known by the numbers of its pairs.
Members = tuple[int, ...]


class Ranking:
    """The `n` best by a preference."""

    def __init__(self, preference: Preference, n: int) -> None:
        self.preference = preference
        self._n = n
        self._scores: list[tuple[float, int, int]] = []  # as `_order`, best first
        self._seen: set[tuple[tuple[int, ...], int, int]] = set()
        self._found: dict[Members, tuple[float, Facts]] = {}

    def tell(self, facts: Facts) -> None:
        """There is a predicate with these facts, whether or not it is closed.

        Two with the same facts may be the same join, so they count once.
        """
        key = facts.involved, facts.groups, facts.inner
        if key not in self._seen:
            entry = -self.preference.score(facts), -facts.all_involved, facts.inner
            if len(self._scores) < self._n or entry < self._scores[-1]:
                self._seen.add(key)
                insort(self._scores, entry)
                del self._scores[self._n :]

    def add(self, members: Members, facts: Facts) -> None:
        """A closed predicate."""
        self.tell(facts)
        score = self.preference.score(facts)
        if self._matters(score, facts.all_involved, facts.inner):
            self._found[members] = score, facts

    def may_hold(self, facts: Facts) -> bool:
        """Whether this predicate, or one that joins more columns, could be among the best."""
        bound = self.preference.bound(facts)
        return self._matters(bound, facts.all_involved, facts.least_inner)

    def _matters(self, score: float, involved: int, inner: int) -> bool:
        if len(self._scores) < self._n:
            return True
        least, *rows = self._scores[-1]
        least = -least
        if isinf(score):
            return score > 0
        margin = 0 if isinstance(least, int) else _NEARLY * max(1.0, abs(least))
        if abs(score - least) > margin:
            return score > least
        return [-involved, inner] <= rows

    def best(self, alike: Callable[[Members], float]) -> list[tuple[Members, Facts]]:
        """The best ones; equal ones by how much the names of their columns are `alike`."""
        order = sorted(
            self._found.items(),
            key=lambda one: (*_order(*one[1]), -alike(one[0]), one[0]),
        )
        return [(members, facts) for members, (_, facts) in order[: self._n]]


def _order(score: float, facts: Facts) -> tuple[float, int, int]:
    return -_rounded(score), -facts.all_involved, facts.inner


def _rounded(score: float) -> float:
    """Fractions that are nearly equal are made equal, so that they can be ordered by more."""
    return score if isinstance(score, int) else float(f"{score:.9g}")
