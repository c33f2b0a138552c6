"""Look up which columns have some rare tokens, and sum their weights by column."""

from __future__ import annotations

from typing import Any

import numpy as np

from lakejoin.kernels.jit import kernel

Array = np.ndarray[Any, Any]

_TAG_BITS = np.uint64(0xFFFFFFFF)


@kernel
def find_tag_spans(span: Array, tags: Array, hashes: Array, out: Array) -> None:
    """Narrow each hash's bucket, `span`, to the entries with its tag; tags ascend in a bucket."""
    for k in range(hashes.shape[0]):
        tag = np.uint32(hashes[k] & _TAG_BITS)
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
def count_holding_columns(span: Array, columns: Array, left_out: Array, counts: Array) -> None:
    """Add to each token's count how many columns have it, except those left out."""
    for k in range(span.shape[0]):
        for e in range(span[k, 0], span[k, 1]):
            if not left_out[columns[e]]:
                counts[k] += 1


@kernel
def add_matches(
    values: Array,
    tokens: Array,
    weights: Array,
    span: Array,
    columns: Array,
    matches: Array,
    nats: Array,
) -> None:
    """Add to each column how many values match it, and per value the largest weight of a shared
    token.

    `values`, ascending, have the tokens `tokens`.
    """
    last = np.full(matches.shape[0], -1, np.int64)
    best = np.zeros(matches.shape[0], np.float64)
    for i in range(values.shape[0]):
        value, token = np.int64(values[i]), tokens[i]
        weight = weights[token]
        for e in range(span[token, 0], span[token, 1]):
            column = columns[e]
            if last[column] != value:
                last[column] = value
                best[column] = weight
                matches[column] += 1
                nats[column] += weight
            elif weight > best[column]:
                nats[column] += weight - best[column]
                best[column] = weight
