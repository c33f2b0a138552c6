"""Frames of every library as Arrow tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lakejoin.errors import InputError
from lakejoin.sources.frames import to_table

CELLS = ["Bern", None, "Oslo"]


class Capsule:
    """A frame of a library that nobody knows: only the Arrow PyCapsule interface."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


class Batch:
    """One batch by the array half of the interface."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return pa.record_batch({"city": CELLS}).__arrow_c_array__(requested_schema)


class Spark:
    """As a Spark DataFrame: `collect` gives rows of objects, `toArrow` a table."""

    def collect(self) -> list[Any]:
        raise AssertionError("rows of objects are the slow way")

    def toArrow(self) -> pa.Table:  # noqa: N802 (Spark's name)
        return pa.table({"city": CELLS})


@pytest.mark.parametrize(
    "thing",
    [
        pa.table({"city": CELLS}),
        pa.record_batch({"city": CELLS}),
        pa.RecordBatchReader.from_batches(
            pa.schema({"city": pa.string()}), [pa.record_batch({"city": CELLS})]
        ),
        {"city": CELLS},
        {"city": pa.array(CELLS)},
        {"city": np.array(CELLS, dtype=object)},
        [{"city": "Bern"}, {}, {"city": "Oslo"}],
        ({"city": cell} for cell in CELLS),
        Capsule(pa.table({"city": CELLS})),
        Capsule(pa.table({"city": pa.array(CELLS, pa.string_view())})),
        Batch(),
        Spark(),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_a_table(thing: Any) -> None:
    table = to_table(thing)
    assert table.column_names == ["city"]
    assert table.column(0).to_pylist() == CELLS
    assert table.schema.field(0).type in (pa.string(), pa.large_string())


@pytest.mark.parametrize(
    "thing",
    [CELLS, tuple(CELLS), iter(CELLS), pa.array(CELLS), pa.chunked_array([CELLS]), np.array(CELLS)],
    ids=lambda thing: type(thing).__name__,
)
def test_one_column(thing: Any) -> None:
    table = to_table(thing)
    assert table.to_pydict() == {"value": CELLS}


def test_half_characters_are_replaced() -> None:
    assert to_table(["a\ud800", "b"]).to_pydict() == {"value": ["a?", "b"]}


def test_a_set_has_an_order() -> None:
    assert to_table({"b", "a", "c"}).to_pydict() == {"value": ["a", "b", "c"]}


def test_pandas() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"city": CELLS, "n": [1, 2, 3]})
    assert to_table(frame).column_names == ["city", "n"]
    assert to_table(frame[frame.n > 1]).column_names == ["city", "n"], "no index without a name"
    assert to_table(frame.set_index("city")).column_names == ["n", "city"]
    assert to_table(pd.DataFrame([[1, "x"]], columns=["a", "a"])).column_names == ["a", "a"]
    assert to_table(pd.DataFrame({0: ["x"]})).column_names == ["0"]
    mixed = pd.DataFrame({"m": [1, "x", None, float("nan"), pd.NA, pd.NaT]})
    assert to_table(mixed).to_pydict() == {"m": ["1", "x", None, None, None, None]}
    assert to_table(pd.Series(CELLS, name="city")).to_pydict() == {"city": CELLS}
    assert to_table(pd.Series([1, "x"])).to_pydict() == {"value": ["1", "x"]}
    kinds = pd.DataFrame({"c": pd.Categorical(["x", "y", "x"])})
    assert to_table(kinds).column(0).to_pylist() == ["x", "y", "x"]


def test_polars() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"city": CELLS, "n": [1, 2, 3]})
    for thing in (frame, frame.lazy()):
        table = to_table(thing)
        assert table.schema.field("city").type == pa.large_string()
        assert table.column("city").to_pylist() == CELLS
    assert to_table(frame["city"]).to_pydict() == {"city": CELLS}


def test_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    table = to_table(duckdb.sql("select * from (values ('Bern', 1), (null, 2)) t(city, n)"))
    assert table.to_pydict() == {"city": ["Bern", None], "n": [1, 2]}


def test_an_array_of_two_dimensions() -> None:
    assert to_table(np.array([["a", "b"], ["c", "d"]])).to_pydict() == {
        "col_0": ["a", "c"],
        "col_1": ["b", "d"],
    }


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (5, "int is not a table"),
        (None, "NoneType is not a table"),
        ("text", "str is not a table"),
        ([["a", "b"]], "rows without column names"),
        ({}, "has no columns"),
        ({"a": "text"}, "'a' is a single value"),
        ({"a": [1], "b": [1, 2]}, "a has 1, b has 2"),
    ],
    ids=str,
)
def test_what_is_no_table(thing: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        to_table(thing)
