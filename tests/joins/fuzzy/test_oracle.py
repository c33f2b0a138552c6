"""Fuzzy joins give what all pairs, compared in plain Python, give."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lakejoin.joins.fuzzy.corpus import build_corpus, fold_texts
from lakejoin.joins.fuzzy.folded_texts import fold_text
from lakejoin.joins.fuzzy.fuzzy_join import fuzzy_matches
from lakejoin.joins.fuzzy.match_choice import FuzzyOptions
from lakejoin.joins.fuzzy.pair_evidence import TextIndex
from oracle import fuzzy as oracle

_WORDS = (
    "the of bern berne Zürich zurich zuric city old new 2004 2005 ii iii J John Stadium stade "
    "oldcity one 2nd 007 no7 2004-05 U.S. us"
)
_words = st.sampled_from(_WORDS.split())
_names = st.lists(_words, min_size=1, max_size=4).map(" ".join)
_cells = st.one_of(_names, _names, _names, st.text(max_size=6), st.none())


@st.composite
def _columns(draw: st.DrawFn) -> tuple[list[str | None], list[str | None]]:
    """Keys, and texts that are other keys with a word more or a letter less, or anything."""
    keys = draw(st.lists(_cells, min_size=1, max_size=8))
    texts: list[str | None] = []
    for _ in range(draw(st.integers(1, 9))):
        key = draw(st.sampled_from(keys)) or "x"
        more = f"{key} {draw(_words)}"
        texts.append(draw(st.sampled_from([more, f"the {key}", key[:-1], key.upper()]) | _cells))
    return texts, keys


@given(st.text(max_size=20))
def test_fold(text: str) -> None:
    assert fold_text(text) == oracle.fold(text)


@settings(max_examples=150, deadline=None)
@given(
    _columns(),
    st.booleans(),
    st.sampled_from([0.5, 0.8, 0.9]),
    st.booleans(),
)
def test_as_all_pairs(
    columns: tuple[list[str | None], list[str | None]],
    one_to_one: bool,
    precision: float,
    equal: bool,
) -> None:
    left, right = columns
    known = [(i, j) for i, a in enumerate(left) for j, b in enumerate(right) if a and a == b]
    known = known if equal else []
    mine, theirs = [t for t in left if t], [t for t in right if t]
    pairs = [(left[i], right[j]) for i, j in known if oracle.fold(left[i] or "")]
    try:
        chance = oracle.chances(mine, theirs, pairs)
        expected = oracle.joined(chance, precision, one_to_one, pairs)
    except oracle.Close:
        assume(False)
    rows = np.array(known, np.int64).reshape(-1, 2)
    found = fuzzy_matches(
        pa.array(left, pa.string()),
        pa.array(right, pa.string()),
        FuzzyOptions(precision, one_to_one),
        (rows[:, 0], rows[:, 1]),
    )
    got = {
        (left[i], right[j]): c
        for i, j, c in zip(found.left_rows, found.right_rows, found.chance, strict=True)
    }
    assert got.keys() == expected.keys()
    for pair, value in expected.items():
        assert got[pair] == pytest.approx(value, abs=1e-3)
    order = np.lexsort((found.right_rows, found.left_rows))
    assert (order == np.arange(len(order))).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(_names, min_size=1, max_size=20), st.lists(_names, min_size=1, max_size=60))
def test_nearest_keys(left: list[str], right: list[str]) -> None:
    mine, theirs = fold_texts(pa.array(left)), fold_texts(pa.array(right))
    corpus = build_corpus(mine, theirs)
    near = TextIndex(corpus).nearest(np.arange(corpus.left), 5)
    words = oracle.join_words([t.split() for t in mine.texts + theirs.texts])
    threes = [oracle.grams(" ".join(t), 3) for t in words]
    cut = len(mine)
    weights = [oracle.rarities(c[:cut], c[cut:]) for c in (words, threes)]
    for text in range(corpus.left):
        alike = [
            0.5 * oracle.cosine(words[text], words[key], weights[0])
            + 0.5 * oracle.cosine(threes[text], threes[key], weights[1])
            for key in range(corpus.left, corpus.left + corpus.right)
        ]
        best = sorted((a for a in alike if a > 0), reverse=True)[:5]
        there = near.keys[text] >= 0
        assert near.alike[text][there] == pytest.approx(best, abs=1e-5)
        assert [alike[k] for k in near.keys[text][there]] == pytest.approx(best, abs=1e-5)
