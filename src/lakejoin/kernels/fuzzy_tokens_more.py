"""Words and q-grams of folded texts, as indices, with their weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.jit import kernel
from lakejoin.kernels.hashes import finish, mix

Array = np.ndarray[Any, Any]

# Texts come as one array of code points, with `starts` (texts + 1) between them; words are
# separated by blanks. A q-gram never spans two words: each word is padded with a blank on either
# side, so that its first and last letters count as such and the order of words does not matter.

_BLANK = np.uint64(32)


@kernel
def cut_words(points: Array, starts: Array, most: int) -> tuple[Array, Array, Array]:
    """Find the first `most` words of every text: (first word of each text, begins, ends)."""
    texts = starts.shape[0] - 1
    count = 0
    for i in range(points.shape[0]):
        count += points[i] == 32
    begins = np.empty(count + texts, np.int64)
    ends = np.empty(count + texts, np.int64)
    first = np.zeros(texts + 1, np.int64)
    found = 0
    for text in range(texts):
        stop = starts[text + 1]
        at = starts[text]
        while at < stop and found - first[text] < most:
            while at < stop and points[at] == 32:
                at += 1
            begin = at
            while at < stop and points[at] != 32:
                at += 1
            if at > begin:
                begins[found] = begin
                ends[found] = at
                found += 1
        first[text + 1] = found
    return first, begins[:found].copy(), ends[:found].copy()


@kernel
def hash_words(points: Array, begins: Array, ends: Array) -> Array:
    """Hash every word; equal words have equal hashes."""
    out = np.empty(begins.shape[0], np.uint64)
    for word in range(begins.shape[0]):
        h = np.uint64(ends[word] - begins[word])
        for at in range(begins[word], ends[word]):
            h = mix(h, np.uint64(points[at]))
        out[word] = finish(h)
    return out


@kernel
def mark_words_with(points: Array, marked: Array, begins: Array, ends: Array) -> Array:
    """Mark the words that contain a marked code point."""
    out = np.zeros(begins.shape[0], np.bool_)
    for word in range(begins.shape[0]):
        for at in range(begins[word], ends[word]):
            out[word] |= marked[at]
    return out


@kernel
def hash_grams(
    points: Array, first: Array, begins: Array, ends: Array, size: int
) -> tuple[Array, Array]:
    """Hash every q-gram of every text: (first of each text, hashes)."""
    texts = first.shape[0] - 1
    start = np.zeros(texts + 1, np.int64)
    for text in range(texts):
        count = 0
        for word in range(first[text], first[text + 1]):
            count += max(ends[word] - begins[word] + 3 - size, 1)
        start[text + 1] = start[text] + count
    out = np.empty(start[texts], np.uint64)
    at = 0
    for word in range(begins.shape[0]):
        begin, end = begins[word], ends[word]
        for p in range(begin - 1, max(end + 2 - size, begin)):
            h = np.uint64(size)
            for j in range(p, min(p + size, end + 1)):
                h = mix(h, np.uint64(points[j]) if begin <= j < end else _BLANK)
            out[at] = finish(h)
            at += 1
    return start, out


@kernel
def index_hashes(hashes: Array) -> tuple[Array, Array]:
    """Number hashes by first appearance: (index of each, where each index appears first)."""
    width = 16
    while width < 2 * hashes.shape[0]:
        width *= 2
    mask = np.uint64(width - 1)
    slots = np.full(width, -1, np.int32)
    indices = np.empty(hashes.shape[0], np.int32)
    firsts = np.empty(hashes.shape[0], np.int64)
    count = 0
    for i in range(hashes.shape[0]):
        h = hashes[i]
        at = h & mask
        while slots[at] >= 0 and hashes[firsts[slots[at]]] != h:
            at = (at + np.uint64(1)) & mask
        if slots[at] < 0:
            slots[at] = count
            firsts[count] = i
            count += 1
        indices[i] = slots[at]
    return indices, firsts[:count].copy()


@njit(inline="always")
def _sort(values: Array, begin: int, end: int) -> None:
    """Sort by insertion: a text has few tokens."""
    for i in range(begin + 1, end):
        value = values[i]
        j = i
        while j > begin and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@kernel
def count_tokens(start: Array, tokens: Array) -> tuple[Array, Array, Array]:
    """Return every text's distinct tokens, ascending, and how often each occurs in it."""
    texts = start.shape[0] - 1
    out_start = np.zeros(texts + 1, np.int64)
    sorted_tokens = tokens.copy()
    out = np.empty(tokens.shape[0], np.int32)
    counts = np.empty(tokens.shape[0], np.int32)
    total = 0
    for text in range(texts):
        _sort(sorted_tokens, start[text], start[text + 1])
        for i in range(start[text], start[text + 1]):
            if i > start[text] and sorted_tokens[i] == sorted_tokens[i - 1]:
                counts[total - 1] += 1
            else:
                out[total] = sorted_tokens[i]
                counts[total] = 1
                total += 1
        out_start[text + 1] = total
    return out_start, out[:total].copy(), counts[:total].copy()


@kernel
def compute_unit_weights(start: Array, tokens: Array, counts: Array, rarity: Array) -> Array:
    """Weigh each token in its text: count times rarity, scaled to length one per text."""
    out = np.empty(tokens.shape[0], np.float32)
    for text in range(start.shape[0] - 1):
        total = 0.0
        for i in range(start[text], start[text + 1]):
            weight = counts[i] * rarity[tokens[i]]
            total += weight * weight
        scale = 1.0 / np.sqrt(total) if total > 0 else 0.0
        for i in range(start[text], start[text + 1]):
            out[i] = counts[i] * rarity[tokens[i]] * scale
    return out
