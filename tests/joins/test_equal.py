"""The equi-join against one that compares every row with every row."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.errors import InputError
from lakejoin.joins.join_inputs import parse_column_pair
from lakejoin.joins.joined_table import JoinedTable, result_names
from lakejoin.joins.options import HOWS
from lakejoin.joins.row_keys import encode_keys
from lakejoin.model import ValueRules

# What is written, and the value that it is: by hand, so that nothing of ours judges itself.
VALUES = {
    "Bern": "bern",
    " BERN": "bern",
    "Zürich": "zürich",
    "zu\u0308rich ": "zürich",
    "Straße": "strasse",
    "STRASSE": "strasse",
    "7": "7",
    "7.0": "7",
    "007": "007",
    "日本": "日本",
    "[red]": "[red]",
    "": None,
    "n/a": None,
    None: None,
}
Rows = list[tuple[str | None, str | None]]
On = tuple[tuple[str, str], ...]

cells = st.sampled_from(list(VALUES))
tables = st.lists(st.tuples(cells, cells), max_size=9)


def table(rows: Rows, *names: str) -> pa.Table:
    """Two key columns and the number of the row."""
    columns = [pa.array([row[i] for row in rows], pa.string()) for i in range(2)]
    return pa.table([*columns, pa.array(range(len(rows)), pa.int64())], names=[*names, "row"])


def brute_force(left: Rows, right: Rows, how: str, width: int) -> list[tuple[Any, Any]]:
    """The pairs of row numbers, in the order that the join promises."""
    if how == "right":
        return [(a, b) for b, a in brute_force(right, left, "left", width)]
    pairs: list[tuple[Any, Any]] = []
    met: set[int] = set()
    for i, mine in enumerate(left):
        found = [
            j
            for j, theirs in enumerate(right)
            if all(
                VALUES[a] is not None and VALUES[a] == VALUES[b]
                for a, b in list(zip(mine, theirs, strict=True))[:width]
            )
        ]
        met.update(found)
        pairs += [(i, j) for j in found]
        if not found and how in ("left", "full"):
            pairs.append((i, None))
    if how == "full":
        pairs += [(None, j) for j in range(len(right)) if j not in met]
    return pairs


def equal_join(
    on: On, left: pa.Table, right: pa.Table, how: str = "inner", rules: ValueRules | None = None
) -> JoinedTable:
    columns = [left[name] for name, _ in on], [right[name] for _, name in on]
    return JoinedTable(left, right, encode_keys(*columns, rules or ValueRules()), how)


def joined(left: Rows, right: Rows, how: str, width: int) -> JoinedTable:
    on = (("a", "x"), ("b", "y"))[:width]
    return equal_join(on, table(left, "a", "b"), table(right, "x", "y"), how)


@settings(max_examples=120, deadline=None)
@given(tables, tables, st.sampled_from(HOWS), st.sampled_from([1, 2]), st.integers(1, 5))
def test_every_way_to_join(left: Rows, right: Rows, how: str, width: int, step: int) -> None:
    found = joined(left, right, how, width)
    expected = brute_force(left, right, how, width)
    whole = found.table()
    assert list(zip(*whole.select(["row", "row_right"]).to_pydict().values(), strict=True)) == (
        expected
    )
    assert len(found) == len(expected)
    inner = brute_force(left, right, "inner", width)
    assert found.left_joined == len({i for i, _ in inner})
    assert found.right_joined == len({j for _, j in inner})
    assert found.pairs == len(inner)
    assert found.fan_out * len(left) == pytest.approx(len(inner))
    batches = list(found.batches(step))
    assert pa.Table.from_batches(batches, found.schema).equals(whole)
    assert found.table(step).equals(whole.slice(0, step))
    for name, rows, number in (("a", left, "row"), ("x", right, "row_right")):
        for text, row in zip(
            whole[name].to_pylist(), whole[number].to_pylist(), strict=True
        ):  # each cell is the one of its row, as it was written
            assert text == (None if row is None else rows[row][0])


@given(tables, tables)
@settings(max_examples=60, deadline=None)
def test_the_busiest_key(left: Rows, right: Rows) -> None:
    inner = brute_force(left, right, "inner", 1)
    by_value: dict[str | None, int] = {}
    for i, _ in inner:
        by_value[VALUES[left[i][0]]] = by_value.get(VALUES[left[i][0]], 0) + 1
    busiest = joined(left, right, "inner", 1).busiest_key()
    if not inner:
        assert busiest is None
    else:
        assert busiest is not None
        row, mine, theirs = busiest
        assert mine * theirs == max(by_value.values()) == by_value[VALUES[left[row][0]]]


def test_exact_values_are_compared_as_written() -> None:
    left, right = pa.table({"a": ["Bern", "Ulm"]}), pa.table({"a": ["bern", "Ulm"]})
    joined = equal_join((("a", "a"),), left, right, rules=ValueRules(fold=False))
    assert joined.table()["a"].to_pylist() == ["Ulm"]


def test_types_meet_and_stay() -> None:
    left = pa.table({"n": pa.array([1.0, 2.5, None]), "day": pa.array([0, 1, 2], pa.date32())})
    right = pa.table({"n": ["1", "2.50", "x"], "d": ["1970-01-01", "02.01.1970", "31.01.1970"]})
    result = equal_join((("n", "n"), ("day", "d")), left, right).table()
    assert result["n"].to_pylist() == [1.0, 2.5]
    assert result.schema.types[:2] == [pa.float64(), pa.date32()]


def test_chunks_and_large_tables() -> None:
    numbers = pa.chunked_array([pa.array(range(i, i + 1000)) for i in range(0, 90_000, 1000)])
    left = pa.table({"n": numbers})
    right = pa.table({"n": pa.array(range(80_000, 170_000)).cast(pa.string())})
    found = equal_join((("n", "n"),), left, right, "full")
    assert (len(found), found.left_joined) == (170_000, 10_000)
    assert found.table().num_rows == 170_000


def test_a_large_product_is_counted_and_not_made() -> None:
    left = pa.table({"a": ["x"] * 300_000})
    found = equal_join((("a", "a"),), left, left)
    assert len(found) == 300_000**2
    assert found.busiest_key() == (0, 300_000, 300_000)
    assert found.table(3).num_rows == 3


def test_many_columns_make_no_overflow() -> None:
    names = [f"c{i}" for i in range(12)]
    rows = 4000
    left = pa.table(
        {name: [str((j * 7 + i) % rows) for j in range(rows)] for i, name in enumerate(names)}
    )
    found = equal_join(tuple((name, name) for name in names), left, left)
    assert len(found) == rows


def test_empty_tables() -> None:
    nobody = pa.table({"a": pa.array([], pa.string())})
    some = pa.table({"a": ["x"]})
    for how, sizes in {"inner": (0, 0), "left": (0, 1), "right": (1, 0), "full": (1, 1)}.items():
        on = (("a", "a"),)
        assert len(equal_join(on, nobody, some, how).table()) == sizes[0]
        assert len(equal_join(on, some, nobody, how).table()) == sizes[1]
        assert list(equal_join(on, nobody, nobody, how).batches()) == []


@given(
    st.lists(st.sampled_from("ab"), unique=True),
    st.lists(st.sampled_from(["a", "b", "a_right", "a_right_2"]), unique=True),
)
def test_names_are_unique(left: list[str], right: list[str]) -> None:
    names = result_names(left, right)
    assert names[: len(left)] == left
    assert len(set(names)) == len(names) == len(left) + len(right)


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("a=x", ("a", "x")),
        ("A = X", ("a", "x")),
        ("0=1", ("a", "p=q")),
        ("a=p=q", ("a", "p=q")),
        ("c=d=x", ("c=d", "x")),
        ("same", ("same", "same")),
    ],
)
def test_pairs(text: str, pair: tuple[str, str]) -> None:
    assert parse_column_pair(text, ["a", "c=d", "same"], ["x", "p=q", "same"], "l", "r") == pair


def test_pairs_that_are_none() -> None:
    with pytest.raises(InputError, match="r has no column 'y'; it has 'x'"):
        parse_column_pair("a=y", ["a"], ["x"], "l", "r")
    with pytest.raises(InputError, match="l has no column 'b'"):
        parse_column_pair("b=x", ["a"], ["x"], "l", "r")
    with pytest.raises(InputError, match="l has no column 'b'"):
        parse_column_pair("b", ["a"], ["x"], "l", "r")
    with pytest.raises(InputError, match="write LEFT=RIGHT"):
        parse_column_pair("b=c=d", ["a"], ["x"], "l", "r")
    with pytest.raises(InputError, match=r"is ambiguous \('a' with 'b=c' or 'a=b' with 'c'\)"):
        parse_column_pair("a=b=c", ["a", "a=b"], ["c", "b=c"], "l", "r")
