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
    segments: Sequence[Segment], hash_range: int, hash_ranges: int, counted: Array
) -> Iterator[tuple[tuple[int, int], SegmentOverlap]]:
    """By pair of segments, the values that they share with a hash in this range of `hash_ranges` (a
    power of two); the matrix `counted` says for which pairs."""
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
    for segment_index in np.unique(owners).tolist():
        here = owners == segment_index
        start = segments[segment_index].postings.group_start()
        groups[here] = np.searchsorted(start, codes[here], side="right") - 1
    yield from _by_pair(token, owners, groups, counted)


def _tokens(segments: Sequence[Segment], part: int, parts: int) -> tuple[Array, Array, Array]:
    """(known bits of the hash, code, segment) of all searched values in the range."""
    known_bits = min(segment.dictionary.known_bits for segment in segments)
    keys, codes, owners = [], [], []
    for segment_index, segment in enumerate(segments):
        hashes, local_codes = segment.dictionary.hashes_in_range(part, parts, known_bits)
        searched = local_codes >= segment.postings.unsearched
        keys.append(hashes[searched])
        codes.append(local_codes[searched].astype(np.int64))
        owners.append(np.full(len(codes[-1]), segment_index))
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
    next_id = int(run[-1]) + 1
    others: dict[tuple[int, str], int] = {}
    for at in np.flatnonzero(~alike).tolist():
        value = (int(run[at]), texts[at].as_py())
        if value not in others:
            others[value] = next_id
            next_id += 1
        token[at] = others[value]
    return token, np.lexsort((owners, token))


def _texts(segments: Sequence[Segment], codes: Array, owners: Array) -> pa.LargeStringArray:
    import pyarrow as pa

    by_owner = np.argsort(owners, kind="stable")
    texts = []
    for segment_index in np.unique(owners).tolist():
        texts.append(segments[segment_index].dictionary.texts.take(codes[owners == segment_index]))
    back = np.empty(len(codes), dtype=np.int64)
    back[by_owner] = np.arange(len(codes))
    return pa.chunked_array(texts, pa.large_string()).take(pa.array(back)).combine_chunks()


def _by_pair(
    token: Array, owners: Array, groups: Array, counted: Array
) -> Iterator[tuple[tuple[int, int], SegmentOverlap]]:
    """What each pair of segments shares; tokens ascend, and within a token segments do."""
    shared = [np.zeros((4, 0), dtype=np.int64)]
    for step in range(1, len(counted)):
        here = np.flatnonzero(token[step:] == token[:-step])
        if not len(here):
            break
        left, right = owners[here], owners[here + step]
        some = counted[left, right]
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
