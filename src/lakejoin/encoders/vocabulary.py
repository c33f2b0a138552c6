"""From words to rows, for vocabularies of millions: sorted hashes, compared by text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.encoders.protocol import Array
from lakejoin.encoders.texts import buffers, folded

_SEED = np.uint64(0x9D2C5680A1B2C3D4)


def hashes_of(words: Any) -> Array:
    """A 64-bit hash of each word."""
    from lakejoin.kernels.hashing import hash_strings

    out = np.empty(len(words), np.uint64)
    offsets, data = buffers(words)
    hash_strings(offsets, data, _SEED, out)
    return out


def texts_of(data: Array, begins: Array, ends: Array) -> tuple[Any, Array]:
    """(the words at these spans that are valid UTF-8, their numbers)."""
    from lakejoin.kernels.words.vectorfiles import copy_spans

    lengths = ends - begins
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    letters = np.empty(int(offsets[-1]), np.uint8)
    copy_spans(data, begins, lengths, letters)
    raw = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(lengths), [None, pa.py_buffer(offsets), pa.py_buffer(letters)]
    )
    return valid_texts(raw)


def valid_texts(raw: Any) -> tuple[Any, Array]:
    """(the binary values that are valid UTF-8 as texts, their numbers)."""
    numbers = np.arange(len(raw))
    try:
        return raw.cast(pa.large_string()), numbers
    except pa.ArrowInvalid:  # a few words of old files are cut inside a character
        kept = [_decodes(value) for value in raw.to_pylist()]
        return raw.filter(pa.array(kept)).cast(pa.large_string()), numbers[kept]


def _decodes(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


class Vocabulary:
    """Words as encoders see them (`folded`), each with a row.

    Where several words fold to one, the one that is written so has it, else the first.

    >>> words = pa.array(["Bern", "bern", "Rome"], pa.large_string())
    >>> asked = pa.array(["rome", "bern", "x"], pa.large_string())
    >>> Vocabulary.of(words, np.arange(3)).rows_of(asked)
    array([ 2,  1, -1])
    """

    def __init__(self, hashes: Array, rows: Array, words: Any) -> None:
        self.hashes = hashes  # ascending
        self.rows = rows
        self.words = words

    @classmethod
    def of(cls, words: Any, rows: Array) -> Vocabulary:
        """The vocabulary of words that stand in these rows."""
        as_seen = folded(words)
        other = np.asarray(pc.not_equal(as_seen, words).to_numpy(zero_copy_only=False))
        hashes = hashes_of(as_seen)
        order = np.lexsort((rows, other, hashes))
        first = np.ones(len(order), bool)
        first[1:] = hashes[order][1:] != hashes[order][:-1]
        order = order[first]
        return cls(hashes[order], np.asarray(rows)[order], as_seen.take(pa.array(order)))

    def rows_of(self, words: Any) -> Array:
        """The row of each word, or -1."""
        if len(self.hashes) == 0:
            return np.full(len(words), -1, np.int64)
        wanted = hashes_of(words)
        at = np.minimum(np.searchsorted(self.hashes, wanted), len(self.hashes) - 1)
        same = self.hashes[at] == wanted
        same &= pc.equal(self.words.take(pa.array(at)), words).to_numpy(zero_copy_only=False)
        return np.where(same, self.rows[at], -1).astype(np.int64)
