"""Count the values that segments share, by ranges of hashes over all segments.

Each segment has codes of its own. The directory of a dictionary is sorted by hash, so a range of
it is read without hashing anything; values with the same hash are compared by their text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.graph.column_pairs import SegmentOverlap
from lakejoin.model import Array

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.segment import Segment

MOST_HASH_RANGES = 256  # every directory knows at least eight bits of a hash


def find_overlaps(
    segments: Sequence[Segment], hash_range: int, hash_ranges: int, wanted: Array
) -> Iterator[tuple[tuple[int, int], SegmentOverlap]]:
    """By pair of segments, the values that they share in range `part` of `parts` ranges of hashes
    (a power of two); the matrix `wanted` says for which pairs."""
    keys, codes, owners = _tokens(segments, hash_range, hash_ranges)
    order = np.argsort(keys, kind="stable")  # within a hash, segments ascend
    keys, codes, owners = keys[order], codes[order], owners[order]
    some = np.zeros(len(keys), dtype=bool)
    some[1:] = keys[1:] == keys[:-1]
    some[:-1] |= some[1:]
    keys, codes, owners = keys[some], codes[some], owners[some]
    token, order = _number_values(segments, keys, codes, owners)
    token, codes, owners = token[order], codes[order], owners[order]
    groups = np.empty(len(codes), dtype=np.int64)
    for number in np.unique(owners).tolist():
        here = owners == number
        start = segments[number].postings.group_start()
        groups[here] = np.searchsorted(start, codes[here], side="right") - 1
    yield from _by_pair(token, owners, groups, wanted)


def _tokens(segments: Sequence[Segment], part: int, parts: int) -> tuple[Array, Array, Array]:
    """(known bits of the hash, code, segment) of all searched values in the range."""
    known = min(segment.dictionary.known_bits for segment in segments)
    keys, codes, owners = [], [], []
    for number, segment in enumerate(segments):
        hashes, own = segment.dictionary.hashes_in_range(part, parts, known)
        searched = own >= segment.postings.unsearched
        keys.append(hashes[searched])
        codes.append(own[searched].astype(np.int64))
        owners.append(np.full(len(codes[-1]), number))
    return np.concatenate(keys), np.concatenate(codes), np.concatenate(owners)


def _number_values(
    segments: Sequence[Segment], keys: Array, codes: Array, owners: Array
) -> tuple[Array, Array]:
    """An id for every distinct value, and the order by value, then by segment.

    Texts decide: values with the same hash almost always equal the first of them.
    """
    import pyarrow.compute as pc

    if not len(keys):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    begins = np.concatenate(([True], keys[1:] != keys[:-1]))
    run = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)[run]
    texts = _texts(segments, codes, owners)
    alike = np.asarray(pc.equal(texts, texts.take(first)))
    token = run.astype(np.int64)
    number = int(run[-1]) + 1
    others: dict[tuple[int, str], int] = {}
    for at in np.flatnonzero(~alike).tolist():
        value = (int(run[at]), texts[at].as_py())
        if value not in others:
            others[value] = number
            number += 1
        token[at] = others[value]
    return token, np.lexsort((owners, token))


def _texts(segments: Sequence[Segment], codes: Array, owners: Array) -> pa.LargeStringArray:
    import pyarrow as pa

    by_owner = np.argsort(owners, kind="stable")
    texts = []
    for number in np.unique(owners).tolist():
        texts.append(segments[number].dictionary.texts.take(codes[owners == number]))
    back = np.empty(len(codes), dtype=np.int64)
    back[by_owner] = np.arange(len(codes))
    return pa.chunked_array(texts, pa.large_string()).take(pa.array(back)).combine_chunks()


def _by_pair(
    token: Array, owners: Array, groups: Array, wanted: Array
) -> Iterator[tuple[tuple[int, int], SegmentOverlap]]:
    """What each pair of segments shares; tokens ascend, and within a token segments do."""
    shared = [np.zeros((4, 0), dtype=np.int64)]
    for step in range(1, len(wanted)):
        here = np.flatnonzero(token[step:] == token[:-step])
        if not len(here):
            break
        left, right = owners[here], owners[here + step]
        some = wanted[left, right]
        here = here[some]
        shared.append(np.stack([left[some], right[some], groups[here], groups[here + step]]))
    rows = np.concatenate(shared, axis=1)
    if not rows.shape[1]:
        return
    rows = rows[:, np.lexsort(rows[::-1])]
    begin = _changes(rows)
    count = np.diff(np.append(begin, rows.shape[1]))
    rows = rows[:, begin]
    pair = _changes(rows[:2])
    for at, end in zip(pair, np.append(pair[1:], rows.shape[1]), strict=True):
        left, right = rows[:2, at].tolist()
        yield (left, right), SegmentOverlap(rows[2, at:end], rows[3, at:end], count[at:end])


def _changes(rows: Array) -> Array:
    """Where a column of the sorted matrix differs from the one before."""
    new = np.ones(rows.shape[1], dtype=bool)
    new[1:] = (np.diff(rows, axis=1) != 0).any(axis=0)
    return np.flatnonzero(new)
