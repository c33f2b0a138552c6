"""Queries: what a column of mine becomes before it is searched for."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.engines.query import CACHED_VALUES, locate_codes, make_lake_query
from lakejoin.model import ColumnType, ValueRules
from lakejoin.store.dictionary import NOT_FOUND, Dictionary
from lakejoin.values.canonical_values import canonicalise
from oracle.lakes import PlainTable
from oracle.search import lake_of
from search.array_query import query_of_array

CELLS = st.one_of(
    st.none(),
    st.sampled_from(["Bern", "bern", " BERN ", "7", "7.0", "07", "n/a", "", "Zoë", "ZOË", "x"]),
    st.text(max_size=4),
)


def canonical_cells(cells: list[str | None]) -> list[str | None]:
    """Each cell's canonical value, the column being looked at as a whole."""
    texts = list(dict.fromkeys(cell for cell in cells if cell is not None))
    counts = np.array([cells.count(text) for text in texts], dtype=np.int64)
    found = canonicalise(pa.array(texts, pa.large_string()), counts, ValueRules())
    values = dict(zip(texts, found.text.to_pylist(), strict=True))
    return [None if cell is None else values[cell] for cell in cells]


@given(st.lists(CELLS, max_size=40))
@settings(deadline=None, max_examples=150)
def test_a_query_is_its_column(cells: list[str | None]) -> None:
    query = query_of_array("t", "c", pa.array(cells, pa.string()), ValueRules())
    values = canonical_cells(cells)
    assert dict(zip(query.tokens.to_pylist(), query.counts.tolist(), strict=True)) == Counter(
        value for value in values if value is not None
    )
    assert query.rows == len(cells)
    first = {value: cells[i] for i, value in reversed(list(enumerate(values)))}
    assert query.spellings.to_pylist() == [first[token] for token in query.tokens.to_pylist()]


@given(st.lists(CELLS, min_size=1, max_size=40))
@settings(deadline=None, max_examples=30)
def test_a_column_of_the_lake_is_the_same_query(
    tmp_path_factory: pytest.TempPathFactory, cells: list[str | None]
) -> None:
    for all_columns in (True, False):
        lake = lake_of(
            tmp_path_factory.mktemp("lake"),
            [[PlainTable("t.csv", {"c": cells, "d": cells})]],
            all_columns,
        )
        ours = query_of_array("t.csv", "c", pa.array(cells, pa.string()), ValueRules())
        theirs = make_lake_query(lake.snapshot, 0, 0, "t.csv")
        tokens = theirs.tokens.to_pylist()
        order = np.array([tokens.index(t) for t in ours.tokens.to_pylist()], dtype=np.int64)
        assert len(tokens) == len(ours)
        assert theirs.counts[order].tolist() == ours.counts.tolist()
        assert theirs.spellings.take(order).to_pylist() == ours.spellings.to_pylist()
        assert (theirs.rows, theirs.type, theirs.home) == (ours.rows, ours.type, (0, 0))
        segment = lake.snapshot.segments[0]
        codes = locate_codes(theirs, 0, segment)
        assert segment.dictionary.texts.take(codes).to_pylist() == tokens


def test_values_that_a_segment_lacks(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [[PlainTable("t.csv", {"c": ["a", "b"]})]])
    query = query_of_array("q", "c", pa.array(["b", "z"]), ValueRules())
    codes = locate_codes(query, 0, lake.snapshot.segments[0])
    assert (codes == NOT_FOUND).tolist() == [False, True]


def test_typed_columns_meet_text() -> None:
    query = query_of_array("q", "c", pa.array([7.0, None, 8.5, 7.0]), ValueRules())
    assert query.tokens.to_pylist() == ["7", "8.5"]
    assert query.counts.tolist() == [2, 1]
    assert query.type is ColumnType.DECIMAL
    moments = pa.chunked_array([pa.array([0], pa.timestamp("s")), pa.array([], pa.timestamp("s"))])
    assert query_of_array("q", "c", moments, ValueRules()).tokens.to_pylist() == ["1970-01-01"]


def test_exact_rules_keep_spellings() -> None:
    query = query_of_array("q", "c", pa.array(["A", "a", ""]), ValueRules(fold=False))
    assert query.tokens.to_pylist() == ["A", "a"]
    assert query.rows == 3


def test_a_small_query_is_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = lake_of(tmp_path / "a", [[PlainTable("t.csv", {"c": ["x", "y"]})]] * 2)
    other = lake_of(tmp_path / "b", [[PlainTable("t.csv", {"c": ["y", "z"]})]])
    asked = 0
    find = Dictionary.find

    def counted(self: Dictionary, *tokens: Any) -> object:
        nonlocal asked
        asked += 1
        return find(self, *tokens)

    monkeypatch.setattr(Dictionary, "find", counted)
    assert first.overlap(["y", "nowhere"])[0].examples["matched"] == ["y"]
    assert asked == 2, "once a segment, for the search and the evidence of both results"
    query = query_of_array("t", "c", pa.array(["y", "nowhere"]), ValueRules())
    for lake in (first, other, first):
        (segment, *_) = lake.snapshot.segments
        code, missing = locate_codes(query, 0, segment).tolist()
        assert segment.dictionary.texts.take(np.array([code])).to_pylist() == ["y"]
        assert missing == NOT_FOUND
    assert asked == 4, "another index is another look-up"
    large = query_of_array(
        "t", "c", pa.array(list(map(str, range(CACHED_VALUES + 1)))), ValueRules()
    )
    for _ in range(2):
        locate_codes(large, 0, first.snapshot.segments[0])
    assert asked == 6 and not large.code_cache
