"""The best predicates over more than two tables (section V-D of the paper).

This is the same set-enumeration tree as for two tables, over pairs of columns of any two tables. A
predicate counts only if it connects all tables; on the way there, some are not connected yet.

- *Not closed*: predicates are stored by the size of their join, as in the paper. A predicate that
  an earlier one of the same size contains is not followed. Other pairs that are equal in the joins
  of the best predicates are added at the end.
- *Bounds*: groups can multiply, so only the size of the join bounds them, which says little before
  all tables are connected. But predicates below must still connect them by a later pair, so they
  have no more groups than the largest join with such a pair.

The joins are counted by `join_trees`, each from the tables. A predicate that is too expensive to
count is left out with all below it, and the search then counts as cut short.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from numbers import Integral
from operator import ge

import pyarrow as pa

from lakejoin.errors import InputError
from lakejoin.joins.options import Progress
from lakejoin.joins.predicates.coded_tables import CodedTables, encode_tables
from lakejoin.joins.predicates.join_trees import (
    ColumnId,
    ColumnIdPair,
    JoinTrees,
    TooLarge,
    variables_of,
)
from lakejoin.joins.predicates.predicate_search import (
    Child,
    Members,
    PredicateSearch,
    Pruning,
    Ranking,
    Rankings,
    TwoTableSearch,
)
from lakejoin.joins.predicates.preferences import (
    PREFERENCES,
    Facts,
    PreferenceChoice,
    bounding_facts,
    find_preferences,
)
from lakejoin.joins.predicates.row_groups import SinglePairs
from lakejoin.model import ValueRules
from lakejoin.signals.name_similarity import compare_names

_AS_MANY = 20  # predicates over two tables take as long as one over several


class MultiTableSearch(PredicateSearch):
    """A search over more than two tables.

    `most` is the limit for two tables; here it is a twentieth, as each predicate takes longer.
    """

    def run(self) -> None:
        self._best = Rankings(self.rankings, self.pruning.bounds)
        self._limit = None if self.most is None else max(1, self.most // _AS_MANY)
        self._left_out = False
        self._trees = JoinTrees(self.coded)
        self._by_size: dict[int, list[frozenset[int]]] = {}
        alone = self._alone()
        self.pairs = sorted(alone, key=lambda pair: (alone[pair].inner, pair))
        children = [(index, alone[pair]) for index, pair in enumerate(self.pairs)]
        self._facts_alone = [facts for _, facts in children]
        self.looked_at = len(children)
        self._start()
        self._follow((), children)
        self.complete = self.complete and not self._left_out

    def closed(self, members: Members, facts: Facts) -> Members:
        """The predicate with all pairs that are equal in every row of its join."""
        pairs = list(members)
        for index, alone in enumerate(self._facts_alone):
            involves = all(map(ge, alone.involved, facts.involved))
            if index not in pairs and involves and self._adds_nothing(pairs, index):
                pairs.append(index)
        return tuple(sorted(pairs))

    def enough(self, members: Members, facts: Facts, alike: Callable[[int], float]) -> Members:
        taken = list(members)
        for index in sorted(members, key=lambda pair: (alike(pair), -pair)):
            fewer = [pair for pair in taken if pair != index]
            if self._connects(tuple(fewer)) and self._adds_nothing(fewer, index):
                taken = fewer
        return tuple(taken)

    def _adds_nothing(self, members: Sequence[int], index: int) -> bool:
        variables = variables_of(self.pairs[pair] for pair in members)
        left, right = self.pairs[index]
        if left in variables and variables[left] == variables.get(right):
            return True
        more, joined = self._count_join((*members, index)), self._count_join(members)
        return more is not None and joined is not None and more.inner == joined.inner

    def _start(self) -> None:
        """First look at predicates that connect all tables by pairs that are good alone.

        They give later ones something to beat, and an answer if the search is cut short.
        """
        for preference in PREFERENCES:
            members: Members = ()
            scores = [preference.score(self._of_two[pair]) for pair in self.pairs]
            for index in sorted(range(len(self.pairs)), key=lambda pair: -scores[pair]):
                if self._components((*members, index)) < self._components(members):
                    members = (*members, index)
            facts = self._count_join(members) if self._connects(members) else None
            if facts is not None and facts.groups:
                self._best.add(tuple(sorted(members)), facts)

    def _alone(self) -> dict[ColumnIdPair, Facts]:
        """The facts of every pair that shares a value, with the other tables multiplied."""
        self._of_two: dict[ColumnIdPair, Facts] = {}
        facts_of = {}
        for left, right in combinations(range(len(self.coded.tables)), 2):
            two = CodedTables((self.coded.tables[left], self.coded.tables[right]), self.coded.count)
            for (i, j), facts in SinglePairs(two).facts().items():
                pair = (left, i), (right, j)
                self._of_two[pair] = facts
                facts_of[pair] = self._trees.facts([pair])
        return facts_of

    def _follow(self, members: Members, children: Sequence[Child]) -> None:
        """Look at all predicates below one whose children are counted already."""
        for at, (index, facts) in enumerate(children):
            bounded = replace(facts, most_groups=self._most_groups(members, children[at:]))
            least = bounding_facts(bounded, bounded, bounded.most_groups)
            if self.complete and (self._best.may_improve(least) or self._best.ranks(facts)):
                self._enter((*members, index), bounded, children[at + 1 :])

    def _enter(self, members: Members, facts: Facts, later: Sequence[Child]) -> None:
        if self.pruning.closed and self._is_contained(members, facts):
            return
        if self._connects(members):
            self._best.add(members, facts)
        self._follow(members, self._children(members, facts, later))

    def _children(self, members: Members, facts: Facts, later: Sequence[Child]) -> list[Child]:
        """The valid predicates with one more pair that may be among the best."""
        children = []
        for index, alone in later:
            if not self._best.may_improve(bounding_facts(facts, alone, facts.most_groups)):
                continue
            if self._limit is not None and self.looked_at >= self._limit:
                self.complete = False
                break
            smaller = self._count_join((*members, index))
            self.count()
            if smaller is None:
                self._left_out = True
            elif smaller.groups:
                children.append((index, smaller))
        return children

    def _most_groups(self, members: Members, children: Sequence[Child]) -> int:
        """The most groups of a predicate with the first of these children and later ones."""
        index, facts = children[0]
        tables = self._components((*members, index))
        if tables == 1:
            return facts.inner
        joining = [
            other.inner
            for later, other in children[1:]
            if self._components((*members, index, later)) < tables
        ]
        return min(facts.inner, max(joining, default=0))

    def _is_contained(self, members: Members, facts: Facts) -> bool:
        """Whether an earlier predicate with the same join contains this one (theorem 3)."""
        pairs = frozenset(members)
        same_size = self._by_size.setdefault(facts.inner, [])
        if any(pairs < other and sorted(other) < sorted(pairs) for other in same_size):
            return True
        same_size[:] = [other for other in same_size if not other < pairs]
        same_size.append(pairs)
        return False

    def _count_join(self, members: Sequence[int]) -> Facts | None:
        """The facts of a predicate; None if counting it is too expensive."""
        try:
            return self._trees.facts(self.pairs[index] for index in members)
        except TooLarge:
            return None

    def _connects(self, members: Members) -> bool:
        return self._components(members) == 1

    def _components(self, members: Members) -> int:
        component = list(range(len(self.coded.tables)))
        for index in members:
            (left, _), (right, _) = self.pairs[index]
            old, new = component[left], component[right]
            component = [new if current == old else current for current in component]
        return len(set(component))


ColumnRef = tuple[int, str]  # table index and column name
Pair = tuple[ColumnRef, ColumnRef]

_MOST = 100_000
_ID_BONUS = 0.1  # of equally similar names, those of ids come first


@dataclass(frozen=True, slots=True)
class PredicateOptions:
    """Preferences, how many predicates (`n`) to find for each, and the rules of equality.

    At most `most` predicates are looked at (a twentieth with more than two tables, as each takes
    longer); None looks at all that could be among the best.
    """

    prefer: PreferenceChoice | Sequence[PreferenceChoice] = "compact"
    n: int = 5
    rules: ValueRules = field(default_factory=ValueRules)
    pruning: Pruning = field(default_factory=Pruning)
    most: int | None = _MOST

    def __post_init__(self) -> None:
        if not isinstance(self.n, Integral) or self.n < 1:
            raise InputError(f"ask for at least one predicate, not {self.n!r}")


@dataclass(frozen=True, slots=True)
class Predicate:
    """Pairs of columns that must all be equal, with the facts and scores of their join.

    It is closed: it has all pairs that are equal in every row of its inner join. `enough` is a
    subset of them that makes the same join.
    """

    pairs: tuple[Pair, ...]
    enough: tuple[Pair, ...]
    facts: Facts
    scores: dict[str, float]

    @property
    def on(self) -> tuple[tuple[str, str], ...]:
        """The column names, if there are two tables."""
        return tuple((left, right) for (_, left), (_, right) in self.pairs)


@dataclass(frozen=True, slots=True)
class PredicateResults:
    """The best predicates by the name of each preference; empty lists if no rows can match.

    `complete` is false if the search was cut short, so that there may be better ones.
    """

    best: dict[str, list[Predicate]]
    looked_at: int
    complete: bool


def find_predicates(
    tables: Sequence[pa.Table] | CodedTables,
    options: PredicateOptions | None = None,
    progress: Progress | None = None,
) -> PredicateResults:
    """Find the best predicates over two or more tables.

    >>> people = pa.table({"id": [1, 2, 3], "boss": [3, 3, 1], "town": ["Bern", "Ulm", "Ulm"]})
    >>> calls = pa.table({"caller": [2, 2, 3, 1, 3], "minutes": [1, 3, 3, 2, 1]})
    >>> results = find_predicates([people, calls])
    >>> results.best["compact"][0].on, results.best["compact"][0].facts.inner
    ((('id', 'caller'),), 5)
    """
    options = options or PredicateOptions()
    coded = tables if isinstance(tables, CodedTables) else encode_tables(tables, options.rules)
    rankings = [Ranking(preference, options.n) for preference in find_preferences(options.prefer)]
    kind = TwoTableSearch if len(coded.tables) == 2 else MultiTableSearch
    search = kind(coded, rankings, options.pruning, options.most, progress or (lambda doing: None))
    search.run()
    best = {rank.preference.name: _best(rank, search, coded, options.n) for rank in rankings}
    return PredicateResults(best, search.looked_at, search.complete)


def _best(
    ranking: Ranking, search: TwoTableSearch | MultiTableSearch, coded: CodedTables, n: int
) -> list[Predicate]:
    """The n best predicates of a ranking, closed and distinct."""

    def name_column(column: ColumnId) -> ColumnRef:
        return column[0], coded.tables[column[0]].columns[column[1]]

    def pairs_of(members: Members) -> tuple[Pair, ...]:
        pairs = sorted(search.pairs[index] for index in members)
        return tuple((name_column(left), name_column(right)) for left, right in pairs)

    def alike(index: int) -> float:
        [((_, left), (_, right))] = pairs_of((index,))
        names = compare_names(left, right)
        return names.similarity + _ID_BONUS * names.both_say_id

    def all_alike(members: Members) -> float:
        return sum(map(alike, members)) / len(members)

    chosen: dict[Members, Predicate] = {}
    for members, facts in ranking.in_order(all_alike):
        closed = search.closed(members, facts)
        if closed not in chosen:
            preferences = (*PREFERENCES, ranking.preference)
            scores = {preference.name: preference.score(facts) for preference in preferences}
            enough = search.enough(closed, facts, alike)
            chosen[closed] = Predicate(pairs_of(closed), pairs_of(enough), facts, scores)
        if len(chosen) == n:
            break
    return list(chosen.values())
