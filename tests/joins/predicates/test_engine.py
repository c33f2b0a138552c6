"""The best predicates over two tables are those of brute force, whatever is asked and pruned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joins.predicates.small_tables import check, places_of, table_of, tables
from lakejoin.errors import InputError
from lakejoin.joins.predicates.predicate_finder import (
    Predicate,
    PredicateOptions,
    PredicateResults,
    find_predicates,
)
from lakejoin.joins.predicates.predicate_search import Pruning
from lakejoin.joins.predicates.preferences import PREFERENCES, Facts
from lakejoin.model import ValueRules
from oracle.predicates import Joined, Joins

EVERY = tuple(preference.name for preference in PREFERENCES)
SOME = settings(max_examples=30, deadline=None)
Two = tuple[pa.Table, pa.Table]
TWO = st.tuples(tables(0, 3, 6), tables(1, 3, 5))
PRUNINGS = [Pruning(bounds, closed) for bounds in (True, False) for closed in (True, False)]


def asked(
    some: Sequence[pa.Table], prefer: Any = EVERY, n: int = 5, **more: Any
) -> PredicateResults:
    return find_predicates(list(some), PredicateOptions(prefer=prefer, n=n, **more))


def score_of(name: str) -> Callable[[Joined], float]:
    return lambda joined: joined.scores[name]


def ranks_of(found: Sequence[Predicate], name: str) -> list[tuple[float, int, int]]:
    """What they are ordered by before their names are looked at."""
    return [(round(p.scores[name], 9), p.facts.all_involved, p.facts.inner) for p in found]


# -- as brute force ----------------------------------------------------------------------------


@given(TWO, st.integers(1, 7))
@settings(max_examples=80, deadline=None)
def test_the_best_are_those_of_all_closed_predicates(some: Two, n: int) -> None:
    joins = Joins.of(*some)
    for name in EVERY:
        found = asked(some, name, n)
        assert found.complete and list(found.best) == [name]
        check(found.best[name], joins, some, score_of(name), n)


@given(TWO, st.integers(1, 4))
@SOME
def test_all_five_together_are_each_alone(some: Two, n: int) -> None:
    together = asked(some, EVERY, n)
    assert list(together.best) == list(EVERY)
    for name in EVERY:
        alone = asked(some, name, n)
        assert ranks_of(together.best[name], name) == ranks_of(alone.best[name], name)


@given(TWO, st.integers(1, 4))
@SOME
def test_no_rule_of_pruning_loses_anything(some: Two, n: int) -> None:
    expected = asked(some, EVERY, n)
    for pruning in PRUNINGS:
        found = asked(some, EVERY, n, pruning=pruning, most=None)
        assert found.complete
        for name in EVERY:
            assert ranks_of(found.best[name], name) == ranks_of(expected.best[name], name)


@given(TWO)
@SOME
def test_all_closed_predicates_are_found_if_so_many_are_asked_for(some: Two) -> None:
    joins = Joins.of(*some)
    for name in EVERY:
        found = asked(some, name, 1000).best[name]
        assert {places_of(one, some) for one in found} == set(joins.closed)


@given(TWO)
@SOME
def test_the_order_of_the_tables_changes_no_score(some: Two) -> None:
    one, other = asked(some), asked(some[::-1])
    for name in EVERY:
        assert ranks_of(one.best[name], name) == ranks_of(other.best[name], name)


@given(TWO, st.randoms())
@SOME
def test_the_order_of_rows_and_columns_changes_no_score(some: Two, random: Any) -> None:
    expected = asked(some)
    shuffled = []
    for table in some:
        rows, names = list(range(table.num_rows)), table.column_names
        random.shuffle(rows)
        random.shuffle(names)
        shuffled.append(table.take(pa.array(rows, pa.int64())).select(names))
    found = asked(shuffled)
    for name in EVERY:
        assert ranks_of(found.best[name], name) == ranks_of(expected.best[name], name)


@given(TWO)
@SOME
def test_exact_values_are_other_values(some: Two) -> None:
    joins = Joins.of(*some, exact=True)
    found = asked(some, EVERY, 3, rules=ValueRules(fold=False))
    for name in EVERY:
        check(found.best[name], joins, some, score_of(name), 3)


@given(TWO)
@settings(max_examples=10, deadline=None)
def test_the_answer_is_always_the_same(some: Two) -> None:
    assert asked(some) == asked(some)


LAST_BITS = {
    # Groups of 2 x 1 and 2 x 2 rows have the entropy of 1 x 1 and 1 x 2, but for the last bit.
    "shares": (
        table_of({"a": ["a", "a", "b", "b"], "b": ["1", "0", "1", "0"]}),
        table_of({"a": ["a", "b", "b"], "x": ["1", "1", "1"]}),
    ),
    # A single group has none, but log2(11) - 11 log2(11) / 11 is not quite zero.
    "one group": (
        table_of({"a": ["a"] * 12, "b": ["a"] * 11 + [None]}),
        table_of({"a": ["a"]}),
    ),
}


@pytest.mark.parametrize("kind", LAST_BITS)
def test_scores_that_differ_by_rounding_only_are_equal(kind: str) -> None:
    some = LAST_BITS[kind]
    for n in (1, 2, 3):
        found = asked(some, "balanced", n).best["balanced"]
        check(found, Joins.of(*some), some, score_of("balanced"), n)


# Tables in which the best predicate has a pair that, without an earlier one, splits too little.
LATE_PAIRS = {
    "compact": (
        {"a": "111-1", "b": "02011", "c": "20111"},
        {"x": "10211", "y": "12010", "z": "-1111"},
    ),
    "balanced": (
        {"a": "111-", "b": "0101", "c": "2010"},
        {"x": "0-01", "y": "2010", "z": "1-11"},
    ),
}


@pytest.mark.parametrize("name", LATE_PAIRS)
def test_a_pair_that_splits_little_alone_is_kept_for_others(name: str) -> None:
    some = [
        table_of({key: [None if c == "-" else c for c in cells] for key, cells in columns.items()})
        for columns in LATE_PAIRS[name]
    ]
    for prefer in (name, EVERY):
        found = asked(some, prefer, 1).best[name]
        check(found, Joins.of(*some), some, score_of(name), 1)


# -- preferences of one's own ------------------------------------------------------------------


class Own:
    """Many groups in few rows; no more groups than `most_groups`, no fewer rows than none."""

    __name__ = "few rows"

    def __call__(self, facts: Facts) -> float:
        return 3 * facts.groups - facts.inner

    def of(self, joined: Joined) -> float:
        return 3 * joined.groups - joined.inner


class Bounded(Own):
    """The same, pruned."""

    def __init__(self) -> None:
        self.asked = 0

    def bound(self, facts: Facts) -> float:
        self.asked += 1
        return 3 * facts.most_groups


@given(TWO, st.integers(1, 4))
@SOME
def test_preferences_of_ones_own_with_a_bound_and_without(some: Two, n: int) -> None:
    joins = Joins.of(*some)
    free, bounded = Own(), Bounded()
    for own in (free, bounded):
        found = asked(some, own, n)
        check(found.best["few rows"], joins, some, own.of, n)
        for one in found.best["few rows"]:
            assert one.scores["few rows"] == own(one.facts)


def test_preferences_of_one_name_are_told_apart() -> None:
    some = (table_of({"a": ["x", "y"]}), table_of({"b": ["x", "x"]}))

    def groups(facts: Facts) -> float:
        return -facts.groups

    found = asked(some, ["groups", groups, lambda f: f.inner, lambda f: -f.inner], 1)
    assert list(found.best) == ["groups", "groups 2", "<lambda>", "<lambda> 2"]
    (one,) = found.best["groups 2"]
    assert (one.scores["groups"], one.scores["groups 2"]) == (1, -1)


@pytest.mark.parametrize("score", [float("nan"), None, "high"])
def test_a_preference_must_give_numbers(score: Any) -> None:
    some = (table_of({"a": ["x"]}), table_of({"b": ["x"]}))
    with pytest.raises(InputError, match=r"'<lambda>' returned .*, which is not a number"):
        asked(some, lambda facts: score)


@pytest.mark.parametrize("wrong", [{"n": 0}, {"n": 2.5}, {"prefer": 3}])
def test_what_cannot_be_asked_for(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        find_predicates([table_of({"a": ["x"]})] * 2, PredicateOptions(**wrong))


@given(TWO)
@SOME
def test_small_joins_may_be_wanted_too(some: Two) -> None:
    """A score that grows with every pair has no bound: all of the tree is looked at."""
    joins = Joins.of(*some)
    found = asked(some, lambda facts: -facts.inner, 2)
    check(found.best["<lambda>"], joins, some, lambda joined: -joined.inner, 2)


# -- a limit -----------------------------------------------------------------------------------


@given(TWO, st.integers(1, 12))
@SOME
def test_a_limit_is_told_and_what_is_found_is_right(some: Two, most: int) -> None:
    joins = Joins.of(*some)
    whole = asked(some, EVERY, 3, most=None)
    found = asked(some, EVERY, 3, most=most)
    assert whole.complete
    if found.complete:
        assert found.best == whole.best
    else:
        assert found.looked_at >= most
    for name in EVERY:
        scores = [round(one.scores[name], 9) for one in found.best[name]]
        assert scores == sorted(scores, reverse=True)
        for one in found.best[name]:
            assert places_of(one, some) in joins.closed


def test_a_limit_leaves_the_search_incomplete() -> None:
    columns = {name: ["a", "b", "c", "a", "b"] for name in "abcdef"}
    columns |= {name: cells[i:] + cells[:i] for i, (name, cells) in enumerate(columns.items())}
    some = table_of(columns), table_of({name: cells[::-1] for name, cells in columns.items()})
    found = asked(some, lambda facts: -facts.inner, most=40)
    assert not found.complete and found.looked_at <= 40
    assert asked(some, lambda facts: -facts.inner, most=None).complete
