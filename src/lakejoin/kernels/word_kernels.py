"""Sum table rows and hashed character n-grams to one unit vector per text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.jit import kernel
from lakejoin.kernels.hashes import finish, mix
from lakejoin.kernels.split import LONGEST_WORD, code_point, utf8_width

Array = np.ndarray[Any, Any]

# Plain IEEE arithmetic in a fixed order, no fast-math: a text has the same bits on every machine
# and in every batch.

_BEGIN, _END = 2, 3  # control characters, which no word contains
_SEED = np.uint64(0x51A7F3C2B9D84E6B)


@kernel
def hash_character_grams(
    offsets: Array,
    data: Array,
    letters: Array,
    sizes: Array,
    dimension: int,
    starts: Array,
    out: Array,
) -> int:
    """Hash the n-grams of each word to signed dimensions (2 * dimension + sign); return how many.

    `letters` removes accents. A word is marked at both ends; one too short for a size is one n-gram
    of that size. `dimension` is a power of two.
    """
    shown = np.empty(LONGEST_WORD + 2, np.uint64)
    mask = np.uint64(2 * dimension - 1)
    at = 0
    starts[0] = 0
    for w in range(offsets.shape[0] - 1):
        n = 1
        shown[0] = _BEGIN
        p = offsets[w]
        while p < offsets[w + 1]:
            c = code_point(data, p)
            shown[n] = np.uint64(letters[c]) if c < letters.shape[0] else np.uint64(c)
            n += 1
            p += utf8_width(data, p)
        shown[n] = _END
        n += 1
        for s in range(sizes.shape[0]):
            size = min(sizes[s], n)
            for i in range(n - size + 1):
                h = _SEED
                for j in range(size):
                    h = mix(h, shown[i + j])
                out[at] = np.int32(finish(h) & mask)
                at += 1
        starts[w + 1] = at
    return at


@njit(inline="always")
def _squares(values: Array, begin: int, stop: int) -> float:
    """Return the sum of squares in float64, in four lanes that are added in a fixed order."""
    a = b = c = d = 0.0
    i = begin
    while i + 4 <= stop:
        a += np.float64(values[i]) * np.float64(values[i])
        b += np.float64(values[i + 1]) * np.float64(values[i + 1])
        c += np.float64(values[i + 2]) * np.float64(values[i + 2])
        d += np.float64(values[i + 3]) * np.float64(values[i + 3])
        i += 4
    while i < stop:
        a += np.float64(values[i]) * np.float64(values[i])
        i += 1
    return (a + b) + (c + d)


@kernel
def compute_word_scales(row_offsets: Array, rows: Array, table: Array, power: float, scales: Array) -> None:
    """Compute the factor for the sum of each word's rows: its length to the power of -`power`.

    Powers are 0 (the plain sum), 0.5, and 1 (every word counts alike): square roots are exact
    everywhere, other powers are not. A word of zero length, or without rows, stays zero.
    """
    total = np.empty(table.shape[1], np.float32)
    for w in range(row_offsets.shape[0] - 1):
        if power == 0.0:
            scales[w] = 1.0
            continue
        total[:] = 0.0
        for r in range(row_offsets[w], row_offsets[w + 1]):
            row = rows[r]
            for d in range(total.shape[0]):
                total[d] += table[row, d]
        length = np.sqrt(_squares(total, 0, total.shape[0]))
        if length == 0.0:
            scales[w] = 0.0
        else:
            scales[w] = np.float32(1.0 / (length if power == 1.0 else np.sqrt(length)))


@njit(inline="always")
def _scale(values: Array, begin: int, stop: int, factor: float) -> None:
    """Multiply values by a factor."""
    for i in range(begin, stop):
        values[i] = np.float32(np.float64(values[i]) * factor)


@kernel
def pool_texts(
    text_words: Array,
    codes: Array,
    row_offsets: Array,
    rows: Array,
    row_scales: Array,
    table: Array,
    gram_starts: Array,
    grams: Array,
    gram_scales: Array,
    share: float,
    out: Array,
) -> None:
    """Compute one unit vector per text: the sum of its words' rows, followed by its words' n-grams.

    `share` is the n-grams' share of the squared length; if one half is zero, the other has all of
    it. A text with words is never zero.
    """
    meaning = table.shape[1]
    whole = out.shape[1]
    for i in range(out.shape[0]):
        vector = out[i]
        vector[:] = 0.0
        if text_words[i + 1] == text_words[i]:
            continue
        for k in range(text_words[i], text_words[i + 1]):
            word = codes[k]
            scale = row_scales[word]
            for r in range(row_offsets[word], row_offsets[word + 1]):
                row = rows[r]
                for d in range(meaning):
                    vector[d] += scale * table[row, d]
            if whole > meaning:
                scale = gram_scales[word]
                for g in range(gram_starts[word], gram_starts[word + 1]):
                    dimension = meaning + (grams[g] >> 1)
                    vector[dimension] += scale if grams[g] & 1 else -scale
        left = np.sqrt(_squares(vector, 0, meaning)) if share < 1.0 else 0.0
        right = np.sqrt(_squares(vector, meaning, whole)) if share > 0.0 else 0.0
        if left == 0.0:
            vector[:meaning] = 0.0
        if left == 0.0 and right == 0.0:
            # All n-grams cancelled out, or no word is known: use any dimension, the same one for
            # the same words.
            h = _SEED
            for k in range(text_words[i], text_words[i + 1]):
                for g in range(gram_starts[codes[k]], gram_starts[codes[k] + 1]):
                    h = mix(h, np.uint64(grams[g]))
            if whole > meaning:
                vector[meaning + np.int64(finish(h) % np.uint64(whole - meaning))] = 1.0
            continue
        total = np.sqrt((1.0 - share) * (left > 0.0) + share * (right > 0.0))
        if left > 0.0:
            _scale(vector, 0, meaning, np.sqrt(1.0 - share) / (left * total))
        if right > 0.0:
            _scale(vector, meaning, whole, np.sqrt(share) / (right * total))
