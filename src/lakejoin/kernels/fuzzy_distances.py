"""Pair the words of two texts, and distances of texts by shared tokens and letter by letter."""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

MAX_WORDS = 24  # words of a text; a longer text is no name
# The Jaro-Winkler similarity from which two words may be the same word, misspelt or inflected. A
# word that occurs in keys is probably right; one that does not is more likely a misspelling.
_LEAST_IN_KEYS = 0.8
_LEAST_OTHERWISE = 0.7
_INITIAL = 0.9  # similarity of a single letter to a word that begins with it


@njit
def jaro_winkler(
    points: Array, a: int, a_end: int, b: int, b_end: int, taken_a: Array, taken_b: Array
) -> float:
    """Compare two runs of code points: 0..1, 1 if equal. `taken_a`, `taken_b` are scratch space."""
    m, n = a_end - a, b_end - b
    if m == 0 or n == 0:
        return 1.0 if m == n else 0.0
    reach = max(max(m, n) // 2 - 1, 0)
    taken_a[:m] = False
    taken_b[:n] = False
    common = 0
    for i in range(m):
        for j in range(max(0, i - reach), min(n, i + reach + 1)):
            if not taken_b[j] and points[a + i] == points[b + j]:
                taken_a[i] = True
                taken_b[j] = True
                common += 1
                break
    if common == 0:
        return 0.0
    moved = 0
    j = 0
    for i in range(m):
        if taken_a[i]:
            while not taken_b[j]:
                j += 1
            moved += points[a + i] != points[b + j]
            j += 1
    jaro = (common / m + common / n + (common - moved // 2) / common) / 3.0
    same = 0
    while same < min(4, m, n) and points[a + same] == points[b + same]:
        same += 1
    return jaro + 0.1 * same * (1.0 - jaro) if jaro > 0.7 else jaro


@njit
def _word_similarity(
    points: Array, a: int, a_end: int, b: int, b_end: int, taken_a: Array, taken_b: Array
) -> float:
    """Compare two words; a single letter matches a word that begins with it."""
    if min(a_end - a, b_end - b) == 1 and points[a] == points[b]:
        return _INITIAL
    return jaro_winkler(points, a, a_end, b, b_end, taken_a, taken_b)


@njit
def _pair_words(
    points: Array,
    begins: Array,
    ends: Array,
    words: Array,
    numeric: Array,
    in_keys: Array,
    rarity: Array,
    a: int,
    a_end: int,
    b: int,
    b_end: int,
    open_a: Array,
    open_b: Array,
    similarity: Array,
    taken_a: Array,
    taken_b: Array,
) -> float:
    """Pair the words a.. with the words b..; return the rarity paired, and how open each word is.

    An unpaired word is open (1), one paired with the same word is not (0), and one paired
    with a similar word is in between.
    """
    m, n = a_end - a, b_end - b
    open_a[:m] = 1.0
    open_b[:n] = 1.0
    mass = 0.0
    for i in range(m):
        for j in range(n):
            if open_b[j] == 1.0 and words[a + i] == words[b + j]:
                open_a[i] = 0.0
                open_b[j] = 0.0
                mass += rarity[words[a + i]]
                break
    for i in range(m):
        if open_a[i] < 1.0:
            continue
        for j in range(n):
            similarity[i, j] = 0.0
            # Numbers are equal or different: 2004 is not similar to 2005.
            if open_b[j] == 1.0 and not numeric[words[a + i]] and not numeric[words[b + j]]:
                i_begin, i_end = begins[a + i], ends[a + i]
                j_begin, j_end = begins[b + j], ends[b + j]
                word_similarity = _word_similarity(
                    points, i_begin, i_end, j_begin, j_end, taken_a, taken_b
                )
                least = _LEAST_IN_KEYS if in_keys[words[a + i]] else _LEAST_OTHERWISE
                similarity[i, j] = (word_similarity - least) / (1.0 - least)
    while True:
        best = 0.0
        best_i = -1
        best_j = -1
        for i in range(m):
            if open_a[i] == 1.0:
                for j in range(n):
                    if open_b[j] == 1.0 and similarity[i, j] > best:
                        best = similarity[i, j]
                        best_i = i
                        best_j = j
        if best_i < 0:
            return mass
        open_a[best_i] = 1.0 - best
        open_b[best_j] = 1.0 - best
        mass += best * 0.5 * (rarity[words[a + best_i]] + rarity[words[b + best_j]])


@njit
def _longest(begins: Array, ends: Array) -> int:
    """Return the length of the longest word or text."""
    longest = 0
    for word in range(begins.shape[0]):
        longest = max(longest, ends[word] - begins[word])
    return longest


@kernel
def count_unpaired(
    points: Array,
    first: Array,
    begins: Array,
    ends: Array,
    words: Array,
    numeric: Array,
    in_keys: Array,
    rarity: Array,
    left: Array,
    right: Array,
) -> Array:
    """Count for each word the pairs of texts that leave it unpaired."""
    counts = np.zeros(rarity.shape[0], np.int64)
    open_a = np.empty(MAX_WORDS)
    open_b = np.empty(MAX_WORDS)
    similarity = np.empty((MAX_WORDS, MAX_WORDS))
    taken_a = np.empty(_longest(begins, ends), np.bool_)
    taken_b = np.empty(taken_a.shape[0], np.bool_)
    for p in range(left.shape[0]):
        a, a_end = first[left[p]], first[left[p] + 1]
        b, b_end = first[right[p]], first[right[p] + 1]
        _pair_words(
            points, begins, ends, words, numeric, in_keys, rarity, a, a_end, b, b_end,
            open_a, open_b, similarity, taken_a, taken_b,
        )  # fmt: skip
        for i in range(a_end - a):
            counts[words[a + i]] += open_a[i] == 1.0
        for j in range(b_end - b):
            counts[words[b + j]] += open_b[j] == 1.0
    return counts


@kernel
def compare_words(
    points: Array,
    first: Array,
    begins: Array,
    ends: Array,
    words: Array,
    numeric: Array,
    in_keys: Array,
    rarity: Array,
    doubt: Array,
    left: Array,
    right: Array,
) -> Array:
    """Compare the words of pairs of texts: a row of eight numbers per pair.

    The rarity that is paired; what the left text leaves open, and the right; numbers that the left
    leaves open, and the right; the doubt in what the left leaves open, and the right; how much of
    the rarity that is paired is that of words, not numbers.
    """
    out = np.zeros((left.shape[0], 8))
    open_a = np.empty(MAX_WORDS)
    open_b = np.empty(MAX_WORDS)
    similarity = np.empty((MAX_WORDS, MAX_WORDS))
    taken_a = np.empty(_longest(begins, ends), np.bool_)
    taken_b = np.empty(taken_a.shape[0], np.bool_)
    for p in range(left.shape[0]):
        a, a_end = first[left[p]], first[left[p] + 1]
        b, b_end = first[right[p]], first[right[p] + 1]
        out[p, 0] = _pair_words(
            points, begins, ends, words, numeric, in_keys, rarity, a, a_end, b, b_end,
            open_a, open_b, similarity, taken_a, taken_b,
        )  # fmt: skip
        out[p, 7] = out[p, 0]
        for i in range(a_end - a):
            word = words[a + i]
            out[p, 7] -= numeric[word] * (1.0 - open_a[i]) * rarity[word]
            out[p, 1] += open_a[i] * rarity[word]
            out[p, 3] += open_a[i] * numeric[word]
            out[p, 5] += open_a[i] * doubt[word]
        for j in range(b_end - b):
            word = words[b + j]
            out[p, 2] += open_b[j] * rarity[word]
            out[p, 4] += open_b[j] * numeric[word]
            out[p, 6] += open_b[j] * doubt[word]
    return out


@kernel
def count_shared_tokens(start: Array, tokens: Array, left: Array, right: Array) -> Array:
    """Count the distinct tokens that pairs of texts share; a text's tokens ascend."""
    out = np.zeros(left.shape[0], np.int64)
    for p in range(left.shape[0]):
        i, j = start[left[p]], start[right[p]]
        i_end, j_end = start[left[p] + 1], start[right[p] + 1]
        while i < i_end and j < j_end:
            if tokens[i] == tokens[j]:
                out[p] += 1
                i += 1
                j += 1
            elif tokens[i] < tokens[j]:
                i += 1
            else:
                j += 1
    return out


@njit
def _edits(points: Array, a: int, a_end: int, b: int, b_end: int, row: Array) -> int:
    """Return the fewest insertions, deletions and replacements from one text to the other."""
    n = b_end - b
    for j in range(n + 1):
        row[j] = j
    for i in range(a_end - a):
        corner = row[0]
        row[0] = i + 1
        for j in range(n):
            change = corner + (points[a + i] != points[b + j])
            corner = row[j + 1]
            row[j + 1] = min(change, corner + 1, row[j] + 1)
    return row[n]


@kernel
def compute_edit_distances(points: Array, starts: Array, left: Array, right: Array) -> Array:
    """Return the edit distances of pairs of texts, relative to the longer one: 0..1."""
    out = np.zeros(left.shape[0])
    row = np.empty(_longest(starts[:-1], starts[1:]) + 1, np.int64)
    for p in range(left.shape[0]):
        a, a_end = starts[left[p]], starts[left[p] + 1]
        b, b_end = starts[right[p]], starts[right[p] + 1]
        length = max(a_end - a, b_end - b)
        if length > 0:
            out[p] = _edits(points, a, a_end, b, b_end, row) / length
    return out


@kernel
def compute_jaro_winkler_distances(
    points: Array, starts: Array, left: Array, right: Array
) -> Array:
    """Return one minus the Jaro-Winkler similarity of pairs of texts."""
    out = np.empty(left.shape[0])
    taken_a = np.empty(_longest(starts[:-1], starts[1:]), np.bool_)
    taken_b = np.empty(taken_a.shape[0], np.bool_)
    for p in range(left.shape[0]):
        a, a_end = starts[left[p]], starts[left[p] + 1]
        b, b_end = starts[right[p]], starts[right[p] + 1]
        out[p] = 1.0 - jaro_winkler(points, a, a_end, b, b_end, taken_a, taken_b)
    return out
