"""The mapped points of a segment, for compiled code: the same bytes in each of the narrow forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from lakejoin.store.points import PointSets

Array = np.ndarray[Any, Any]

_WIDTH = np.array([1, 2, 4, 4, 8], dtype=np.int64)


class Pool(NamedTuple):
    """The bytes as numbers of each form (`store/pointforms.py`), and for every set where it begins,
    counted in numbers of its form, its form, its divisor and how many points it has."""

    bytes_: Array
    shorts: Array
    words: Array
    floats: Array
    doubles: Array
    begin: Array
    form: Array
    divisor: Array
    size: Array


def pool_of(sets: PointSets, which: Array) -> Pool:
    """The points of some sets, verified."""
    width = _WIDTH[sets.forms]
    begin = sets.starts[which]
    raw = sets.pool.touch(begin, begin + (sets.sizes * sets.dimensions * width)[which])
    return Pool(
        raw.view(np.int8),
        raw.view(np.int16),
        raw.view(np.int32),
        raw.view(np.float32),
        raw.view(np.float64),
        sets.starts // width,
        sets.forms,
        10.0**sets.powers,
        sets.sizes,
    )


@njit
def _decode(raw: Array, begin: int, count: int, divisor: float, out: Array) -> None:
    if divisor == 1.0:
        for i in range(count):
            out[i] = np.float64(raw[begin + i])
    else:
        for i in range(count):
            out[i] = np.float64(raw[begin + i]) / divisor


@njit
def decode(pool: Pool, s: int, begin: int, count: int, out: Array) -> None:
    """Writes numbers [begin, begin + count) of a set, as float64."""
    at = pool.begin[s] + begin
    form = pool.form[s]
    divisor = pool.divisor[s]
    if form == 0:
        _decode(pool.bytes_, at, count, divisor, out)
    elif form == 1:
        _decode(pool.shorts, at, count, divisor, out)
    elif form == 2:
        _decode(pool.words, at, count, divisor, out)
    elif form == 3:
        _decode(pool.floats, at, count, divisor, out)
    else:
        _decode(pool.doubles, at, count, divisor, out)
