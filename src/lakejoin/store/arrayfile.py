"""Reads and writes files of named flat arrays, with a checksum for every block.

Every file of a segment has this form (see docs/format.md). A file is written once, from front to
back. A reader maps it, checks its size and its footer on opening, and checks each 64 KiB block the
first time something in it is read: the data is correct or `DamagedIndex` is raised. A checksum
proves nothing about who wrote the file, so numbers that are used as positions have `Limits` too,
which are checked at the same moment.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import numpy as np
import xxhash

from lakejoin.errors import DamagedIndex, NewerIndex
from lakejoin.locations import Location, sync
from lakejoin.model import Array

if TYPE_CHECKING:
    import pyarrow as pa

MAGIC = b"LAKEJOIN"
VERSION = 1
BLOCK = 1 << 16
_ALIGN = 64
_MUCH, _FEW, _AHEAD = 8, 8, 512  # 1 block in 8 is much of a file; a small one has few blocks
_AGAIN = "run the command again"  # for a file that no index names
_TAIL = struct.Struct("<QQII8s")  # footer offset, checksum and length, version, magic
_DTYPES = ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8", "b1")


@dataclass(frozen=True, slots=True)
class Limits:
    """What holds for every element of an array: it is at least 0 and below `below`, or it is
    `other`, and not less than the element before it if they `ascend`.

    >>> Limits(5, ascend=True).hold(np.array([0, 3, 3, 4])), Limits(5).hold(np.array([7]))
    (True, False)
    """

    below: int
    ascend: bool = False
    other: int | None = None

    def hold(self, elements: Array) -> bool:
        if len(elements) == 0:
            return True
        if self.ascend:
            in_order = bool((elements[1:] >= elements[:-1]).all())
            return in_order and int(elements[0]) >= 0 and int(elements[-1]) < self.below
        if elements.dtype.kind != "u" and int(elements.min()) < 0:
            return False
        if int(elements.max()) < self.below:
            return True
        return self.other is not None and bool(
            ((elements < self.below) | (elements == self.other)).all()
        )


@dataclass(frozen=True, slots=True)
class FileRecord:
    """The size and checksum by which the manifest recognizes a file."""

    bytes: int
    checksum: str


class ArrayFileWriter:
    """Writes named arrays to one file, one after another.

    >>> import tempfile
    >>> location = Location.of(tempfile.mkdtemp()) / "x.lj"
    >>> with ArrayFileWriter(location) as out:
    ...     out.add("n", np.arange(3))
    >>> ArrayFile(location, out.record).array("n").all().tolist()
    [0, 1, 2]
    """

    def __init__(self, location: Location) -> None:
        self.record: FileRecord
        self.meta: dict[str, Any] = {}
        self._file: BinaryIO = location.create()
        self._at = 0
        self._arrays: dict[str, tuple[str, int, int]] = {}
        self._sums: list[int] = []
        self._hash = xxhash.xxh3_64()
        self._write(MAGIC + struct.pack("<II", VERSION, 0))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._finish()
        self._file.close()

    def add(self, name: str, array: Array) -> None:
        self.begin(name, array.dtype)
        self.append(array)

    def begin(self, name: str, dtype: np.dtype[Any]) -> None:
        """Start an array; its elements follow with `append`."""
        self._write(b"\0" * (-self._at % _ALIGN))
        self._open = name
        self._arrays[name] = (np.dtype(dtype).str, 0, self._at)

    def append(self, elements: Array) -> None:
        dtype, length, offset = self._arrays[self._open]
        data = np.ascontiguousarray(elements, dtype=np.dtype(dtype))
        self._arrays[self._open] = (dtype, length + data.size, offset)
        if data.size:
            self._write(data.reshape(-1).view(np.uint8).data)

    def align(self) -> int:
        """Pad the current byte array to a multiple of 8; returns its length so far."""
        dtype, length, offset = self._arrays[self._open]
        fill = -length % 8
        self._write(b"\0" * fill)
        self._arrays[self._open] = (dtype, length + fill, offset)
        return length + fill

    def _write(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        self._file.write(view)
        while view:
            room = BLOCK - self._at % BLOCK
            block = view[:room]
            self._hash.update(block)
            self._at += len(block)
            view = view[len(block) :]
            if self._at % BLOCK == 0:
                self._sums.append(self._hash.intdigest())
                self._hash.reset()

    def _finish(self) -> None:
        if self._at % BLOCK:
            self._sums.append(self._hash.intdigest())
        content = {"arrays": self._arrays, "data": self._at, "meta": self.meta}
        footer = np.array(self._sums, dtype="<u8").tobytes() + json.dumps(content).encode()
        digest = xxhash.xxh3_64_intdigest(footer)
        tail = _TAIL.pack(self._at, digest, len(footer), VERSION, MAGIC)
        self._file.write(footer + tail)
        sync(self._file)
        self.record = FileRecord(self._at + len(footer) + _TAIL.size, f"{digest:016x}")


class MissingFile(DamagedIndex):
    """A file that the manifest names is not there."""


class ArrayFile:
    """Reads what `ArrayFileWriter` wrote.

    `record` is the file's entry in the manifest; `advice` is given if it is damaged.
    """

    def __init__(
        self, location: Location, record: FileRecord | None = None, advice: str = _AGAIN
    ) -> None:
        self.location = location
        self.advice = advice
        try:
            self._state = location.file_state()
            self._data = location.map()
        except FileNotFoundError:
            raise MissingFile(f"the index is damaged: {location} is missing; {advice}") from None
        if record is not None and len(self._data) != record.bytes:
            self._damaged(f"it has {len(self._data):,} bytes and should have {record.bytes:,}")
        self._read_footer(record)

    def _read_footer(self, record: FileRecord | None) -> None:
        if len(self._data) < _TAIL.size:
            self._damaged("it is too short")
        begin, digest, length, version, magic = _TAIL.unpack(self._data[-_TAIL.size :].tobytes())
        if magic != MAGIC:
            self._damaged("it does not end like an index file")
        if version != VERSION and record is not None:
            # A manifest of this version cannot name a file of a newer one.
            self._damaged(f"it claims to be version {version}")
        if version > VERSION:
            raise NewerIndex(
                f"{self.location} was written by a newer lakejoin (file version {version}, this "
                f"one reads {VERSION}); upgrade lakejoin to open it"
            )
        if begin + length + _TAIL.size != len(self._data):
            self._damaged("its footer is not where it should be")
        footer = self._data[begin : begin + length].tobytes()
        if xxhash.xxh3_64_intdigest(footer) != digest:
            self._damaged("its footer does not match its checksum")
        if record is not None and f"{digest:016x}" != record.checksum:
            self._damaged("it is not the file named in the manifest")
        blocks = -(-begin // BLOCK)
        self._checked = np.zeros(blocks, dtype=bool)
        self.all_checked = False
        self._end = begin
        self._limits: dict[str, tuple[CheckedArray, Limits]] = {}
        try:
            self._sums = np.frombuffer(footer, dtype="<u8", count=blocks)
            content = json.loads(footer[8 * blocks :])
            self.meta: dict[str, Any] = dict(content["meta"])
            self._arrays: dict[str, tuple[str, int, int]] = {
                name: (str(dtype), int(length), int(offset))
                for name, (dtype, length, offset) in content["arrays"].items()
            }
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise self.inconsistency() from None

    def names(self) -> list[str]:
        return list(self._arrays)

    def array(self, name: str, limits: Limits | None = None, dtypes: str = "") -> CheckedArray:
        """An array, checked as it is read: its checksums, and `limits` for its elements.

        `dtypes` are the types that it may have, as in "u2 u4"; compiled code reads an array as the
        type that it expects.
        """
        dtype, length, offset = self._arrays.get(name, ("", -1, 0))
        short = dtype.lstrip("<|")
        allowed = dtypes.split() if dtypes else _DTYPES
        size = int(short[1:]) if short in allowed and short in _DTYPES else 0
        self.require(size > 0 and length >= 0 and offset >= 0 and offset % size == 0)
        self.require(offset + length * size <= self._end)
        raw = self._data[offset : offset + length * size].view(np.dtype(dtype))
        array = CheckedArray(self, np.asarray(raw), offset)
        if limits is not None:
            self._limits[name] = array, limits
            if self._checked.any():  # by another array in the same block
                first, last = offset // BLOCK, -(-(offset + length * size) // BLOCK)
                for block in (first + np.flatnonzero(self._checked[first:last])).tolist():
                    self.require(self._in_limits(block))
        return array

    def require(self, condition: bool | np.bool_) -> None:
        """Raise `DamagedIndex` unless a condition holds that every file of this kind fulfils."""
        if not condition:
            raise self.inconsistency()

    def require_valid(self, data: pa.Array | pa.Table) -> None:
        """Raise `DamagedIndex` unless Arrow data keeps Arrow's rules: offsets, texts in UTF-8."""
        try:
            data.validate(full=True)
        except ValueError:
            raise self.inconsistency() from None

    @property
    def verified(self) -> Array:
        """Which blocks have matched their checksums, one byte each; updated in place."""
        return self._checked

    def check_all(self) -> None:
        self.check_blocks(np.flatnonzero(~self._checked))

    def check_bytes(self, begin: int, end: int) -> None:
        first, last = begin // BLOCK, -(-end // BLOCK)
        if end > begin and not self._checked[first:last].all():
            self.check_blocks(first + np.flatnonzero(~self._checked[first:last]))

    def check_spans(self, begin: Array, end: Array) -> None:
        if not len(begin):
            return
        low, high = int(begin.min()) // BLOCK, -(-int(end.max()) // BLOCK)
        if self._checked[low:high].all():  # as nearly always in a process that has searched before
            return
        some = end > begin
        if not some.any():
            return
        first, last = begin[some] // BLOCK, (end[some] - 1) // BLOCK
        low, high = int(first.min()), int(last.max()) + 1
        unchecked = ~self._checked[low:high]
        if unchecked.any():  # only blocks between the first and the last matter
            depth = np.bincount(first - low, minlength=high - low)
            depth[1:] -= np.bincount(last - low, minlength=high - low)[:-1]
            self.check_blocks(low + np.flatnonzero((np.cumsum(depth) > 0) & unchecked))

    @property
    def blocks(self) -> int:
        return len(self._checked)

    def check_marked(self, marked: Array) -> None:
        """Check the blocks that compiled code has marked as read; one mark per block."""
        if marked.any():
            self.check_blocks(np.flatnonzero((marked != 0) & ~self._checked))

    def check_blocks(self, blocks: Array) -> None:
        for block in blocks.tolist():
            if not self._is_sound(block):
                begin = block * BLOCK
                end = min(begin + BLOCK, self._end)
                self._damaged(f"bytes {begin:,} to {end:,} do not match their checksum")
            self.require(self._in_limits(block))
            self._checked[block] = True
        if len(blocks) and _MUCH * np.count_nonzero(self._checked) >= self.blocks > _FEW:
            self._check_ahead()
        self.all_checked = bool(self._checked.all())

    def _in_limits(self, block: int) -> bool:
        """Whether a block, and the step from the block before, keep the limits of arrays."""
        begin, end = block * BLOCK, (block + 1) * BLOCK
        for array, limits in self._limits.values():
            size, offset = array.raw.itemsize, array.offset
            if offset < end and offset + array.raw.nbytes > begin:
                first = max(begin - offset, 0) // size - limits.ascend
                last = -(-(end - offset) // size) + limits.ascend
                if not limits.hold(array.raw[max(first, 0) : last]):
                    return False
        return True

    def _is_sound(self, block: int) -> bool:
        begin = block * BLOCK
        data = self._data[begin : min(begin + BLOCK, self._end)]
        return xxhash.xxh3_64_intdigest(data.data) == int(self._sums[block])

    def _check_ahead(self) -> None:
        """Check more blocks of a file of which much was read: in a file that is checked as a whole,
        spans need no look. A damaged block is only reported when it is read."""
        for block in np.flatnonzero(~self._checked)[:_AHEAD].tolist():
            self._checked[block] = self._is_sound(block) and self._in_limits(block)

    def check_unchanged(self) -> None:
        """Raise `DamagedIndex` if the file was changed in place since it was opened. One that was
        removed is still mapped."""
        try:
            state = self.location.file_state()
        except FileNotFoundError:
            return
        if state != self._state:
            raise DamagedIndex(
                f"{self.location} was changed while it was in use; an index must only be changed "
                f"by lakejoin: open it again, and if that fails, {self.advice}"
            )

    def inconsistency(self) -> DamagedIndex:
        """The error to raise if arrays contradict each other."""
        return DamagedIndex(f"the index is damaged: {self.location} is inconsistent; {self.advice}")

    def _damaged(self, problem: str) -> None:
        raise DamagedIndex(f"the index is damaged: {self.location}: {problem}; {self.advice}")


@dataclass(frozen=True, slots=True)
class CheckedArray:
    """An array of a file whose blocks are checked before they are returned.

    `raw` is for compiled code that chooses its own positions: call `touch` for them first.
    """

    file: ArrayFile
    raw: Array
    offset: int

    def __len__(self) -> int:
        return len(self.raw)

    def all(self) -> Array:
        return self.slice(0, len(self.raw))

    def slice(self, begin: int, end: int) -> Array:
        size = self.raw.itemsize
        self.file.check_bytes(self.offset + begin * size, self.offset + end * size)
        return self.raw[begin:end]

    def last(self) -> Any:
        """The last element; the array must have one."""
        self.file.require(len(self.raw) > 0)
        return self.slice(len(self.raw) - 1, len(self.raw))[0]

    def touch(self, begin: Array, end: Array) -> Array:
        """Check many spans of elements; returns the raw array to read them from."""
        if self.file.all_checked:
            return self.raw
        size = self.raw.itemsize
        self.file.check_spans(
            self.offset + np.asarray(begin, dtype=np.int64) * size,
            self.offset + np.asarray(end, dtype=np.int64) * size,
        )
        return self.raw

    def take(self, positions: Array) -> Array:
        if not self.file.all_checked:
            begin = np.asarray(positions, dtype=np.int64)
            self.touch(begin, begin + 1)
        return np.asarray(self.raw[positions])
