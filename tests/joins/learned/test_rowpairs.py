"""Row pairs by rare stretches, and samples that hold enough of them."""

from __future__ import annotations

import os
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.errors import MissingDependency
from lakejoin.joins.learned.row_samples import (
    EXPECTED_PAIRS,
    LONGEST_TEXT,
    RowPair,
    RowPairer,
    _divsufsort,
    distinct_texts,
    sample_rows,
    sample_sizes,
)

texts = st.lists(st.one_of(st.none(), st.text("abcAB ", max_size=8)), max_size=8)


def find_row_pairs(source: pa.Array, target: pa.Array) -> list[RowPair]:
    return RowPairer([distinct_texts(source)], distinct_texts(target)).of_column(0, 100)


@settings(max_examples=100, deadline=None)
@given(texts, texts)
def test_pairs_share_what_they_say(source: list[str | None], target: list[str | None]) -> None:
    pairs = find_row_pairs(pa.array(source, pa.string()), pa.array(target, pa.string()))
    assert len({(p.source, p.target) for p in pairs}) == len(pairs)
    assert [p.score for p in pairs] == sorted((p.score for p in pairs), reverse=True)
    for pair in pairs:
        one, other = source[pair.source], target[pair.target]
        assert one and other
        size = round(pair.shared * len(other))
        assert size >= 3
        assert any(one.lower()[i : i + size] in other.lower() for i in range(len(one) - size + 1))


def test_case_is_ignored_and_the_first_row_stands_for_equal_texts() -> None:
    pairs = find_row_pairs(pa.array(["x", "BERLIN", "berlin"]), pa.array([None, "in Berlin"]))
    assert [(p.source, p.target, p.score) for p in pairs] == [(1, 1, 1.0)]


@pytest.mark.parametrize("column", [[], [None, None], ["", ""]])
def test_nothing_pairs_with_nothing(column: list[str | None]) -> None:
    empty, full = pa.array(column, pa.string()), pa.array(["Bern"])
    assert find_row_pairs(empty, full) == find_row_pairs(full, empty) == []
    nothing, some = distinct_texts(empty), distinct_texts(full)
    assert RowPairer([nothing, nothing], some).of_several() == []
    assert RowPairer([some, some], nothing).of_several() == []


def test_very_long_texts_are_looked_at_in_part() -> None:
    long = "x" * 10 * LONGEST_TEXT
    pairs = find_row_pairs(pa.array(["Bern" + long, long]), pa.array(["bern", long + "ulm"]))
    assert (0, 0) in [(p.source, p.target) for p in pairs]


@given(st.integers(1, 10**7), st.integers(1, 10**7), st.floats(0.001, 1.0))
def test_samples_hold_enough_pairs(source: int, target: int, participation: float) -> None:
    mine, theirs = sample_sizes(source, target, participation)
    assert 0 < mine <= source and 0 < theirs <= target
    held = target * (mine / source) * (theirs / target) * participation
    assert held >= EXPECTED_PAIRS * (1 - 1e-9) or (mine, theirs) == (source, target)
    if mine < source and theirs < target:  # no other sizes with so many pairs have fewer rows
        best = 2 * np.sqrt(EXPECTED_PAIRS / participation * source)
        assert mine + theirs <= best + 2


def test_a_sample_is_the_same_every_time() -> None:
    rows = sample_rows(1000, 50, 1)
    assert rows.tolist() == sample_rows(1000, 50, 1).tolist() == sorted(set(rows.tolist()))
    assert sample_rows(3, 9, 1).tolist() == [0, 1, 2]


def test_the_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydivsufsort", None)
    _divsufsort.cache_clear()
    before = dict(os.environ)
    with pytest.raises(MissingDependency, match=r"pip install 'lakejoin\[join\]'"):
        find_row_pairs(pa.array(["Bern"]), pa.array(["Bern"]))
    assert dict(os.environ) == before
