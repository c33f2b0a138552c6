"""Word vectors joined with hashed character n-grams: the default, and all word-vector files.

A text is split into words (`kernels/word_kernels.py`), abbreviations are expanded, and the vectors
of its words are summed; that is one half of its vector. The other half sums signed, hashed
character n-grams, which keep misspellings and other formats close. Each half has length 1 before
they are joined, so `share` is the n-grams' part of a squared distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from lakejoin.encoders.protocol import BaseEncoder, EncoderSpec, Texts
from lakejoin.encoders.text_preparation import (
    abbreviations,
    fold_for_encoding,
    letter_kinds,
    plain_letters,
    text_batches,
    to_text_array,
)
from lakejoin.errors import InputError
from lakejoin.kernels.word_kernels import (
    LONGEST_WORD,
    compute_word_scales,
    hash_character_grams,
    pool_texts,
    split_words,
)
from lakejoin.model import Array, string_buffers

VERSION = "1"


@dataclass(frozen=True)
class Mix:
    """How word vectors and character n-grams are mixed.

    `characters` is the dimension of the n-grams (a power of two, or 0 for none), `sizes` their
    lengths, `share` their part of the squared length. `power` damps long words: the sum of a
    word's rows is divided by its length to this power (0, 0.5 or 1).

    >>> Mix(characters=100)
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: characters must be 0 or a power of two from 16 to 4096, not 100
    """

    characters: int = 128
    sizes: tuple[int, ...] = (3,)
    share: float = 0.5
    power: float = 0.5
    expand: bool = True

    def __post_init__(self) -> None:
        n = self.characters
        if n and (n & (n - 1) or not 16 <= n <= 4096):
            raise InputError(f"characters must be 0 or a power of two from 16 to 4096, not {n}")
        if not 0 <= self.share <= 1 or (n == 0) != (self.share == 0):
            raise InputError(
                f"share must be between 0 and 1, and 0 only without n-grams; got {self.share}"
            )
        if n and not (self.sizes and all(1 <= size <= 8 for size in self.sizes)):
            raise InputError(f"sizes of n-grams must be between 1 and 8, not {self.sizes}")
        if self.power not in (0, 0.5, 1):
            raise InputError(f"power must be 0, 0.5 or 1, not {self.power}")


class WordRows(NamedTuple):
    """The table rows of each word, and the weight of its n-grams."""

    table: Array
    offsets: Array
    rows: Array
    weights: Array


class WordTable(Protocol):
    """A source of word vectors."""

    settings: dict[str, Any]
    dimension: int

    def look_up(self, words: Any) -> WordRows:
        """Look up the rows of distinct words (a LargeStringArray)."""


class NoWords:
    """A table without words, for n-grams alone."""

    dimension = 0

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}

    def look_up(self, words: Any) -> WordRows:
        count = len(words)
        no_rows = np.zeros(count + 1, np.int64)
        table = np.zeros((1, 0), np.float32)
        return WordRows(table, no_rows, np.zeros(0, np.int64), np.ones(count, np.float32))


class MixedEncoder(BaseEncoder):
    """Encode texts by their words and character n-grams."""

    version = VERSION
    cheap = True

    def __init__(self, name: str, words: WordTable, mix: Mix, spec: EncoderSpec) -> None:
        self.name = name
        self.spec = spec
        self.dimension = words.dimension + mix.characters
        self.settings = {
            **words.settings,
            "characters": mix.characters,
            "sizes": list(mix.sizes) if mix.characters else [],
            "share": mix.share,
            "power": mix.power if words.dimension else 0,
            "abbreviations": abbreviations().digest if mix.expand else "",
        }
        self._words = words
        self._mix = mix
        self._sizes = np.array(mix.sizes, np.int64)

    def encode(self, texts: Texts) -> Array:
        """One float32 unit vector per text; zero for a null, empty or blank text."""
        whole = to_text_array(texts)
        out = np.empty((len(whole), self.dimension), np.float32)
        for row, batch in text_batches(whole):
            self._encode(batch, out[row : row + len(batch)])
        return out

    def _encode(self, texts: Any, out: Array) -> None:
        text_words, codes, words = _words_of(fold_for_encoding(texts))
        if self._mix.expand:
            text_words, codes, words = abbreviations().expand(text_words, codes, words)
        rows = self._words.look_up(words)
        scales = np.empty(len(words), np.float32)
        compute_word_scales(rows.offsets, rows.rows, rows.table, float(self._mix.power), scales)
        offsets, data = string_buffers(words)
        starts = np.zeros(len(words) + 1, np.int64)
        grams = np.zeros(0, np.int32)
        if self._mix.characters:
            grams = np.empty((len(data) + 2 * len(words)) * len(self._sizes), np.int32)
            hash_character_grams(
                offsets, data, plain_letters(), self._sizes, self._mix.characters, starts, grams
            )
        counts = np.maximum(np.diff(starts), 1)
        gram_scales = (rows.weights / np.sqrt(np.sqrt(counts))).astype(np.float32)
        pool_texts(
            text_words,
            codes,
            rows.offsets,
            rows.rows,
            scales,
            rows.table,
            starts,
            grams,
            gram_scales,
            float(self._mix.share),
            out,
        )


def _words_of(texts: Any) -> tuple[Array, Array, Any]:
    """Split texts into words; returns (word offsets of each text, word codes, distinct words)."""
    offsets, data = string_buffers(texts)
    size = int(offsets[-1] - offsets[0])
    text_words = np.empty(len(texts) + 1, np.int64)
    word_offsets = np.empty(size // 2 + size // LONGEST_WORD + len(texts) + 2, np.int64)
    letters = np.empty(size, np.uint8)
    count = split_words(offsets, data, letter_kinds(), text_words, word_offsets, letters)
    occurrences = pa.LargeStringArray.from_buffers(
        count, pa.py_buffer(word_offsets[: count + 1]), pa.py_buffer(letters)
    )
    coded = occurrences.dictionary_encode()
    return text_words, coded.indices.to_numpy().astype(np.int64), coded.dictionary


def open_characters(mix: Mix | None = None) -> MixedEncoder:
    """Open the encoder of character n-grams alone, which needs no other package.

    >>> open_characters().dimension
    256
    """
    mix = mix or Mix(characters=256, share=1.0)
    return MixedEncoder("characters", NoWords(), mix, EncoderSpec(open_characters, (mix,)))
