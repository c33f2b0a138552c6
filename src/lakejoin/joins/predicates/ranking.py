"""The best predicates so far for each preference, and whether others could still join them.

Of equal scores, the predicate that involves more rows is better, then the one with the smaller
inner join. Both are bounded for predicates below another: they involve no more rows, and if they
involve as many, their join has at least as many rows as any table has involved.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence

from lakejoin.joins.predicates.facts import Facts
from lakejoin.joins.predicates.preferences import Preference

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
        self._kept = _Best(n)  # of those in `_found`
        self._found: dict[Members, tuple[_Rank, Facts]] = {}

    def tell(self, facts: Facts) -> None:
        """Record that a predicate with these facts exists, closed or not."""
        self._known.add(self._rank(facts), facts)

    def add(self, members: Members, facts: Facts) -> None:
        """Add a predicate, if its facts are among the best."""
        self.tell(facts)
        if self.ranks(facts):
            rank = self._rank(facts)
            self._kept.add(rank, facts)
            self._found[members] = rank, facts

    def ranks(self, facts: Facts) -> bool:
        """Whether a predicate with these facts is among the best, or equal to the last of them."""
        last = self._known.last()
        return last is None or self._rank(facts) <= last

    def may_hold(self, facts: Facts) -> bool:
        """Whether there may be one of the best below a predicate with these facts.

        It must be better than the last one kept, and as good as the last one known.
        """
        bound = -self.preference.bound(facts), -facts.all_involved, facts.least_inner
        known, kept = self._known.last(), self._kept.last()
        return (known is None or bound <= known) and (kept is None or bound < kept)

    def in_order(self, alike: Callable[[Members], float]) -> list[tuple[Members, Facts]]:
        """All that may be among the best, best first, including predicates that are not closed.

        Ties are ordered by how much the names of their columns are `alike`.
        """
        order = sorted(self._found.items(), key=lambda item: (item[1][0], -alike(item[0]), item[0]))
        return [(members, facts) for members, (_, facts) in order]

    def _rank(self, facts: Facts) -> _Rank:
        return -self.preference.score(facts), -facts.all_involved, facts.inner


class Rankings:
    """The rankings of all requested preferences; without `bounds`, nothing is ruled out."""

    def __init__(self, rankings: Sequence[Ranking], bounds: bool) -> None:
        self._rankings = rankings
        self._bounds = bounds

    def tell(self, facts: Facts) -> None:
        """Record that a predicate with these facts exists, closed or not."""
        for ranking in self._rankings:
            ranking.tell(facts)

    def add(self, members: Members, facts: Facts) -> None:
        """Add a predicate to each preference for which its facts are among the best."""
        for ranking in self._rankings:
            ranking.add(members, facts)

    def ranks(self, facts: Facts) -> bool:
        """Whether a predicate with these facts is among the best of any preference."""
        return any(ranking.ranks(facts) for ranking in self._rankings)

    def may_hold(self, facts: Facts) -> bool:
        """Whether there may be one of the best of any preference below these facts."""
        return not self._bounds or any(ranking.may_hold(facts) for ranking in self._rankings)
