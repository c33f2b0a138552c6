"""Searches for several columns together: what is found, its evidence, what is left out and said."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakejoin.engines.composite.hits import KeyCounters, KeyHits
from lakejoin.engines.composite.query import KeyQuery
from lakejoin.errors import InputError
from lakejoin.lake import Lake
from lakejoin.search import key_search
from lakejoin.search.answer import Answer, Failed
from lakejoin.search.key_search import KeyMatches
from oracle import mate as oracle
from oracle.lakes import PlainTable, canonical_columns, encoded
from oracle.search import lake_of, search_by
from search.key_lakes import key_lake, tables

FIRST = ["Ann", "Bob", "Zoë", "Ann", None]
LAST = ["Lee", "Ray", "Ö", "Ray", "Lee"]
LAND = ["US", "UK", "CH", "US", "US"]
MINE = {"first": FIRST, "last": LAST, "country": LAND}
KEY = ["first", "last", "country"]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Tables that hold my people under other names and in another order, whole and in part."""
    people = {"land": LAND, "nachname": LAST, "vorname": [*FIRST[:4], "x"]}
    return key_lake(
        tmp_path_factory.mktemp("keys"),
        [
            PlainTable("leute.csv", people),
            PlainTable("gone.csv", people),
            # The same names, swapped in some rows, each twice, and one null.
            PlainTable(
                "swapped.csv",
                {
                    "a": ["lee", "ray", "ann", "ann", None],
                    "b": [" ANN", "bob", "lee", "lee", "zoë"],
                    "c": ["us", "uk", "us", "us", "ch"],
                },
            ),
            PlainTable("narrow.csv", {"first": FIRST, "last": LAST}),
        ],
        [
            PlainTable("mine.csv", MINE),
            PlainTable("copy.csv", {name.upper(): cells for name, cells in MINE.items()}),
            PlainTable("one.csv", {"x": ["Zoë"], "y": ["Ö"], "z": ["CH"], "w": ["Zoë"]}),
            # Every part, but never together in one row.
            PlainTable(
                "apart.csv",
                {"p": ["Ann", "q", "r"], "q": ["q", "Ray", "r"], "r": ["q", "q", "CH"]},
            ),
        ],
        dead=[[1], []],
    )


def names(answer: Answer) -> list[tuple[str, tuple[str, ...], int]]:
    return [(result.table, result.columns, result.matched) for result in answer]


# -- what is found ---------------------------------------------------------------------------------


def test_other_names_another_order_and_parts(lake: Lake) -> None:
    answer = lake.composite(MINE, on=KEY)
    assert names(answer) == [
        ("leute.csv", ("vorname", "nachname", "land"), 4),
        ("mine.csv", ("first", "last", "country"), 4),
        ("copy.csv", ("FIRST", "LAST", "COUNTRY"), 4),
        ("swapped.csv", ("b", "a", "c"), 2),
        ("one.csv", ("x", "y", "z"), 1),
    ]
    assert [result.copy for result in answer] == ["", "copy", "copy", "", ""]
    assert answer.query.columns == tuple(KEY) and len(answer.query) == 4
    best = answer[0]
    assert best.mapping == {"first": "vorname", "last": "nachname", "country": "land"}
    # Of five rows, one has a null in the key.
    assert (best.query_size, best.column_size, best.containment) == (4, 5, 1.0)
    assert (best.row_coverage, best.fan_out) == (0.8, 0.8)
    assert best.examples["matched"] == ["Ann · Lee · US", "Bob · Ray · UK", "Zoë · Ö · CH"]
    assert answer.notes == ()


def test_matches_and_unmatched_have_my_columns(lake: Lake) -> None:
    frame = {name: [*cells, cells[0]] for name, cells in MINE.items()}
    answer = lake.composite(frame, on=["country", "last", "first"])
    (swapped,) = (result for result in answer if result.table == "swapped.csv")
    assert swapped.columns == ("c", "a", "b")
    assert swapped.matches().to_pylist() == [
        {"country": "US", "last": "Lee", "first": "Ann", "mine": 2, "theirs": 1},
        {"country": "UK", "last": "Ray", "first": "Bob", "mine": 1, "theirs": 1},
    ]
    assert swapped.matches(1).num_rows == 1
    assert swapped.unmatched().to_pylist() == [
        {"country": "CH", "last": "Ö", "first": "Zoë", "mine": 1},
        {"country": "US", "last": "Ray", "first": "Ann", "mine": 1},
    ]
    assert (swapped.row_coverage, swapped.fan_out) == (0.5, 0.5)


def test_key_columns_that_are_called_as_the_numbers(lake: Lake) -> None:
    answer = lake.composite({"mine": FIRST, "theirs": LAST, "mine_": LAND}, on=[0, 1, 2])
    assert answer[0].matches().column_names == ["mine_", "theirs_", "mine__", "mine", "theirs"]


def test_a_close_second_choice_of_columns(lake: Lake) -> None:
    answer = lake.composite(MINE, on=KEY)
    (one,) = (result for result in answer if result.table == "one.csv")
    assert one.runner_up == {"columns": ["w", "y", "z"], "matched": 1}
    assert answer[0].runner_up is None
    assert hash(one) and one.to_dict()["runner_up"] == one.runner_up
    assert "or w, y, z, with 1" in repr(answer)
    assert "or w, y, z, with 1" in answer._repr_html_()


def test_fixed_partners(lake: Lake) -> None:
    fixed = lake.composite(MINE, on={"first": "W", "last": None, "country": None})
    assert names(fixed) == [("one.csv", ("w", "y", "z"), 1)]
    assert fixed[0].runner_up is None
    assert names(lake.composite(MINE, on=["first=w", "last", "country=z"])) == names(fixed)
    assert names(lake.composite(MINE, on=["0=w", 1, 2])) == names(fixed)
    nowhere = lake.composite(MINE, on={"first": "vorname", "last": None, "country": "w"})
    freely = (
        "ignoring the column names, leute.csv has 4 of the 4 combinations, in 'vorname', "
        "'nachname' and 'land'"
    )
    assert len(nowhere) == 0 and nowhere.notes == (
        "no row of any table in the lake has all 3 parts of the key together with 'first' in a "
        "column 'vorname' and 'country' in a column 'w'",
        freely,
    )
    unknown = lake.composite(MINE, on={"first": "vorname", "last": None, "country": "wo"})
    assert unknown.notes == ("no table in the lake has a searched column 'wo'", freely)
    less = lake.composite(MINE, on={"first": "w", "last": None, "country": None}, min_share=0.5)
    assert less.notes == (
        "no table in the lake contains 50% of the 4 combinations of 'first', 'last' and 'country' "
        "with 'first' in a column 'w'; the best has 1",
        freely,
    )
    apart = {"a": ["Ann", "Bob"], "b": ["Ann", "Bob"]}
    alone = lake.composite(apart, on={"a": "vorname", "b": None})
    assert alone.notes[0].endswith("both parts of the key together with 'a' in a column 'vorname'")
    assert alone.notes[1].startswith("'a' alone: 2 of its 2 distinct values are in ")


def test_the_same_column_cannot_serve_twice(lake: Lake) -> None:
    answer = lake.composite({"a": ["Ann", "Bob"], "b": ["Ann", "Bob"]}, on=["a", "b"])
    assert len(answer) == 0
    assert answer.notes[0] == "no row of any table in the lake has both parts of the key together"
    assert answer.notes[1].startswith("'a' alone: 2 of its 2 distinct values are in ")


def test_the_initial_column_is_my_choice(lake: Lake) -> None:
    expected = names(lake.composite(MINE, on=KEY))
    for initial, column in (
        ("last", "last"),
        ("COUNTRY", "country"),
        (0, "first"),
        ("2", "country"),
    ):
        answer = lake.composite(MINE, on=KEY, initial=initial)
        assert names(answer) == expected
        assert isinstance(answer.counters, KeyCounters)
        assert list(answer.counters.initial) == [column]
    for initial in ("items", "cardinality", np.int64(1)):
        assert names(lake.composite(MINE, on=KEY, initial=initial)) == expected
    # A key column of such a name goes before.
    frame = {"a": FIRST, "items": LAST, "b": LAND, "n": LAND}
    answer = lake.composite(frame, on=["b", "a", "items"], initial="items")
    assert isinstance(answer.counters, KeyCounters) and list(answer.counters.initial) == ["items"]
    same = pa.table([FIRST, LAST], names=["n", "n"])
    answer = lake.composite(same, on=[0, 1], initial=1)
    assert len(answer) and answer[0].mapping.keys() == {"n", "n_"}
    assert names(answer) == names(lake.composite(same, on=[0, 1]))
    (many,) = lake.search_many([MINE], on=KEY, initial="last", method="composite")
    assert isinstance(many, Answer) and names(many) == expected


@pytest.mark.parametrize(
    ("on", "initial", "sentence"),
    [
        (["first", "last"], "country", "the initial column 'country' is not part of the key: use "),
        (["first", "last"], "frist", "no column 'frist'; did you mean 'first'"),
        (["first", "last"], 9, "no column 9"),
        (["first", "last"], True, "initial must be a column of the key (name or index) or"),
        (["first", "last"], 1.5, ", not 1.5"),
        ("first", "first", "initial ('first') is the key column to fetch rows by and needs two"),
        (None, "items", "needs two or more columns"),
        ("*", 0, "needs two or more columns"),
    ],
)
def test_what_cannot_be_initial(lake: Lake, on: Any, initial: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        search_by(lake, MINE, on, by="overlap", initial=initial)
    assert sentence in str(caught.value)


def test_sizes_are_counted_when_they_are_asked_for(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakejoin.search import searcher

    counted: list[int] = []
    plain = key_search.count_combinations
    monkeypatch.setattr(
        key_search, "count_combinations", lambda *where: counted.append(1) or plain(*where)
    )
    monkeypatch.setattr(searcher, "EAGER_RESULTS", 2)
    answer = lake.composite(MINE, on=KEY)
    assert len(answer) == 5 and len(counted) == 2
    assert [result.column_size for result in answer] == [5, 4, 4, 3, 1]
    assert [result["column_size"] for result in answer.to_dict()["results"]] == [5, 4, 4, 3, 1]
    assert len(counted) == 5


def test_an_answer_keeps_nothing_of_a_segment(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[KeyMatches] = []
    made = KeyMatches.__init__

    def making(self: KeyMatches, query: KeyQuery) -> None:
        kept.append(self)
        made(self, query)

    monkeypatch.setattr(KeyMatches, "__init__", making)
    answer = lake.composite(MINE, on=KEY)
    assert len(kept) == 1 and kept[0]._kept is None
    assert answer[3].matches().num_rows == 2


def test_mappings_that_were_not_tried_are_told(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    from lakejoin.engines.composite.engine import Mate

    plain = Mate.search

    def cut(self: Mate, *arguments: Any) -> KeyHits:
        hits = plain(self, *arguments)
        hits.counters.cut_short = 1
        return hits

    monkeypatch.setattr(Mate, "search", cut)
    assert lake.composite(MINE, on=KEY).notes == (
        "1 table has too many ways to map the columns to try them all; their scores may be too low",
    )


def test_the_costs_of_reading_are_not_measured_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakejoin.engines import overlap
    from lakejoin.engines.overlap.read_costs import ReadCosts

    given: list[object] = []
    plain = overlap.Overlap

    def noted(k: int, algorithm: str = "auto", costs: ReadCosts | None = None) -> overlap.Overlap:
        given.append(costs)
        return plain(k, algorithm, costs)

    monkeypatch.setattr(key_search, "Overlap", noted)
    monkeypatch.setitem(lake._searcher.__dict__, "_costs", ReadCosts())
    lake.composite({"a": ["Ann"], "b": ["Ann"]}, on=["a", "b"])
    assert given == [ReadCosts()] * 2


def test_a_constant_column_and_repeated_rows(lake: Lake) -> None:
    frame = {"first": ["ann"] * 3, "land": ["US"] * 3}
    answer = lake.composite(frame, on=["first", "land"])
    found = {result.table: result for result in answer}
    assert len(answer.query) == 1 and set(found) == {
        *("leute.csv", "mine.csv", "copy.csv", "swapped.csv"),
    }
    assert found["mine.csv"].fan_out == found["leute.csv"].fan_out == 2.0
    swapped = found["swapped.csv"]
    # In column a twice, in column b once: one combination either way, and the first stays.
    assert swapped.matched == 1 and swapped.runner_up is not None
    assert found["leute.csv"].row_coverage == 1.0


def test_the_table_itself_and_its_copies(lake: Lake) -> None:
    answer = lake.composite("mine.csv", on=KEY, k=3)
    assert [(r.table, r.copy) for r in answer] == [
        ("leute.csv", ""),
        ("mine.csv", "itself"),
        ("copy.csv", "copy"),
    ]
    others = lake.composite("mine.csv", on=KEY, k=3, skip_copies=True)
    assert [r.table for r in others] == ["leute.csv", "swapped.csv", "one.csv"]
    assert others.notes == ("the table itself is left out, and 1 exact copy of it",)
    frame = lake.table("mine.csv").to_arrow()
    assert names(lake.composite(frame, on=KEY, skip_copies=True)) == names(others)


def test_one_name_in_a_list_is_one_column(lake: Lake) -> None:
    one, plain = (
        lake.overlap(MINE, on=["first"]),
        lake.overlap(MINE, on="first"),
    )
    assert names(one) == names(plain) and one.query.columns == ("first",)
    assert names(lake.overlap(MINE, on={"first": None})) == names(plain)
    assert plain[0].mapping == {"first": plain[0].columns[0]} and plain[0].runner_up is None
    assert [a.query.columns for a in lake.overlap(MINE, on=["*"])] == [(name,) for name in KEY]


@pytest.mark.parametrize(
    "on",
    [
        ("first", "last"),
        np.array(["first", "last"]),
        np.array([0, 1]),
        [np.str_("first"), np.int64(1)],
        np.array(["first", "last"], dtype=object),
        pa.array(["first", "last"]),
        pa.chunked_array([["first"], ["last"]]),
        dict.fromkeys(["first", "last"]).keys(),
    ],
)
def test_names_in_anything_that_has_an_order(lake: Lake, on: Any) -> None:
    expected = lake.composite(MINE, on=["first", "last"])
    assert names(lake.composite(MINE, on=on)) == names(expected)
    assert lake.overlap(MINE, on=on[:1] if hasattr(on, "tolist") else "first").query.columns[0]
    (many,) = lake.search_many([MINE], on=on, method="composite")
    assert isinstance(many, Answer) and names(many) == names(expected)


def test_names_of_frames_and_what_is_gone_through_once(lake: Lake) -> None:
    expected = names(lake.composite(MINE, on=["first", "last"]))
    assert names(lake.composite(MINE, on=iter(["first", "last"]))) == expected
    for many in lake.search_many([MINE, MINE], on=iter(["first", "last"]), method="composite"):
        assert isinstance(many, Answer) and names(many) == expected
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(MINE)
    assert names(lake.composite(frame, on=frame.columns[:2])) == expected
    (many,) = lake.search_many([(frame, frame.columns[:2])], method="composite")
    assert isinstance(many, Answer) and names(many) == expected
    (values,) = lake.search_many([(np.float64(1), np.float64(2))], method="overlap")
    assert isinstance(values, Answer) and values.query.columns == ("value",)
    polars = pytest.importorskip("polars")
    assert names(lake.composite(MINE, on=polars.Series(["first", "last"]))) == expected


def test_containment_is_counted_exactly(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = names(lake.composite(MINE, on=KEY, k=50))
    half = lake.composite(MINE, on=KEY, min_share=0.5, k=None)
    assert names(half) == whole[:4] and (half.by, half.k, half.min) == ("containment", None, 0.5)
    assert names(lake.composite(MINE, on=KEY, k=None)) == whole[:3]
    assert names(lake.composite(MINE, on=KEY, k=2)) == whole[:2]
    assert names(lake.composite(MINE, on=KEY, min_share=0.0, k=None)) == whole
    assert names(lake.composite(MINE, on=KEY, min_share=0.5, k=4)) == whole[:4]
    assert names(lake.composite(MINE, on=KEY, k=50).at_least(0.5)) == whole[:4]
    monkeypatch.setattr(key_search, "_AT_FIRST", 1)
    monkeypatch.setattr(key_search, "_TIMES", 2)
    assert names(lake.composite(MINE, on=KEY, min_share=0.5, k=None)) == whole[:4]
    assert names(lake.composite(MINE, on=KEY, min_share=0.0, k=None)) == whole
    none = lake.composite({**MINE, "first": ["Ann", "q", "r", "s", "t"]}, on=KEY, min_share=0.9)
    assert none.notes == (
        "no table in the lake contains 90% of the 5 combinations of 'first', 'last' and 'country'; "
        "the best has 1",
    )


def test_many(lake: Lake) -> None:
    queries = [(MINE, KEY), ("mine.csv", ("first", "last")), (MINE, {"first": "w", "last": None})]
    answers = list(
        lake.search_many([*queries, (MINE, ["first", "nothing"])], k=2, method="composite")
    )
    assert [len(a.query.columns) for a in answers if isinstance(a, Answer)] == [3, 2, 2]
    failed = answers[-1]
    assert isinstance(failed, Failed) and "no column 'nothing'" in str(failed.error)
    assert (failed.table, failed.on) == ("my_table", ["first", "nothing"])
    expected = lake.composite(MINE, on=KEY)
    for both in lake.search_many([MINE] * 24, on=KEY, threads=4, method="composite"):
        assert isinstance(both, Answer) and names(both) == names(expected)
        assert [r.examples for r in both] == [r.examples for r in expected]


# -- what it looks like ----------------------------------------------------------------------------


def test_json_has_the_keys_of_one_column(lake: Lake) -> None:
    plain = lake.overlap(MINE, on="first").to_dict()
    key = json.loads(json.dumps(lake.composite(MINE, on=KEY).to_dict()))
    assert list(key) == list(plain) and list(key["results"][0]) == list(plain["results"][0])
    assert key["query"] == {
        **{"table": "my_table", "column": None, "columns": KEY, "size": 4, "rows": 5},
    }
    assert plain["query"]["columns"] == ["first"] and plain["query"]["column"] == "first"
    assert {"rows_seen", "rows_passed", "rows_true"} <= set(key["counters"])


def test_conversions(lake: Lake) -> None:
    answer = lake.composite(MINE, on=KEY)
    table = answer.to_arrow()
    assert table.schema == lake.overlap(MINE, on="first").to_arrow().schema
    assert table["columns"].to_pylist()[0] == ["vorname", "nachname", "land"]
    assert table["runner_up"].to_pylist()[-1] == {"columns": ["w", "y", "z"], "matched": 1}
    pytest.importorskip("pandas")
    assert answer.to_pandas()["matched"].tolist() == [4, 4, 4, 2, 1]
    pytest.importorskip("polars")
    assert answer.to_polars()["matched"].to_list() == [4, 4, 4, 2, 1]
    assert [r.rank for r in answer[3:]] == [4, 5]


@pytest.mark.parametrize("width", [60, 80, 140])
def test_text_and_html(lake: Lake, width: int) -> None:
    from lakejoin.render.layout import text_width
    from lakejoin.render.text import render_text

    frame = {"<b>first</b>\x1b[31m": FIRST, "last" * 30: LAST, "country": LAND}
    answer = lake.composite(frame, on=[0, 1, 2])
    text = render_text(answer.report(), width)
    assert max(map(text_width, text.splitlines())) <= width and "\x1b" not in text
    assert "<b>first</b>�[31m → vorname" in text
    html = answer._repr_html_()
    assert "&lt;b&gt;first&lt;/b&gt;�[31m → vorname" in html and "<b>first" not in html
    assert "4 combinations in 5 rows" in html and "✓ Ann · Lee · US | Bob · Ray · UK" in html


# -- bad input, and nothing found ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("on", "sentence"),
    [
        (["first", "First"], "column 'first' of my_table is named twice"),
        (["first", 0], "is named twice"),
        (["first", "lst"], "no column 'lst'; did you mean 'last'"),
        (["first", "*"], "'*' searches for every column by itself"),
        (["first", 1.5], "give a column by its name or its index, not 1.5"),
        (["first", None], "index, not None"),
        (["first", True], "index, not True"),
        ([], "a key needs at least one column"),
        ({}, "a key needs at least one column"),
        ("first=vorname", "'first=vorname' fixes the lake column, which needs a key of two"),
        (["first=vorname"], "needs a key of two or more columns"),
        ({"first": "vorname"}, "'first=vorname' fixes the lake column"),
        (["first=x", "last=x"], "two key columns cannot match the same lake column 'x'"),
        ({"first": 3, "last": None}, "the lake column for a key column must be a name"),
        (["first=", "last"], "has no column name after the ="),
        ({"first": "", "last": None}, "the lake column for 'first' is empty (''): give a name"),
        ({"first": " "}, "the lake column for 'first' is empty (' ')"),
        ({"first", "last"}, "a set has no order: pass the columns of a key as a list"),
        (frozenset(["first"]), "a set has no order"),
        (b"first", "name a column with a string, not bytes (b'first')"),
        ([b"first", "last"], "index, not b'first'"),
        (np.array([["first", "last"]]), "index, not ['first', 'last']"),
        (np.array([]), "a key needs at least one column"),
        (["frist=x", "last"], "no column 'frist'; did you mean 'first'"),
        (["first", "empty"], "column 'empty' of my_table has no values to search for"),
    ],
)
def test_what_cannot_be_a_key(lake: Lake, on: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        search_by(lake, {**MINE, "empty": [None] * 5}, on, by="overlap")
    assert sentence in str(caught.value)


def test_names_with_an_equals_sign(lake: Lake) -> None:
    frame = {"a=b": FIRST, "a": LAST, "c": LAND}
    assert lake.overlap(frame, on="a=b").query.columns == ("a=b",)
    assert lake.composite(frame, on=["a=b", "a", "c"]).query.columns == ("a=b", "a", "c")
    fixed = lake.composite(frame, on=["0=vorname", "a=nachname", "c"])
    assert fixed.query.columns == ("a=b", "a", "c") and fixed[0].table == "leute.csv"
    assert fixed[0].columns == ("vorname", "nachname", "land") and len(fixed) == 1
    with pytest.raises(InputError, match="'a=b=x' is ambiguous: your column may be 'a' or 'a=b'"):
        lake.composite(frame, on=["a=b=x", "c"])
    del frame["a"]
    assert lake.composite(frame, on=["A=B=vorname", "c=land"])[0].columns == (
        "vorname",
        "land",
    )


def test_options_that_are_for_one_column(lake: Lake) -> None:
    with pytest.raises(InputError, match="cannot be unverified"):
        search_by(lake, MINE, KEY, by="containment", verified=False)
    with pytest.raises(InputError, match="'josie'"):
        search_by(lake, MINE, KEY, by="overlap", algorithm="josie")


def test_no_row_is_complete(lake: Lake) -> None:
    with pytest.raises(InputError, match="no row of my_table has a value in each of 'a' and 'b'"):
        lake.composite({"a": ["x", None], "b": [None, "y"]}, on=["a", "b"])


def test_a_key_wider_than_every_table(lake: Lake) -> None:
    frame = {f"c{i}": ["Ann"] for i in range(6)}
    assert lake.composite(frame, on=list(frame)).notes == (
        "the key has 6 columns, but no table in the lake has more than 4 searched columns",
    )


def test_which_part_is_nowhere(lake: Lake) -> None:
    answer = lake.composite(
        {**MINE, "country": list("qqqqq"), "no": list("abcde")}, on=[*KEY, "no"]
    )
    assert answer.notes == (
        "no row of any table in the lake has all 4 parts of the key together",
        "none of the 5 values of 'no' is in any searched column",
    )
    both = lake.composite({"a": ["nobody"], "b": ["nowhere"]}, on=["a", "b"], skip_copies=True)
    assert both.notes == (
        "no row of any other table in the lake has both parts of the key together",
        "the only value of 'a' is in no searched column",
        "the only value of 'b' is in no searched column",
    )


def test_an_empty_lake(tmp_path: Path) -> None:
    empty = key_lake(tmp_path)
    assert lake_notes(empty) == ("the index is empty",)


def lake_notes(lake: Lake) -> tuple[str, ...]:
    answer = lake.composite(MINE, on=KEY)
    assert len(answer) == 0
    return answer.notes


def test_types_that_are_not_searched(tmp_path: Path) -> None:
    measures = {"x": ["0.5", "1.25", "2.5"], "y": ["a", "b", "c"]}
    lake = key_lake(
        tmp_path, [PlainTable("m.csv", {**measures, "z": ["q"] * 3})], all_columns=False
    )
    answer = lake.composite(measures, on=["x", "y"])
    assert len(answer) == 0 and "'x' has type decimal, which this index" in answer.notes[0]
    every = key_lake(tmp_path / "every", [PlainTable("m.csv", measures)])
    assert names(every.composite(measures, on=["x", "y"])) == [("m.csv", ("x", "y"), 3)]


def test_an_index_without_super_keys(lake: Lake, tmp_path: Path) -> None:
    people = {"land": LAND, "nachname": LAST, "vorname": FIRST}
    older = lake_of(tmp_path, [[PlainTable("leute.csv", people)]])
    answer = older.composite(MINE, on=KEY)
    assert names(answer) == [("leute.csv", ("vorname", "nachname", "land"), 4)]
    assert answer[0].fan_out == 0.8
    (note,) = answer.notes
    assert note.startswith("this index has no super keys") and ": lakejoin index" in note


def test_a_file_is_read_once(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lakejoin.search.query_tables import FileTable

    path = tmp_path / "mine.csv"
    path.write_text("first,last,country\nAnn,Lee,US\nBob,Ray,UK\n")
    read: list[str] = []
    batches = FileTable.batches
    monkeypatch.setattr(FileTable, "batches", lambda file: read.append(file.name) or batches(file))
    answer = lake.composite(path, on=KEY)
    assert answer[0].matched == 2 and len(read) == 1
    assert answer[0].sql() and len(read) == 2


# -- against brute force ---------------------------------------------------------------------------

LAKES = st.lists(st.integers(1, 3), min_size=1, max_size=2).flatmap(
    lambda sizes: st.tuples(
        *(st.tuples(*(tables(f"{s}-{t}.csv") for t in range(n))) for s, n in enumerate(sizes))
    )
)


@given(LAKES, tables("mine", 2), st.integers(2, 3))
@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
def test_evidence(
    tmp_path_factory: pytest.TempPathFactory,
    groups: tuple[tuple[PlainTable, ...], ...],
    mine: PlainTable,
    size: int,
) -> None:
    lake = key_lake(tmp_path_factory.mktemp("lake"), *groups)
    on = list(mine.columns)[:size]
    values = dict(zip(mine.columns, canonical_columns(encoded(mine)), strict=True))
    own = list(zip(*(values[name] for name in on), strict=True))
    canonical = {name: dict(zip(mine.columns[name], values[name], strict=True)) for name in on}
    mine_rows = Counter(row for row in own if None not in row)
    frame = pa.table({name: pa.array(cells, pa.string()) for name, cells in mine.columns.items()})
    if not mine_rows:
        with pytest.raises(InputError):
            lake.composite(frame, on=on)
        return
    answer = lake.composite(frame, on=on)
    plain = {table.name: table for group in groups for table in group}
    scores = {
        name: oracle.joinability(
            oracle.Columns.of(table, [True] * len(table.columns)), list(mine_rows)
        )
        for name, table in plain.items()
    }
    assert {r.table: r.matched for r in answer} == {
        name: found.best for name, found in scores.items() if found.best
    }
    for result in answer:
        table, found = plain[result.table], scores[result.table]
        places = tuple(list(table.columns).index(name) for name in result.columns)
        assert found.scores[places] == result.matched
        assert (result.runner_up and result.runner_up["matched"]) == found.next_best()
        columns = canonical_columns(encoded(table))
        theirs = Counter(
            row for row in zip(*(columns[p] for p in places), strict=True) if None not in row
        )
        assert result.column_size == len(theirs) and result.query_size == len(mine_rows)
        partners = [theirs[row] if None not in row else 0 for row in own]
        assert result.row_coverage == sum(p > 0 for p in partners) / len(own)
        assert result.fan_out == sum(partners) / len(own)
        met, missed = result.matches().to_pylist(), result.unmatched().to_pylist()
        assert Counter(row["mine"] for row in met) == Counter(
            count for row, count in mine_rows.items() if row in theirs
        )
        assert sum(row["mine"] * row["theirs"] for row in met) == sum(partners)
        assert len(missed) == len(mine_rows) - len(met)
        shown = {tuple(canonical[name][row[name]] for name in on) for row in [*met, *missed]}
        assert shown == set(mine_rows)
