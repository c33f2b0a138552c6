"""The hashes of super keys and the row filter, against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.hashed_texts import QUICK, SIZES, hashable_texts, hashed_by
from lakejoin.kernels.superkey_rows import filter_rows, write_hash_bits
from lakejoin.model import Array
from lakejoin.store.super_keys import BloomFilter
from oracle import superkeys as oracle


@pytest.mark.parametrize("bits", SIZES)
@QUICK
@given(texts=hashable_texts, hashes=st.sampled_from([1, 2, 3, 7, 8, 9, 10, 11, 18, 20, 33, 255]))
def test_bloom(bits: int, texts: list[str], hashes: int) -> None:
    row_filter = BloomFilter(bits, np.array([hashes], dtype=np.uint8))
    expected = oracle.to_words([oracle.Bloom(bits, hashes)(t) for t in texts], bits)
    assert np.array_equal(hashed_by(row_filter, texts), expected)


@pytest.mark.parametrize("bits", SIZES)
def test_the_bits_of_a_bloom_filter_are_spread_evenly(bits: int) -> None:
    hashes = np.random.default_rng(bits).integers(0, 1 << 63, 20_000, dtype=np.uint64)
    out = np.empty((len(hashes), bits // 64), dtype=np.uint64)
    for count in (1, 2, 9):
        write_hash_bits(hashes, count, out)
        set_bits = np.unpackbits(out.view(np.uint8), axis=1, bitorder="little")
        share = set_bits.mean(axis=0) * bits / count
        spread = (bits / (len(hashes) * count)) ** 0.5  # of a fair share
        assert abs(share - 1).max() < 6 * spread, "each bit is set as often as any other"
        assert set_bits.sum(axis=1).max() == count


def combinations(draw: st.DrawFn, values: int, words: int) -> list[list[Array]]:
    key = st.lists(st.integers(0, 64 * words - 1), max_size=6)
    several = st.lists(key, min_size=1, max_size=5)
    found = draw(st.lists(several, min_size=values, max_size=values))
    return [[_row(bits, words) for bits in of_value] for of_value in found]


def _row(bits: list[int], words: int) -> Array:
    return oracle.to_words([frozenset(bits)], 64 * words)[0]


@st.composite
def _filters(draw: st.DrawFn) -> tuple[Array, Array, list[list[Array]]]:
    words = draw(st.sampled_from([2, 4, 8]))
    keys = combinations(draw, draw(st.integers(1, 4)), words)
    count = draw(st.sampled_from([0, 1, 5, 63, 64, 65, 200]))
    seed = draw(st.integers(0, 1 << 30))
    random = np.random.default_rng(seed)
    value = random.integers(-1, len(keys), count).astype(np.int32)
    if draw(st.booleans()):
        value[: count // 2] = -1  # whole pieces without a value
    rows = random.integers(0, 1 << 63, (count, words)).astype(np.uint64)
    rows |= random.integers(0, 1 << 63, (count, words)).astype(np.uint64)
    for r in np.flatnonzero(value >= 0).tolist():
        if random.random() < 0.4:  # surely covers one of its combinations
            rows[r] |= keys[value[r]][random.integers(len(keys[value[r]]))]
    return rows, value, keys


def pass_through(
    rows: Array, value: Array, start: Array, keys: Array, common: Array, passed: Array, limit: int
) -> int:
    keys, common = (np.ascontiguousarray(array, np.uint64) for array in (keys, common))
    address = rows.ctypes.data
    return int(filter_rows(address, rows.shape[1], value, start, keys, common, passed, limit))


@QUICK
@given(_filters(), st.sampled_from([0, 2, 256]))
def test_the_filter_passes_what_brute_force_passes(
    given_rows: tuple[Array, Array, list[list[Array]]], limit: int
) -> None:
    rows, value, keys = given_rows
    start = np.concatenate(([0], np.cumsum([len(k) for k in keys]))).astype(np.int64)
    common = np.array([np.bitwise_and.reduce(k) for k in keys])
    passed = np.full(len(rows), 7, dtype=np.uint8)
    frozen = rows.copy()
    frozen.flags.writeable = False
    total = pass_through(frozen, value, start, np.concatenate(keys), common, passed, limit)
    for row, v, found in zip(rows, value.tolist(), passed.tolist(), strict=True):
        covered = [not np.any(k & ~row) for k in keys[v]] if v >= 0 else []
        if v >= 0 and len(keys[v]) > limit and len(keys[v]) > 1:
            assert found == (not np.any(common[v] & ~row))
            assert found >= any(covered), "never a false negative"
        else:
            assert found == any(covered)
    assert total == passed.sum()


def test_a_query_without_values_passes_nothing() -> None:
    passed = np.full(3, 7, dtype=np.uint8)
    none = np.zeros((0, 2), dtype=np.uint64)
    value = np.full(3, -1, dtype=np.int32)
    rows = np.zeros((3, 2), dtype=np.uint64)
    assert pass_through(rows, value, np.zeros(1, np.int64), none, none, passed, 256) == 0
    assert passed.tolist() == [0, 0, 0]
