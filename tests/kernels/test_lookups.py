"""Kernels that look numbers up, compared with numpy and plain Python."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lakejoin.kernels.lookup_order import order_by_top_bits
from lakejoin.kernels.whole_numbers import find_number_range
from lakejoin.model import string_buffers
from store.checked_super_keys import QUICK


@QUICK
@given(st.lists(st.integers(0, 2**64 - 1)), st.lists(st.integers(0, 2**20 - 1)))
def test_numbers_in_the_order_of_their_top_bits(hashes: list[int], codes: list[int]) -> None:
    order = order_by_top_bits(np.array(hashes, np.uint64), 64)
    assert order.tolist() == sorted(range(len(hashes)), key=lambda i: hashes[i] >> 52)
    order = order_by_top_bits(np.array(codes, np.uint32), 20)
    assert order.tolist() == sorted(range(len(codes)), key=lambda i: codes[i] >> 8)
    order = order_by_top_bits(np.array(codes, np.uint32), 3)  # more bits than announced
    assert sorted(order.tolist()) == list(range(len(codes)))


NUMBERS = st.integers(-(10**16), 10**16).map(str) | st.sampled_from(["007", "-0", "-", "", "1.5"])


@QUICK
@given(st.lists(NUMBERS, max_size=6) | st.lists(st.integers(-99, 99).map(str), max_size=6))
def test_the_range_of_whole_numbers(texts: list[str]) -> None:
    offsets, data = string_buffers(pa.array(texts, pa.large_string()))
    spans = np.stack([offsets[:-1], offsets[1:]], axis=1)
    whole = bool(texts) and all(re.fullmatch(r"-?[0-9]{1,15}", text) for text in texts)
    numbers = list(map(int, texts)) if whole else [0]
    assert find_number_range(data, spans) == (whole, min(numbers), max(numbers))
