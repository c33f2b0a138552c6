"""Split texts into words, straight from Arrow buffers, and expand short forms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.jit import kernel

Array = np.ndarray[Any, Any]

# A table says what a code point is (`GAP`, `LETTER`, `BLANK`); code points beyond it are letters.

GAP, LETTER, BLANK = 0, 1, 2
# A longer word is read as several, so that the cost of a value stays linear in its length.
LONGEST_WORD = 64

# When a short form is expanded (see encoders/text_preparation.py).
ALWAYS, DATE, AFTER, BEFORE, ADDRESS = 0, 1, 2, 3, 4
# Words that indicate an address: anywhere, or only as the last word (`st` may be a saint).
STREET, STREET_LAST = 1, 2


@njit(inline="always")
def code_point(data: Array, p: int) -> np.int64:
    """Decode the code point that begins at `p`, in valid UTF-8."""
    b = np.int64(data[p])
    if b < 0x80:
        return b
    if b < 0xE0:
        return ((b & 0x1F) << 6) | (np.int64(data[p + 1]) & 0x3F)
    if b < 0xF0:
        high = ((b & 0x0F) << 12) | ((np.int64(data[p + 1]) & 0x3F) << 6)
        return high | (np.int64(data[p + 2]) & 0x3F)
    high = ((b & 0x07) << 18) | ((np.int64(data[p + 1]) & 0x3F) << 12)
    return high | ((np.int64(data[p + 2]) & 0x3F) << 6) | (np.int64(data[p + 3]) & 0x3F)


@njit(inline="always")
def utf8_width(data: Array, p: int) -> np.int64:
    """Return how many bytes the code point that begins at `p` takes."""
    b = data[p]
    return np.int64(1 if b < 0x80 else (2 if b < 0xE0 else (3 if b < 0xF0 else 4)))


@kernel
def split_words(
    offsets: Array, data: Array, kinds: Array, text_words: Array, word_offsets: Array, out: Array
) -> int:
    """Copy the words of each text to `out`, end to end; return how many there are.

    Words are runs of letters. A text without any is one word of everything in it that is not blank,
    so that `+` and `-` stay two values. `text_words[i]` is where the words of text i begin.
    """
    words = 0
    at = 0
    word_offsets[0] = 0
    text_words[0] = 0
    for i in range(offsets.shape[0] - 1):
        for word_kind in (LETTER, GAP):
            length = 0
            p = offsets[i]
            while p < offsets[i + 1]:
                c = code_point(data, p)
                step = utf8_width(data, p)
                kind = kinds[c] if c < kinds.shape[0] else LETTER
                if kind == word_kind:
                    if length == LONGEST_WORD:
                        words += 1
                        word_offsets[words] = at
                        length = 0
                    for j in range(step):
                        out[at + j] = data[p + j]
                    at += step
                    length += 1
                elif length > 0 and word_kind == LETTER:
                    words += 1
                    word_offsets[words] = at
                    length = 0
                p += step
            if length > 0:
                words += 1
                word_offsets[words] = at
            if words > text_words[i]:
                break
        text_words[i + 1] = words
    return words


@njit(inline="always")
def _fits(
    when: int, codes: Array, numeric: Array, street: Array, first: int, stop: int, k: int
) -> bool:
    """Whether word k of the words first..stop of a text is where a rule wants it."""
    if when == ALWAYS:
        return True
    beside = (k > first and numeric[codes[k - 1]]) or (k + 1 < stop and numeric[codes[k + 1]])
    if when == DATE:
        return beside
    if when == ADDRESS:
        if stop - first > 1 and numeric[codes[first]]:
            return True
        for j in range(first, stop):
            address_kind = street[codes[j]]
            if j != k and (
                address_kind == STREET or (address_kind == STREET_LAST and j + 1 == stop)
            ):
                return True
        return False
    after = False
    if k > first and not numeric[codes[k - 1]]:
        after = k + 1 == stop
        for j in range(first, k):
            after = after or numeric[codes[j]]
    if when == AFTER:
        return after
    return not after and k + 1 < stop and not numeric[codes[k + 1]]


@kernel
def expand_words(
    text_words: Array,
    codes: Array,
    numeric: Array,
    street: Array,
    rules: Array,
    rule_when: Array,
    rule_words: Array,
    first_long: int,
    new_text_words: Array,
    new_codes: Array,
) -> int:
    """Write the words of each text with short forms expanded; return how many there are.

    `rules[w]` to `rules[w + 1]` are the rules of the distinct word w; the first that fits is taken.
    It stands for words `first_long + rule_words[r, 0]` up to `rule_words[r, 1]`.
    """
    at = 0
    new_text_words[0] = 0
    for i in range(text_words.shape[0] - 1):
        first, stop = text_words[i], text_words[i + 1]
        for k in range(first, stop):
            word = codes[k]
            taken = -1
            for r in range(rules[word], rules[word + 1]):
                if _fits(rule_when[r], codes, numeric, street, first, stop, k):
                    taken = r
                    break
            if taken < 0:
                new_codes[at] = word
                at += 1
            else:
                for j in range(rule_words[taken, 0], rule_words[taken, 1]):
                    new_codes[at] = first_long + j
                    at += 1
        new_text_words[i + 1] = at
    return at
