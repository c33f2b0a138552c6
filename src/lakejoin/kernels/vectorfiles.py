"""Find words and vectors in binary files, where only a scan tells where they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from lakejoin.kernels.jit import kernel

Array = np.ndarray[Any, Any]

_NEWLINE, _BLANK, _NUL = 10, 32, 0


@kernel
def find_word2vec_entries(data: Array, at: int, size: int, begins: Array, ends: Array) -> int:
    """Find where each word begins and ends; its vector of `size` bytes begins one byte later.

    Returns the offset after the last entry, or -1 if the file ends too early.
    """
    for i in range(begins.shape[0]):
        while at < data.shape[0] and data[at] == _NEWLINE:
            at += 1
        begins[i] = at
        while at < data.shape[0] and data[at] != _BLANK:
            at += 1
        ends[i] = at
        at += 1 + size
        if at > data.shape[0]:
            return -1
    return at


@kernel
def find_fasttext_entries(data: Array, at: int, begins: Array, ends: Array, labels: Array) -> int:
    """Find where each word of a fastText dictionary begins and ends, and whether it is a label.

    Returns the offset after the last entry, or -1 if the file ends too early.
    """
    for i in range(begins.shape[0]):
        begins[i] = at
        while at < data.shape[0] and data[at] != _NUL:
            at += 1
        ends[i] = at
        at += 1 + 8 + 1  # the end of the word, its count, its type
        if at > data.shape[0]:
            return -1
        labels[i] = data[at - 1]
    return at


@kernel
def copy_spans(data: Array, begins: Array, lengths: Array, out: Array) -> None:
    """Copy spans of bytes to `out`, end to end."""
    at = 0
    for i in range(begins.shape[0]):
        for j in range(lengths[i]):
            out[at + j] = data[begins[i] + j]
        at += lengths[i]
