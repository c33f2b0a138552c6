"""Match each left text with the right text nearest in meaning: by the match rule, or within a tau.

Every distinct text is encoded once, and all pairs of vectors are multiplied in float32 blocks: n
times m products, with memory for one block. The nearest candidates are measured again in float64,
so that rounding does not decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.encoders import open_encoder
from lakejoin.engines.meaning.match_rule import SURE, Calibration, MatchTexts, match_column
from lakejoin.errors import InputError
from lakejoin.joins.nearest.nearest_rows import RowDistances
from lakejoin.joins.options import TAU
from lakejoin.joins.row_keys import KeyColumn, find_first_rows
from lakejoin.model import Array
from lakejoin.values.column_encoder import encode_query

_LARGEST = 2.0  # of two vectors of length 1
_SLACK = 1e-8  # unit vectors in float32 are this much too long or short
_LEFT_BLOCK, _RIGHT_BLOCK = 1 << 10, 1 << 13  # vectors in a block
_ROUNDING = 1e-5  # above the error of a product of float32 vectors of length 1
_MOST_OPEN = 1 << 20


def find_nearest_meanings(
    left: pa.Array | pa.ChunkedArray,
    right: pa.Array | pa.ChunkedArray,
    tau: float = TAU,
    encoder: Any = None,
    one_to_one: bool = False,
) -> RowDistances:
    """Match each left row with the first right row nearest in meaning, within `tau`.

    `tau` and the distances are shares of the largest distance. `encoder` is anything that
    `lakejoin.encoders.open_encoder` takes. An equal value is always the nearest. With
    `one_to_one`, texts match only if each is the other's nearest.

    >>> left, right = pa.array(["mississippi", "x"]), pa.array(["ohio", "missisippi"])
    >>> near = find_nearest_meanings(left, right, encoder="characters")
    >>> near.left_rows.tolist(), near.right_rows.tolist()
    ([0], [1])
    """
    if not 0.0 <= tau <= 1.0:
        raise InputError(f"tau must be between 0 and 1, not {tau}")
    left_texts, right_texts = _Texts.of(left), _Texts.of(right)
    opened = open_encoder(encoder)
    a, b = (
        np.asarray(opened.encode(side.tokens), np.float32) for side in (left_texts, right_texts)
    )
    same = _same(left_texts.tokens, right_texts.tokens)
    nearest, distance = _nearest(a, b, same, right_texts.first)
    if one_to_one:
        back = np.full(len(b), -1, np.int64)
        back[same[same >= 0]] = np.flatnonzero(same >= 0)
        returned, _ = _nearest(b, a, back, left_texts.first)
        paired = nearest >= 0
        paired[paired] = returned[nearest[paired]] == np.flatnonzero(paired)
        nearest = np.where(paired, nearest, -1)
    near = (nearest >= 0) & (distance <= tau * _LARGEST + _SLACK)
    rows = np.flatnonzero(left_texts.rows >= 0)
    rows = rows[near[left_texts.rows[rows]]]
    texts = left_texts.rows[rows]
    return RowDistances(rows, right_texts.first[nearest[texts]], distance[texts] / _LARGEST)


def find_meaning_matches(
    left: pa.Array | pa.ChunkedArray,
    right: pa.Array | pa.ChunkedArray,
    sure: float = SURE,
    encoder: Any = None,
) -> RowDistances:
    """Match left rows with the first right row that has the match of their text, by the match rule
    (`engines/meaning/match_rule.py`), if the chance that it is right is at least `sure`.

    Texts are each other's nearest, so a text has at most one match on either side. An equal value
    is always the match.

    >>> left = pa.array(["Tuesday", "car", "flight a320"])
    >>> right = pa.array(["Monday", "Tuesday", "automobile", "flight a321"])
    >>> found = find_meaning_matches(left, right, 0.5)
    >>> found.left_rows.tolist(), found.right_rows.tolist()
    ([0, 1], [1, 2])
    """
    left_texts, right_texts = _Texts.of(left), _Texts.of(right)
    opened = open_encoder(encoder)
    tokens = [side.tokens for side in (left_texts, right_texts)]
    calibration = Calibration.of(opened, pa.concat_arrays(tokens))
    vectors = [np.asarray(opened.encode(own), np.float32) for own in tokens]
    mine, theirs = (MatchTexts.of(calibration, *side) for side in zip(vectors, tokens, strict=True))
    matches = match_column(calibration, mine, theirs, _same(*tokens))
    rows = np.flatnonzero(left_texts.rows >= 0)
    rows = rows[matches.chance[left_texts.rows[rows]] >= sure]
    texts = left_texts.rows[rows]
    partner = matches.partner[texts]
    every = np.arange(len(texts))
    distance = _distances(vectors[0][texts], vectors[1][partner], every, every)
    return RowDistances(
        rows, right_texts.first[partner], distance / _LARGEST, chance=matches.chance[texts]
    )


@dataclass(frozen=True, eq=False)
class _Texts:
    """The distinct texts of a column, the text of each row (-1 for null), and its first row."""

    tokens: pa.LargeStringArray
    rows: Array
    first: Array

    @staticmethod
    def of(column: pa.Array | pa.ChunkedArray) -> _Texts:
        data = encode_query(column)
        rows = KeyColumn(data).codes
        return _Texts(data.tokens, rows, find_first_rows(rows, len(data.tokens))[:-1])


def _same(left: pa.LargeStringArray, right: pa.LargeStringArray) -> Array:
    """The position of each left text among the right texts, -1 if missing."""
    positions = pc.index_in(left, value_set=right).fill_null(-1)
    return np.asarray(positions.to_numpy(zero_copy_only=False).astype(np.int64))


def _nearest(left: Array, right: Array, same: Array, ranks: Array) -> tuple[Array, Array]:
    """The nearest right vector of each left one, -1 for none, and its distance.

    `same` are the positions of equal texts; ties are broken by the lowest rank. A text without a
    meaning has the zero vector, and is near nothing but itself.
    """
    nearest, distance = same.copy(), np.where(same >= 0, 0.0, np.inf)
    nonzero = np.flatnonzero(right.any(axis=1))
    sought = np.flatnonzero((same < 0) & left.any(axis=1))
    if not len(nonzero):
        return nearest, distance
    for begin in range(0, len(sought), _LEFT_BLOCK):
        block = sought[begin : begin + _LEFT_BLOCK]
        left_at, right_at = _candidates(left[block], right, nonzero)
        distances = _distances(left[block], right, left_at, right_at)
        order = np.lexsort((ranks[right_at], distances, left_at))
        left_at, first = np.unique(left_at[order], return_index=True)
        nearest[block[left_at]] = right_at[order][first]
        distance[block[left_at]] = distances[order][first]
    return nearest, distance


def _candidates(left: Array, right: Array, nonzero: Array) -> tuple[Array, Array]:
    """The (left, right) positions that may be nearest, by float32 products."""
    best = np.full(len(left), -np.inf, np.float32)
    left_at, right_at, product = (
        np.zeros(0, np.int64),
        np.zeros(0, np.int64),
        np.zeros(0, np.float32),
    )
    for begin in range(0, len(nonzero), _RIGHT_BLOCK):
        some = nonzero[begin : begin + _RIGHT_BLOCK]
        products = left @ right[some].T
        best = np.maximum(best, products.max(axis=1))
        i, j = np.nonzero(products >= (best - _ROUNDING)[:, None])
        left_at, right_at = np.concatenate([left_at, i]), np.concatenate([right_at, some[j]])
        product = np.concatenate([product, products[i, j]])
        if len(left_at) > _MOST_OPEN or begin + _RIGHT_BLOCK >= len(nonzero):
            close = product >= best[left_at] - _ROUNDING
            left_at, right_at, product = left_at[close], right_at[close], product[close]
    return left_at, right_at


def _distances(left: Array, right: Array, left_at: Array, right_at: Array) -> Array:
    out = np.empty(len(left_at))
    for begin in range(0, len(left_at), _RIGHT_BLOCK):
        block = slice(begin, begin + _RIGHT_BLOCK)
        difference = left[left_at[block]].astype(np.float64) - right[right_at[block]]
        out[block] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
    return out
