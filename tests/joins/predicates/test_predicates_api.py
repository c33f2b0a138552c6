"""`lakejoin.predicates`: what a Python user gives and gets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

import lakejoin
from conftest import Index
from fake_spark import FakeSpark
from joins.predicates.small_tables import tables
from lakejoin.errors import InputError, NoJoin
from lakejoin.joins.join_inputs import loaded_input
from lakejoin.joins.predicates.coded_tables import encode_tables
from lakejoin.joins.predicates.join_predicate import best_predicates
from lakejoin.joins.predicates.predicate_join import join_rows
from lakejoin.joins.predicates.preferences import Facts
from lakejoin.pipeline.options import BuildOptions

# Figure 1 of the paper.
PEOPLE = {
    "ID": ["P1", "P2", "P3", "P4", "P5", "P6"],
    "Tel": ["001", "002", "003", "004", "005", "006"],
    "Name": ["Alice", "Alice", "Bob", "Lucy", "Steve", "Tom"],
    "Home": ["Main St.", "Royal Rd.", "Robson St.", "Univ Dr.", "Main St.", "Beta Ave."],
    "Clerk": ["Steve", "Steve", "Ada", "Steve", "Steve", "Steve"],
}
ORDERS = {
    "ID": ["O1", "O2", "O3", "O4", "O5", "O6"],
    "Client": ["Alice", "Bob", "Bob", "Alice", "Tom", "Peter"],
    "Address": ["Main St.", "Royal Rd.", "Robson St.", "Main St.", "Beta Ave.", "Main St."],
    "Tel": ["001", "010", "003", "001", "006", "011"],
    "Date": ["Apr 1", "Apr 1", "Apr 2", "Apr 3", "Apr 4", "Apr 5"],
    "Manager": ["Steve", "Alice", "Steve", "Steve", "Steve", "Alice"],
}
P2 = (("Tel", "Tel"), ("Name", "Client"), ("Home", "Address"))


def test_the_papers_example() -> None:
    found = lakejoin.predicates(PEOPLE, ORDERS, prefer="coverage")
    assert found[0].pairs == (("Home", "Address"),)
    assert (found[0].facts.involved, found[0].facts.inner, found[0].facts.outer) == ((5, 6), 9, 10)
    best = lakejoin.predicates(PEOPLE, ORDERS, prefer="h3")
    assert P2 in [one.pairs for one in best if one.scores["compact"] == 3]
    one = next(one for one in best if one.pairs == P2)
    assert list(one.scores) == ["coverage", "groups", "compact", "balanced", "strength"]
    assert one.scores["strength"] == pytest.approx(0.7)
    assert one.enough == (("Tel", "Tel"),), "the number says it all"
    assert one.join().matched == one.table().num_rows == 4
    assert one.table(2).column("Tel_right").to_pylist() == ["001", "001"]
    assert len(best) == best.looked_at or len(best) == 5
    assert best.complete and not best.notes


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame, pl.DataFrame, pa.table, lambda d: duckdb.from_arrow(pa.table(d)), dict],
)
def test_frames_of_any_kind(frame: Any) -> None:
    found = lakejoin.predicates(frame(PEOPLE), frame(ORDERS), prefer="coverage", n=1)
    assert [one.pairs for one in found] == [(("Home", "Address"),)]


def test_files_and_tables_of_the_lake(lake: Path, index: Index, tmp_path: Path) -> None:
    index(lake)
    opened = lakejoin.open(tmp_path / "index")
    cities, codes = lake / "cities.csv", lake / "sub" / "codes.tsv"
    by_file = lakejoin.predicates(cities, codes)
    stored = opened.table("cities.csv"), opened.table("sub/codes.tsv")
    for found in (lakejoin.predicates(*stored), lakejoin.predicates(cities, stored[1])):
        assert [one.pairs for one in found] == [one.pairs for one in by_file]
        assert [one.facts for one in found] == [one.facts for one in by_file]
        assert found[0].pairs == (("country", "code"),)
        assert found[0].table().num_rows == 4
        assert found[0].join(how="full").left_joined == 4


def test_values_are_equal_as_in_the_index(tmp_path: Path) -> None:
    opened = []
    for name, fold in (("exact", False), ("folded", True)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "a.csv").write_text("town,n\nUlm,1\nulm,2\nBern,3\nBern,4\n")
        (folder / "b.csv").write_text("place\nUlm\nulm\n")
        lakejoin.index(
            folder, tmp_path / f"{name}.index", FakeSpark(), options=BuildOptions(fold=fold)
        )
        lake = lakejoin.open(tmp_path / f"{name}.index")
        opened.append((lake.table("a.csv"), lake.table("b.csv")))
    for (mine, theirs), rows in zip(opened, (2, 4), strict=True):
        for other in (theirs, theirs.to_arrow()):
            best = lakejoin.predicates(mine, other)[0]
            assert best.facts.inner == best.table().num_rows == best.join().matched == rows
            with duckdb.connect() as con:
                con.register("left_table", mine.to_arrow())
                con.register("right_table", theirs.to_arrow())
                assert len(con.sql(best.to_sql()).fetchall()) == rows
    (exact, _), (folded, _) = opened
    with pytest.raises(InputError, match=r"exact\.index and .*folded\.index were built"):
        lakejoin.predicates(exact, folded)
    assert lakejoin.predicates(exact, folded.to_arrow()).notes == ()
    with pytest.raises(InputError, match=r"exact\.index and .*folded\.index were built"):
        lakejoin.join(exact, folded)


def fewest(facts: Facts) -> float:
    return -facts.inner


class Few:
    """An own preference, with a bound that is no bound of any use."""

    __name__ = "few"

    def __call__(self, facts: Facts) -> float:
        return -facts.inner

    def bound(self, facts: Facts) -> float:
        return 0.0


@pytest.mark.parametrize("own", [fewest, Few()])
def test_a_preference_of_ones_own(own: Any) -> None:
    found = lakejoin.predicates(PEOPLE, ORDERS, prefer=own, n=100)
    sizes = [one.facts.inner for one in found]
    assert sizes == sorted(sizes) and sizes[0] == 2
    assert found[0].scores[own.__name__] == -2
    assert len(found[0].scores) == 6


def test_several_preferences() -> None:
    found = lakejoin.predicates(PEOPLE, ORDERS, prefer=["h1", "compact", "coverage"], n=2)
    assert list(found.best) == ["coverage", "compact"]
    assert found[0].pairs == found.best["coverage"][0].pairs == (("Home", "Address"),)
    assert len(found) == len({one.pairs for one in found}) <= 4


def test_it_can_be_read() -> None:
    found = lakejoin.predicates(PEOPLE, ORDERS, prefer="coverage", n=2)
    assert repr(found).splitlines()[:3] == [
        "best for coverage: as many rows of all tables as possible match",
        "1. Home = Address",
        "   coverage 11, groups 4, compact 2, balanced 1.447, strength 0.733",
    ]
    assert "note: rows are multiplied" in repr(found[0])
    assert ">coverage</th>" in found._repr_html_()
    html = lakejoin.predicates({"<b>": ["x"]}, {"c": ["x"]})[0]._repr_html_()
    assert "&lt;b&gt; = c" in html and "<b>&lt;" in html
    few = lakejoin.predicates(PEOPLE, ORDERS, most=1)
    assert not few.complete and "cut short" in few.notes[0] and "most=None" in few.notes[0]
    three = lakejoin.predicates(*({"k": ["x"]} for _ in range(3)), most=1)
    assert three.none == "no predicate that joins these tables was found"
    assert "<div>note: the search was cut short" in three._repr_html_()
    assert lakejoin.predicates(PEOPLE, ORDERS, most=None).complete


def test_constants_and_copies_are_told() -> None:
    mine = {"k": ["x"] * 3, "n": [1, 2, 3]}
    found = lakejoin.predicates(mine, {"c": ["x", "x"]})
    assert found[0].notes == (
        "rows are multiplied: these columns are a key of neither table, and a row matches 2.0 rows "
        "on average",
        "k = c share only one value, which is weak evidence",
    )


def test_one_value_in_many_tables_is_told_once() -> None:
    same = [{name: ["x", "x"]} for name in "abcd"]
    best = lakejoin.predicates(*same)[0]
    assert len(best.pairs) == 6 and len(best.enough) == 3
    (few,) = (note for note in best.notes if "share only one value" in note)
    assert few.startswith("table ") and " each share" in few and few.count(" = ") == 3


def test_rows_of_several_tables_are_multiplied() -> None:
    key = {"k": ["x", "y"]}
    best = lakejoin.predicates(key, {"a": ["x", "x", "y"]}, {"b": ["x", "x", "y"]})[0]
    assert best.notes == (
        "rows are multiplied: the inner join has 5 rows, 2 more than any table contributes",
    )


def test_large_counts_are_shown_exactly() -> None:
    same = {"k": ["x"] * 100_000}
    found = lakejoin.predicates(*(dict(same) for _ in range(4)))
    assert found[0].facts.inner == 10**20
    for shown in (repr(found), found._repr_html_()):
        assert f"{400_000 - 10**20:,}" in shown and f"{10**20:,}" in shown


def test_no_predicate() -> None:
    nothing = lakejoin.predicates({"a": [1]}, {"b": [2]})
    assert not nothing and len(nothing) == 0
    assert repr(nothing) == nothing.none
    assert nothing.none == "no predicate joins these tables: they have no value in common"
    assert "no value in common" in nothing._repr_html_()
    with pytest.raises(NoJoin):
        nothing.winner
    empty = lakejoin.predicates({"a": []}, {"b": [2]})
    assert empty.none == "no predicate joins these tables: table 1 has no rows"
    three = lakejoin.predicates({"a": [1]}, {"b": [1]}, {"c": [2]})
    assert "no rows of all of them match" in three.none


def test_more_than_two_tables() -> None:
    towns = {"town": ["Bern", "Ulm"], "land": ["CH", "DE"]}
    lands = {"code": ["CH", "DE", "NO"], "name": ["Schweiz", "Deutschland", "Norge"]}
    visits = {"where": ["Bern", "Bern", "Ulm", "Oslo"], "n": [5, 6, 7, 8]}
    found = lakejoin.predicates(visits, towns, lands)
    assert found[0].pairs == (
        (("table 1", "where"), ("table 2", "town")),
        (("table 2", "land"), ("table 3", "code")),
    )
    assert found[0].words == "table 1.where = table 2.town and table 2.land = table 3.code"
    assert found[0].enough == found[0].pairs
    assert found[0].facts.involved == (3, 2, 2)
    assert found[0].table()["name"].to_pylist() == ["Schweiz", "Schweiz", "Deutschland"]


def test_what_is_wrong_is_refused() -> None:
    with pytest.raises(InputError, match="no preference 'best'; choose from coverage"):
        lakejoin.predicates(PEOPLE, ORDERS, prefer="best")
    with pytest.raises(InputError, match="at least one predicate"):
        lakejoin.predicates(PEOPLE, ORDERS, n=0)
    for most in (0, -1):
        with pytest.raises(InputError, match=f"None to look at all; got {most}"):
            lakejoin.predicates(PEOPLE, ORDERS, most=most)
    with pytest.raises(InputError, match="there is no file"):
        lakejoin.predicates("nowhere.csv", ORDERS)


def test_a_table_with_itself_is_told() -> None:
    table = pa.table({"a": [1, 2]})
    both = best_predicates([loaded_input("mine", table)] * 2)
    assert both.notes == ("mine is joined with itself",)
    assert both.tables.labels == ("mine", "mine (2)")
    assert lakejoin.predicates(table, table).notes == ("table 1 is joined with itself",)
    assert lakejoin.predicates(table, pa.table({"a": [1, 2]})).notes == ()
    nulls = {"a": [None, None]}
    assert lakejoin.predicates(nulls, nulls).notes == (), "which meets nothing"


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables(0), tables(1))
def test_fewer_pairs_that_are_enough_make_the_same_join(left: pa.Table, right: pa.Table) -> None:
    coded = encode_tables([left, right])
    for one in lakejoin.predicates(left, right, prefer=["compact", "coverage"], n=3):
        few = one.found.enough
        assert set(few) <= set(one.found.pairs)
        assert _rows(coded, few) == _rows(coded, one.found.pairs)
        assert len(_rows(coded, few)) == one.facts.inner
        for pair in few if len(few) > 1 else ():
            less = [other for other in few if other != pair]
            assert len(_rows(coded, less)) > one.facts.inner, "none is needless"


def _rows(coded: Any, pairs: Any) -> list[tuple[int, int]]:
    found = [zip(*batch, strict=True) for batch in join_rows(coded, pairs)]
    return sorted((int(a), int(b)) for batch in found for a, b in batch)
