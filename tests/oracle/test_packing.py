"""Packed lists and counts come back as they were, whatever the numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.kernels.packing import pack_counts, pack_lists, transpose_lists, unpack, unpack_counts

_QUICK = settings(max_examples=80, deadline=None)
_sets = st.sets(st.one_of(st.integers(0, 300), st.integers(0, 2**32 - 2)), max_size=40)
_counts = st.lists(
    st.one_of(st.just(1), st.integers(1, 5), st.integers(1, 400), st.integers(1, 2**40)),
    max_size=60,
)


@_QUICK
@given(st.lists(_sets, max_size=8))
def test_lists(sets: list[set[int]]) -> None:
    lists = [sorted(s) for s in sets]
    start = np.concatenate(([0], np.cumsum([len(one) for one in lists]))).astype(np.int64)
    values = np.array([v for one in lists for v in one], dtype=np.uint32)
    begin, packed = pack_lists(start, values)
    back = [unpack(packed, int(begin[i]), int(begin[i + 1])).tolist() for i in range(len(lists))]
    assert back == lists


@_QUICK
@given(_counts, _counts)
def test_counts(first: list[int], second: list[int]) -> None:
    a, b = (pack_counts(np.array(c, dtype=np.int64)) for c in (first, second))
    both = np.concatenate([a, b])
    assert unpack_counts(both, 0, len(a), len(first)).tolist() == first
    assert unpack_counts(both, len(a), len(both), len(second)).tolist() == second


@_QUICK
@given(st.lists(st.sets(st.integers(0, 9)), max_size=12))
def test_transposing(sets: list[set[int]]) -> None:
    lists = [sorted(s) for s in sets]
    start = np.concatenate(([0], np.cumsum([len(one) for one in lists]))).astype(np.int64)
    values = np.array([v for one in lists for v in one], dtype=np.uint32)
    begin, groups = transpose_lists(start, values, 10)
    for column in range(10):
        found = groups[begin[column] : begin[column + 1]].tolist()
        assert found == [g for g, one in enumerate(lists) if column in one]
