"""Sets of numbers as bits, against Python's own."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.kernels.jit import njit
from lakejoin.kernels.packing import build_bit_set, rank_in_set


@njit
def ranks(words: np.ndarray, before: np.ndarray, asked: np.ndarray) -> np.ndarray:
    out = np.empty(asked.shape[0], dtype=np.int64)
    for i in range(asked.shape[0]):
        out[i] = rank_in_set(words, before, asked[i])
    return out


@given(st.sets(st.integers(0, 300)), st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 310)))
@settings(deadline=None, max_examples=50)
def test_rank_is_the_place_among_the_smaller_ones(numbers: set[int], asked: list[int]) -> None:
    words, before = np.zeros(5, dtype=np.uint64), np.zeros(5, dtype=np.uint32)
    build_bit_set(np.array(list(numbers), dtype=np.uint32), words, before)
    expected = [sorted(numbers).index(n) if n in numbers else -1 for n in asked]
    assert ranks(words, before, np.array(asked, dtype=np.uint32)).tolist() == expected
