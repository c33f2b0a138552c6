"""Column encoding: what goes in comes out, chunk by chunk, part by part, of any type."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.model import ColumnData, ValueRules, null_id
from lakejoin.values.column_encoder import ColumnChunk, ColumnEncoder, encode_query
from oracle import values as oracle
from oracle.lakes import encode_table

_cell = st.one_of(
    st.none(),
    st.sampled_from(["", "a", "A", " a", "b", "7", "7.0", "NA", "n/a", "31/01/2020", "É", "é"]),
    st.text(st.characters(exclude_categories=("Cs", "Cn")), max_size=6),
)


def _decoded(data: ColumnData) -> tuple[list[str | None], list[str | None]]:
    """The canonical and the original text of every cell."""
    tokens, spellings = data.tokens.to_pylist(), data.spellings.to_pylist()
    null = null_id(data.cells.dtype)
    canonical: list[str | None] = []
    original: list[str | None] = []
    for cell in data.cells.tolist():
        if cell == null:
            canonical.append(None)
            original.append(None)
        elif cell < len(tokens):
            canonical.append(tokens[cell])
            original.append(tokens[cell])
        else:
            canonical.append(tokens[data.spelling_token[cell - len(tokens)]])
            original.append(spellings[cell - len(tokens)])
    return canonical, original


def _check(cells: list[str | None], data: ColumnData, exact: bool = False) -> None:
    expected = oracle.column(cells, exact=exact)
    values = [None if cell is None else expected.values[cell] for cell in cells]
    canonical, original = _decoded(data)
    assert canonical == values
    assert original == [c if v is not None else None for c, v in zip(cells, values, strict=True)]
    assert data.tokens.to_pylist() == list(dict.fromkeys(v for v in values if v is not None))
    spelled = [c for c, v in zip(cells, values, strict=True) if v is not None and v != c]
    assert data.spellings.to_pylist() == list(dict.fromkeys(spelled))
    assert data.tokens.type == data.spellings.type == pa.large_string()
    assert data.spelling_token.dtype == np.uint32
    profile = data.profile
    assert profile.type.value == expected.type
    assert (profile.rows, profile.nulls) == (len(cells), values.count(None))
    assert profile.distinct == len(data.tokens)


@settings(max_examples=200, deadline=None)
@given(st.lists(_cell, max_size=30), st.integers(1, 10), st.booleans())
def test_any_cells_in_any_chunks(cells: list[str | None], size: int, fold: bool) -> None:
    rules = ValueRules(fold=fold)
    whole = ColumnEncoder("c", rules)
    parts = ColumnEncoder("c", rules)
    for at in range(0, len(cells), size):
        chunk = pa.array(cells[at : at + size], pa.string())
        whole.append(chunk)
        piece = ColumnEncoder("c", rules)
        piece.append(chunk)
        parts.append_chunk(piece.to_chunk())
    data = whole.finish()
    _check(cells, data, exact=not fold)
    joined = parts.finish()
    assert joined.profile == data.profile
    assert joined.tokens.equals(data.tokens)
    assert joined.spellings.equals(data.spellings)
    assert (joined.cells.dtype, joined.cells.tolist()) == (data.cells.dtype, data.cells.tolist())


def test_a_column_without_rows_or_values() -> None:
    for array in (pa.array([], pa.string()), pa.nulls(0), pa.chunked_array([], pa.int64())):
        data = encode_query(array)
        assert (len(data.tokens), len(data.cells)) == (0, 0)
        assert data.profile.type.value == "empty"
    data = encode_query(pa.nulls(3))
    assert data.cells.tolist() == [255, 255, 255]
    assert (data.profile.rows, data.profile.nulls) == (3, 3)
    assert ColumnEncoder("c").finish().profile.rows == 0


@pytest.mark.parametrize("distinct", [254, 255, 256, 65535, 65536, 70000])
def test_cells_are_as_narrow_as_they_can_be(distinct: int) -> None:
    texts = [f"v{i}" for i in range(distinct)]
    data = encode_query(pa.chunked_array([texts[:100], [None], texts[100:], texts[:1]]))
    width = 1 if distinct <= 255 else 2 if distinct <= 65535 else 4
    assert data.cells.dtype.itemsize == width
    null = null_id(data.cells.dtype)
    assert data.cells.tolist() == [*range(100), null, *range(100, distinct), 0]


def test_a_null_survives_widening_and_spellings() -> None:
    texts = [f"V{i}" for i in range(200)]  # 200 tokens and 200 spellings: two bytes a cell
    data = encode_query(pa.array([None, *texts]))
    assert data.cells.dtype == np.uint16
    assert data.cells.tolist() == [65535, *range(200, 400)]


_TYPED: list[tuple[pa.Array, list[str | None]]] = [
    (pa.array([1, None, -5], pa.int8()), ["1", None, "-5"]),
    (pa.array([2**64 - 1], pa.uint64()), ["18446744073709551615"]),
    (
        pa.array([7.0, -0.0, float("nan"), 1e20, 1e-7, 0.1, float("inf"), None]),
        ["7", "0", None, "100000000000000000000", "0.0000001", "0.1", "inf", None],
    ),
    (pa.array([0.1, 16777216.0], pa.float32()), ["0.1", "16777216"]),
    (pa.array(np.array([0.5, 2.0], np.float16)), ["0.5", "2"]),
    (pa.array([Decimal("7.50"), Decimal("0E-10")]), ["7.5", "0"]),
    (pa.array([True, False, None]), ["true", "false", None]),
    (pa.array([dt.date(2020, 1, 31), None]), ["2020-01-31", None]),
    (pa.array([dt.date(2020, 1, 31)], pa.date64()), ["2020-01-31"]),
    (
        pa.array([0, 1580501700, None], pa.timestamp("s")),
        ["1970-01-01", "2020-01-31 20:15:00", None],
    ),
    (pa.array([1500], pa.timestamp("us")), ["1970-01-01 00:00:00.0015"]),
    (
        pa.array([0, 1580501700000], pa.timestamp("ms", "Europe/Paris")),
        ["1970-01-01", "2020-01-31 20:15:00Z"],
    ),
    (pa.array([dt.time(20, 15), dt.time(1, 2, 3, 500)]), ["20:15:00", "01:02:03.0005"]),
    (pa.array([90], pa.duration("s")), ["90"]),
    (pa.array([b"Bern", b"\xff\xfe"]), ["Bern", "//4="]),
    (pa.array(["B", "a", None, "B"]).dictionary_encode(), ["B", "a", None, "B"]),
    (
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, None]), pa.array([5, None])),
        ["5", None, None, None],
    ),
    (pa.array(["x", None], pa.string_view()), ["x", None]),
    (pa.array([[1, 2], None, []]), ["[1,2]", None, "[]"]),
    (pa.array([{"a": 1, "b": "x"}, None]), ['{"a":1,"b":"x"}', None]),
    (pa.nulls(2), [None, None]),
]


@pytest.mark.parametrize(("array", "texts"), _TYPED, ids=lambda v: str(getattr(v, "type", "")))
@pytest.mark.parametrize("fold", [True, False])
@pytest.mark.parametrize("times", [1, 400])
def test_typed_values(array: pa.Array, texts: list[str | None], fold: bool, times: int) -> None:
    data = encode_query(pa.concat_arrays([array] * times), ValueRules(fold=fold))
    assert _decoded(data)[1] == texts * times


def test_a_typed_column_equals_its_text() -> None:
    numbers = [0.1, 2.0, 1e16, 1.5e-9, 123456789.25, -3.0, 5e-324, 1.7976931348623157e308]
    typed = encode_query(pa.array(numbers))
    text = encode_query(pa.array([repr(number) for number in numbers]))
    assert typed.tokens.to_pylist() == text.tokens.to_pylist()
    moments = [dt.datetime(2020, 1, 31, 20, 15), dt.datetime(1999, 12, 31), None]
    typed = encode_query(pa.array(moments))
    text = encode_query(pa.array([m and m.isoformat() for m in moments]))
    assert typed.tokens.to_pylist() == text.tokens.to_pylist()


def test_chunks_of_different_types_are_one_column() -> None:
    encoder = ColumnEncoder("c")
    encoder.append(pa.array([7, 8]))
    encoder.append(pa.array([8.0, 9.5]))
    encoder.append(pa.array(["7", "x"]))
    assert encoder.finish().tokens.to_pylist() == ["7", "8", "9.5", "x"]


def test_text_that_is_not_utf8_is_mended() -> None:
    bad = pa.array([b"ok", b"caf\xe9", None], pa.binary()).view(pa.string())
    data = encode_query(bad)
    assert data.tokens.to_pylist() == ["ok", "caf\ufffd"]


def test_only_what_a_dictionary_uses_counts() -> None:
    dictionary = pa.array(["unused", "b", "A", None, "b"])
    array = pa.DictionaryArray.from_arrays(pa.array([0, 2, 1, None, 3, 4, 2]), dictionary)
    data = encode_query(array.slice(1))
    assert _decoded(data)[1] == ["A", "b", None, None, "b", "A"]
    assert data.tokens.to_pylist() == ["a", "b"]
    assert data.profile.distinct == 2


def test_slices_are_read_in_place() -> None:
    array = pa.array(["x", None, "b", "É", None, "b", "y"])
    assert _decoded(encode_query(array.slice(1, 5)))[1] == [None, "b", "É", None, "b"]


def test_a_table_from_batches() -> None:
    batches = [
        pa.RecordBatch.from_arrays([pa.array(["x"]), pa.array([1])], names=["a", "a"]),
        pa.RecordBatch.from_arrays([pa.array(["Y"]), pa.array([None], pa.int64())], ["a", "a"]),
    ]
    columns = encode_table(["a", "a"], batches)
    assert [c.name for c in columns] == ["a", "a"]
    assert [_decoded(c)[1] for c in columns] == [["x", "Y"], ["1", None]]
    assert encode_table([], []) == ()
    assert [c.profile.rows for c in encode_table(["a"], [])] == [0]


def test_a_part_travels_as_plain_arrays() -> None:
    encoder = ColumnEncoder("c")
    encoder.append(pa.array(["b", None, "NA", "b"]))
    part = encoder.to_chunk()
    sink = pa.BufferOutputStream()
    batch = pa.record_batch({"dictionary": part.dictionary})
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    read: Any = pa.ipc.open_stream(sink.getvalue()).read_all()
    copy = ColumnChunk(
        read.column(0).combine_chunks(), np.frombuffer(part.cells.tobytes(), part.cells.dtype)
    )
    other = ColumnEncoder("c")
    other.append_chunk(copy)
    # NA is a null only now that the whole column is known.
    assert _decoded(other.finish())[1] == ["b", None, None, "b"]
    assert part.dictionary.to_pylist() == ["b", "NA"]


def test_many_distinct_texts() -> None:
    rng = np.random.default_rng(5)
    numbers = rng.integers(0, 60_000, 200_000)
    texts = pa.array(np.char.add("Key-", numbers.astype(str)))
    data = encode_query(pa.chunked_array([texts.slice(0, 7), texts.slice(7)]))
    lowered = [f"key-{n}" for n in numbers.tolist()]
    assert data.tokens.to_pylist() == list(dict.fromkeys(lowered))
    of_cell = data.spelling_token[data.cells - np.uint32(len(data.tokens))]
    assert data.tokens.take(pa.array(of_cell)).to_pylist() == lowered


def test_long_texts_and_equal_beginnings() -> None:
    long = "x" * 300_000
    cells = [long, long + "a", long, "", long + "b", long + "a", "x" * 7, "x" * 8, "x" * 9]
    data = encode_query(pa.array(cells))
    assert _decoded(data)[1] == [c or None for c in cells]
    assert data.profile.max_length == 300_001
