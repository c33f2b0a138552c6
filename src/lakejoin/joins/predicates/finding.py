"""Find the best closed predicates over tables, by a preference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING

from lakejoin.errors import InputError
from lakejoin.joins.options import Progress
from lakejoin.joins.predicates.coded_tables import CodedTables, encode_tables
from lakejoin.joins.predicates.facts import Facts
from lakejoin.joins.predicates.join_trees import ColumnId
from lakejoin.joins.predicates.preferences import PREFERENCES, PreferenceChoice, find_preferences
from lakejoin.joins.predicates.ranking import Members, Ranking
from lakejoin.joins.predicates.predicate_search import Pruning, TwoTableSearch
from lakejoin.joins.predicates.predicate_finder import MultiTableSearch
from lakejoin.model import ValueRules
from lakejoin.signals.name_similarity import compare_names

if TYPE_CHECKING:
    import pyarrow as pa

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

    >>> import pyarrow as pa
    >>> people = pa.table({"id": [1, 2, 3], "boss": [3, 3, 1], "town": ["Bern", "Ulm", "Ulm"]})
    >>> calls = pa.table({"caller": [2, 2, 3, 1, 3], "minutes": [1, 3, 3, 2, 1]})
    >>> found = find_predicates([people, calls])
    >>> found.best["compact"][0].on, found.best["compact"][0].facts.inner
    ((('id', 'caller'),), 5)
    """
    options = options or PredicateOptions()
    coded = tables if isinstance(tables, CodedTables) else encode_tables(tables, options.rules)
    if len(coded.tables) < 2:
        raise InputError("a predicate needs at least two tables: name another one")
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

    def named(column: ColumnId) -> ColumnRef:
        return column[0], coded.tables[column[0]].columns[column[1]]

    def pairs_of(members: Members) -> tuple[Pair, ...]:
        pairs = sorted(search.pairs[index] for index in members)
        return tuple((named(left), named(right)) for left, right in pairs)

    def alike(index: int) -> float:
        [((_, left), (_, right))] = pairs_of((index,))
        names = compare_names(left, right)
        return names.alike + _ID_BONUS * names.are_ids

    def all_alike(members: Members) -> float:
        return sum(map(alike, members)) / len(members)

    found: dict[Members, Predicate] = {}
    for members, facts in ranking.in_order(all_alike):
        closed = search.closed(members, facts)
        if closed not in found:
            preferences = (*PREFERENCES, ranking.preference)
            scores = {preference.name: preference.score(facts) for preference in preferences}
            enough = search.enough(closed, facts, alike)
            found[closed] = Predicate(pairs_of(closed), pairs_of(enough), facts, scores)
        if len(found) == n:
            break
    return list(found.values())
