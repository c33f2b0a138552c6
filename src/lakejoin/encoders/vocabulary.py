"""Vocabularies of millions of words: rows by word, from sorted hashes checked by text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.encoders.protocol import Array
from lakejoin.encoders.texts import buffers, fold_for_encoding

_SEED = np.uint64(0x9D2C5680A1B2C3D4)


def hashes_of(words: Any) -> Array:
    """A 64-bit hash of each word."""
    from lakejoin.kernels.hashes import hash_strings

    out = np.empty(len(words), np.uint64)
    offsets, data = buffers(words)
    hash_strings(offsets, data, _SEED, out)
    return out


def read_words(data: Array, begins: Array, ends: Array) -> tuple[Any, Array]:
    """Read the words at these spans; returns those that are valid UTF-8, and their indices."""
    from lakejoin.kernels.vectorfiles import copy_spans

    lengths = ends - begins
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    letters = np.empty(int(offsets[-1]), np.uint8)
    copy_spans(data, begins, lengths, letters)
    raw = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(lengths), [None, pa.py_buffer(offsets), pa.py_buffer(letters)]
    )
    return valid_texts(raw)


def valid_texts(raw: Any) -> tuple[Any, Array]:
    """The binary values that are valid UTF-8 as texts, and their indices."""
    indices = np.arange(len(raw))
    try:
        return raw.cast(pa.large_string()), indices
    except pa.ArrowInvalid:  # a few words of old files are cut inside a character
        valid = [_decodes(value) for value in raw.to_pylist()]
        return raw.filter(pa.array(valid)).cast(pa.large_string()), indices[valid]


def _decodes(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


class Vocabulary:
    """Folded words (`fold_for_encoding`), each with a row.

    If several words fold to the same text, the one written that way wins, else the first.

    >>> words = pa.array(["Bern", "bern", "Rome"], pa.large_string())
    >>> queries = pa.array(["rome", "bern", "x"], pa.large_string())
    >>> Vocabulary.of(words, np.arange(3)).rows_of(queries)
    array([ 2,  1, -1])
    """

    def __init__(self, hashes: Array, rows: Array, words: Any) -> None:
        self.hashes = hashes  # ascending
        self.rows = rows
        self.words = words

    @classmethod
    def of(cls, words: Any, rows: Array) -> Vocabulary:
        """The vocabulary of words with these rows."""
        texts = fold_for_encoding(words)
        changed = np.asarray(pc.not_equal(texts, words).to_numpy(zero_copy_only=False))
        hashes = hashes_of(texts)
        order = np.lexsort((rows, changed, hashes))
        first = np.ones(len(order), bool)
        first[1:] = hashes[order][1:] != hashes[order][:-1]
        order = order[first]
        return cls(hashes[order], np.asarray(rows)[order], texts.take(pa.array(order)))

    def rows_of(self, words: Any) -> Array:
        """The row of each word, or -1."""
        if len(self.hashes) == 0:
            return np.full(len(words), -1, np.int64)
        hashes = hashes_of(words)
        at = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        same = self.hashes[at] == hashes
        same &= pc.equal(self.words.take(pa.array(at)), words).to_numpy(zero_copy_only=False)
        return np.where(same, self.rows[at], -1).astype(np.int64)
