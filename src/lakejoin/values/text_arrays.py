"""Arrow text arrays as flat buffers, and the table that assigns ids to distinct texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from lakejoin.model import Array

_NO_BYTES = np.zeros(0, np.uint8)
_NO_BYTES.flags.writeable = False
_FIRST_SIZE = 256
_FIRST_BYTES = 4096
_FEW = 1 << 18


class TextBuffers(NamedTuple):
    """The buffers of an Arrow text array, as the kernels read them."""

    offsets: Array
    data: Array
    validity: Array
    validity_offset: int


def text_buffers(array: pa.Array) -> TextBuffers:
    """The buffers of a string or large_string array, without copying its text."""
    bitmap, offsets, data = array.buffers()
    width = np.int64 if pa.types.is_large_string(array.type) else np.int32
    rows = len(array)
    if offsets is None or rows == 0:
        return TextBuffers(read_only(np.zeros(rows + 1, np.int64)), _NO_BYTES, _NO_BYTES, 0)
    flat = np.frombuffer(offsets, width)[array.offset : array.offset + rows + 1]
    return TextBuffers(
        read_only(flat.astype(np.int64, copy=False)),
        _NO_BYTES if data is None else read_only(np.frombuffer(data, np.uint8)),
        _NO_BYTES if array.null_count == 0 else read_only(np.frombuffer(bitmap, np.uint8)),
        array.offset,
    )


def read_only(array: Array) -> Array:
    """A read-only view. All kernel inputs are read-only, since each other type compiles again."""
    view = array.view()
    view.flags.writeable = False
    return view


def text_array(offsets: Array, data: Array, valid: Array | None = None) -> pa.LargeStringArray:
    """An Arrow array over these offsets and bytes; `valid` is false for nulls."""
    rows = len(offsets) - 1
    bitmap = None
    if valid is not None and not valid.all():
        bitmap = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.LargeStringArray.from_buffers(
        rows, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(data), bitmap
    )


class TextTable:
    """Assign ids to texts by first appearance, chunk by chunk.

    Stores each distinct text once: its bytes plus 32 to 48 bytes (up to 80 in a small table);
    while growing, old and new arrays briefly exist together.

    >>> import pyarrow as pa
    >>> table = TextTable()
    >>> table.add(pa.array(["b", "a", None, "b"])).tolist()
    [0, 1, 4294967295, 0]
    >>> table.add(pa.array(["c", "a"])).tolist(), table.texts().to_pylist()
    ([2, 1], ['b', 'a', 'c'])
    """

    def __init__(self, expected: int = 0, expected_bytes: int = 0) -> None:
        size = max(_FIRST_SIZE, 1 << max(expected - 1, 0).bit_length())
        self.count = 0
        self._slots = np.zeros(2 * size, np.uint64)
        self._hashes = np.empty(size, np.uint64)
        self._offsets = np.zeros(size + 1, np.int64)
        self._data = np.empty(max(_FIRST_BYTES, expected_bytes), np.uint8)

    def add(self, array: pa.Array) -> Array:
        """The id of each text, `0xFFFFFFFF` for a null; new texts are added."""
        from lakejoin.kernels.text_tables import index_texts

        ids = np.empty(len(array), np.uint32)
        buffers = text_buffers(array)
        row = 0
        while True:
            row, self.count = index_texts(
                *buffers, row, self._slots, self._hashes, self._offsets, self._data, self.count,
                ids,
            )  # fmt: skip
            if row == len(ids):
                return ids
            if self.count == len(self._hashes):
                self._grow_slots()
            else:
                self._grow_data(int(buffers.offsets[row + 1] - buffers.offsets[row]))

    def texts(self) -> pa.LargeStringArray:
        """The distinct texts in order; nothing may be added while they are in use."""
        used = self._offsets[self.count]
        return text_array(self._offsets[: self.count + 1], self._data[:used])

    def _grow_slots(self) -> None:
        from lakejoin.kernels.text_tables import fill_slots

        size = self.count * (4 if self.count < _FEW else 2)
        self._hashes = _grown(self._hashes, self.count, size)
        self._offsets = _grown(self._offsets, self.count + 1, size + 1)
        self._slots = np.zeros(2 * size, np.uint64)
        fill_slots(self._hashes, self.count, self._slots)

    def _grow_data(self, needed: int) -> None:
        used = int(self._offsets[self.count])
        self._data = _grown(self._data, used, max(2 * len(self._data), used + needed))


def _grown(array: Array, used: int, size: int) -> Array:
    larger = np.empty(size, array.dtype)
    larger[:used] = array[:used]
    return larger
