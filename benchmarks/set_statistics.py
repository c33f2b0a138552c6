"""What the sets of a generated lake are like, measured segment by segment; see the thesis's tables.

Token numbers are sparse, so nothing here has an entry for every possible one: the tokens are gone
through in parts, by the top bits of their hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numba import njit

from lakejoin.model import Array

PARTS = 16
THESIS = {
    "open-data": (1_540, 0.49, 0.98, 0.016, 12),
    "web-table": (10, 0.11, 0.83, 0.25, 0.28),
}


@dataclass(frozen=True, slots=True)
class SetStatistics:
    """The figures of the thesis's Tables 3.1 and 3.2, and how the lake is split."""

    sets: int
    max_size: int
    avg_size: float
    tokens: int
    pairs: int
    groups: int
    shared: float
    max_frequency: int
    segments: int
    segment_groups: int  # distinct lists, summed over the segments

    def ratios(self) -> dict[str, float]:
        """The ratios that the thesis gives for the real lakes."""
        return {
            "average set size": self.avg_size,
            "tokens per pair": self.tokens / self.pairs,
            "tokens sharing their list": self.shared,
            "distinct lists per token": self.groups / self.tokens,
            "distinct lists per set": self.groups / self.sets,
        }

    def describe(self, kind: str) -> str:
        """The figures beside the thesis's, as lines."""
        lines = [
            f"{self.sets:,} sets, {self.pairs:,} pairs, {self.tokens:,} tokens, "
            f"{self.groups:,} distinct lists ({self.segment_groups:,} in {self.segments} "
            f"segments), largest set {self.max_size:,}, longest list {self.max_frequency:,}"
        ]
        thesis = [f"   thesis {value:,}" for value in THESIS[kind]] if kind in THESIS else [""] * 5
        for (name, value), known in zip(self.ratios().items(), thesis, strict=True):
            lines.append(f"  {name:28} {value:10,.3f}{known}")
        return "\n".join(lines)


class Segment(Protocol):
    """A segment's arrays by name: `tokens`, `group_start`, `list_start`, `list_columns` ..."""

    def array(self, name: str) -> Array:
        """One of them."""


def measure(segments: Sequence[Segment], base: Sequence[int]) -> SetStatistics:
    """Counts a lake; `base[s]` is the lake-wide number of the first column of segment s."""
    size = np.concatenate([one.array("set_size") for one in segments])
    size = size[size > 0]
    by_group = [
        _digests(one.array("list_start"), one.array("list_columns"), first)
        for one, first in zip(segments, base, strict=True)
    ]
    lists, most = [], 0
    for part in range(PARTS):
        found = [
            _of_part(
                one.array("group_start"), one.array("list_start"), digest, one.array("tokens"), part
            )
            for one, digest in zip(segments, by_group, strict=True)
        ]
        token, length, digest = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.argsort(token)
        edge = np.flatnonzero(np.diff(token[order], prepend=np.uint32(0xFFFFFFFF)))
        lists.append(np.add.reduceat(digest[order], edge))
        most = max(most, int(np.add.reduceat(length[order], edge).max()))
    every = np.sort(np.concatenate(lists))
    edge = np.flatnonzero(every[1:] != every[:-1])
    members = np.diff(np.concatenate(([-1], edge, [len(every) - 1])))
    pairs = int(size.sum())
    return SetStatistics(
        sets=len(size),
        max_size=int(size.max()),
        avg_size=pairs / len(size),
        tokens=len(every),
        pairs=pairs,
        groups=len(members),
        shared=float(members[members > 1].sum() / len(every)),
        max_frequency=most,
        segments=len(segments),
        segment_groups=sum(len(digest) for digest in by_group),
    )


@njit(cache=True)
def mix(key: Any, seed: Any) -> Any:
    """Scatters an integer over 64 bits: the finaliser of SplitMix64, as `lakes` has it."""
    x = key + np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True)
def hash_of(token: Any) -> Any:
    """The hash that stands for a value."""
    return mix(np.uint64(token), 7)


@njit(cache=True)
def hashes_of(token: Array) -> Array:
    """The hash of every token."""
    out = np.empty(token.shape[0], dtype=np.uint64)
    for i in range(token.shape[0]):
        out[i] = hash_of(token[i])
    return out


@njit(cache=True)
def in_part(token: Any, part: int) -> bool:
    """Whether a token's hash begins with the bits of a part."""
    return np.int64(hash_of(token) >> np.uint64(60)) == part


@njit(cache=True)
def _digests(start: Array, columns: Array, base: int) -> Array:
    """Of each group: a sum over the columns of its list that tells lists apart."""
    digest = np.zeros(start.shape[0] - 1, dtype=np.uint64)
    for g in range(start.shape[0] - 1):
        for i in range(start[g], start[g + 1]):
            digest[g] += mix(np.uint64(base + columns[i]), 11)
    return digest


@njit(cache=True)
def _of_part(
    group_start: Array, list_start: Array, digest: Array, token: Array, part: int
) -> tuple[Array, Array, Array]:
    """(token, length of its list, digest) of the tokens of a segment that fall into a part."""
    n = 0
    for g in range(group_start.shape[0] - 1):
        if list_start[g + 1] > list_start[g]:  # not so for values in no searched column
            for code in range(group_start[g], group_start[g + 1]):
                n += in_part(token[code], part)
    out = np.empty(n, dtype=np.uint32), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.uint64)
    n = 0
    for g in range(group_start.shape[0] - 1):
        for code in range(group_start[g], group_start[g + 1]):
            if list_start[g + 1] > list_start[g] and in_part(token[code], part):
                out[0][n], out[2][n] = token[code], digest[g]
                out[1][n] = list_start[g + 1] - list_start[g]
                n += 1
    return out
