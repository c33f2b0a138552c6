"""Predicates over three and four tables are those of brute force; all tables are connected."""

from __future__ import annotations

import math
from itertools import permutations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from joins.predicates.small_tables import check, places_of, table_of, tables
from joins.predicates.test_engine import EVERY, PRUNINGS, Bounded, Own, asked, ranks_of, score_of
from oracle.predicates import Joins

SOME = settings(max_examples=20, deadline=None)
Several = tuple[pa.Table, ...]
THREE = st.tuples(tables(0, 2, 4), tables(1, 2, 4), tables(2, 2, 3))
SMALL = st.tuples(tables(0, 2, 3), tables(1, 1, 3), tables(2, 2, 3))
FOUR = st.tuples(tables(0, 1, 3), tables(1, 2, 3), tables(2, 2, 3), tables(3, 1, 2))


@given(THREE | FOUR, st.integers(1, 6))
@settings(max_examples=50, deadline=None)
def test_the_best_are_those_of_all_closed_predicates(some: Several, n: int) -> None:
    joins = Joins.of(*some)
    found = asked(some, EVERY, n)
    assert found.complete
    for name in EVERY:
        check(found.best[name], joins, some, score_of(name), n)
        for one in found.best[name]:
            assert joins.connects(places_of(one, some))


@given(SMALL)
@settings(max_examples=10, deadline=None)
def test_each_preference_alone_and_without_pruning(some: Several) -> None:
    joins = Joins.of(*some)
    for pruning in PRUNINGS:
        together = asked(some, EVERY, 2, pruning=pruning, most=None)
        for name in EVERY:
            check(together.best[name], joins, some, score_of(name), 2)
    for name in EVERY:
        check(asked(some, name, 2).best[name], joins, some, score_of(name), 2)


@given(THREE)
@settings(max_examples=10, deadline=None)
def test_the_order_of_the_tables_changes_no_score(some: Several) -> None:
    expected = asked(some, EVERY, 3)
    for order in permutations(some):
        found = asked(order, EVERY, 3)
        for name in EVERY:
            assert ranks_of(found.best[name], name) == ranks_of(expected.best[name], name)


@given(THREE)
@SOME
def test_preferences_of_ones_own(some: Several) -> None:
    joins = Joins.of(*some)
    for own in (Own(), Bounded()):
        check(asked(some, own, 3).best["few rows"], joins, some, own.of, 3)


def test_a_table_that_shares_nothing_leaves_no_predicate() -> None:
    one, other = table_of({"a": ["a", "b"]}), table_of({"x": ["q"]})
    found = asked((one, one, other))
    assert found.complete and all(best == [] for best in found.best.values())


def test_a_row_may_be_in_several_groups() -> None:
    """Section V-D: a chain splits the group of a row in the middle of it."""
    some = (
        table_of({"a": ["x"]}),
        table_of({"b": ["x", "x"], "c": ["1", "2"]}),
        table_of({"d": ["1", "2"]}),
    )
    (one,) = asked(some, "groups").best["groups"]
    assert one.pairs == (((0, "a"), (1, "b")), ((1, "c"), (2, "d")))
    assert (one.facts.groups, one.facts.involved, one.facts.inner) == (2, (1, 2, 2), 2)


def test_a_join_of_more_rows_than_64_bits_hold() -> None:
    """Four tables of one value, and of a second in one row each: 100,000^4 + 1 rows, exactly."""
    rows = 100_000
    some = [table_of({name: ["x"] * rows + ["y"]}) for name in "abcd"]
    found = asked(some, EVERY, 1)
    for best in found.best.values():
        (one,) = best
        assert len(one.pairs) == 6 and one.facts.groups == 2
        assert one.facts.inner == rows**4 + 1 > 2**64
        assert one.facts.involved == (rows + 1,) * 4
        assert one.facts.outer == one.facts.inner
        assert one.scores["compact"] == 4 * (rows + 1) - (rows**4 + 1)
        assert math.isclose(one.facts.entropy, 0.0, abs_tol=1e-9)
