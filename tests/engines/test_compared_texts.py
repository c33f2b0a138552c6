"""Many columns compared at once: the same matches as column by column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.encoders.mixed_encoder import open_characters
from lakejoin.engines.meaning import compared_texts
from lakejoin.engines.meaning.compared_texts import ComparedTexts
from lakejoin.engines.meaning.match_rule import Calibration, MatchTexts, match_column
from lakejoin.engines.meaning.near_columns import estimate_products
from lakejoin.engines.meaning.vector_space import VectorSpace
from lakejoin.model import Array
from lakejoin.store.compact_vectors import CompactVectors, MatrixSource

ENCODER = open_characters()
WORDS = ["bern", "basel", "zurich", "geneva", "9th", "10th", "street", "norway", "a320", "a321"]
PHRASES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
CALIBRATION = Calibration.of(ENCODER, pa.array(WORDS, pa.large_string()))


def _matches(mine: list[str], lake: list[str], columns: list[Array], room: int) -> None:
    vectors = ENCODER.encode(pa.array(lake, pa.large_string()))
    compact = CompactVectors.build(MatrixSource(vectors))
    space = VectorSpace(compact, MatrixSource(vectors), None)  # type: ignore[arg-type]
    ours = MatchTexts.of(CALIBRATION, ENCODER.encode(mine), mine)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compared_texts, "_LONG", room)
        compared = ComparedTexts.of(CALIBRATION, ours, space, columns)
    for ids in columns:
        texts = [lake[at] for at in ids]
        same = np.array([texts.index(text) if text in texts else -1 for text in mine])
        theirs = MatchTexts.of(CALIBRATION, vectors[ids], texts)
        expected = match_column(CALIBRATION, ours, theirs, same)
        found = compared.match(
            ids, lambda at, texts=texts: pa.array([texts[i] for i in at], pa.large_string()), same
        )
        assert found.chance == pytest.approx(expected.chance, abs=1e-4)
        assert found.share == pytest.approx(expected.share, abs=1e-4)
        assert ((found.partner >= 0) == (expected.partner >= 0)).all()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(PHRASES, min_size=1, max_size=6, unique=True),
    st.lists(PHRASES, min_size=1, max_size=30, unique=True),
    st.data(),
)
def test_columns_match_as_one_by_one(mine: list[str], lake: list[str], data: st.DataObject) -> None:
    at = st.lists(st.integers(0, len(lake) - 1), min_size=1, unique=True)
    columns = [np.array(sorted(ids)) for ids in data.draw(st.lists(at, min_size=1, max_size=4))]
    _matches(mine, lake, columns, room=len(lake))


def test_long_columns_match_by_their_nearest_texts() -> None:
    lake = [f"{first} {second} {number}th" for first in WORDS for second in WORDS
            for number in range(4)]  # fmt: skip
    columns = [np.arange(len(lake)), np.arange(0, len(lake), 2), np.arange(20)]
    _matches(["bern basel", "norge sweden", "street"], lake, columns, room=150)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 300), st.integers(1, 4), st.integers(0, 99))
def test_estimates_are_the_products_as_far_as_stored(count: int, asked: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(count, 8)).astype(np.float32)
    queries = random.normal(size=(asked, 8)).astype(np.float32)
    compact = CompactVectors.build(MatrixSource(vectors))  # eight axes: nothing is left out
    ids = np.sort(random.choice(count, random.integers(0, count + 1), replace=False))
    estimated = estimate_products(compact, queries, ids)
    assert estimated == pytest.approx(queries @ vectors[ids].T, abs=0.5)  # bytes are rounded
