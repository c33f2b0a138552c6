"""Distances of pairs of texts: by shared tokens, and letter by letter."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.jit import kernel
from lakejoin.kernels.fuzzy_distances import jaro_winkler

Array = np.ndarray[Any, Any]


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
    longest = 0
    for text in range(starts.shape[0] - 1):
        longest = max(longest, starts[text + 1] - starts[text])
    row = np.empty(longest + 1, np.int64)
    for p in range(left.shape[0]):
        a, a_end = starts[left[p]], starts[left[p] + 1]
        b, b_end = starts[right[p]], starts[right[p] + 1]
        length = max(a_end - a, b_end - b)
        if length > 0:
            out[p] = _edits(points, a, a_end, b, b_end, row) / length
    return out


@kernel
def compute_jaro_winkler_distances(points: Array, starts: Array, left: Array, right: Array) -> Array:
    """Return one minus the Jaro-Winkler similarity of pairs of texts."""
    out = np.empty(left.shape[0])
    longest = 0
    for text in range(starts.shape[0] - 1):
        longest = max(longest, starts[text + 1] - starts[text])
    taken_a = np.empty(longest, np.bool_)
    taken_b = np.empty(longest, np.bool_)
    for p in range(left.shape[0]):
        a, a_end = starts[left[p]], starts[left[p] + 1]
        b, b_end = starts[right[p]], starts[right[p] + 1]
        out[p] = 1.0 - jaro_winkler(points, a, a_end, b, b_end, taken_a, taken_b)
    return out
