"""The numbers in texts: codes and numbers that look alike are different things.

A number is a word with a digit (`2019`, `a320`, `9th`) or a number word; ordinals count as their
number. Two texts that both have numbers conflict unless one has all the numbers of the other:
`a320` and `a321` conflict, `616 east 9th street, 4w` and `616 east 9th st.` do not. Single letters
are no numbers: initials of people would conflict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.encoders.mixed_encoder import fold_for_encoding, split_texts, to_text_array
from lakejoin.encoders.protocol import Texts
from lakejoin.model import Array

_CARDINALS = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
    "twenty",
)  # fmt: skip
_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth",
    "eighteenth", "nineteenth", "twentieth",
)  # fmt: skip
NUMBER_WORDS = {
    word: str(number)
    for words in (_CARDINALS, _ORDINALS)
    for number, word in enumerate(words, start=1)
}


@dataclass(frozen=True, eq=False)
class TextNumbers:
    """The distinct numbers of each text: text i has `numbers[starts[i] : starts[i + 1]]`."""

    starts: Array
    numbers: pa.LargeStringArray

    @classmethod
    def of(cls, texts: Texts) -> TextNumbers:
        """Read the numbers.

        >>> found = TextNumbers.of(["9th street, 4w", "ninth street", "bern"])
        >>> found.starts.tolist(), found.numbers.to_pylist()
        ([0, 2, 3, 3], ['4w', '9', '9'])
        """
        text_words, codes, words = split_texts(fold_for_encoding(to_text_array(texts)))
        numbers = _numbers_of(words)
        row = np.repeat(np.arange(len(text_words) - 1), np.diff(text_words))
        is_number = numbers.is_valid().to_numpy(zero_copy_only=False)
        kept = is_number[codes] if len(codes) else np.zeros(0, bool)
        coded = numbers.dictionary_encode()
        order = pc.rank(coded.dictionary).to_numpy() if len(coded.dictionary) else np.zeros(0, int)
        which = coded.indices.fill_null(0).to_numpy().astype(np.int64)[codes[kept]]
        pairs = np.unique(np.stack([row[kept], order[which].astype(np.int64)], axis=1), axis=0)
        starts = np.searchsorted(pairs[:, 0], np.arange(len(text_words)))
        by_rank = pa.array(np.argsort(order))
        return cls(starts, coded.dictionary.take(by_rank).take(pa.array(pairs[:, 1] - 1)))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def counts(self) -> Array:
        return np.diff(self.starts)

    def slice(self, begin: int, end: int) -> TextNumbers:
        starts = self.starts[begin : end + 1]
        first, last = int(starts[0]), int(starts[-1])
        return TextNumbers(starts - first, self.numbers.slice(first, last - first))

    def take(self, rows: Array) -> TextNumbers:
        """The numbers of some of the texts."""
        counts = self.counts[rows]
        starts = np.concatenate([[0], np.cumsum(counts)])
        at = np.repeat(self.starts[rows] - starts[:-1], counts) + np.arange(starts[-1])
        return TextNumbers(starts, self.numbers.take(pa.array(at)))

    def compare(self, others: TextNumbers) -> tuple[Array, Array]:
        """For each pair of texts: whether their numbers conflict, and whether they differ.

        >>> ours, theirs = TextNumbers.of(["a320", "bern"]), TextNumbers.of(["a321", "a320 neo"])
        >>> [matrix.tolist() for matrix in ours.compare(theirs)]
        [[[True, False], [False, False]], [[True, False], [True, True]]]
        """
        ours, theirs = self.counts[:, None], others.counts[None, :]
        shared = np.zeros((len(self), len(others)), np.float32)
        known = pc.unique(self.numbers)
        columns = pc.index_in(others.numbers, value_set=known)
        if columns.null_count < len(columns):
            shared = self._incidence(known) @ others._incidence(known).T
        conflict = (shared < np.minimum(ours, theirs)) & (ours > 0) & (theirs > 0)
        return conflict, (shared < ours) | (shared < theirs)

    def _incidence(self, known: Any) -> Array:
        matrix = np.zeros((len(self), len(known)), np.float32)
        columns = pc.index_in(self.numbers, value_set=known)
        valid = columns.is_valid().to_numpy(zero_copy_only=False)
        rows = np.repeat(np.arange(len(self)), self.counts)
        matrix[rows[valid], columns.drop_null().to_numpy()] = 1
        return matrix


def _numbers_of(words: Any) -> Any:
    """The number that each word is; null for other words."""
    table = pa.array(list(NUMBER_WORDS), pa.large_string())
    digits = pa.array(list(NUMBER_WORDS.values()), pa.large_string())
    spelled = digits.take(pc.index_in(words, value_set=table))
    plain = pc.replace_substring_regex(words, r"^0*(\d+)(st|nd|rd|th)?$", r"\1")
    has_digit = pc.match_substring_regex(words, r"\d")
    return pc.coalesce(spelled, pc.if_else(has_digit, plain, None))
