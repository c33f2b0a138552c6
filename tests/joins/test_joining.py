"""Joins that are found: by equal values, by programs, by likeness; and joins that are not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lakejoin
from lakejoin.errors import InputError, MissingDependency, NoJoin
from lakejoin.joins import join_finder
from lakejoin.joins.join_key import JoinKey, KeyRule
from lakejoin.joins.joined_table import FUNCTIONS
from lakejoin.joins.learned import program_finder
from lakejoin.joins.learned.program_finder import LearnedJoin, RejectedPrograms
from lakejoin.joins.options import JoinOptions
from lakejoin.joins.row_keys import Keys, one_to_one_keys
from lakejoin.model import ValueRules

NAMES = (
    *("Ada Lovelace", "Alan Turing", "Grace Hopper", "Kurt Gauss", "Emmy Noether", "Carl Linnaeus"),
    *("Sofia Kowalski", "Max Planck", "Lise Meitner", "Niels Bohr", "Marie Curie", "Paul Dirac"),
    *("Otto Hahn", "Rosa Parks", "Hedy Lamarr", "Jean Bartik"),
)
PEOPLE = pa.table({"name": NAMES, "born": [str(1800 + 7 * i) for i in range(len(NAMES))]})
USERS = pa.table(
    {
        "user": [name[0].lower() + name.split()[1].lower() for name in reversed(NAMES)],
        "room": [f"R{100 + 13 * i}" for i in range(len(NAMES))],
    }
)


def pairs(join: Any) -> list[tuple[int, int]]:
    table = join.pairs()
    return list(zip(table["left_row"].to_pylist(), table["right_row"].to_pylist(), strict=True))


def test_equal_values_are_found() -> None:
    people = PEOPLE.append_column("no", [list(range(16))])
    known = pa.table({"person": PEOPLE["name"].to_pylist()[4:], "city": list("abcdefghijkl")})
    join = lakejoin.join(people, known)
    assert [(s.kind, s.left_rows, s.right_rows) for s in join.steps] == [("equal", 12, 12)]
    assert join.steps[0].words == "name = person"
    assert pairs(join) == [(i + 4, i) for i in range(12)]
    assert (join.left_joined, join.right_joined, join.matched, len(join)) == (12, 12, 12, 12)
    assert join.program is None and join.sure > 0.9 and join.why and bool(join)


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_program_is_learned_in_both_directions(mirrored: bool) -> None:
    tables = (USERS, PEOPLE) if mirrored else (PEOPLE, USERS)
    join = lakejoin.join(*tables)
    assert [step.kind for step in join.steps] == ["transform"]
    assert str(join.program) == 'lower(substring(name, 0, 1)) + lower(split(name, " ")[1])'
    assert pairs(join) == [(i, 15 - i) for i in range(16)]
    example = join.examples(1)[0]
    assert (example.before, example.after) == ("Ada Lovelace", "alovelace")
    assert "alovelace" in repr(join)
    words = "user = lower(" if mirrored else "lower("
    assert f">transform: {words}" in join._repr_html_()


def test_nothing_is_invented() -> None:
    colours = {"colour": ["red", "green", "blue", "white"], "hex": ["f00", "0f0", "00f", "fff"]}
    rivers = {"river": ["Rhine", "Loire", "Po", "Ebro"], "km": ["1233", "1006", "652", "930"]}
    join = lakejoin.join(colours, rivers)
    assert not join and len(join) == 0 and not join.steps
    assert "no join found" in repr(join) and "no join found" in join._repr_html_()
    assert join.pairs().num_rows == 0 and join.examples() == []
    for ask in (join.table, join.to_sql, join.unmatched, lambda: join.schema):
        with pytest.raises(NoJoin, match="no join found"):
            ask()


def test_the_best_attempt_is_told() -> None:
    join = lakejoin.join({"a": ["x", "y", "z", "u", "v"]}, {"b": ["x", "q", "r", "s", "t"]})
    assert not join
    assert join.attempt is not None and join.attempt.words == "a = b"
    assert "the closest candidate is a = b: it would match 1 of 5 left rows" in join.no_join


def test_programs_are_learned_by_the_rules_for_values(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(
        program_finder,
        "find_programs",
        lambda *_, **given: asked.append(given["rules"]) or LearnedJoin(),
    )
    rules = ValueRules(fold=False)
    assert not join_finder.join_tables(PEOPLE, USERS, JoinOptions(by="transform", rules=rules))
    assert asked == [rules]


def test_programs_that_are_not_believed_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    doubted = RejectedPrograms("lower(a) = b", 2, 1, "it may be a coincidence", LearnedJoin())
    monkeypatch.setattr(
        program_finder, "find_programs", lambda *_, **__: LearnedJoin(rejected=doubted)
    )
    join = lakejoin.join({"a": ["x", "y"]}, {"b": ["p", "q"]}, by="transform")
    assert join.no_join == (
        "no join found; the closest candidate is lower(a) = b: it would match 2 of 2 left rows and "
        "1 of 2 right rows, but it may be a coincidence; use --on to force this join"
    )


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"a": []}, {"b": []}),
        ({"a": ["x"]}, {"b": []}),
        ({"a": [None, None]}, {"b": [None, ""]}),
        ({"a": ["x"]}, {"b": ["y"]}),
        ({"a": ["x"] * 50}, {"b": ["y"] * 50}),
        ({"a": ["\x00\x01\xff", "\ud7ff\x7f"]}, {"b": ["\x02\x03", "\x1b[31m"]}),
        ({"a": ["x" * 300_000, "y" * 300_000]}, {"b": ["z" * 300_000, "w"]}),
        ({"a": [1, 2, 3]}, {"b": ["x", "y", "z"]}),
        ({"a": [[1], [2]]}, {"b": ["x", "y"]}),
    ],
)
def test_poor_tables(left: Any, right: Any) -> None:
    join = lakejoin.join(left, right)
    assert not join
    assert "no join found" in join.no_join
    if "a" in left and "b" in right:
        assert len(lakejoin.join(left, right, on="a=b", by="equal", how="left")) == len(left["a"])


def test_one_row_and_all_equal() -> None:
    one = lakejoin.join({"a": ["x"]}, {"b": ["X "]}, on="a=b")
    assert one.table().to_pylist() == [{"a": "x", "b": "X "}]
    same = lakejoin.join({"a": ["x"] * 30}, {"b": ["x"] * 40}, on="a=b")
    assert len(same) == 1200
    assert (
        "multiplies rows" in same.warnings[0] and "'x' alone (30 times 40 rows)" in same.warnings[0]
    )


def test_frames_of_any_kind(tmp_path: Path) -> None:
    import duckdb

    columns = {"k": ["a", "b"], "n": [1, 2]}
    path = tmp_path / "t.csv"
    path.write_text("k,n\na,1\nb,2\n")
    arrow = pa.table(columns)
    kinds = [
        *(
            columns,
            arrow,
            pd.DataFrame(columns),
            pl.DataFrame(columns),
            pl.DataFrame(columns).lazy(),
        ),
        *(duckdb.from_arrow(arrow), path, str(path), lakejoin.read(path)),
    ]
    for left in kinds:
        for right in (columns, path):
            join = lakejoin.join(left, right, on="k")
            assert join.table()["k"].to_pylist() == ["a", "b"]
            assert join.table().column_names == ["k", "n", "k_right", "n_right"]
    assert list(join.to_pandas().columns) == join.to_polars().columns == join.schema.names
    twice = pd.DataFrame([["a", "b"]], columns=["k", "k"])
    assert lakejoin.join(twice, columns, on="k").table().column_names[:2] == ["k", "k_2"]
    with pytest.raises(InputError, match="there is no file"):
        lakejoin.join("nowhere.csv", columns)


def test_categories_are_their_values() -> None:
    users, people = USERS.to_pandas(), PEOPLE.to_pandas()
    polars = pl.DataFrame(USERS).with_columns(pl.col("user").cast(pl.Categorical))
    views = USERS.set_column(0, "user", USERS["user"].cast(pa.string_view()))
    wanted = lakejoin.join(PEOPLE, USERS).table()
    for frame in (users.astype({"user": "category"}), polars, views, polars.lazy()):
        join = lakejoin.join(people.astype({"name": "category"}), frame)
        assert [step.kind for step in join.steps] == ["transform"]
        assert join.table().to_pylist() == wanted.to_pylist()
    parts = pa.chunked_array([["x", None], ["y", "x"], []], pa.string()).dictionary_encode()
    join = lakejoin.join(pa.table({"k": parts}), {"k": ["y", "x"]}, on="k")
    assert join.table()["k"].to_pylist() == ["x", "y", "x"]
    numbers = pd.DataFrame({"k": pd.Categorical([7, 8, None])})
    assert lakejoin.join(numbers, {"k": ["8.0"]}, on="k", how="left").matched == 1


def test_columns_are_named_in_many_ways() -> None:
    left, right = {"a": ["x"], "b": ["y"]}, {"a": ["x"], "c": ["y"]}
    ways = ["a", "a=a", "0=0", 0, ["a"], [("a", "a")], {"a": "a"}, {0: 0}]
    assert all(len(lakejoin.join(left, right, on=on)) == 1 for on in ways)
    assert len(lakejoin.join(left, right, on=["a", ("b", "c")])) == 1
    with pytest.raises(InputError, match="no column"):
        lakejoin.join(left, right, on="q")
    with pytest.raises(InputError, match="not a pair of columns"):
        lakejoin.join(left, right, on=[("a", "b", "c")])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"how": "outer"}, "inner, left, right, full"),
        ({"by": "magic"}, "auto, equal"),
        ({"by": "meaning"}, "name them with on"),
        ({"by": "nearest"}, "name them with on"),
        ({"precision": 0}, "precision"),
        ({"tau": 0.1}, "only applies to joins by meaning"),
        ({"within": 3}, "only applies to joins by nearest"),
        ({"by": "meaning", "on": "a=b", "tau": 2}, "between 0 and 1"),
        ({"aggregate": "first", "how": "full"}, "must be inner or left, not full"),
        ({"aggregate": "first", "one_to_one": True}, "one or the other"),
        ({"aggregate": "median", "on": "a=b"}, "'median' is not an aggregate"),
        ({"aggregate": {"b": "mean"}, "on": "a=b"}, "has no numbers"),
        ({"aggregate": {"q": "mean"}, "on": "a=b"}, "no column 'q'"),
    ],
)
def test_wrong_options_are_refused(options: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        named = {name: options[name] for name in ("on", "how", "by") if name in options}
        rest = {name: value for name, value in options.items() if name not in named}
        more = lakejoin.MatchOptions(**rest)
        lakejoin.join({"a": ["x"]}, {"b": ["x"]}, **named, options=more).table()


def test_with_columns_given_equal_values_are_enough() -> None:
    left = pa.table({"k": ["a", "b", "Carl Gauss"]})
    join = lakejoin.join(left, {"k": ["a", "b", "Gauss, Carl"]}, on="k")
    assert [step.kind for step in join.steps] == ["equal"] and join.left_joined == 2
    none = lakejoin.join(PEOPLE, USERS, on="name=user")
    assert [step.kind for step in none.steps] == ["transform"]
    assert not lakejoin.join(PEOPLE, USERS, on="name=room")
    empty = lakejoin.join(PEOPLE, USERS, on="name=room", by="equal", how="left")
    assert empty and len(empty) == 16 and "has a match" in empty.warnings[0]


def test_a_missing_library_leaves_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any) -> Any:
        raise MissingDependency("this needs pydivsufsort: pip install pydivsufsort")

    tried = dict(
        join_finder._MATCHERS, auto=(join_finder.match_equal, missing), transform=(missing,)
    )
    monkeypatch.setattr(join_finder, "_MATCHERS", tried)
    join = lakejoin.join(PEOPLE, PEOPLE.slice(3))
    assert join.right_joined == 13
    none = lakejoin.join(PEOPLE, USERS)
    assert not none and "pip install pydivsufsort" in none.notes[0]
    with pytest.raises(MissingDependency):
        lakejoin.join(PEOPLE, USERS, by="transform")


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(-1, 4), max_size=12), st.lists(st.integers(-1, 4), max_size=12), st.data()
)
def test_each_once(left: list[int], right: list[int], data: st.DataObject) -> None:
    order = data.draw(st.lists(st.integers(0, 2), min_size=len(left), max_size=len(left)))
    once = one_to_one_keys(
        Keys(np.array(left, np.int64), np.array(right, np.int64), 5), np.array(order, np.int64)
    )
    met = [(i, j) for i, a in enumerate(once.left) for j, b in enumerate(once.right) if a == b >= 0]
    assert len({i for i, _ in met}) == len({j for _, j in met}) == len(met)
    assert all(left[i] == right[j] for i, j in met)
    for key in range(5):
        mine = sorted((order[i], i) for i, k in enumerate(left) if k == key)
        theirs = [j for j, k in enumerate(right) if k == key]
        expected = list(zip([i for _, i in mine], theirs, strict=False))
        assert sorted((i, j) for i, j in met if left[i] == key) == sorted(expected)


def test_one_to_one() -> None:
    join = lakejoin.join(
        {"k": ["a", "a", "b"]},
        {"k": ["b", "a", "b"]},
        on="k",
        options=lakejoin.MatchOptions(one_to_one=True),
    )
    assert pairs(join) == [(0, 1), (2, 0)]
    assert not join.warnings


def test_steps_without_rows_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second way is left no row by one to one, the third one by the others."""
    codes = [np.array(row) for row in ([0, -1, -1, 1], [-1, 0, -1, -1], [0, 0, -1, 1])]
    codes.append(np.array([-1, -1, 2, -1]))
    ways = tuple(KeyRule("equal", ("k",), c, f"way {i}", 1.0, "") for i, c in enumerate(codes))
    found = JoinKey("left", ("k",), np.array([0, 1, 2]), 3, ways)
    monkeypatch.setitem(join_finder._MATCHERS, "auto", (lambda *_: found,))
    left, right = pa.table({"k": list("abcd")}), pa.table({"k": list("adc")})
    once = join_finder.join_tables(left, right, JoinOptions(one_to_one=True))
    assert [(s.words, s.left_rows) for s in once.steps] == [("way 0", 2), ("way 3", 1)]
    assert once.pairs().to_pydict() == {
        "left_row": [0, 2, 3],
        "right_row": [0, 2, 1],
        "step": [0, 1, 0],
    }
    several = join_finder.join_tables(left, right)
    assert [s.words for s in several.steps] == ["way 0", "way 1", "way 3"]
    assert not re.search(r"\b0 left rows", repr(once) + repr(several))


CELLS = st.sampled_from([None, "1", "2.5", "-3", " 4 "])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from("abc"), max_size=6),
    st.lists(st.tuples(st.sampled_from("abd"), CELLS), max_size=10),
    st.sampled_from(FUNCTIONS),
    st.sampled_from(["inner", "left"]),
)
def test_aggregates(mine: list[str], theirs: list[Any], function: str, how: str) -> None:
    left = pa.table({"k": pa.array(mine, pa.string())})
    right = pa.table(
        {
            "key": pa.array([k for k, _ in theirs], pa.string()),
            "v": pa.array([v for _, v in theirs], pa.string()),
        }
    )
    wants_numbers = function in ("mean", "sum")
    if wants_numbers and all(v is None for _, v in theirs):
        return
    join = lakejoin.join(
        left,
        right,
        on="k=key",
        by="equal",
        how=how,
        options=lakejoin.MatchOptions(aggregate={"v": function}),
    )
    numbers = any(v is not None for _, v in theirs)
    expected = []
    for key in mine:
        found = [v for k, v in theirs if k == key]
        if found or how == "left":
            expected.append({"k": key, "v": _expected(function, found, numbers)})
    assert join.table().to_pylist() == expected
    assert len(join) == len(expected) == sum(batch.num_rows for batch in join.batches())


def _expected(function: str, found: list[str | None], numbers: bool) -> Any:
    there = [v for v in found if v is not None]
    if function == "count":
        return len(there)
    if function == "list":
        return found if found else None
    if not there:
        return None
    if function in ("first", "last"):
        return there[0 if function == "first" else -1]
    values = [float(v) for v in there]
    made = {"min": min, "max": max, "sum": sum, "mean": lambda v: sum(v) / len(v)}[function]
    return made(values)


def test_options_of_python_and_of_arrow_are_the_same() -> None:
    join = join_finder.join_tables(PEOPLE, USERS, JoinOptions(by="transform", how="full"))
    assert len(join) == 16
    told: list[str] = []
    join_finder.join_tables(PEOPLE, USERS, JoinOptions(), told.append)
    assert told[:2] == [
        "looking for columns with equal values",
        "learning rewriting rules",
    ]


def test_a_column_may_be_aggregated_in_several_ways() -> None:
    right = {"k": ["a", "a", "b"], "v": ["1", "3", None], "v_count": ["x", "y", "z"]}
    several = ["v=list", "v=count", "v=list"]
    join = lakejoin.join(
        {"k": ["a", "b"]}, right, on="k", options=lakejoin.MatchOptions(aggregate=several)
    )
    assert join.table().to_pylist() == [
        {"k": "a", "v_list": ["1", "3"], "v_count_": 2},
        {"k": "b", "v_list": [None], "v_count_": 0},
    ]


def test_by_nearest_the_nearest_of_rows_without_a_partner_is_a_value() -> None:
    join = lakejoin.join(
        {"x": [1.0, 20.5, None]},
        {"y": [1.5, 17.0, 205.0]},
        on="x=y",
        by="nearest",
        options=lakejoin.MatchOptions(within=1),
    )
    assert join.unmatched("left").to_pylist() == [
        {"row": 1, "value": "20.5", "nearest": "17.0", "distance": 3.5},
        {"row": 2, "value": None, "nearest": None, "distance": None},
    ]
    assert join.unmatched("right")["nearest"].to_pylist() == ["20.5", "20.5"]
