"""Column profiles against what the column plainly is."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.model import ColumnProfile, ColumnType
from lakejoin.values.column_encoder import EXAMPLES, LONGEST_EXAMPLE, encode_query, key_likeness
from oracle import values as oracle


def _profile(cells: list[str | None]) -> ColumnProfile:
    return encode_query(pa.array(cells, pa.string())).profile


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.none(), st.sampled_from(["a", "A", "bé", "n/a", "7.0", "7", "ß"]))))
def test_counts_and_lengths(cells: list[str | None]) -> None:
    canonical = oracle.column(cells).values
    values = [canonical[c] for c in cells if c is not None and canonical[c] is not None]
    profile = _profile(cells)
    assert (profile.rows, profile.nulls) == (len(cells), len(cells) - len(values))
    assert profile.distinct == len(set(values))
    lengths = [len(value) for value in values if value is not None]
    assert profile.min_length == min(lengths, default=0)
    assert profile.max_length == max(lengths, default=0)
    if lengths:
        assert profile.mean_length == pytest.approx(sum(lengths) / len(lengths))
        assert profile.uniqueness == pytest.approx(len(set(values)) / len(values))
    else:
        assert (profile.mean_length, profile.uniqueness, profile.key_likeness) == (0, 0, 0)
    assert 0 <= profile.key_likeness <= 1
    assert len(profile.examples) == min(EXAMPLES, profile.distinct)
    assert set(profile.examples) <= {cell for cell in cells if cell is not None}


def test_examples_of_a_repetitive_column_are_the_most_frequent() -> None:
    cells = ["b"] * 5 + ["C"] * 9 + ["c"] * 2 + list("defgh") + ["a"] * 3
    profile = _profile(cells)
    assert profile.examples == ("C", "b", "a", "d", "e")
    assert Counter(cells)["C"] == 9


def test_examples_of_a_key_are_spread() -> None:
    profile = _profile([f"K{i}" for i in range(101)])
    assert profile.examples == ("K0", "K25", "K50", "K75", "K100")


def test_long_examples_are_cut() -> None:
    (example,) = _profile(["é" * 1000]).examples
    assert example == "é" * (LONGEST_EXAMPLE - 1) + "…"


def test_key_likeness_orders_columns_as_a_person_would() -> None:
    keys = _profile([f"id{i}" for i in range(100)])
    numbers = _profile([str(i) for i in range(100)])
    gaps = _profile([f"id{i}" if i % 2 else None for i in range(100)])
    prices = _profile([f"{i}.5" for i in range(100)])
    stories = _profile([f"{i} " + "word " * 100 for i in range(100)])
    categories = _profile(["x", "y"] * 50)
    assert keys.key_likeness == 1.0
    likeness = [p.key_likeness for p in (keys, numbers, gaps, prices, stories, categories)]
    assert likeness == sorted(likeness, reverse=True)


@pytest.mark.parametrize("kind", list(ColumnType))
def test_key_likeness_stays_within_bounds(kind: ColumnType) -> None:
    assert 0 <= key_likeness(kind, 1.0, 1.0, 0.0) <= 1
    assert key_likeness(kind, 0.0, 1.0, 5.0) == 0
