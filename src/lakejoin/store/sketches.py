"""The signatures of a segment's sets, partitioned by size and sorted for prefix lookup."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lakejoin.errors import InputError
from lakejoin.model import Array
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, Limits
from lakejoin.store.index_records import PERMUTATIONS

if TYPE_CHECKING:
    from lakejoin.store.segment import Segment


def optimal_uppers(sizes: Array, partitions: int) -> Array:
    """The largest size of each partition that minimizes the bound on false positives.

    The exact optimum of section 2.4.6, with at most `partitions` partitions; each distinct size
    gets its own partition if there are fewer sizes.

    >>> optimal_uppers(np.array([3, 3, 3, 3, 4, 4, 4, 4, 99, 99, 99, 100, 100, 100]), 2).tolist()
    [4, 100]
    """
    from lakejoin.kernels.minhash import find_partition_ends

    distinct, counts = np.unique(sizes, return_counts=True)
    if len(distinct) <= partitions:
        return distinct
    ends = np.full(partitions, -1, dtype=np.int64)
    find_partition_ends(distinct.astype(np.int64), counts.astype(np.int64), partitions, ends)
    return distinct[np.sort(ends[ends >= 0])]


SCHEMES = {"permutations": 0, "one-permutation": 1, "fast": 2}  # as in kernels.sketching
MOST_PARTITIONS = 64
_SLICE = 1 << 14


@dataclass(frozen=True, slots=True)
class SketchOptions:
    """How signatures are computed: `permutations` entries each, a power of two from 16 to 256.

    >>> SketchOptions(permutations=100)
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: permutations must be a power of two from 16 to 256, not 100
    """

    permutations: int = PERMUTATIONS
    partitions: int = 16
    scheme: str = "fast"

    def __post_init__(self) -> None:
        m = self.permutations
        if not isinstance(m, int) or not 16 <= m <= 256 or m & (m - 1):
            raise InputError(f"permutations must be a power of two from 16 to 256, not {m!r}")
        if not 1 <= self.partitions <= MOST_PARTITIONS:
            raise InputError(f"partitions must be 1 to {MOST_PARTITIONS}, not {self.partitions}")
        if self.scheme not in SCHEMES:
            raise InputError(f"unknown scheme {self.scheme!r}; use one of {', '.join(SCHEMES)}")


@dataclass(frozen=True, slots=True)
class SketchComponent:
    options: SketchOptions = field(default_factory=SketchOptions)
    name: ClassVar[str] = "sketches"
    version: ClassVar[int] = 2
    made_with: ClassVar[str] = ""

    def build(self, source: Segment, out: ArrayFileWriter) -> None:
        """Write the signatures of every searched column that has a value."""
        from lakejoin.kernels.minhash import sketch_groups

        group_start, set_start, groups = source.group_sets()
        weight = np.diff(group_start.astype(np.int64))
        before = np.concatenate(([0], np.cumsum(weight[groups])))
        sizes = before[set_start[1:]] - before[set_start[:-1]]
        columns = np.flatnonzero(sizes)
        signature = np.empty((len(columns), self.options.permutations), dtype=np.uint32)
        sketch_groups(
            columns,
            set_start,
            groups,
            group_start.astype(np.int64),
            source.dictionary.hashes(),
            SCHEMES[self.options.scheme],
            signature,
        )
        write_sketches(out, signature, sizes[columns], columns, self.options)


def write_sketches(
    out: ArrayFileWriter, signature: Array, sizes: Array, columns: Array, options: SketchOptions
) -> None:
    from lakejoin.kernels.lsh_forest import (
        ForestShape,
        build_forest,
        compute_row_keys,
        mark_equal_rows,
    )

    keys = np.empty(len(columns), dtype=np.uint64)
    compute_row_keys(signature, sizes, keys)
    order = np.argsort(keys)
    same = np.zeros(len(order), dtype=bool)
    mark_equal_rows(signature, order, same)
    same[1:] &= np.diff(sizes[order]) == 0
    member_start = np.append(np.flatnonzero(~same), len(order))
    row = order[member_start[:-1]]
    size = sizes[row]
    upper = optimal_uppers(sizes, options.partitions)
    start = np.concatenate(([0], np.searchsorted(size, upper, side="right")))
    out.meta.update(permutations=options.permutations, scheme=options.scheme)
    out.meta.update(partitioning="optimal")
    out.add("upper", upper.astype(np.uint32))
    out.add("start", start.astype(np.uint32))
    out.add("size", size.astype(np.uint32))
    out.add("member_start", member_start.astype(np.uint32))
    out.add("member", columns[order].astype(np.uint32))
    out.begin("signature", np.dtype(np.uint32))
    for begin in range(0, len(row), _SLICE):
        out.append(signature[row[begin : begin + _SLICE]])
    partition = np.repeat(np.arange(len(upper), dtype=np.uint8), np.diff(start))
    shape = ForestShape.of(len(row), len(upper))
    buckets = np.empty((options.permutations, shape.buckets + 1), dtype=np.uint32)
    out.begin("word", np.dtype(np.uint32))
    for entry, (word, bucket) in enumerate(build_forest(signature, row, partition, shape)):
        out.append(word)
        buckets[entry] = bucket
    out.add("bucket", buckets.reshape(-1))


@dataclass(frozen=True, slots=True, eq=False)
class SketchHits:
    """The columns that a lookup returned.

    The rows of `numbers` are the segment index, the column, its size, the estimated number of query
    values in it, and the standard error of the estimate. `classes` were looked up, `remaining`
    remained, and about `bytes` were read.
    """

    numbers: Array
    classes: int = 0
    remaining: int = 0
    bytes: int = 0

    def without(self, columns: Array) -> SketchHits:
        return replace(self, numbers=self.numbers[:, ~np.isin(self.numbers[1], columns)])


NO_HITS = SketchHits(np.zeros((5, 0)))


class Sketches:
    """The opened signatures of a segment with this many `columns`; None: not known."""

    def __init__(self, file: ArrayFile, columns: int | None = None) -> None:
        from lakejoin.kernels.lsh_forest import ForestShape
        from lakejoin.kernels.lsh_forest_search import pack_forest, search_forest

        self._file = file
        file.require(file.meta.get("permutations") in (16, 32, 64, 128, 256))
        file.require(file.meta.get("scheme") in SCHEMES)
        self.permutations = int(file.meta["permutations"])
        self.scheme: str = file.meta["scheme"]
        self.upper = file.array("upper", None, "u4").all().astype(np.int64)
        self.uppers = tuple(self.upper.tolist())
        file.require(len(self.upper) <= MOST_PARTITIONS)
        signature, word, bucket = (
            file.array(n, None, "u4") for n in ("signature", "word", "bucket")
        )
        sizes = file.array("size", None, "u4")
        members = file.array("member", None if columns is None else Limits(columns), "u4")
        in_members = Limits(len(members) + 1, ascend=True)
        self.classes = len(sizes)
        self._arrays = {
            "words": word.raw,
            "buckets": bucket.raw,
            "signatures": signature.raw,
            "sizes": sizes.all(),
            "members": members.all(),
            "member_start": file.array("member_start", in_members, "u4").all().astype(np.int64),
            "starts": file.array("start", Limits(self.classes + 1, ascend=True), "u4")
            .all()
            .astype(np.int64),
            "uppers": self.upper,
            "checked": file.verified,
        }
        file.require(len(self._arrays["member_start"]) == self.classes + 1)
        file.require(len(self._arrays["starts"]) == len(self.upper) + 1)
        shape = ForestShape.of(self.classes, len(self.upper))
        expected = self.permutations * np.array([self.classes, shape.buckets + 1, self.classes])
        if [len(word), len(bucket), len(signature)] != expected.tolist():
            raise self._file.inconsistency()
        self._handed_over = pack_forest(
            shape.as_tuple(),
            (word.offset, bucket.offset, signature.offset),
            self.permutations,
            self.scheme != "one-permutation",
            **self._arrays,
        )
        self._find = search_forest

    def __len__(self) -> int:
        return len(self._arrays["members"])

    def find(
        self,
        segment: int,
        signature: Array,
        bands: Array,
        query_size: int,
        needed: float,
        limit: float,
    ) -> SketchHits:
        """Find the columns that share a band of their partition with a signature.

        Partition p is searched with `bands[0, p]` bands of `bands[1, p]` entries. Drops sets
        smaller than `needed`, and sets whose signature agrees more than `limit` standard deviations
        less than expected for that many shared values. The index of the `segment` is passed
        through.
        """
        pending = np.zeros(self._file.blocks, dtype=np.uint8)
        numbers, classes, remaining, read, noted = self._find(
            self._handed_over, segment, signature, bands, query_size, needed, limit, pending
        )
        if noted:
            self._file.check_marked(pending)
        if classes < 0:
            raise self._file.inconsistency()
        return SketchHits(numbers, classes, remaining, 4 * (read + classes * self.permutations))
