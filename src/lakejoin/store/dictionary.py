"""The dictionary of a segment, from value to code and back, and its texts by id."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.model import Array, string_buffers
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, CheckedArray, Limits

if TYPE_CHECKING:
    import pyarrow as pa


NOT_FOUND = np.uint32(0xFFFFFFFF)
_SLICE = 1 << 20


def write_directory(out: ArrayFileWriter, seed: int, hashes: Array) -> None:
    """Write the hash directory of the codes 0, 1, 2, …; their texts are written separately."""
    from lakejoin.kernels.hashes import build_directory

    out.meta["seed"] = seed
    start, tags, codes = build_directory(hashes)
    out.add("bucket", start)
    out.add("tag", tags)
    out.add("code", codes)


@dataclass(frozen=True, slots=True, eq=False)
class HashedTexts:
    """Texts to look up: the hashes of those that are not null, under a seed, and their positions,
    about by rising hash."""

    seed: int
    hashes: Array
    order: Array


def hash_texts(values: pa.LargeStringArray, seed: int) -> HashedTexts:
    """Hash texts to look them up in dictionaries of a seed."""
    from lakejoin.kernels.hashes import hash_strings
    from lakejoin.kernels.lookup_order import order_by_top_bits

    offsets, data = string_buffers(values)
    hashes = np.empty(len(values), dtype=np.uint64)
    hash_strings(offsets, data, np.uint64(seed), hashes)
    order = order_by_top_bits(hashes, 64)
    if values.null_count:
        order = order[np.asarray(values.is_valid())[order]]
    return HashedTexts(seed, hashes[order], order)


class Dictionary:
    """An opened dictionary: `find` goes from texts to codes, `texts` from codes to texts."""

    def __init__(self, file: ArrayFile) -> None:
        seed = file.meta.get("seed")
        file.require(isinstance(seed, int) and 0 <= seed < 1 << 64)
        self.seed = int(file.meta["seed"])
        self._tag = file.array("tag", None, "u4")
        tokens = len(self._tag)
        self._bucket = open_directory(file, tokens)
        self._code = file.array("code", Limits(tokens), "u4")
        self.texts = Texts(file, "text")
        file.require(len(self._code) == len(self.texts) == tokens)

    def __len__(self) -> int:
        return len(self._tag)

    def find(self, values: pa.LargeStringArray, hashed: HashedTexts | None = None) -> Array:
        """The code of each value, or `NOT_FOUND`; nulls are never found.

        Looks values up in about the order of their hashes and compares them in that of their codes,
        so that a large query reads the files sequentially. `hashed` are the same values, hashed
        before for another dictionary.
        """
        from lakejoin.kernels.hashes import find_bucket_spans, find_tags
        from lakejoin.kernels.lookup_order import order_by_top_bits
        from lakejoin.kernels.text_tables import compare_spans

        result = np.full(len(values), NOT_FOUND, dtype=np.uint32)
        if len(values) == 0 or len(self) == 0:
            return result
        if hashed is None or hashed.seed != self.seed:
            hashed = hash_texts(values, self.seed)
        order, ordered = hashed.order, hashed.hashes
        span = np.empty((len(order), 2), dtype=np.int64)
        find_bucket_spans(self._bucket.all(), ordered, span)
        tags = self._tag.touch(span[:, 0], span[:, 1])
        codes = self._code.touch(span[:, 0], span[:, 1])
        room = len(order)
        while True:
            candidates = np.empty(room, dtype=np.uint32)
            row = np.empty(room, dtype=np.int64)
            n = find_tags(span, tags, codes, ordered, candidates, row)
            if n <= room:
                break
            room = n
        if not n:  # as in most segments of a large lake
            return result
        by_code = order_by_top_bits(candidates[:n], len(self).bit_length())
        candidates, row = candidates[by_code], order[row[by_code]]
        where = self.texts.spans(candidates)
        same = np.empty(n, dtype=bool)
        offsets, data = string_buffers(values)
        compare_spans(self.texts.bytes_at(where), where, offsets, data, row, same)
        result[row[same]] = candidates[same]
        return result

    def hash(self, values: pa.LargeStringArray) -> HashedTexts:
        """Hash values, to look them up here and in other dictionaries."""
        return hash_texts(values, self.seed)

    def hashes(self) -> Array:
        """The hash of every value, under a seed shared by all dictionaries."""
        from lakejoin.kernels.hashes import hash_strings

        out = np.empty(len(self), dtype=np.uint64)
        for begin in range(0, len(self), _SLICE):
            hashes = out[begin : begin + _SLICE]
            texts = self.texts.take(np.arange(begin, begin + len(hashes)))
            offsets, data = string_buffers(texts)
            hash_strings(offsets, data, np.uint64(0), hashes)
        return out

    @property
    def known_bits(self) -> int:
        """The number of top bits of a hash that the directory holds, besides the 32 low ones."""
        return (len(self._bucket) - 2).bit_length()

    def hashes_in_range(self, range_index: int, ranges: int, bits: int) -> tuple[Array, Array]:
        """Hashes, and their codes, in one of `ranges` ranges of hashes (a power of two).

        All dictionaries use the same seed and the same bits: the top `bits`, which every dictionary
        compared must know, and the 32 low ones.
        """
        mask = np.uint64(((1 << bits) - 1) << (64 - bits) | 0xFFFFFFFF)
        width = ranges.bit_length() - 1
        if self.seed != 0:  # rare: the usual seed had a collision
            hashes = self.hashes()
            codes = (
                np.flatnonzero(hashes >> np.uint64(64 - width) == range_index)
                if width
                else (np.arange(len(hashes)))
            )
            return hashes[codes] & mask, codes.astype(np.uint32)
        start = self._bucket.all()
        known = self.known_bits
        first, last = (range_index + n << known - width for n in (0, 1))
        begin, end = int(start[first]), int(start[last])
        bucket = np.repeat(
            np.arange(first, last, dtype=np.uint64), np.diff(start[first : last + 1])
        )
        tags = self._tag.slice(begin, end).astype(np.uint64)
        return ((bucket << np.uint64(64 - known)) | tags) & mask, self._code.slice(begin, end)


def open_directory(file: ArrayFile, entries: int) -> CheckedArray:
    """The starts of the buckets of a hash directory: a power of two, and the end."""
    bucket = file.array("bucket", Limits(entries + 1, ascend=True), "u4 i8 u8")
    buckets = len(bucket) - 1
    file.require(buckets >= 1 and buckets & (buckets - 1) == 0)
    return bucket


_WRITTEN = 1 << 20  # texts gathered at once while writing: whole blocks
_SCANNED = 1 << 24  # bytes searched between two checks of the clock


def write_texts(out: ArrayFileWriter, name: str, offsets: Array, data: Array, order: Array) -> None:
    """Write the strings `order` of (offsets, data) as the texts 0, 1, 2, … called `name`."""
    from lakejoin.kernels.text_tables import BLOCK_TEXTS, LONG_TEXT, copy_strings

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
        from lakejoin.kernels.text_tables import BLOCK_TEXTS

        self._file = file
        self._bytes = file.array(f"{name}.bytes", None, "u1")
        in_bytes = Limits(len(self._bytes) + 1, ascend=True)
        self._block = file.array(f"{name}.block", in_bytes, "i8")
        self._length = file.array(f"{name}.length", None, "u1")
        ids = Limits(len(self._length), ascend=True)
        self._long_id = file.array(f"{name}.long_id", ids, "u4")
        self._long_length = file.array(f"{name}.long_length", None, "u4")
        file.require(len(self._long_id) == len(self._long_length))
        file.require(len(self._block) == -(-len(self._length) // BLOCK_TEXTS))

    def __len__(self) -> int:
        return len(self._length)

    def spans(self, ids: Array) -> Array:
        """Where each text lies in the byte array: rows of (begin, end)."""
        from lakejoin.kernels.text_tables import BLOCK_TEXTS, find_text_spans

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
        # Starts of blocks and lengths are separate arrays: only their sum can be checked.
        self._file.require(int(out[:, 1].max(initial=0)) <= len(self._bytes))
        return out

    def bytes_at(self, span: Array) -> Array:
        """The byte array, with these spans checked."""
        return self._bytes.touch(span[:, 0], span[:, 1])

    def take(self, ids: Array) -> pa.LargeStringArray:
        import pyarrow as pa

        from lakejoin.kernels.text_tables import copy_texts

        span = self.spans(ids)
        offset = np.zeros(len(ids) + 1, dtype=np.int64)
        np.cumsum(span[:, 1] - span[:, 0], out=offset[1:])
        text = np.empty(int(offset[-1]), dtype=np.uint8)
        copy_texts(self.bytes_at(span), span, offset, text)
        texts = pa.LargeStringArray.from_buffers(len(ids), pa.py_buffer(offset), pa.py_buffer(text))
        self._file.require_valid(texts)
        return texts

    def find_containing(self, needle: bytes, seconds: float) -> Iterator[int | None]:
        """The ids of the texts that contain some bytes, ascending; ends with None if the time is up
        before all texts were searched."""
        from lakejoin.kernels.text_tables import BLOCK_TEXTS

        until = time.monotonic() + seconds
        data, starts = self._bytes.all(), self._block.all()
        last = -1
        for begin in range(0, len(data), _SCANNED):
            if time.monotonic() > until:
                yield None
                return
            window = data[begin : begin + _SCANNED + len(needle) - 1].tobytes()
            offset = window.find(needle)
            while offset >= 0:
                at = begin + offset
                block = int(np.searchsorted(starts, at, side="right")) - 1
                ids = np.arange(block * BLOCK_TEXTS, min((block + 1) * BLOCK_TEXTS, len(self)))
                span = self.spans(ids)
                nth = int(np.searchsorted(span[:, 1], at, side="right"))
                # The texts are contiguous: a match across two of them does not count.
                if at + len(needle) <= span[nth, 1] and ids[nth] > last:
                    last = int(ids[nth])
                    yield last
                offset = window.find(needle, offset + 1)
