"""Which columns hold these pieces? Looked up in sorted lists, and added up by column."""

from __future__ import annotations

from typing import Any

import numpy as np

from lakejoin.kernels.compiled import kernel

Array = np.ndarray[Any, Any]

_LOW = np.uint64(0xFFFFFFFF)


@kernel
def tag_spans(span: Array, tags: Array, hashes: Array, out: Array) -> None:
    """The entries of each hash's bucket, `span`, that have its tag; tags rise in a bucket."""
    for k in range(hashes.shape[0]):
        tag = np.uint32(hashes[k] & _LOW)
        low, high = span[k, 0], span[k, 1]
        while low < high:
            middle = (low + high) // 2
            if tags[middle] < tag:
                low = middle + 1
            else:
                high = middle
        out[k, 0] = low
        while high < span[k, 1] and tags[high] == tag:
            high += 1
        out[k, 1] = high


@kernel
def count_holders(span: Array, columns: Array, left_out: Array, counts: Array) -> None:
    """Adds to each piece's count how many columns hold it, those left out aside."""
    for k in range(span.shape[0]):
        for e in range(span[k, 0], span[k, 1]):
            if not left_out[columns[e]]:
                counts[k] += 1


@kernel
def add_met(
    values: Array,
    pieces: Array,
    weights: Array,
    span: Array,
    columns: Array,
    met: Array,
    nats: Array,
) -> None:
    """Adds to each column how many values meet it, and for each value the largest weight of a piece
    that both hold. `values`, ascending, hold `pieces`."""
    last = np.full(met.shape[0], -1, np.int64)
    best = np.zeros(met.shape[0], np.float64)
    for i in range(values.shape[0]):
        value, piece = np.int64(values[i]), pieces[i]
        weight = weights[piece]
        for e in range(span[piece, 0], span[piece, 1]):
            column = columns[e]
            if last[column] != value:
                last[column] = value
                best[column] = weight
                met[column] += 1
                nats[column] += weight
            elif weight > best[column]:
                nats[column] += weight - best[column]
                best[column] = weight
