"""fastText models (`.bin`), memory-mapped: vectors of known words and of hashed subwords."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

from lakejoin.encoders.mixed_encoder import Mix, MixedEncoder, WordRows
from lakejoin.encoders.protocol import EncoderSpec
from lakejoin.encoders.text_preparation import buffers
from lakejoin.encoders.word_files import Vocabulary, fingerprint, read_words
from lakejoin.errors import UnreadableFile

MAGIC = struct.pack("<i", 793712314)
_NEWEST = 12
_ARGUMENTS = "<12id"  # dimension first; buckets, shortest and longest subword at 8, 9, 10
_DICTIONARY = "<3i2q"  # size, words, labels; tokens, pruned
_NO_MODEL = "not a fastText model"


class FastTextWords:
    """Word vectors of a fastText model: the row of the word, and those of its subwords."""

    def __init__(self, path: Path) -> None:
        data = np.memmap(path, np.uint8, "r")
        try:
            self._read(path, data)
        except (struct.error, ValueError, IndexError, OverflowError, MemoryError) as problem:
            raise UnreadableFile(str(path), _NO_MODEL, f"it is truncated: {problem}") from None
        self.settings: dict[str, Any] = {"vectors": fingerprint(path), "meaning": self.dimension}

    def _read(self, path: Path, data: Any) -> None:
        from lakejoin.kernels.subwords import find_fasttext_entries

        (version,) = struct.unpack("<i", data[4:8].tobytes())
        if version != _NEWEST:
            raise UnreadableFile(str(path), _NO_MODEL, f"its version is {version}, not {_NEWEST}")
        at = 8
        arguments = struct.unpack_from(_ARGUMENTS, data, at)
        self.dimension, self._buckets = arguments[0], arguments[8]
        self._shortest, self._longest = arguments[9], arguments[10]
        at += struct.calcsize(_ARGUMENTS)
        size, words, _, _, pruned = struct.unpack_from(_DICTIONARY, data, at)
        at += struct.calcsize(_DICTIONARY)
        if not 0 <= words <= size <= len(data) or self.dimension <= 0:
            raise UnreadableFile(str(path), _NO_MODEL, "its header is invalid")
        begins, ends = np.empty(size, np.int64), np.empty(size, np.int64)
        labels = np.empty(size, np.uint8)
        at = find_fasttext_entries(data, at, begins, ends, labels)
        if at < 0:
            raise UnreadableFile(str(path), _NO_MODEL, "it ends inside its dictionary")
        if pruned > 0 or data[at]:
            raise UnreadableFile(
                str(path), "a compressed fastText model", "use the .bin it was made from"
            )
        rows, columns = struct.unpack_from("<2q", data, at + 1)
        if columns != self.dimension or not words <= rows <= (len(data) - at) // (4 * columns):
            raise UnreadableFile(
                str(path), _NO_MODEL, "its matrix is truncated or does not match its words"
            )
        # A model without subwords stores no rows for them.
        self._buckets = min(self._buckets, rows - words) if self._longest > 0 else 0
        self._matrix = np.memmap(path, "<f4", "r", offset=at + 17, shape=(rows, columns))
        texts, entries = read_words(data, begins, ends)
        is_word = labels[entries] == 0
        self._words = words
        self._vocabulary = Vocabulary.of(texts.filter(is_word), entries[is_word])

    def look_up(self, words: Any) -> WordRows:
        """The rows of each word and its subwords, gathered from the file."""
        from lakejoin.kernels.subwords import hash_subwords

        known = self._vocabulary.rows_of(words)
        text = buffers(words)
        offsets = np.zeros(len(words) + 1, np.int64)
        subwords = (self._words, self._shortest, self._longest, self._buckets)
        count = hash_subwords(*text, known, *subwords, offsets, np.zeros(0, np.int64))
        rows = np.empty(count, np.int64)
        hash_subwords(*text, known, *subwords, offsets, rows)
        used, positions = np.unique(rows, return_inverse=True)
        table = np.ascontiguousarray(self._matrix[used], dtype=np.float32)
        if len(table) == 0:
            table = np.zeros((1, self.dimension), np.float32)
        return WordRows(table, offsets, positions.astype(np.int64), np.ones(len(words), np.float32))


def open_fasttext(path: Path, mix: Mix | None = None) -> MixedEncoder:
    """Open a fastText model; all words weigh the same, as in fastText's own sentence vectors."""
    mix = mix or Mix(power=1)
    spec = EncoderSpec(open_fasttext, (path, mix))
    return MixedEncoder("fasttext+characters", FastTextWords(path), mix, spec)
