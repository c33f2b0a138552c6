"""Texts by number in an array file: written in one pass, read by any set of numbers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

_SLICE = 1 << 20  # texts gathered at once while writing: whole blocks
_SCANNED = 1 << 24  # bytes looked through between two looks at the clock


def write_texts(out: ArrayFileWriter, name: str, offsets: Array, data: Array, order: Array) -> None:
    """Writes strings `order` of an (offsets, data) pair as the texts 0, 1, 2, … called `name`."""
    from lakejoin.kernels.pool import BLOCK, LONG, gather_strings

    length = np.empty(len(order), dtype=np.uint32)
    block = np.empty(-(-len(order) // BLOCK), dtype=np.int64)
    out.begin(f"{name}.bytes", np.dtype(np.uint8))
    end = 0
    for begin in range(0, len(order), _SLICE):
        ids = order[begin : begin + _SLICE]
        place = np.zeros(len(ids) + 1, dtype=np.int64)
        np.subtract(offsets[ids.astype(np.int64) + 1], offsets[ids], out=place[1:])
        length[begin : begin + len(ids)] = place[1:]
        np.cumsum(place, out=place)
        text = np.empty(int(place[-1]), dtype=np.uint8)
        gather_strings(offsets, data, ids, place, text)
        out.append(text)
        starts = place[:-1:BLOCK] + end
        block[begin // BLOCK : begin // BLOCK + len(starts)] = starts
        end += int(place[-1])
    out.add(f"{name}.block", block)
    long_id = np.flatnonzero(length >= LONG)
    out.add(f"{name}.length", np.minimum(length, LONG).astype(np.uint8))
    out.add(f"{name}.long_id", long_id.astype(np.uint32))
    out.add(f"{name}.long_length", length[long_id])


class Texts:
    """The texts called `name` of a file."""

    def __init__(self, file: ArrayFile, name: str) -> None:
        self._bytes = file.array(f"{name}.bytes")
        self._block = file.array(f"{name}.block")
        self._length = file.array(f"{name}.length")
        self._long_id = file.array(f"{name}.long_id")
        self._long_length = file.array(f"{name}.long_length")

    def __len__(self) -> int:
        return len(self._length)

    def spans(self, ids: Array) -> Array:
        """Where the bytes of each text lie in `bytes`: rows of (begin, end)."""
        from lakejoin.kernels.pool import BLOCK, spans

        out = np.empty((len(ids), 2), dtype=np.int64)
        places = np.asarray(ids, dtype=np.int64)
        block = places // BLOCK
        spans(
            self._length.touch(block * BLOCK, places + 1),
            self._block.touch(block, block + 1),
            self._long_id.all(),
            self._long_length.all(),
            places,
            out,
        )
        return out

    def bytes_at(self, span: Array) -> Array:
        """The byte array, with the given spans checked."""
        return self._bytes.touch(span[:, 0], span[:, 1])

    def take(self, ids: Array) -> pa.LargeStringArray:
        """The texts of many numbers, as an Arrow array."""
        import pyarrow as pa

        from lakejoin.kernels.pool import gather

        span = self.spans(ids)
        place = np.zeros(len(ids) + 1, dtype=np.int64)
        np.cumsum(span[:, 1] - span[:, 0], out=place[1:])
        text = np.empty(int(place[-1]), dtype=np.uint8)
        gather(self.bytes_at(span), span, place, text)
        return pa.LargeStringArray.from_buffers(len(ids), pa.py_buffer(place), pa.py_buffer(text))

    def holding(self, wanted: bytes, seconds: float) -> Iterator[int | None]:
        """The numbers of the texts in which some bytes stand, ascending; None at the end if that is
        not all, because the time is up."""
        from lakejoin.kernels.pool import BLOCK

        until = time.monotonic() + seconds
        data, starts = self._bytes.all(), self._block.all()
        last = -1
        for begin in range(0, len(data), _SCANNED):
            if time.monotonic() > until:
                yield None
                return
            part = data[begin : begin + _SCANNED + len(wanted) - 1].tobytes()
            found = part.find(wanted)
            while found >= 0:
                at = begin + found
                block = int(np.searchsorted(starts, at, side="right")) - 1
                ids = np.arange(block * BLOCK, min((block + 1) * BLOCK, len(self)))
                span = self.spans(ids)
                place = int(np.searchsorted(span[:, 1], at, side="right"))
                # Texts lie one behind the other: bytes of two of them are none of either's.
                if at + len(wanted) <= span[place, 1] and ids[place] > last:
                    last = int(ids[place])
                    yield last
                found = part.find(wanted, found + 1)
