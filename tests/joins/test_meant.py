"""The nearest texts by meaning, against every pair measured in float64."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.encoders import wordllama
from lakejoin.encoders.function_encoders import FunctionEncoder
from lakejoin.errors import InputError, MissingDependency
from lakejoin.joins.nearest import nearest_meanings
from lakejoin.joins.nearest.nearest_meanings import find_nearest_meanings

# Few texts and fewer vectors: many are equally near.
VECTORS = {
    "a": [1, 0, 0], "b": [1, 0, 0], "c": [1, 1, 0], "d": [0, 1, 0], "e": [0, 1, 1], "f": [-1, 0, 0],
    "g": [3, 4, 0], "h": [1, 1e-4, 0], "zero": [0, 0, 0],
}  # fmt: skip
TEXTS = st.lists(st.sampled_from([*VECTORS, "A ", None, ""]), max_size=10)


def looked_up(texts: Sequence[str]) -> list[list[float]]:
    return [VECTORS.get(text.strip().lower(), [0, 0, 1]) for text in texts]


def expected(left: list[str | None], right: list[str | None], tau: float) -> dict[int, int]:
    """By brute force: the same text first, then the nearest, then the first row."""
    encoder = FunctionEncoder(looked_up)
    mine, theirs = ([None if not t else t.strip().lower() for t in side] for side in (left, right))
    found = {}
    for i, a in enumerate(mine):
        apart = []
        for j, b in enumerate(theirs):
            if a is None or b is None:
                continue
            one, other = encoder.encode([a, b]).astype(np.float64)
            if a == b or (one.any() and other.any()):
                distance = 0.0 if a == b else float(np.linalg.norm(one - other))
                apart.append((distance, a != b, j))
        if apart and min(apart)[0] <= 2 * tau + 1e-8:
            found[i] = min(apart)[2]
    return found


def mapping(found: Any) -> dict[int, int]:
    return dict(zip(found.left_rows.tolist(), found.right_rows.tolist(), strict=True))


@given(TEXTS, TEXTS, st.sampled_from([0.0, 0.2, 0.5, 1.0]), st.sampled_from([1, 3, 1000]))
@settings(max_examples=100, deadline=None)
def test_nearest(left: list[str | None], right: list[str | None], tau: float, block: int) -> None:
    columns = pa.array(left, pa.string()), pa.array(right, pa.string())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest_meanings, "_LEFT_BLOCK", block)
        patch.setattr(nearest_meanings, "_RIGHT_BLOCK", block)
        patch.setattr(nearest_meanings, "_MOST_OPEN", 2)
        found = find_nearest_meanings(*columns, tau, looked_up)
    assert mapping(found) == expected(left, right, tau)
    assert (np.diff(found.left_rows) > 0).all()
    assert (found.distance >= 0).all() and (found.distance <= tau + 1e-8).all()


@given(TEXTS, TEXTS)
@settings(max_examples=50, deadline=None)
def test_one_to_one_pairs_a_text_with_one(left: list[str | None], right: list[str | None]) -> None:
    columns = pa.array(left, pa.string()), pa.array(right, pa.string())
    found = mapping(find_nearest_meanings(*columns, 1.0, looked_up, one_to_one=True))
    many = mapping(find_nearest_meanings(*columns, 1.0, looked_up))
    assert found.items() <= many.items()
    texts = {
        (str(left[i]).strip().lower(), str(right[j]).strip().lower()) for i, j in found.items()
    }
    assert len({a for a, _ in texts}) == len({b for _, b in texts}) == len(texts)


def test_large_columns_against_one_product() -> None:
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(900, 24))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)

    def by_number(texts: Sequence[str]) -> Any:
        return [
            vectors[int(text.removeprefix("n"))] if text[0] == "n" else [1] * 24 for text in texts
        ]

    mine, theirs = [f"n{i}" for i in range(400)], [f"n{i}" for i in range(400, 900)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest_meanings, "_LEFT_BLOCK", 64)
        patch.setattr(nearest_meanings, "_RIGHT_BLOCK", 96)
        found = find_nearest_meanings(
            pa.array(mine), pa.chunked_array([theirs[:9], theirs[9:]]), 1.0, by_number
        )
    products = vectors[:400] @ vectors[400:].T
    assert found.right_rows.tolist() == products.argmax(axis=1).tolist()
    assert found.distance == pytest.approx(np.sqrt(2 - 2 * products.max(axis=1)) / 2, abs=1e-6)


def test_no_texts() -> None:
    nothing = pa.array([], pa.string())
    assert len(find_nearest_meanings(nothing, nothing, encoder="characters")) == 0
    assert (
        len(find_nearest_meanings(pa.array([None, ""]), pa.array(["x"]), encoder="characters")) == 0
    )


def test_tau_is_a_share() -> None:
    with pytest.raises(InputError, match="between 0 and 1, not 6"):
        find_nearest_meanings(pa.array(["a"]), pa.array(["b"]), 6, "characters")


def test_without_the_package_the_way_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordllama, "find_spec", lambda name: None)
    wordllama.open_words.cache_clear()
    with pytest.raises(MissingDependency, match=r"pip install 'lakejoin\[meaning\]'"):
        find_nearest_meanings(pa.array(["a"]), pa.array(["b"]))


@pytest.mark.skipif(not importlib.util.find_spec("wordllama"), reason="wordllama is not installed")
def test_the_default_encoder() -> None:
    mine = pa.array(["physician", "car", None])
    theirs = pa.array(["banana", "automobile", "doctor"])
    assert mapping(find_nearest_meanings(mine, theirs, 1.0)) == {0: 2, 1: 1}
