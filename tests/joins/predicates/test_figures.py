"""The toy tables of the paper (figure 1), with every number that it prints of them.

All scores that are printed follow from figure 1 by the definitions. Not all rows of figure 2 do:

- O3 has the manager Steve in figure 1 and in p4 of figure 2, but Alice in p1, p2 and p3. With
  Alice, p4 would join 2 x 3 + 1 x 3 = 9 rows, and figure 2 has 2 x 2 + 1 x 4 = 8: Steve here.
- O5 has the address Beta Ave. in figure 1 and in p2, p3, but Beta St. in p1. With Beta St., it
  would meet nobody in p3, which has it: Beta Ave. here.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from joins.predicates.small_tables import places_of
from lakejoin.joins.predicates.predicate_finder import PredicateOptions, find_predicates
from lakejoin.joins.predicates.preferences import PREFERENCES
from oracle.predicates import Joined, Joins, Pairs

PEOPLE = """ID|Tel.|Name|Home|Clerk
P1|001|Alice|Main St.|Steve
P2|002|Alice|Royal Rd.|Steve
P3|003|Bob|Robson St.|Ada
P4|004|Lucy|Univ Dr.|Steve
P5|005|Steve|Main St.|Steve
P6|006|Tom|Beta Ave.|Steve"""
ORDERS = """ID|Client|Address|Tel.|Date|Manager
O1|Alice|Main St.|001|Apr 1|Steve
O2|Bob|Royal Rd.|010|Apr 1|Alice
O3|Bob|Robson St.|003|Apr 2|Steve
O4|Alice|Main St.|001|Apr 3|Steve
O5|Tom|Beta Ave.|006|Apr 4|Steve
O6|Peter|Main St.|011|Apr 5|Alice"""

NAMED = {
    "p1": [("Name", "Client")],
    "p2": [("Tel.", "Tel."), ("Name", "Client"), ("Home", "Address")],
    "p3": [("Home", "Address")],
    "p4": [("Name", "Manager")],
    "p5": [("Name", "Manager"), ("Home", "Address")],
}
# groups, involved rows of either table, rows of the inner and of the full outer join
COUNTED = {
    "p1": (3, (4, 5), 7, 10),
    "p2": (3, (3, 4), 4, 9),
    "p3": (4, (5, 6), 9, 10),
    "p4": (2, (3, 6), 8, 11),
    "p5": (3, (3, 4), 4, 9),
}
PRINTED = [
    ("p4", "groups", 2),
    ("p5", "groups", 3),
    ("p3", "compact", 2),
    ("p2", "compact", 3),
    ("p3", "balanced", 1.447),
    ("p2", "balanced", 1.5),
    ("p1", "strength", 0.692),
    ("p2", "strength", 0.7),
]


def _table(text: str) -> pa.Table:
    names, *rows = (line.split("|") for line in text.splitlines())
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


# Only columns that share a value with one of the other table: 16 pairs, not 30, for brute force.
TABLES = (
    _table(PEOPLE).drop_columns(["ID"]),
    _table(ORDERS).drop_columns(["ID", "Date"]),
)


def places(on: list[tuple[str, str]]) -> Pairs:
    left, right = (table.column_names for table in TABLES)
    return frozenset(((0, left.index(a)), (1, right.index(b))) for a, b in on)


@pytest.fixture(scope="module")
def joins() -> Joins:
    return Joins.of(*TABLES)


def by_ids(joined: Joined) -> list[tuple[str, str]]:
    return sorted((f"P{left + 1}", f"O{right + 1}") for left, right in joined.rows)


@pytest.mark.parametrize("name", NAMED)
def test_what_is_counted(joins: Joins, name: str) -> None:
    joined = joins.closed[places(NAMED[name])]  # all five are closed
    counted = joined.groups, joined.involved, joined.inner, len(joined.outer_rows)
    assert counted == COUNTED[name]


@pytest.mark.parametrize(("name", "preference", "printed"), PRINTED)
def test_printed_scores(joins: Joins, name: str, preference: str, printed: float) -> None:
    score = joins.closed[places(NAMED[name])].scores[preference]
    assert score == pytest.approx(printed, abs=0.0005)


def test_rows_of_figure_two(joins: Joins) -> None:
    expected = {
        "p1": "P1O1 P1O4 P2O1 P2O4 P3O2 P3O3 P6O5",
        "p2": "P1O1 P1O4 P3O3 P6O5",
        "p3": "P1O1 P1O4 P1O6 P2O2 P3O3 P5O1 P5O4 P5O6 P6O5",
        "p4": "P1O2 P1O6 P2O2 P2O6 P5O1 P5O3 P5O4 P5O5",
    }
    for name, rows in expected.items():
        found = by_ids(joins.joined(places(NAMED[name])))
        assert " ".join(a + b for a, b in found) == rows


def test_joining_keys_and_the_outer_join_of_p2(joins: Joins) -> None:
    joined = joins.joined(places(NAMED["p2"]))
    assert {frozenset(filter(None, key)) for key in joined.keys} == {
        frozenset(key)
        for key in (
            ("001", "alice", "main st."),
            ("003", "bob", "robson st."),
            ("006", "tom", "beta ave."),
        )
    }
    assert sorted(map(str, joined.group_rows))[0] == "({0}, {0, 3})"  # P1 with O1 and O4
    alone = [row for row in joined.outer_rows if None in row]
    assert alone == [(1, None), (3, None), (4, None), (None, 1), (None, 5)]  # P2 P4 P5, O2 O6


def test_what_is_not_closed(joins: Joins) -> None:
    p2 = joins.joined(places(NAMED["p2"]))
    for on in ([("Tel.", "Tel.")], [("Name", "Client"), ("Home", "Address")]):
        assert joins.joined(places(on)).rows == p2.rows
        assert not joins.is_closed(places(on))
    with_clerk = [("Name", "Client"), ("Home", "Address"), ("Clerk", "Manager")]
    assert not joins.is_closed(places(with_clerk))
    assert joins.is_closed(places([("Tel.", "Tel."), *with_clerk]))


def test_the_tree_of_figure_three(joins: Joins) -> None:
    """Its picture is of all valid predicates: by the definitions 19, and 11 of them are closed."""
    assert (len(list(joins.valid())), len(joins.closed)) == (19, 11)


def test_compact_is_the_smallest_outer_join_not_the_smallest_inner_one(joins: Joins) -> None:
    """|R| + |S| - h3 is the outer join: section IV-C means that, where it writes arg min |R x S|.

    The smallest inner join has 2 rows and h3 = 3 - 2 = 1; the best is h3 = 7 - 4 = 3.
    """
    closed = joins.closed.values()
    smallest = min(closed, key=lambda joined: joined.inner)
    assert (smallest.inner, smallest.scores["compact"]) == (2, 1)
    best = max(joined.scores["compact"] for joined in closed)
    assert 12 - best == min(len(joined.outer_rows) for joined in closed) == 9


# -- the engine --------------------------------------------------------------------------------


def test_the_engine_finds_and_counts_them_all(joins: Joins) -> None:
    whole = (_table(PEOPLE), _table(ORDERS))
    for some in (TABLES, whole):
        found = find_predicates(list(some), PredicateOptions(prefer="h2", n=100)).best["groups"]
        assert {frozenset(one.on) for one in found} >= {frozenset(on) for on in NAMED.values()}
        assert len(found) == 11
    for one in find_predicates(list(TABLES), PredicateOptions(n=100)).best["compact"]:
        joined = joins.closed[places_of(one, TABLES)]
        assert one.scores == pytest.approx(joined.scores)
        assert one.facts.outer == len(joined.outer_rows)


def test_the_best_of_each_preference() -> None:
    """p3 by coverage, as the introduction has it. p2 and p5 have the same facts: names decide."""
    options = PredicateOptions(prefer=tuple(one.name for one in PREFERENCES), n=1)
    found = find_predicates([_table(PEOPLE), _table(ORDERS)], options).best
    best = {name: sorted(one.on) for name, (one,) in found.items()}
    expected = {"coverage": "p3", "groups": "p3", "compact": "p2", "balanced": "p2"}
    expected["strength"] = "p3"  # 22 / (18 + 12) = 0.733, more than the printed 0.7 of p2
    assert best == {name: sorted(NAMED[p]) for name, p in expected.items()}
