"""Texts by id in an array file: written in one pass, read by any ids."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

_WRITTEN = 1 << 20  # texts gathered at once while writing: whole blocks
_SCANNED = 1 << 24  # bytes searched between two checks of the clock


def write_texts(out: ArrayFileWriter, name: str, offsets: Array, data: Array, order: Array) -> None:
    """Write the strings `order` of (offsets, data) as the texts 0, 1, 2, … called `name`."""
    from lakejoin.kernels.pool import BLOCK_TEXTS, LONG_TEXT, copy_strings

    length = np.empty(len(order), dtype=np.uint32)
    block = np.empty(-(-len(order) // BLOCK_TEXTS), dtype=np.int64)
    out.begin(f"{name}.bytes", np.dtype(np.uint8))
    end = 0
    for begin in range(0, len(order), _WRITTEN):
        ids = order[begin : begin + _WRITTEN]
        position = np.zeros(len(ids) + 1, dtype=np.int64)
        np.subtract(offsets[ids.astype(np.int64) + 1], offsets[ids], out=position[1:])
        length[begin : begin + len(ids)] = position[1:]
        np.cumsum(position, out=position)
        text = np.empty(int(position[-1]), dtype=np.uint8)
        copy_strings(offsets, data, ids, position, text)
        out.append(text)
        starts = position[:-1:BLOCK_TEXTS] + end
        block[begin // BLOCK_TEXTS : begin // BLOCK_TEXTS + len(starts)] = starts
        end += int(position[-1])
    out.add(f"{name}.block", block)
    long_id = np.flatnonzero(length >= LONG_TEXT)
    out.add(f"{name}.length", np.minimum(length, LONG_TEXT).astype(np.uint8))
    out.add(f"{name}.long_id", long_id.astype(np.uint32))
    out.add(f"{name}.long_length", length[long_id])


class Texts:
    """The texts called `name` in a file."""

    def __init__(self, file: ArrayFile, name: str) -> None:
        self._bytes = file.array(f"{name}.bytes")
        self._block = file.array(f"{name}.block")
        self._length = file.array(f"{name}.length")
        self._long_id = file.array(f"{name}.long_id")
        self._long_length = file.array(f"{name}.long_length")

    def __len__(self) -> int:
        return len(self._length)

    def spans(self, ids: Array) -> Array:
        """Where each text lies in the byte array: rows of (begin, end)."""
        from lakejoin.kernels.pool import BLOCK_TEXTS, find_text_spans

        out = np.empty((len(ids), 2), dtype=np.int64)
        ids = np.asarray(ids, dtype=np.int64)
        block = ids // BLOCK_TEXTS
        find_text_spans(
            self._length.touch(block * BLOCK_TEXTS, ids + 1),
            self._block.touch(block, block + 1),
            self._long_id.all(),
            self._long_length.all(),
            ids,
            out,
        )
        return out

    def bytes_at(self, span: Array) -> Array:
        """The byte array, with these spans checked."""
        return self._bytes.touch(span[:, 0], span[:, 1])

    def take(self, ids: Array) -> pa.LargeStringArray:
        """The texts with these ids, as an Arrow array."""
        import pyarrow as pa

        from lakejoin.kernels.pool import copy_texts

        span = self.spans(ids)
        offset = np.zeros(len(ids) + 1, dtype=np.int64)
        np.cumsum(span[:, 1] - span[:, 0], out=offset[1:])
        text = np.empty(int(offset[-1]), dtype=np.uint8)
        copy_texts(self.bytes_at(span), span, offset, text)
        return pa.LargeStringArray.from_buffers(len(ids), pa.py_buffer(offset), pa.py_buffer(text))

    def holding(self, wanted: bytes, seconds: float) -> Iterator[int | None]:
        """The ids of the texts that contain some bytes, ascending; ends with None if the time is up
        before all texts were searched."""
        from lakejoin.kernels.pool import BLOCK_TEXTS

        until = time.monotonic() + seconds
        data, starts = self._bytes.all(), self._block.all()
        last = -1
        for begin in range(0, len(data), _SCANNED):
            if time.monotonic() > until:
                yield None
                return
            window = data[begin : begin + _SCANNED + len(wanted) - 1].tobytes()
            offset = window.find(wanted)
            while offset >= 0:
                at = begin + offset
                block = int(np.searchsorted(starts, at, side="right")) - 1
                ids = np.arange(block * BLOCK_TEXTS, min((block + 1) * BLOCK_TEXTS, len(self)))
                span = self.spans(ids)
                nth = int(np.searchsorted(span[:, 1], at, side="right"))
                # The texts are contiguous: a match across two of them does not count.
                if at + len(wanted) <= span[nth, 1] and ids[nth] > last:
                    last = int(ids[nth])
                    yield last
                offset = window.find(wanted, offset + 1)
