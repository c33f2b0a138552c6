"""The published row filters against plain Python: hashes, super keys, and searches with them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from engines.checked_key_lake import agrees_on_near_misses, key_lake, key_lakes, loses_no_row
from kernels.hashed_texts import QUICK, SIZES, buffers, hashable_texts, hashed_by
from lakejoin.errors import DamagedIndex
from lakejoin.locations import Location
from lakejoin.model import Array
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.index_records import SuperKeyOptions
from lakejoin.store.segment import Segment, add_components
from lakejoin.store.super_keys import BloomFilter, SuperKeyComponent, SuperKeys
from oracle import superkeys as oracle
from oracle.lakes import PlainTable
from published.row_filters import (
    ALL_FILTERS,
    PUBLISHED,
    SimHashFilter,
    XashFeatures,
    XashFilter,
    filtered_segment,
    ones_needed,
    xash_numbers,
    xash_with,
)
from published.xash import CLASS_CHARACTERS, CLASSES, count_classes
from store.checked_super_keys import (
    MANY_ROWS,
    SMALL,
    agrees,
    segment_of,
    tables_to_filter,
)
from store.checked_super_keys import QUICK as QUICK_LAKES

_features = st.builds(XashFeatures, st.booleans(), st.booleans(), st.booleans(), st.booleans())

# -- hashes ------------------------------------------------------------------------------------


def ranks(order: str) -> Array:
    rank_of = np.empty(CLASSES, dtype=np.uint8)
    rank_of[[CLASS_CHARACTERS.index(c) for c in order]] = np.arange(CLASSES)
    return rank_of


@pytest.mark.parametrize("bits", SIZES)
@QUICK
@given(
    texts=hashable_texts,
    alpha=st.integers(2, 8),
    features=_features,
    order=st.permutations(CLASS_CHARACTERS),
)
@example(["muhammad", "lee", "us"], 4, XashFeatures(), list(oracle.rarest_first(["muhammad"])))
def test_xash(
    bits: int, texts: list[str], alpha: int, features: XashFeatures, order: list[str]
) -> None:
    by_hand = oracle.Xash(
        bits,
        alpha,
        "".join(order),
        features.length,
        features.characters,
        features.location,
        features.rotation,
    )
    row_filter = XashFilter(bits, ranks("".join(order)), xash_numbers(bits, alpha, features))
    expected = oracle.to_words([by_hand(t) for t in texts], bits)
    assert np.array_equal(hashed_by(row_filter, texts), expected)


def test_the_paper_s_example() -> None:
    """'muhammad' with four ones: u and d in the first and third third; u moves from bit 108 to 100,
    counted from one (figure 3)."""
    letters = "ud" + "".join(c for c in CLASS_CHARACTERS if c not in "ud")
    still = oracle.Xash(128, 4, letters, rotation=False)("muhammad")
    turned = oracle.Xash(128, 4, letters)("muhammad")
    u, d = 17 + 3 * CLASS_CHARACTERS.index("u"), 17 + 3 * CLASS_CHARACTERS.index("d")
    assert {u, d + 2} < still
    assert u + 1 == 108
    assert u + 1 - 8 == 100
    assert u - 8 in turned
    assert 8 in turned, "the length, in the left-most segment"
    assert len(still) == len(turned) == 4


@QUICK
@given(hashable_texts)
def test_characters_are_counted(texts: list[str]) -> None:
    counts = np.zeros(CLASSES, dtype=np.int64)
    count_classes(*buffers(texts), counts)
    order = sorted(range(CLASSES), key=lambda c: (counts[c], CLASS_CHARACTERS[c]))
    assert "".join(CLASS_CHARACTERS[c] for c in order) == oracle.rarest_first(texts)
    assert counts.sum() == sum(map(len, texts))


@pytest.mark.parametrize("bits", SIZES)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(st.text(max_size=12), max_size=4))
def test_simhash(bits: int, texts: list[str]) -> None:
    expected = oracle.to_words([oracle.SimHash(bits)(t) for t in texts], bits)
    assert np.array_equal(hashed_by(SimHashFilter(bits), texts), expected)


# -- super keys --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [k for k in PUBLISHED if k != "simhash"])
@QUICK_LAKES
@given(tables=tables_to_filter(), bits=st.sampled_from([128, 256, 512]))
def test_super_keys_of_random_lakes(kind: str, tables: list[PlainTable], bits: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        agrees(segment_of(folder, tables, bits, PUBLISHED[kind]), tables, kind, bits)


@pytest.mark.parametrize("kind", PUBLISHED)
def test_super_keys_of_a_small_lake(kind: str, tmp_path: Path) -> None:
    segment = segment_of(tmp_path, SMALL, 128, PUBLISHED[kind])
    agrees(segment, SMALL, kind, 128)
    assert not segment.superkeys.of_table(2).any(), "nulls add nothing"
    assert segment.indexed.tolist() == [True, True, True, False, True, False]
    assert segment.superkeys.groups().tolist() == [0, 0, 0]


def test_a_lake_of_many_rows_goes_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakejoin.store.super_keys._PART", 1000)
    monkeypatch.setattr("lakejoin.store.super_keys._SLICE", 700)
    tables = [SMALL[0], MANY_ROWS, SMALL[1]]
    agrees(segment_of(tmp_path, tables, 256, XashFilter), tables, "xash", 256)


@pytest.mark.parametrize(
    "features",
    [
        XashFeatures(True, False, False, False),
        XashFeatures(False, True, False, False),
        XashFeatures(True, True, False, False),
        XashFeatures(True, True, True, False),
        XashFeatures(True, True, True, True),
    ],
)
def test_the_features_of_xash_come_back_from_the_file(
    features: XashFeatures, tmp_path: Path
) -> None:
    segment = segment_of(tmp_path, SMALL)
    place = Location.of(tmp_path / "parts.lj")
    with ArrayFileWriter(place) as out:
        SuperKeyComponent(SuperKeyOptions(bits=256), xash_with(features)).build(segment, out)
    kept = SuperKeys(ArrayFile(place, out.record), XashFilter)
    assert isinstance(kept.filter, XashFilter)
    alpha = ones_needed(256, len(segment.dictionary) - segment.postings.unsearched)
    assert kept.filter.numbers.tolist() == xash_numbers(256, alpha, features).tolist()
    ann = kept.of_texts(pa.array(["ann"], pa.large_string()), 0)[0]
    assert not np.any(ann & ~kept.of_table(0)[0])
    assert np.bitwise_count(ann).sum() == features.length + features.characters * (alpha - 1)


def test_wrong_keys_are_noticed(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, SMALL)
    other = SuperKeyComponent(SuperKeyOptions(), xash_with(XashFeatures(rotation=False)))
    record = add_components(
        Segment(segment.location, segment.record),
        [_Wrong(other)],  # type: ignore[list-item]
    )
    with pytest.raises(DamagedIndex, match="super keys match the rows"):
        list(filtered_segment(Segment(segment.location, record), XashFilter).check())


class _Wrong:
    """Super keys whose parameters say something else than they were made with."""

    name, version, made_with = "superkeys", 1, "wrong"

    def __init__(self, honest: SuperKeyComponent) -> None:
        self._honest = honest

    def build(self, source: Segment, out: ArrayFileWriter) -> None:
        self._honest.build(source, out)
        alpha = ones_needed(128, len(source.dictionary) - source.postings.unsearched)
        out.add("numbers", xash_numbers(128, alpha, XashFeatures()))


# -- searches ----------------------------------------------------------------------------------


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(key_lakes(), st.sampled_from(list(PUBLISHED.values())), st.sampled_from(SIZES))
def test_no_filter_loses_a_row(
    drawn: tuple[list[list[PlainTable]], PlainTable], row_filter: type[BloomFilter], bits: int
) -> None:
    groups, mine = drawn
    with key_lake(groups, keys=SuperKeyOptions(bits=bits), row_filter=row_filter) as lake:
        loses_no_row(lake, mine)


@pytest.mark.parametrize("kind", PUBLISHED)
@pytest.mark.parametrize("bits", SIZES)
def test_every_filter(kind: str, bits: int, tmp_path: Path) -> None:
    agrees_on_near_misses(tmp_path, bits, PUBLISHED[kind])


def test_all_filters_are_listed() -> None:
    assert set(ALL_FILTERS) == {*PUBLISHED, "fitted"}
    assert all(kind == row_filter.kind for kind, row_filter in ALL_FILTERS.items())
