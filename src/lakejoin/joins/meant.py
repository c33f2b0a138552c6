"""Each left text with the right text that is nearest by meaning.

Every distinct text is encoded once, and every two vectors are multiplied in blocks of float32, so
the time is that of n times m products of vectors and the memory that of one block; what comes
nearest there is measured in float64, so that rounding decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.encoders import open_encoder
from lakejoin.errors import InputError
from lakejoin.joins.distances import RowDistances
from lakejoin.lake.columns import encode_query
from lakejoin.model import ColumnData, null_id

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

TAU = 0.3  # of the largest distance
_LARGEST = 2.0  # of two vectors of length 1
_WIDER = 1 + 1e-9
_MINE, _THEIRS = 1 << 10, 1 << 13  # vectors in a block
_ROUNDING = 1e-5  # more than a product of float32 vectors of length 1 can be off
_MOST_OPEN = 1 << 20


def meant_rows(
    left: pa.Array | pa.ChunkedArray,
    right: pa.Array | pa.ChunkedArray,
    tau: float = TAU,
    encoder: Any = None,
    one_to_one: bool = False,
) -> RowDistances:
    """Each left row with the first right row whose text is nearest by meaning, within `tau`.

    `tau` and the distances are shares of the largest distance. `encoder` is anything that
    `lakejoin.encoders.open_encoder` takes. The same text, as values are compared elsewhere, is the
    nearest. With `one_to_one`, texts are paired only where each is the other's nearest.

    >>> import pyarrow as pa
    >>> mine, theirs = pa.array(["mississippi", "x"]), pa.array(["ohio", "missisippi"])
    >>> found = meant_rows(mine, theirs, encoder="characters")
    >>> found.left_rows.tolist(), found.right_rows.tolist()
    ([0], [1])
    """
    if not 0.0 <= tau <= 1.0:
        raise InputError(f"tau must be a share of the largest distance between 0 and 1, not {tau}")
    mine, theirs = _Texts.of(left), _Texts.of(right)
    opened = open_encoder(encoder)
    a, b = (np.asarray(opened.encode(side.tokens), np.float32) for side in (mine, theirs))
    same = _same(mine.tokens, theirs.tokens)
    nearest, distance = _nearest(a, b, same, theirs.first)
    if one_to_one:
        back = np.full(len(b), -1, np.int64)
        back[same[same >= 0]] = np.flatnonzero(same >= 0)
        returned, _ = _nearest(b, a, back, mine.first)
        paired = nearest >= 0
        paired[paired] = returned[nearest[paired]] == np.flatnonzero(paired)
        nearest = np.where(paired, nearest, -1)
    near = (nearest >= 0) & (distance <= tau * _LARGEST * _WIDER)
    rows = np.flatnonzero(mine.rows >= 0)
    rows = rows[near[mine.rows[rows]]]
    texts = mine.rows[rows]
    return RowDistances(rows, theirs.first[nearest[texts]], distance[texts] / _LARGEST)


@dataclass(frozen=True, eq=False)
class _Texts:
    """The distinct texts of a column, which one each row holds (-1 for none), and where first."""

    tokens: pa.LargeStringArray
    rows: Array
    first: Array

    @staticmethod
    def of(column: pa.Array | pa.ChunkedArray) -> _Texts:
        data = encode_query(column)
        rows = _rows(data)
        filled = np.flatnonzero(rows >= 0)
        _, first = np.unique(rows[filled], return_index=True)
        return _Texts(data.tokens, rows, filled[first])


def _rows(data: ColumnData) -> Array:
    by_id = np.concatenate([np.arange(len(data.tokens)), data.spelling_token, [-1]])
    nulls = data.cells == null_id(data.cells.dtype)
    return np.asarray(by_id[np.where(nulls, len(by_id) - 1, data.cells)].astype(np.int64))


def _same(mine: pa.LargeStringArray, theirs: pa.LargeStringArray) -> Array:
    """The place of each of my texts among theirs, -1 where it is not there."""
    import pyarrow.compute as pc

    found = pc.index_in(mine, value_set=theirs).fill_null(-1)
    return np.asarray(found.to_numpy(zero_copy_only=False).astype(np.int64))


def _nearest(mine: Array, theirs: Array, same: Array, ranks: Array) -> tuple[Array, Array]:
    """The nearest of theirs to each of mine, -1 for none, and its distance.

    `same` are the places of equal texts; of others that are equally near, the least rank counts.
    A text without a meaning has the zero vector, and is near nothing but itself.
    """
    nearest, distance = same.copy(), np.where(same >= 0, 0.0, np.inf)
    there = np.flatnonzero(theirs.any(axis=1))
    sought = np.flatnonzero((same < 0) & mine.any(axis=1))
    if not len(there):
        return nearest, distance
    for begin in range(0, len(sought), _MINE):
        block = sought[begin : begin + _MINE]
        at, other = _candidates(mine[block], theirs, there)
        apart = _distances(mine[block], theirs, at, other)
        order = np.lexsort((ranks[other], apart, at))
        at, first = np.unique(at[order], return_index=True)
        nearest[block[at]] = other[order][first]
        distance[block[at]] = apart[order][first]
    return nearest, distance


def _candidates(mine: Array, theirs: Array, there: Array) -> tuple[Array, Array]:
    """(place in mine, place in theirs) of all that may be the nearest, as float32 products say."""
    best = np.full(len(mine), -np.inf, np.float32)
    at, other, product = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32)
    for begin in range(0, len(there), _THEIRS):
        some = there[begin : begin + _THEIRS]
        products = mine @ theirs[some].T
        best = np.maximum(best, products.max(axis=1))
        i, j = np.nonzero(products >= (best - _ROUNDING)[:, None])
        at, other = np.concatenate([at, i]), np.concatenate([other, some[j]])
        product = np.concatenate([product, products[i, j]])
        if len(at) > _MOST_OPEN or begin + _THEIRS >= len(there):
            kept = product >= best[at] - _ROUNDING
            at, other, product = at[kept], other[kept], product[kept]
    return at, other


def _distances(mine: Array, theirs: Array, at: Array, other: Array) -> Array:
    out = np.empty(len(at))
    for begin in range(0, len(at), _THEIRS):
        part = slice(begin, begin + _THEIRS)
        apart = mine[at[part]].astype(np.float64) - theirs[other[part]]
        out[part] = np.sqrt(np.einsum("ij,ij->i", apart, apart))
    return out
