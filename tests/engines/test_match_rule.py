"""The match rule against loops by hand: partners, chances, numbers, and columns found for it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.encoders import Encoder, open_encoder
from lakejoin.engines.meaning import match_rule, near_columns
from lakejoin.engines.meaning.match_rule import Calibration, MatchTexts, NullCurve, match_column
from lakejoin.engines.meaning.near_columns import estimate_products, find_near_values
from lakejoin.engines.meaning.text_numbers import TextNumbers
from lakejoin.store.compact_vectors import CompactVectors, MatrixSource
from oracle.match_rule import conflict_by_hand, matches_by_hand, numbers_by_hand

CHARACTERS = open_encoder("characters")
CALIBRATION = Calibration.of(CHARACTERS, ["main street", "oak avenue"])
_texts = st.lists(
    st.sampled_from(
        ["main street", "main stret", "oak avenue 12", "oak avenue 13", "12 oak av", "bern",
         "zurich", "a320", "a321", "9th street", "ninth street", "street of berne", "b", "bernese"]
    ),
    min_size=1, max_size=8, unique=True,
)  # fmt: skip


def matched(mine: list[str], theirs: list[str]) -> match_rule.ColumnMatches:
    sides = [MatchTexts.of(CALIBRATION, CHARACTERS.encode(own), own) for own in (mine, theirs)]
    same = np.array([theirs.index(text) if text in theirs else -1 for text in mine])
    return match_column(CALIBRATION, *sides, same)


@settings(max_examples=150, deadline=None)
@given(_texts, _texts, st.sampled_from([1, 2, 512]))
def test_matches_are_those_of_brute_force(mine: list[str], theirs: list[str], block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(match_rule, "_BLOCK", block)
        found = matched(mine, theirs)
    vectors = CHARACTERS.encode(mine), CHARACTERS.encode(theirs)
    expected = matches_by_hand(CALIBRATION, *vectors, mine, theirs)
    # Texts of the same words in another order tie: then neither leads, and either may be taken.
    for position, (partner, chance) in enumerate(expected):
        assert found.chance[position] == pytest.approx(chance, abs=2e-3)
        if chance > 0.3 or partner < 0:
            assert found.partner[position] == partner
    assert 0 <= found.share <= 1


def test_no_values() -> None:
    nothing = MatchTexts.of(CALIBRATION, CHARACTERS.encode([]), [])
    some = MatchTexts.of(CALIBRATION, CHARACTERS.encode(["a"]), ["a"])
    assert match_column(CALIBRATION, some, nothing, np.array([-1])).partner.tolist() == [-1]
    assert match_column(CALIBRATION, nothing, some, np.zeros(0, np.int64)).share == 0.0


def test_numbers_that_look_alike_never_match() -> None:
    found = matched(["a320", "report 2019", "oak avenue 12"], ["a321", "report 2020", "oak av 12"])
    assert found.partner.tolist() == [-1, -1, 2] and (found.chance[:2] == 0).all()


def test_a_sibling_is_no_match_where_the_value_itself_is() -> None:
    pytest.importorskip("wordllama")
    encoder = open_encoder()
    mine = ["monday", "car", "doctor"]
    theirs = ["tuesday", "monday", "automobile", "physician", "wednesday"]
    calibration = Calibration.of(encoder, mine + theirs)
    sides = [MatchTexts.of(calibration, encoder.encode(own), own) for own in (mine, theirs)]
    found = match_column(calibration, *sides, np.array([1, -1, -1]))
    assert found.partner.tolist() == [1, 2, 3] and found.chance[0] == 1.0


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text("ab 01t9h,-", max_size=12), min_size=1, max_size=6))
def test_numbers_are_those_of_brute_force(texts: list[str]) -> None:
    found = TextNumbers.of(texts)
    split = np.split(np.array(found.numbers.to_pylist(), dtype=object), found.starts[1:-1])
    assert [frozenset(own.tolist()) for own in split] == [numbers_by_hand(t) for t in texts]
    conflict, differ = found.compare(found)
    for i, a in enumerate(texts):
        for j, b in enumerate(texts):
            assert conflict[i, j] == conflict_by_hand(a, b)
            assert differ[i, j] == (numbers_by_hand(a) != numbers_by_hand(b))
    rows = np.arange(len(texts))[::-1]
    assert found.take(rows).numbers.to_pylist() == TextNumbers.of(texts[::-1]).numbers.to_pylist()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-0.5, 0.9), min_size=50, max_size=200), st.lists(st.floats(-1, 1)))
def test_rarity_rises_with_similarity(null: list[float], cosines: list[float]) -> None:
    curve = NullCurve.of(np.array(null))
    ordered = np.sort(np.array(cosines))
    assert (np.diff(curve.rarity(ordered)) >= -1e-9).all()
    assert curve.rarity(np.array([curve.cosine_of(2.0)]))[0] >= 2.0 or curve.cosine_of(2.0) == 1.0


def test_surer_means_nearer() -> None:
    limits = [CALIBRATION.limits(sure) for sure in (0.5, 0.8, 0.9, 0.95, 0.99)]
    assert limits == sorted(limits, reverse=True)


def test_parts_of_a_vector_have_length_one() -> None:
    vectors = np.array([[3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0]], np.float32)
    words, characters = match_rule.split_parts(vectors, (2, 2))
    assert words[0].tolist() == pytest.approx([0.6, 0.8]) and characters[1].tolist() == [0.0, 1.0]
    assert not words[1].any() and not characters[0].any()


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 300), st.integers(1, 4), st.sampled_from([1, 5, 128]), st.integers(0, 99))
def test_near_values_are_those_with_the_largest_products(
    count: int, asked: int, nearest: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(count, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    queries = vectors[random.integers(0, count, asked)]
    compact = CompactVectors.build(MatrixSource(vectors))  # eight axes: nothing is left out
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near_columns, "NEAREST", nearest)
        query, ids = find_near_values(compact, queries, -2.0)
    products = queries @ vectors.T
    for number in range(asked):
        own = ids[query == number]
        assert len(own) == len(set(own.tolist())) == min(nearest, count)
        others = np.delete(products[number], own)
        assert products[number][own].min() >= others.max(initial=-2.0) - 0.05  # bytes are rounded


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 900), st.integers(1, 4), st.sampled_from([1, 5, 128]), st.integers(0, 99))
def test_probing_all_leaves_finds_what_reading_all_finds(
    count: int, asked: int, nearest: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(count, 20)).astype(np.float32)
    vectors[random.random(count) < 0.1] = 0  # these match nothing
    compact = CompactVectors.build(MatrixSource(vectors))
    queries = random.normal(size=(asked, 20)).astype(np.float32)
    found = []
    for worth, probed in ((10**9, 1.0), (0, 0.999 * np.sqrt(len(compact.blocks)))):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(near_columns, "NEAREST", nearest)
            patch.setattr(near_columns, "_WORTH", worth)
            patch.setattr(near_columns, "_PROBED", probed)
            query, ids = find_near_values(compact, queries, 0.0)
        found.append(sorted(zip(query.tolist(), ids.tolist(), strict=True)))
    if len(compact.blocks) == 1:
        return  # no leaf is probed of one
    products = estimate_products(
        compact, queries, np.arange(count)
    )  # what the nearest have most of
    whole, likely = (set(each) for each in found)
    # All leaves but the least likely one are probed: nearly everything is found, nothing else.
    assert len(likely) >= (1 - 2 / len(compact.blocks)) * len(whole)
    for query, id_ in likely - whole:
        best = [products[query, other] for number, other in whole if number == query]
        assert products[query, id_] <= min(best, default=0.0) + 0.01


def test_few_likely_leaves_hold_most_of_what_is_near() -> None:
    random = np.random.default_rng(2)
    centres = random.normal(size=(200, 30))
    vectors = (centres[random.integers(200, size=60_000)] + 0.3 * random.normal(
        size=(60_000, 30))).astype(np.float32)  # fmt: skip
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    compact = CompactVectors.build(MatrixSource(vectors))
    found = []
    for probed in (1e9, 3.0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(near_columns, "_PROBED", probed)
            query, ids = find_near_values(compact, vectors[:40], 0.5)
        found.append(set(zip(query.tolist(), ids.tolist(), strict=True)))
    assert len(found[0] & found[1]) >= 0.95 * len(found[0])


def test_unrelated_texts_are_distinct() -> None:
    texts = match_rule.read_unrelated_texts()
    assert len(texts) == len(pa.compute.unique(texts)) > 200


def test_encoders_of_one_name_are_calibrated_each() -> None:
    def encoder(size: int) -> Encoder:
        def encode(texts: list[str]) -> list[list[float]]:
            return [[1.0 + (len(text) * at) % 7 for at in range(size)] for text in texts]

        return open_encoder(encode)

    first, second = (encoder(size) for size in (3, 5))
    assert first.identity == second.identity
    texts = ["main street", "oak avenue"]
    assert [Calibration.of(each, texts).sizes for each in (first, second)] == [(3,), (5,)]
