"""Dictionaries for lakes of sets: what a search needs before it has codes.

The tokens of a generated lake are numbers. Here each gets a text of ten characters, so that the
time to find the codes of a query's values can be measured with the index's own dictionary.
"""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

from lakejoin.kernels.hashes import hash_strings
from lakejoin.locations import Location
from lakejoin.model import Array
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.dictionary import Dictionary, write_directory, write_texts
from set_lakes import SegmentSets, SetLake
from set_queries import SetQuery

_WIDTH = 10
_HEX = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)


def look_up(lake: SetLake, queries: list[SetQuery], repeats: int) -> Array:
    """CPU seconds to find each query's values in the dictionaries of all segments, medians."""
    dictionaries = [_open(segment) for segment in lake.segments()]
    taken = np.zeros((repeats, len(queries)))
    for r in range(repeats + 1):  # the first one warms up
        for q, query in enumerate(queries):
            texts = _texts(query.tokens)
            start = time.process_time()
            for one in dictionaries:
                one.find(texts)
            taken[r - 1, q] = time.process_time() - start
    return np.median(taken, axis=0)


def _open(segment: SegmentSets) -> Dictionary:
    path = segment.folder / "dictionary.lj"
    if not path.exists():
        partial = path.with_suffix(".partial")
        tokens = segment.array("tokens")
        offsets, data = _spell(tokens)
        hashes = np.empty(len(tokens), dtype=np.uint64)
        hash_strings(offsets, data, np.uint64(0), hashes)
        with ArrayFileWriter(Location.of(str(partial))) as out:
            write_directory(out, 0, hashes)
            write_texts(out, "text", offsets, data, np.arange(len(tokens), dtype=np.uint32))
        partial.rename(path)
    return Dictionary(ArrayFile(Location.of(str(path))))


def _texts(tokens: Array) -> pa.LargeStringArray:
    offsets, data = _spell(tokens)
    return pa.LargeStringArray.from_buffers(len(tokens), pa.py_buffer(offsets), pa.py_buffer(data))


def _spell(tokens: Array) -> tuple[Array, Array]:
    """Offsets and bytes of `v-` and eight hexadecimal digits for every token."""
    text = np.empty((len(tokens), _WIDTH), dtype=np.uint8)
    text[:, 0], text[:, 1] = ord("v"), ord("-")
    for digit in range(8):
        text[:, 2 + digit] = _HEX[(tokens >> np.uint32(28 - 4 * digit)) & np.uint32(15)]
    return np.arange(len(tokens) + 1, dtype=np.int64) * _WIDTH, text.reshape(-1)
