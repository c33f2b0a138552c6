"""The words of rows as sorted hashes, and how much the words of matching rows agree."""

from __future__ import annotations

import math

import numpy as np

from lakejoin.kernels.hashes import hash_text
from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

# A word is a run of at least two word characters (`\w`), as `points` has them: a byte for each code
# point. Words are compared by their hashes; a collision would only blur an estimate.

_SEED = np.uint64(0)
_ZERO = np.uint8(48)
_SHORT = 2  # characters of the shortest word
_ROOM = 1024


@njit
def _code_point(data: Array, at: int, stop: int) -> tuple[int, int]:
    """Return the code point that begins at a byte of valid UTF-8, and where the next one begins."""
    first = np.int64(data[at])
    if first < 0x80:
        return first, at + 1
    length = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    point = first & (0x7F >> length)
    for i in range(at + 1, min(at + length, stop)):
        point = (point << 6) | (np.int64(data[i]) & 0x3F)
    return point, at + length


@njit
def _next_word(data: Array, at: int, stop: int, points: Array) -> tuple[int, int]:
    """Return the begin and end of the next word; both are `stop` if there is none."""
    while at < stop:
        begin, characters = at, 0
        while at < stop:
            point, after = _code_point(data, at, stop)
            if point >= points.shape[0] or points[point] == 0:
                break
            characters += 1
            at = after
        if characters >= _SHORT:
            return begin, at
        if at < stop:
            at = _code_point(data, at, stop)[1]
    return stop, stop


@njit
def _bare_hash(data: Array, begin: int, end: int) -> np.uint64:
    """Hash a text without its leading zeros."""
    while begin < end and data[begin] == _ZERO:
        begin += 1
    return hash_text(data, begin, end, _SEED)


@njit
def _hash_of(data: Array, begin: int, end: int, bare: bool) -> np.uint64:
    return _bare_hash(data, begin, end) if bare else hash_text(data, begin, end, _SEED)


@njit
def _with_room(words: Array, size: int) -> Array:
    """Return the array, or a longer copy of it if it is full."""
    if size < words.shape[0]:
        return words
    longer = np.empty(2 * words.shape[0], np.uint64)
    longer[:size] = words[:size]
    return longer


@kernel
def hash_texts_and_words(
    offsets: Array, data: Array, points: Array, bare: bool
) -> tuple[Array, Array]:
    """Hash each text and its words, `bare` of leading zeros or not.

    Returns (starts, hashes): those of text i are `hashes[starts[i]:starts[i + 1]]`.
    """
    texts = offsets.shape[0] - 1
    starts = np.zeros(texts + 1, np.int64)
    hashes = np.empty(_ROOM, np.uint64)
    size = 0
    for i in range(texts):
        at, stop = offsets[i], offsets[i + 1]
        hashes = _with_room(hashes, size)
        hashes[size] = _hash_of(data, at, stop, bare)
        size += 1
        while True:
            begin, at = _next_word(data, at, stop, points)
            if begin == stop:
                break
            hashes = _with_room(hashes, size)
            hashes[size] = _hash_of(data, begin, at, bare)
            size += 1
        starts[i + 1] = size
    return starts, hashes[:size].copy()


@kernel
def collect_words(
    data: Array, spans: Array, rows: int, points: Array, left_out: tuple[Array, Array], bare: bool
) -> tuple[Array, Array]:
    """Collect the distinct words of each row: (starts, words), ascending in a row.

    The texts of row r are `data[begin:end]` for the `spans` r, r + rows, r + 2 rows, … (column
    after column). `left_out` are (starts, hashes) of words that do not count, for the first rows;
    `bare` if these are without leading zeros.
    """
    left_starts, left = left_out
    starts = np.zeros(rows + 1, np.int64)
    words = np.empty(_ROOM, np.uint64)
    size = 0
    for row in range(rows):
        first = size
        for text in range(row, spans.shape[0], rows):
            at, stop = spans[text, 0], spans[text, 1]
            while True:
                begin, at = _next_word(data, at, stop, points)
                if begin == stop:
                    break
                known = False
                if row < left_starts.shape[0] - 1:
                    compared = _hash_of(data, begin, at, bare)
                    for i in range(left_starts[row], left_starts[row + 1]):
                        if left[i] == compared:
                            known = True
                            break
                if not known:
                    words = _with_room(words, size)
                    words[size] = hash_text(data, begin, at, _SEED)
                    size += 1
        words[first:size].sort()
        kept = first
        for i in range(first, size):
            if i == first or words[i] != words[i - 1]:
                words[kept] = words[i]
                kept += 1
        size = kept
        starts[row + 1] = size
    return starts, words[:size].copy()


@njit
def _holds(words: Array, begin: int, end: int, word: np.uint64) -> bool:
    """Whether ascending words [begin, end) contain one."""
    stop = end
    while begin < end:
        middle = (begin + end) // 2
        if words[middle] < word:
            begin = middle + 1
        else:
            end = middle
    return begin < stop and words[begin] == word


@njit
def _count(ordered: Array, word: np.uint64) -> int:
    """How often ascending words contain one."""
    begin = np.searchsorted(ordered, word)
    end = begin
    while end < ordered.shape[0] and ordered[end] == word:
        end += 1
    return end - begin


@njit
def _row_nats(mine: int, rarest: int, rows: int) -> float:
    """What a pair of rows says, of which the first has `mine` words; the `rarest` that both have is
    in so many rows, -1 if they have none."""
    if rarest < 0:
        return 0.0
    return max(0.0, math.log(rows / max(1, rarest)) - math.log1p(mine - 1) / 2)


@kernel
def compare_row_words(
    my_starts: Array,
    my_words: Array,
    their_starts: Array,
    their_words: Array,
    other_starts: Array,
    other_words: Array,
    usable: Array,
    shifts: Array,
    more: float,
    enough: float,
) -> float:
    """Measure how much rows agree, beyond rows that do not match, in nats.

    `usable[n, r]` says whether row n * rows + r of the others is a neighbour of row r that does not
    match. See `ranking/row_agreement.py`.
    """
    rows = their_starts.shape[0] - 1
    # Words of neighbouring rows say nothing, such as the state in a sorted list of counties.
    starts = np.zeros(rows + 1, np.int64)
    words = np.empty(their_starts[rows] - their_starts[0], np.uint64)
    size = 0
    for row in range(rows):
        for i in range(their_starts[row], their_starts[row + 1]):
            found = False
            for n in range(usable.shape[0]):
                other = n * rows + row
                if usable[n, row] and _holds(
                    other_words, other_starts[other], other_starts[other + 1], their_words[i]
                ):
                    found = True
                    break
            if not found:
                words[size] = their_words[i]
                size += 1
        starts[row + 1] = size
    words = words[:size]
    ordered = np.sort(words)
    counts = np.empty(size, np.int64)
    for i in range(size):
        counts[i] = _count(ordered, words[i])

    matched, most, compared = 0.0, 0.0, False
    for number in range(shifts.shape[0] + 1):
        shift = 0 if number == 0 else shifts[number - 1] % rows
        if number > 0 and shift == 0:
            continue
        total = 0.0
        for row in range(rows):
            other = (row + shift) % rows
            rarest = -1
            for i in range(starts[other], starts[other + 1]):
                if (rarest < 0 or counts[i] < rarest) and _holds(
                    my_words, my_starts[row], my_starts[row + 1], words[i]
                ):
                    rarest = counts[i]
            total += _row_nats(my_starts[row + 1] - my_starts[row], rarest, rows)
        if number == 0:
            matched = total
        else:
            most = max(most, total) if compared else total
            compared = True

    for n in range(usable.shape[0]):
        total, pairs = 0.0, 0
        for row in range(rows):
            if not usable[n, row]:
                continue
            pairs += 1
            other = n * rows + row
            rarest = -1
            for i in range(other_starts[other], other_starts[other + 1]):
                word = other_words[i]
                if _holds(my_words, my_starts[row], my_starts[row + 1], word) and not _holds(
                    their_words, their_starts[row], their_starts[row + 1], word
                ):
                    count = _count(ordered, word)
                    if rarest < 0 or count < rarest:
                        rarest = count
            total += _row_nats(my_starts[row + 1] - my_starts[row], rarest, rows)
        if pairs >= enough * rows:
            total = total * rows / pairs
            most = max(most, total) if compared else total
            compared = True
    if not compared:
        most = matched
    return max(0.0, matched - more * most)
