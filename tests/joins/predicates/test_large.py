"""Tables that are wide, constant, repeated, or join to very many rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from joins.predicates.small_tables import check, table_of
from joins.predicates.test_engine import EVERY, asked, ranks_of, score_of
from lakejoin.joins.predicates.predicate_search import Pruning
from oracle.predicates import Joins

WIDE = 170
CONSTANT = 25


def test_wide_tables_that_are_the_same_rows() -> None:
    """Columns of two or three values each, one key: on the key, all columns are equal.

    Every column alone involves all rows, so that almost everything ties: the search is limited.
    """
    rng = np.random.default_rng(7)
    rows = 60
    columns = {f"c{i}": [f"{i} {n}" for n in rng.integers(0, 3, rows)] for i in range(WIDE - 1)}
    columns["key"] = [f"key {n}" for n in range(rows)]
    left = pa.table(columns)
    order = rng.permutation(rows)
    right = left.take(pa.array(order)).rename_columns([f"{name}'" for name in left.column_names])
    found = asked((left, right), ("coverage", "compact", "strength"), 1, most=2000)
    for (one,) in found.best.values():
        assert one.on == tuple((name, f"{name}'") for name in left.column_names)
        assert (one.facts.groups, one.facts.inner, one.facts.outer) == (rows, rows, rows)


def test_wide_tables_of_which_few_columns_meet() -> None:
    """Brute force is of the columns that share a value; the others change nothing."""
    rng = np.random.default_rng(3)
    few = [
        {f"{side}{i}": [str(n) for n in rng.integers(0, 3, 8)] for i in range(3)} for side in "lr"
    ]
    wide = [
        table_of({f"{side}x{i}": [f"{side} {i}"] * 8 for i in range(WIDE - 3)} | columns)
        for side, columns in zip("lr", few, strict=True)
    ]
    some = [table_of(columns) for columns in few]
    expected, found = asked(some, EVERY, 4), asked(wide, EVERY, 4)
    assert found.complete
    for name in EVERY:
        assert ranks_of(found.best[name], name) == ranks_of(expected.best[name], name)
        check(expected.best[name], Joins.of(*some), some, score_of(name), 4)


def test_columns_of_one_constant_are_one_predicate() -> None:
    left = table_of({f"l{i}": ["x"] * 5 for i in range(CONSTANT)})
    right = table_of({f"r{i}": ["x"] * 7 for i in range(CONSTANT)})
    found = asked((left, right))
    assert found.complete
    for (one,) in found.best.values():
        assert len(one.pairs) == CONSTANT**2
        assert (one.facts.groups, one.facts.inner, one.facts.involved) == (1, 35, (5, 7))


@pytest.mark.parametrize("times", [1, 2, 5])
def test_rows_that_are_repeated_are_counted_as_often(times: int) -> None:
    left = table_of({"a": ["x", "y", "z"] * times})
    right = table_of({"b": ["x", "y", "q"] * times})
    (one,) = asked((left, right), "compact").best["compact"]
    assert one.facts.involved == (2 * times, 2 * times)
    assert (one.facts.groups, one.facts.inner) == (2, 2 * times**2)
    assert one.facts.entropy == pytest.approx(1.0)
    assert one.scores["compact"] == 4 * times - 2 * times**2


def test_a_join_of_more_rows_than_32_bits_hold() -> None:
    rows = 2**17
    left, right = (table_of({name: ["x"] * rows}) for name in "lr")
    (one,) = asked((left, right), "compact").best["compact"]
    assert one.facts.inner == 2**34 and one.facts.entropy == 0.0
    assert one.scores["compact"] == 2 * rows - 2**34


def test_the_answer_is_the_same_again() -> None:
    rng = np.random.default_rng(11)
    some = [
        table_of({f"{side}{i}": [str(n) for n in rng.integers(0, 6, 200)] for i in range(5)})
        for side in "lr"
    ]
    found = asked(some, EVERY, 5, most=2000)
    assert found == asked(some, EVERY, 5, most=2000)
    assert all(len(best) == 5 for best in found.best.values())
    for name in EVERY:
        again = asked(some, tuple(reversed(EVERY)), 5, most=2000).best[name]
        assert again == found.best[name]


@pytest.mark.parametrize("seed", range(5))
def test_bounds_lose_nothing_where_there_are_too_many_predicates_for_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    some = [
        table_of({f"{side}{i}": [str(n) for n in rng.integers(0, 7, 15)] for i in range(width)})
        for side, width in (("l", 3), ("r", 5))
    ]
    whole = asked(some, EVERY, 2, pruning=Pruning(bounds=False), most=None)
    found = asked(some, EVERY, 2, most=None)
    assert found.looked_at < whole.looked_at
    for name in EVERY:
        assert ranks_of(found.best[name], name) == ranks_of(whole.best[name], name)


EMPTY = {
    "no rows": (table_of({"a": []}), table_of({"b": ["x"]})),
    "no rows at all": (table_of({"a": []}), table_of({"b": []})),
    "nulls only": (table_of({"a": [None, "", "n/a"]}), table_of({"b": [None, "", "n/a"]})),
    "nothing shared": (table_of({"a": ["x"]}), table_of({"b": ["y"]})),
}


@pytest.mark.parametrize("kind", EMPTY)
def test_where_nothing_meets_there_is_no_predicate(kind: str) -> None:
    found = asked(EMPTY[kind])
    assert found.complete
    assert found.best == {name: [] for name in EVERY}
