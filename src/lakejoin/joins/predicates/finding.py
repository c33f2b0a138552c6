"""Which columns of these tables should be equated? The best closed predicates by a preference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING

from lakejoin.errors import InputError
from lakejoin.joins.options import Progress
from lakejoin.joins.predicates.coded import CodedTables, coded_tables
from lakejoin.joins.predicates.facts import Facts
from lakejoin.joins.predicates.join_trees import Column
from lakejoin.joins.predicates.preferences import PREFERENCES, Wanted, preferences_named
from lakejoin.joins.predicates.ranking import Members, Ranking
from lakejoin.joins.predicates.search import Pruning, TwoTables
from lakejoin.joins.predicates.several import SeveralTables
from lakejoin.model import ValueRules
from lakejoin.signals.likely_names import names_alike

if TYPE_CHECKING:
    import pyarrow as pa

ColumnRef = tuple[int, str]  # a table's number, and the name of a column
Pair = tuple[ColumnRef, ColumnRef]

_MOST = 100_000
_OF_IDS = 0.1  # of columns alike, those that are called ids come first


@dataclass(frozen=True, slots=True)
class PredicateOptions:
    """What is wanted: preferences, how many predicates of each, and what is equal.

    At most `most` predicates are looked at (of several tables a twentieth, as each takes longer);
    None: all that could be among the best.
    """

    prefer: Wanted | Sequence[Wanted] = "compact"
    n: int = 5
    rules: ValueRules = field(default_factory=ValueRules)
    pruning: Pruning = field(default_factory=Pruning)
    most: int | None = _MOST

    def __post_init__(self) -> None:
        if not isinstance(self.n, Integral) or self.n < 1:
            raise InputError(f"at least one predicate has to be asked for, not {self.n!r}")


@dataclass(frozen=True, slots=True)
class Predicate:
    """Pairs of columns that must all be equal, with what their join counts and scores.

    It is closed: all pairs are in it that are equal in every row of its inner join. `enough` are
    few of them that make the same join.
    """

    pairs: tuple[Pair, ...]
    enough: tuple[Pair, ...]
    facts: Facts
    scores: dict[str, float]

    @property
    def on(self) -> tuple[tuple[str, str], ...]:
        """The names of the columns, where there are two tables."""
        return tuple((left, right) for (_, left), (_, right) in self.pairs)


@dataclass(frozen=True, slots=True)
class FoundPredicates:
    """The best predicates by the name of each preference; empty lists where no rows can meet.

    `complete` is false if the search was cut short: there may be better ones then.
    """

    best: dict[str, list[Predicate]]
    looked_at: int
    complete: bool


def find_predicates(
    tables: Sequence[pa.Table] | CodedTables,
    options: PredicateOptions | None = None,
    progress: Progress | None = None,
) -> FoundPredicates:
    """The best predicates over two or more tables.

    >>> import pyarrow as pa
    >>> people = pa.table({"id": [1, 2, 3], "boss": [3, 3, 1], "town": ["Bern", "Ulm", "Ulm"]})
    >>> calls = pa.table({"caller": [2, 2, 3, 1, 3], "minutes": [1, 3, 3, 2, 1]})
    >>> found = find_predicates([people, calls])
    >>> found.best["compact"][0].on, found.best["compact"][0].facts.inner
    ((('id', 'caller'),), 5)
    """
    options = options or PredicateOptions()
    coded = tables if isinstance(tables, CodedTables) else coded_tables(tables, options.rules)
    if len(coded.tables) < 2:
        raise InputError("a predicate is between two tables or more: name another one")
    rankings = [Ranking(one, options.n) for one in preferences_named(options.prefer)]
    kind = TwoTables if len(coded.tables) == 2 else SeveralTables
    search = kind(coded, rankings, options.pruning, options.most, progress or (lambda doing: None))
    search.run()
    best = {one.preference.name: _best(one, search, coded, options.n) for one in rankings}
    return FoundPredicates(best, search.looked_at, search.complete)


def _best(
    ranking: Ranking, search: TwoTables | SeveralTables, coded: CodedTables, n: int
) -> list[Predicate]:
    """The n best of a preference, closed, each once."""

    def named(column: Column) -> ColumnRef:
        return column[0], coded.tables[column[0]].columns[column[1]]

    def pairs_of(members: Members) -> tuple[Pair, ...]:
        pairs = sorted(search.pairs[one] for one in members)
        return tuple((named(left), named(right)) for left, right in pairs)

    def alike(number: int) -> float:
        [((_, left), (_, right))] = pairs_of((number,))
        names = names_alike(left, right)
        return names.alike + _OF_IDS * names.are_ids

    def all_alike(members: Members) -> float:
        return sum(map(alike, members)) / len(members)

    found: dict[Members, Predicate] = {}
    for members, facts in ranking.in_order(all_alike):
        closed = search.closed(members, facts)
        if closed not in found:
            scores = {one.name: one.score(facts) for one in (*PREFERENCES, ranking.preference)}
            enough = search.enough(closed, facts, alike)
            found[closed] = Predicate(pairs_of(closed), pairs_of(enough), facts, scores)
        if len(found) == n:
            break
    return list(found.values())
