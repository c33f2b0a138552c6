"""Words and vectors out of binary files, where only a scan tells where they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from lakejoin.kernels.compiled import kernel

Array = np.ndarray[Any, Any]

_NEWLINE, _BLANK, _NUL = 10, 32, 0


@kernel
def word2vec_entries(data: Array, at: int, size: int, begins: Array, ends: Array) -> int:
    """Where each word begins and ends; its vector of `size` bytes begins one byte later.

    Returns the place after the last entry, or -1 where the file ends too early.
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
def fasttext_entries(data: Array, at: int, begins: Array, ends: Array, labels: Array) -> int:
    """Where each word of a fastText dictionary begins and ends, and whether it is a label.

    Returns the place after the last entry, or -1 where the file ends too early.
    """
    for i in range(begins.shape[0]):
        begins[i] = at
        while at < data.shape[0] and data[at] != _NUL:
            at += 1
        ends[i] = at
        at += 1 + 8 + 1  # the end of the word, how often it was seen, what it is
        if at > data.shape[0]:
            return -1
        labels[i] = data[at - 1]
    return at


@kernel
def copy_spans(data: Array, begins: Array, lengths: Array, out: Array) -> None:
    """Copies spans of bytes to `out`, end to end."""
    at = 0
    for i in range(begins.shape[0]):
        for j in range(lengths[i]):
            out[at + j] = data[begins[i] + j]
        at += lengths[i]
