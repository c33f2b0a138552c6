"""Signatures, partitions, bands and look-ups against what they are by definition."""

from __future__ import annotations

import math
import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakejoin.engines.containment.engine import choose_bands_by_recall
from lakejoin.errors import DamagedIndex, InputError
from lakejoin.kernels.minhash import estimate_shared, score_counts, sketch
from lakejoin.locations import Location
from lakejoin.model import Array
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.sketches import SCHEMES, Sketches, SketchOptions, optimal_uppers, write_sketches
from published.lsh_ensemble import band_errors, choose_bands_by_error, equal_depth_uppers

_QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
_SCHEMES = sorted(SCHEMES)
_ORDERED = ["fast", "permutations"]


def signature(values: Array, scheme: str, places: int = 128) -> Array:
    out = np.empty(places, dtype=np.uint32)
    sketch(values, SCHEMES[scheme], out)
    return out


def hashes(rng: np.random.Generator, count: int) -> Array:
    return rng.integers(0, 1 << 64, count, dtype=np.uint64)


def opened(folder: str | Path, rows: Array, sizes: Array, **options: Any) -> Sketches:
    place = Location.of(folder) / "sketches.lj"
    with ArrayFileWriter(place) as out:
        chosen = SketchOptions(permutations=rows.shape[1], **options)
        write_sketches(out, rows, sizes, np.arange(len(rows)) * 3, chosen)
    return Sketches(ArrayFile(place, out.record))


# -- signatures --------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", _SCHEMES)
@pytest.mark.parametrize(("shared", "only_q", "only_x"), [(5, 3, 2), (40, 10, 30), (800, 100, 900)])
def test_places_agree_as_often_as_sets_are_similar(
    scheme: str, shared: int, only_q: int, only_x: int
) -> None:
    """Over many pairs, the share of places that agree is the Jaccard similarity; and the query's
    number is the smaller one as often as its own values are of both sets' values."""
    rng = np.random.default_rng(shared)
    pairs, places, union = 150, 64, shared + only_q + only_x
    equal = less = 0
    for _ in range(pairs):
        values = hashes(rng, union)
        q = signature(values[: shared + only_q], scheme, places)
        x = signature(np.concatenate([values[:shared], values[shared + only_q :]]), scheme, places)
        equal += int((q == x).sum())
        less += int((q < x).sum())
    trials = pairs * places
    # Places of one pair depend on each other where an empty bin takes from another.
    slack = 4.0 * (4.0 if scheme == "one-permutation" else 1.0)
    expected = [(equal, shared / union)]
    if scheme in _ORDERED:
        expected.append((less, only_q / union))
    for count, share in expected:
        assert abs(count / trials - share) < slack * math.sqrt(share * (1 - share) / trials)


@pytest.mark.parametrize("scheme", _ORDERED)
@_QUICK
@given(st.integers(1, 300), st.integers(0, 300), st.integers(0, 1 << 32))
def test_a_value_that_wins_is_not_in_the_other_set(
    scheme: str, inside: int, more: int, seed: int
) -> None:
    """A set that holds all of the query has no larger number anywhere."""
    values = hashes(np.random.default_rng(seed), inside + more)
    assert (signature(values, scheme, 32) <= signature(values[:inside], scheme, 32)).all()


@pytest.mark.parametrize("scheme", _SCHEMES)
def test_a_set_has_one_signature(scheme: str) -> None:
    rng = np.random.default_rng(1)
    for size in (1, 2, 127, 128, 5_000):
        values = hashes(rng, size)
        first = signature(values, scheme)
        assert (signature(rng.permutation(values), scheme) == first).all()
        assert (signature(np.concatenate([values, values]), scheme) == first).all()
        assert (signature(hashes(rng, size), scheme) == first).sum() <= 2


# -- partitions --------------------------------------------------------------------------------


def cost(sizes: Array, uppers: Array) -> float:
    """The bound on false positives (equation 2.16) of partitions with these largest sizes."""
    return float((1.0 - sizes / uppers[np.searchsorted(uppers, sizes)]).sum())


@_QUICK
@given(st.lists(st.integers(1, 40), min_size=1, max_size=40), st.integers(1, 5))
def test_partitions_are_the_cheapest(sizes: list[int], partitions: int) -> None:
    array = np.array(sizes)
    distinct = np.unique(array)
    found = optimal_uppers(array, partitions)
    assert found[-1] == distinct[-1] and len(found) <= partitions
    assert set(found.tolist()) <= set(distinct.tolist())
    cuts = min(partitions - 1, len(distinct) - 1)
    cheapest = min(
        cost(array, np.array([*chosen, distinct[-1]]))
        for chosen in combinations(distinct[:-1].tolist(), cuts)
    )
    assert cost(array, found) == pytest.approx(cheapest)
    assert cost(array, equal_depth_uppers(array, partitions)) >= cheapest - 1e-9


def test_partitions_of_many_sizes_are_better_than_equal_depth() -> None:
    rng = np.random.default_rng(2)
    sizes = (10 * (1 - rng.random(20_000)) ** -1.0).astype(np.int64)
    for partitions in (8, 16, 32):
        best = cost(sizes, optimal_uppers(sizes, partitions))
        assert best < 0.9 * cost(sizes, equal_depth_uppers(sizes, partitions))


# -- bands -------------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("ratio", [0.4, 1.0, 3.0, 50.0])
def test_errors_of_bands_are_the_integrals(threshold: float, ratio: float) -> None:
    found = band_errors(threshold, ratio, 64)
    grid = (np.arange(20_000) + 0.5) / 20_000
    upper = min(1.0, ratio)
    for rows, bands in [(1, 64), (1, 3), (2, 20), (5, 12), (16, 4)]:
        s = grid * upper / (ratio + 1.0 - grid * upper)
        chance = 1.0 - (1.0 - s**rows) ** bands
        below = grid * upper < threshold
        expected = (upper * np.mean(chance * below), upper * np.mean((1 - chance) * ~below))
        assert found[rows - 1, bands - 1] == pytest.approx(expected, abs=2e-4)
    assert np.isnan(found[15, 4]).all(), "no more places than there are"
    best = choose_bands_by_error(threshold, round(64 * math.log(ratio)), 64)
    assert best[0] * best[1] <= 64


@_QUICK
@given(st.floats(0.05, 1.0), st.integers(-60, 400), st.sampled_from([16, 128, 256]))
def test_bands_reach_the_recall_that_was_asked_for(
    threshold: float, step: int, places: int
) -> None:
    ratio = max(math.exp(step / 64), threshold)
    bands, rows = choose_bands_by_recall(threshold, math.ceil(64 * math.log(ratio)), places, 0.95)
    similarity = threshold / (ratio + 1.0 - threshold)
    assert bands >= 1 and rows >= 1 and bands * rows <= places
    if (bands, rows) != (places, 1):
        assert 1.0 - (1.0 - similarity**rows) ** bands >= 0.95 - 1e-6


# -- what counts say ---------------------------------------------------------------------------


@_QUICK
@given(st.integers(1, 500), st.integers(1, 5_000), st.data())
def test_the_estimate_is_the_likeliest(q: int, x: int, data: st.DataObject) -> None:
    places = 64
    equal = data.draw(st.integers(0, places))
    less = data.draw(st.integers(0, places - equal))
    more = places - equal - less
    shared, error = np.empty(1), np.empty(1)
    counts = (np.array([equal], np.uint32), np.array([less], np.uint32))
    estimate_shared(*counts, places, float(q), np.array([x]), True, shared, error)
    assert 0.0 <= shared[0] <= min(q, x) and 0.0 < error[0] < math.inf
    grid = np.linspace(0, min(q, x), 2_001)[1:-1]

    def likelihood(i: Array) -> Array:
        found = equal * np.log(i) + less * np.log(q - i) + more * np.log(x - i)
        return np.asarray(found - places * np.log(q + x - i))

    if 0.0 < shared[0] < min(q, x):
        assert likelihood(shared[:1])[0] >= likelihood(grid).max() - 1e-6


def test_the_score_of_expected_counts_is_zero() -> None:
    # 30 shared of 50 and 70: 90 values in all, so 90 places fall 30, 20 and 40 ways.
    assert score_counts(30, 20, 90, 50.0, 70.0, 30.0) == pytest.approx(0.0)
    assert (
        score_counts(20, 30, 90, 50.0, 70.0, 30.0)
        < -2.0
        < 0.0
        < score_counts(40, 10, 90, 50.0, 70.0, 30.0)
    )
    assert score_counts(10, 1, 90, 50.0, 700.0, 50.0) == -math.inf, (
        "a value of the query is not there"
    )


# -- looking up --------------------------------------------------------------------------------


@_QUICK
@given(st.integers(0, 1 << 32), st.integers(1, 400), st.integers(1, 6), st.sampled_from([1, 3, 40]))
def test_look_ups_find_what_agrees_in_a_band(
    seed: int, count: int, partitions: int, kinds: int
) -> None:
    """Few kinds of entries make long runs that are narrowed, many make short ones; copies too."""
    rng = np.random.default_rng(seed)
    places = 16
    table = rng.integers(0, 1 << 32, (places, kinds), dtype=np.uint32)
    rows = table[np.arange(places), rng.integers(0, kinds, (count, places))]
    sizes = rng.integers(1, 30, count)
    rows[count // 2 :] = rows[: count - count // 2]
    query = table[np.arange(places), rng.integers(0, kinds, places)]
    query[rng.random(places) < 0.1] ^= np.uint32(1)
    with tempfile.TemporaryDirectory() as folder:
        sketches = opened(folder, rows, sizes, partitions=partitions)
        assert len(sketches) == count
        depth = rng.integers(1, 5, len(sketches.upper))
        bands = np.array([rng.integers(0, places // r + 1) for r in depth])
        for needed in (0.0, 10.0):
            asked = np.array([bands, depth])
            found = sketches.find(0, query, asked, 12, needed, math.inf)
            part = np.searchsorted(sketches.upper, sizes)
            expected = [
                c
                for c in range(count)
                if sizes[c] >= needed
                and any(
                    (rows[c, j * depth[p] : (j + 1) * depth[p]]
                     == query[j * depth[p] : (j + 1) * depth[p]]).all()
                    for p in [part[c]]
                    for j in range(bands[p])
                )
            ]  # fmt: skip
            assert sorted(found.numbers[1].tolist()) == [3 * c for c in expected]
            assert (np.sort(found.numbers[2]) == np.sort(sizes[expected])).all()


def test_no_signatures_at_all(tmp_path: Path) -> None:
    sketches = opened(tmp_path, np.zeros((0, 32), np.uint32), np.zeros(0, np.int64))
    assert len(sketches) == sketches.classes == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"permutations": 100},
        {"permutations": 512},
        {"partitions": 0},
        {"scheme": "slow"},
    ],
)
def test_options_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        SketchOptions(**wrong)


def _asked(sketches: Sketches, query: Array) -> list[int]:
    parts = len(sketches.upper)
    asked = np.array([np.full(parts, 32), np.ones(parts, dtype=np.int64)])
    return sorted(sketches.find(0, query, asked, 9, 1.0, math.inf).numbers[1].tolist())


def _lake(count: int = 4_000) -> tuple[Array, Array]:
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 40, (count, 32), dtype=np.uint32) * np.uint32(104_729)
    return rows, rng.integers(1, 90, count)


def test_a_flipped_byte_is_found_before_anything_is_answered(tmp_path: Path) -> None:
    rows, sizes = _lake()
    sketches = opened(tmp_path, rows, sizes)
    path = tmp_path / "sketches.lj"
    whole, record = path.read_bytes(), sketches._file
    right = _asked(sketches, rows[7])
    assert right
    found = 0
    for at in range(40, record._end, 65_536):
        (tmp_path / "bad").mkdir(exist_ok=True)
        bad = tmp_path / "bad" / "sketches.lj"
        bad.write_bytes(whole[:at] + bytes([whole[at] ^ 0x81]) + whole[at + 1 :])
        try:
            assert _asked(Sketches(ArrayFile(Location.of(bad))), rows[7]) == right
        except DamagedIndex:
            found += 1
    assert found >= 5, "nearly every block is read"
    path.write_bytes(whole[:-70_000])
    with pytest.raises(DamagedIndex):
        Sketches(ArrayFile(Location.of(path)))


@pytest.mark.parametrize("name", ["word", "bucket", "start", "signature"])
def test_arrays_that_cannot_be_right_do_no_harm(tmp_path: Path, name: str) -> None:
    """Checksums that fit, around nonsense: an error or some answer, never a crash."""
    rows, sizes = _lake(500)
    old = opened(tmp_path, rows, sizes)._file
    rng = np.random.default_rng(6)
    for _ in range(5):
        with ArrayFileWriter(Location.of(tmp_path) / "other.lj") as out:
            out.meta.update(old.meta)
            for array in old.names():
                data = old.array(array).all()
                noise = rng.integers(0, 1 << 32, len(data), dtype=np.uint32)
                out.add(array, noise if array == name else data)
        try:
            sketches = Sketches(ArrayFile(Location.of(tmp_path) / "other.lj", out.record))
            assert set(_asked(sketches, rows[3])) <= set(range(0, 1_500, 3))
        except DamagedIndex as problem:
            assert "inconsistent" in str(problem)
