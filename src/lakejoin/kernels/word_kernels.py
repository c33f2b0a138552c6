"""Split texts into words, expand short forms, and pool word vectors to one unit vector per text."""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.hashes import finish, mix
from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

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
def compute_word_scales(
    row_offsets: Array, rows: Array, table: Array, power: float, scales: Array
) -> None:
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


# A table says what a code point is (`GAP`, `LETTER`, `BLANK`); code points beyond it are letters.

GAP, LETTER, BLANK = 0, 1, 2
# A longer word is read as several, so that the cost of a value stays linear in its length.
LONGEST_WORD = 64

# When a short form is expanded (see encoders/mixed_encoder.py).
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
