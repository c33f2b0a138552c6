"""Scores as the paper defines them, and bounds that hold for every more specific predicate."""

from __future__ import annotations

from math import log2, prod

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joins.predicates.small_tables import facts_of, table_of, tables
from lakejoin.errors import InputError
from lakejoin.joins.predicates.preferences import (
    PREFERENCES,
    Facts,
    find_preference,
    find_preferences,
    rounded_bits,
)
from oracle.predicates import Joined, Joins

QUICK = settings(max_examples=50, deadline=None)
ROOM = 1e-12  # for rounding in sums of logarithms
SMALL = st.tuples(tables(0, 2, 4), tables(1, 3, 4))
THREE = st.tuples(tables(0, 2, 3), tables(1, 2, 3), tables(2, 1, 3))
FOUR = st.tuples(tables(0, 1, 2), tables(1, 2, 3), tables(2, 1, 2), tables(3, 1, 2))


def _paper_bounds(facts: Facts) -> dict[str, float]:
    """The bounds that the paper gives for each preference."""
    fewest, rows = min(facts.involved), facts.all_involved + sum(facts.sizes)
    return {
        "coverage": facts.all_involved,
        "groups": fewest,
        "compact": fewest,
        "balanced": rounded_bits(log2(max(fewest, 1))),
        "strength": 2 * facts.all_involved / rows if rows else 0.0,
    }


# -- brute force itself ------------------------------------------------------------------------


@given(SMALL | THREE)
@QUICK
def test_the_oracle_agrees_with_the_definitions(some: tuple[pa.Table, ...]) -> None:
    joins = Joins.of(*some)
    for found in joins.valid():
        by_key = sorted(prod(map(len, group)) for group in found.group_rows)
        assert by_key == sorted(found.keys.values())  # the products of the groups are the join
        for t in range(len(some)):
            assert set().union(*(group[t] for group in found.group_rows)) == found.involved_rows[t]
        if joins.connects(found.pairs):
            assert joins.is_closed(found.pairs) == (found.pairs in joins.closed)


@given(SMALL)
@QUICK
def test_scores_of_two_tables_are_those_of_table_one(some: tuple[pa.Table, ...]) -> None:
    """The sums over the groups that the paper writes, against what they are to say."""
    for found in Joins.of(*some).valid():
        sizes = [(len(r), len(s)) for r, s in found.group_rows]
        total = sum(r * s for r, s in sizes)
        shares = [r * s / total for r, s in sizes]
        covered = sum(r + s for r, s in sizes)
        assert found.scores == pytest.approx(
            {
                "coverage": covered,
                "groups": len(sizes),
                "compact": sum(r + s - r * s for r, s in sizes),
                "balanced": -sum(p * log2(p) for p in shares),
                "strength": 2 * covered / (2 * total + sum(found.sizes)),
            }
        )


# -- scores and bounds -------------------------------------------------------------------------


@given(SMALL | THREE | FOUR)
@QUICK
def test_scores_are_those_of_brute_force(some: tuple[pa.Table, ...]) -> None:
    for found in Joins.of(*some).valid():
        facts = facts_of(found)
        assert facts.outer == len(found.outer_rows)
        scores = {preference.name: preference.score(facts) for preference in PREFERENCES}
        assert scores == pytest.approx(found.scores)


@given(SMALL | THREE | FOUR)
@QUICK
def test_bounds_hold_for_all_that_join_more_columns(some: tuple[pa.Table, ...]) -> None:
    known = [(found.pairs, facts_of(found)) for found in Joins.of(*some).valid()]
    for preference in PREFERENCES:
        scored = [(p, preference.score(facts), preference.bound(facts)) for p, facts in known]
        for pairs, _, bound in scored:
            for more, score, their_bound in scored:
                if more >= pairs:
                    assert score <= bound + ROOM
                    assert their_bound <= bound + ROOM


@given(SMALL)
@QUICK
def test_the_papers_bounds_hold_and_are_never_tighter(some: tuple[pa.Table, ...]) -> None:
    known = [(found.pairs, facts_of(found)) for found in Joins.of(*some).valid()]
    for preference in PREFERENCES:
        scored = [(p, preference.score(f), _paper_bounds(f)[preference.name], f) for p, f in known]
        for pairs, _, bound, facts in scored:
            assert preference.bound(facts) <= bound + ROOM
            for more, score, their_bound, _ in scored:
                if more >= pairs:
                    assert score <= bound + ROOM
                    assert their_bound <= bound + ROOM


@given(SMALL | THREE | FOUR)
@QUICK
def test_no_predicate_of_more_columns_has_more_groups(some: tuple[pa.Table, ...]) -> None:
    known = list(Joins.of(*some).valid())
    for found in known:
        for more in known:
            if more.pairs >= found.pairs:
                assert more.groups <= found.most_groups
                assert more.most_groups <= found.most_groups


def test_bounds_are_tighter_than_the_papers_where_a_key_repeats_on_either_side() -> None:
    """Groups of 1 x 3 and 3 x 1 rows: the paper allows min(4, 4) groups, and there are 2."""
    left = table_of({"a": ["x", "y", "y", "y"]})
    right = table_of({"b": ["x", "x", "x", "y"]})
    (found,) = Joins.of(left, right).closed.values()
    facts = facts_of(found)
    bounds = {one.name: (one.bound(facts), _paper_bounds(facts)[one.name]) for one in PREFERENCES}
    assert bounds == {
        "coverage": (8, 8),
        "groups": (2, 4),
        "compact": (2, 4),
        "balanced": (1.0, 2.0),
        "strength": (16 / (2 * 6 + 8), 16 / (8 + 8)),
    }


def test_the_papers_bounds_are_of_two_tables_only() -> None:
    """Rows of a third table can split a group of one row into several.

    x joins both (x, 1) and (x, 2), which join 1 and 2: one row of the first table is in two groups,
    so that min{1, 2, 2} = 1 is no bound of h2 = 2. Of h3, even one row in each of three tables is
    enough: 3 involved rows, 1 joined: h3 = 2 > min{1, 1, 1}.
    """
    chain = Joins.of(
        table_of({"a": ["x"]}),
        table_of({"a": ["x", "x"], "b": ["1", "2"]}),
        table_of({"b": ["1", "2"]}),
    )
    (found,) = chain.closed.values()
    facts = facts_of(found)
    assert found.scores["groups"] == 2 > min(facts.involved)
    assert find_preference("groups").bound(facts) == 2
    (found,) = Joins.of(*[table_of({"a": ["x"]})] * 3).closed.values()
    facts = facts_of(found)
    assert found.scores["compact"] == 2 > min(facts.involved)
    assert find_preference("compact").bound(facts) == 2


# -- names -------------------------------------------------------------------------------------


def test_preferences_are_named_for_what_they_do_and_as_in_the_paper() -> None:
    names = ["coverage", "groups", "compact", "balanced", "strength"]
    assert [one.name for one in PREFERENCES] == names
    assert [one.alias for one in PREFERENCES] == ["h1", "h2", "h3", "h4", "h5"]
    for one in PREFERENCES:
        assert find_preference(one.name) is find_preference(one.alias.upper()) is one
        assert find_preference(one) is one
        assert one.when and "\n" not in one.when
    assert find_preferences("h3") == find_preferences(["h3", "compact"]) == (PREFERENCES[2],)


@pytest.mark.parametrize("wanted", ["h6", "", "coverages"])
def test_an_unknown_preference_is_told_with_all_that_are_known(wanted: str) -> None:
    with pytest.raises(InputError, match=r"coverage \(h1\).*strength \(h5\)"):
        find_preference(wanted)


def test_a_preference_of_ones_own_brings_its_bound() -> None:
    def rows(facts: object) -> float:
        return -1.0

    own = find_preference(rows)
    facts = facts_of(_of_one_row())
    assert (own.name, own.score(facts), own.bound(facts)) == ("rows", -1.0, float("inf"))
    rows.bound = lambda facts: 3.0  # type: ignore[attr-defined]
    assert find_preference(rows).bound(facts) == 3.0


def _of_one_row() -> Joined:
    (found,) = Joins.of(*[table_of({"a": ["x"]})] * 2).closed.values()
    return found
