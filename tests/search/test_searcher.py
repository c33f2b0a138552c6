"""Searches of small lakes: what is found, left out, marked and said."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.errors import InputError, UnknownTable
from lakejoin.lake import Lake
from lakejoin.search.answer import Answer, Answers, Failed
from oracle.lakes import PlainTable
from oracle.search import lake_of, search_by

CITIES = ["Bern", "Oslo", "Ulm", "Bonn"]


def numbered(name: str, *columns: Sequence[str | None]) -> PlainTable:
    return PlainTable(name, {f"c{i}": cells for i, cells in enumerate(columns)})


def names(answer: Answer) -> list[tuple[str, str]]:
    return [(result.table, result.columns[0]) for result in answer]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Copies in two segments, a table that has gone, and decimals that are not searched."""
    people = [["Bern", "Oslo", "Ulm", None], ["ann", "bob", "cid", "dan"]]
    return lake_of(
        tmp_path,
        [
            [
                numbered("people.csv", *people),
                numbered("gone.csv", CITIES, CITIES),
                numbered("copy.csv", [" BERN", "oslo", "ULM", ""], people[1]),
            ],
            [
                numbered("far-copy.csv", *people),
                numbered("near-copy.csv", ["Bern", "Ulm", "Oslo", None], people[1]),
                numbered("few.csv", ["Bern", "Bern"]),
                numbered("measures.csv", ["0.5", "1.25", "2.5"], ["Ulm", "x", "y"]),
            ],
        ],
        all_columns=False,
        dead=[[1], []],
    )


# -- what is found ---------------------------------------------------------------------------


def test_dead_tables_are_never_answered(lake: Lake) -> None:
    answer = lake.overlap({"city": CITIES}, k=50)
    assert "gone.csv" not in {result.table for result in answer}
    assert answer[0].matched == 3
    assert [result.rank for result in answer] == list(range(1, len(answer) + 1))


def test_ties_go_to_the_smaller_column_then_the_earlier(lake: Lake) -> None:
    assert names(lake.overlap(["bern"], k=4)) == [
        ("few.csv", "c0"),
        ("people.csv", "c0"),
        ("copy.csv", "c0"),
        ("far-copy.csv", "c0"),
    ]


def test_the_table_itself_and_its_copies_are_marked(lake: Lake) -> None:
    answer = lake.overlap("people.csv", on="c0", k=9)
    marks = {result.table: result.copy for result in answer}
    assert marks == {
        "people.csv": "itself",
        "copy.csv": "copy",
        "far-copy.csv": "copy",
        "near-copy.csv": "",
        "few.csv": "",
        "measures.csv": "",
    }


def test_others_leaves_them_out_and_still_finds_k(lake: Lake) -> None:
    answer = lake.overlap("people.csv", on="c0", k=3, skip_copies=True)
    assert names(answer) == [("near-copy.csv", "c0"), ("few.csv", "c0"), ("measures.csv", "c1")]
    assert "the table itself is left out, and 2 exact copies of it" in answer.notes


def test_a_frame_that_is_a_table_of_the_lake(lake: Lake) -> None:
    frame = lake.table("people.csv").to_arrow()
    answer = lake.overlap(frame, on="c0", k=9)
    assert {r.table for r in answer if r.copy == "copy"} == {
        "people.csv",
        "copy.csv",
        "far-copy.csv",
    }
    others = lake.overlap(frame, on="c0", k=9, skip_copies=True)
    assert {r.table for r in others} == {"near-copy.csv", "few.csv", "measures.csv"}
    assert "3 exact copies of the table are left out" in others.notes


def test_a_null_is_no_unknown_value(tmp_path: Path) -> None:
    """Both look alike as a code: a value that the segment lacks must not equal its nulls."""
    lake = lake_of(tmp_path, [[numbered("t.csv", ["a", "b", None])]])
    assert [r.copy for r in lake.overlap(pa.table({"x": ["a", "b", "zz"]}), on="x")] == [""]
    assert [r.copy for r in lake.overlap(pa.table({"x": ["a", "b", None]}), on="x")] == ["copy"]


cells = st.lists(st.sampled_from(["a", "b", "A", "", None]), min_size=3, max_size=3)


@given(st.lists(st.tuples(cells, cells), min_size=2, max_size=5), st.integers(1, 3))
@settings(deadline=None, max_examples=40)
def test_copies_are_those_with_equal_cells(
    tmp_path_factory: pytest.TempPathFactory, columns: list[Any], segments: int
) -> None:
    tables = [numbered(f"t{i}.csv", *pair) for i, pair in enumerate(columns)]
    lake = lake_of(tmp_path_factory.mktemp("x"), [tables[i::segments] for i in range(segments)])

    def folded(table: PlainTable) -> list[list[str]]:
        return [[(cell or "").lower() for cell in column] for column in table.columns.values()]

    mine = folded(tables[0])
    if not any(mine[0]):
        return
    same = {table.name for table in tables if folded(table) == mine}
    for query in ("t0.csv", lake.table("t0.csv").to_arrow()):
        answer = lake.overlap(query, on="c0", k=50)
        assert {r.table for r in answer if r.copy} == same
        left = lake.overlap(query, on="c0", k=50, skip_copies=True)
        assert not same & {r.table for r in left}
        assert {r.table for r in left} == {r.table for r in answer} - same


def test_min_leaves_out_what_contains_less(lake: Lake) -> None:
    assert {r.table for r in lake.overlap({"c": CITIES}, min_share=0.75)} == {
        "people.csv",
        "copy.csv",
        "far-copy.csv",
        "near-copy.csv",
    }


# -- what is asked ---------------------------------------------------------------------------


def test_the_most_key_like_text_column_is_taken(lake: Lake) -> None:
    frame = {"n": [1, 2, 3, 4], "city": ["Bern", "Bern", "Ulm", "Ulm"], "name": CITIES}
    answer = lake.overlap(frame)
    assert answer.query.column == "name"
    assert any("using 'name', the most key-like text column" in note for note in answer.notes)
    numbers = lake.overlap({"n": [1, 1, 2], "id": [1, 2, 3]})
    assert numbers.query.column == "id"
    assert lake.overlap({"city": CITIES}).notes == ()


def test_every_column(lake: Lake) -> None:
    found = lake.overlap({"a": CITIES, "m": [0.5, 1.5, 2.5, 3.5], "b": ["ann"] * 4}, on="*")
    assert isinstance(found, Answers)
    assert [answer.query.column for answer in found] == ["a", "b"]
    assert repr(found).count("by overlap") == 2
    assert found._repr_html_().count("<table>") == 2
    with pytest.raises(InputError, match="type decimal, which this index does not search"):
        lake.overlap({"m": [0.5, 1.5]}, on="*")


@pytest.mark.parametrize("on", ["City Name", "city name", " CITY  NAME ", 1, "1"])
def test_ways_to_name_a_column(lake: Lake, on: str | int) -> None:
    answer = lake.overlap({"n": ["x"] * 4, "City Name": CITIES}, on=on)
    assert answer.query.column == "City Name"


def test_a_column_called_by_a_number_goes_before_its_place(lake: Lake) -> None:
    assert lake.overlap({"1": CITIES, "b": ["x"] * 4}, on="1").query.column == "1"


@pytest.mark.parametrize(
    ("table", "on", "said"),
    [
        ({"city": CITIES, "b": CITIES}, "citty", "'city'"),
        ({"city": CITIES}, 3, "no column 3; its only column is 0$"),
        ({"a": CITIES, "b": CITIES}, 2, "no column 2; its 2 columns are numbered from 0 to 1$"),
        ({"city": CITIES}, -1, "no column -1"),
        ({"c": [None, "", "n/a"]}, "c", "no values"),
        ({"c": [None, None]}, None, "no values"),
        ({"c": []}, "c", "no values"),
        ("people.cvs", None, "people.csv"),
        (Path("nowhere.csv"), None, "there is no file nowhere.csv"),
        (".", None, "is a folder; name a file in it"),
        ("x" * 5000, None, "there is no file x"),
        (3.5, None, "float is not a table"),
        ({"a": CITIES, "b": CITIES}, 1.5, "index, not 1.5"),
        ({"a": CITIES, "b": CITIES}, True, "index, not True"),
    ],
    ids=lambda thing: str(thing)[:40],
)
def test_bad_queries_are_told(lake: Lake, table: Any, on: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        lake.overlap(table, on=on)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"k": 0}, "k must be a positive integer, not 0"),
        ({"k": "3"}, "not '3'"),
        ({"k": 2.5}, "k must be a positive integer, not 2.5"),
        ({"k": True}, "k must be a positive integer, not True"),
        ({"min": "1"}, "min_share must be a number between 0 and 1, not '1'"),
        ({"min": 1.5}, "min_share must be a number between 0 and 1, not 1.5"),
        ({"min": -0.1}, "not -0.1"),
        ({"min": math.nan}, "min_share must be a number between 0 and 1, not nan"),
        ({"min": True}, "not True"),
        (
            {"by": "magic"},
            "by must be fused, overlap, containment, meaning or distance, not 'magic'",
        ),
        ({"verified": False}, "only search by containment can be unverified"),
        ({"algorithm": "magic"}, "there is no algorithm 'magic'"),
        ({"by": "containment", "algorithm": "josie"}, "'josie'.* applies to by='overlap'"),
    ],
    ids=str,
)
def test_bad_options_are_told(lake: Lake, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        search_by(lake, {"c": CITIES}, **{"by": "overlap", **options})


def test_one_value(lake: Lake) -> None:
    answer = lake.overlap(["BERN "])
    assert answer[0].containment == 1.0
    assert answer[0].examples == {"matched": ["BERN "], "unmatched": []}


def test_nothing_in_the_lake_is_said_plainly(lake: Lake) -> None:
    answer = lake.overlap({"c": ["zz1", "zz2"]})
    assert len(answer) == 0 and not answer
    assert answer.notes == ("none of the 2 values of 'c' is in any searched column in the lake",)
    assert "nothing found" in repr(answer)
    (note,) = lake.overlap(["zz1"]).notes
    assert note == "the only value of 'value' is in no searched column in the lake"
    narrow = lake.overlap({"c": ["Bern", "zz2"]}, min_share=0.9)
    assert narrow.notes == ("no searched column in the lake contains 90% of the 2 values of 'c'",)


def test_an_index_without_tables(tmp_path: Path) -> None:
    assert lake_of(tmp_path, []).overlap(["a"]).notes == ("the index is empty",)


def test_types_that_are_not_searched_are_said(lake: Lake) -> None:
    answer = lake.overlap("measures.csv", on="c0")
    assert len(answer) == 0
    assert answer.query.counts.tolist() == [1, 1, 1]
    assert any("type decimal, which this index does not search" in note for note in answer.notes)


def test_files(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text("id,city\n1,Bern\n2,Oslo\n3,\n4,nowhere\n")
    answer = lake.overlap("mine.csv", on="city", k=1)
    assert (answer.query.table, len(answer.query), answer.query.rows) == ("mine.csv", 3, 4)
    assert answer[0].row_coverage == 0.5
    assert (
        lake.overlap(Path("mine.csv"), on=1, k=1).to_dict()["results"]
        == (answer.to_dict()["results"])
    )
    Path("people.csv").write_text("town\nOslo\n")
    both = lake.overlap("people.csv")
    assert both.query.tokens.to_pylist() == ["oslo"]
    assert "people.csv is both a local file and a table in the lake; using the file" in both.notes


class SlowTable:
    """A frame that takes its time to hand over its rows."""

    def __init__(self, columns: dict[str, list[str]], seconds: float) -> None:
        self._table = pa.table(columns)
        self._seconds = seconds

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        time.sleep(self._seconds)
        return self._table.__arrow_c_stream__(requested_schema)


def test_seconds_are_those_that_the_caller_waited(lake: Lake) -> None:
    begin = time.perf_counter()
    answer = lake.overlap(SlowTable({"a": CITIES}, 0.05), on="a")
    assert 0.05 <= answer.seconds <= time.perf_counter() - begin
    begin = time.perf_counter()
    every = lake.overlap(SlowTable({"a": CITIES, "b": CITIES}, 0.05), on="*")
    assert len(every) == 2
    assert 0.05 <= sum(one.seconds for one in every) <= time.perf_counter() - begin


def test_a_container_needs_a_part(lake: Lake, tmp_path: Path) -> None:
    import sqlite3

    file = tmp_path / "base.sqlite"
    with sqlite3.connect(file) as base:
        for name in ("a", "b"):
            base.execute(f"create table {name} (city text)")
            base.execute(f"insert into {name} values ('Bern')")
    base.close()
    with pytest.raises(InputError, match=r"several tables.*a, b"):
        lake.overlap(str(file))
    with pytest.raises(InputError, match="no part 'c'; its parts are: a, b"):
        lake.overlap(f"{file}#c")
    assert lake.overlap(f"{file}#b").query.tokens.to_pylist() == ["bern"]


def test_a_table_of_another_lake(lake: Lake, tmp_path: Path) -> None:
    other = lake_of(tmp_path / "other", [[numbered("t.csv", ["Bern", "Ulm"])]])
    assert lake.overlap(other.table("t.csv"), on=0)[0].query_size == 2
    with pytest.raises(UnknownTable):
        lake.overlap("t.csv")


# -- many, and from many threads -------------------------------------------------------------


def test_many_queries_keep_their_order(lake: Lake) -> None:
    queries = ["people.csv", ({"c": CITIES}, "c"), "nowhere.csv", ("few.csv", 0), ["ulm"]]
    found = list(lake.search_many(queries, k=2, threads=3, method="overlap"))
    assert [type(answer) for answer in found] == [Answer, Answer, Failed, Answer, Answer]
    assert found[2].table == "nowhere.csv" and not found[2]
    assert isinstance(found[2].error, UnknownTable)
    assert [answer.error is None for answer in found] == [True, True, False, True, True]
    assert found[0].query.table == "people.csv" and found[3].query.table == "few.csv"
    one_by_one = [
        lake.overlap("people.csv", k=2),
        lake.overlap({"c": CITIES}, "c", k=2),
    ]
    for many, one in zip(found, one_by_one, strict=False):
        assert many.to_dict()["results"] == one.to_dict()["results"]
    assert list(lake.search_many([], method="overlap")) == []
    with pytest.raises(InputError):
        lake.search_many([], threads=0, method="overlap")


def test_many_takes_few_queries_ahead(lake: Lake) -> None:
    taken = []

    def endless() -> Any:
        while True:
            taken.append(1)
            yield ["bern"]

    answers = lake.search_many(endless(), threads=2, method="overlap")
    assert next(answers)[0].table == "few.csv"
    answers.close()
    assert len(taken) < 20


def test_threads_share_a_lake(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    tables = [
        numbered(f"t{i}.csv", [f"v{v}" for v in rng.integers(0, 400, 300)]) for i in range(24)
    ]
    groups = [tables[:9], tables[9:17], tables[17:]]
    alone = lake_of(tmp_path / "a", groups)
    queries = [[f"v{v}" for v in rng.integers(0, 400, 60)] for _ in range(40)]
    queries += [f"t{i}.csv" for i in range(24)]
    expected = [alone.overlap(query).to_dict()["results"] for query in queries]
    shared = Lake(lake_of(tmp_path / "b", groups).snapshot)  # nothing of it is opened yet
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda q: shared.overlap(q).to_dict()["results"], queries))
    assert found == expected
