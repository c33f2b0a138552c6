"""Publications like those of DBLP, at any size, from a seed (thesis, section 4.7.4).

A record has authors, a title and a year; the target is the concatenation of the three, with the
rows in another order, so that every row joins. Names and words follow a Zipf law over a vocabulary
of made-up words, so that most titles share words with others and few words are unique.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from autojoin_synthetic import FIRST, LAST, WORDS
from lakejoin.model import Array

_SYLLABLES = (
    "ba be bi bo ca ce co da de di do fa fe fi ga ge ha he in ka ke ki la le li lo ma me mi mo na"
    " ne ni no or pa pe po ra re ri ro sa se si so ta te ti to tra ver al un con per vi wa ze"
)
SYLLABLES = _SYLLABLES.split()


def publications(rows: int, seed: int = 7) -> tuple[pa.Table, pa.Table, Array]:
    """Source, target, and for every target row the source row that it was made from."""
    rng = np.random.default_rng(seed)
    source = pa.table(
        {
            "authors": _authors(rows, rng),
            "title": _title(rows, rng),
            "year": pa.array(rng.integers(1970, 2025, rows)).cast(pa.string()),
        }
    )
    whole = pc.binary_join_element_wise(*source.columns, ". ").combine_chunks()
    order = rng.permutation(rows)
    return source, pa.table({"publication": whole.take(pa.array(order))}), order


def _authors(rows: int, rng: np.random.Generator) -> pa.Array:
    surnames = LAST + _made_words(20_000, rng, capital=True)
    names = []
    for place in range(4):
        first, last = _zipf(FIRST, rows, rng), _zipf(surnames, rows, rng)
        name = pc.binary_join_element_wise(first, last, " ")
        there = pa.array(rng.random(rows) < (1.0, 0.75, 0.5, 0.3)[place])
        names.append(pc.if_else(there, name, pa.scalar(None, pa.string())))
    return pc.binary_join_element_wise(*names, ", ", null_handling="skip")


def _title(rows: int, rng: np.random.Generator) -> pa.Array:
    vocabulary = WORDS + _made_words(30_000, rng)
    words = []
    for place in range(11):
        word = _zipf(vocabulary, rows, rng)
        there = pa.array(rng.random(rows) < (1.0 if place < 4 else 0.6))
        words.append(pc.if_else(there, word, pa.scalar(None, pa.string())))
    return pc.utf8_capitalize(pc.binary_join_element_wise(*words, " ", null_handling="skip"))


def _made_words(count: int, rng: np.random.Generator, capital: bool = False) -> list[str]:
    parts = rng.integers(0, len(SYLLABLES), (count, 4))
    sizes = rng.integers(2, 5, count)
    words = ["".join(SYLLABLES[p] for p in row[:n]) for row, n in zip(parts, sizes, strict=True)]
    return [word.capitalize() for word in words] if capital else words


def _zipf(words: Sequence[str], rows: int, rng: np.random.Generator) -> pa.Array:
    """Words drawn with a chance of one over their rank."""
    ranks = np.exp(rng.random(rows) * np.log(len(words))).astype(np.int64) - 1
    return pa.array(words).take(pa.array(np.minimum(ranks, len(words) - 1)))
