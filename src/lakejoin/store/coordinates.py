"""What a column's texts say in numbers: numbers, degrees, places or vectors.

The kind of every text is told by `kernels/points/texts.py`; here a column as a whole decides what
one text cannot. The same functions read a segment's values when it is indexed and the columns of a
question, so that both say the same. Numbers are the nearest float64 of what is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.store.dictionary import string_buffers

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

# A column is of a kind where at least this share of its distinct values is.
KIND_SHARE = 0.95
_SLICE = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """What each of some texts says: its kind (`kernels/points/texts.py`) and its first number; of a
    vector, how many numbers it has."""

    kinds: Array
    values: Array

    def __len__(self) -> int:
        return len(self.kinds)

    def take(self, which: Array) -> Readings:
        """Those of some of the texts."""
        return Readings(self.kinds[which], self.values[which])

    def share(self, *kinds: int) -> float:
        """The share of the texts that are of these kinds; 0 where there are no texts."""
        counts = np.bincount(self.kinds, minlength=16)
        return float(counts[list(kinds)].sum() / len(self)) if len(self) else 0.0


def read_values(texts: pa.LargeStringArray) -> Readings:
    """Reads texts; nulls say nothing.

    >>> import pyarrow as pa
    >>> read_values(pa.array(["48.1° N", "12", "Ulm"], pa.large_string())).values.tolist()
    [48.1, 12.0, 0.0]
    """
    from lakejoin.kernels.points.texts import NOTHING, NUMBER, ROUGH, read_texts

    kinds = np.zeros(len(texts), dtype=np.uint8)
    values = np.zeros(len(texts), dtype=np.float64)
    offsets, data = string_buffers(texts)
    read_texts(offsets, data, kinds, values)
    if texts.null_count:
        kinds[np.asarray(texts.is_null())] = NOTHING
    rough = np.flatnonzero(kinds == ROUGH)
    if len(rough):
        values[rough] = _nearest(texts.take(rough), values[rough])
        kinds[rough] = np.where(np.isfinite(values[rough]), NUMBER, NOTHING)
    return Readings(kinds, values)


def _nearest(texts: pa.LargeStringArray, near: Array) -> Array:
    """The nearest floats of numbers with many digits, which compiled code reads only nearly."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pc.utf8_ltrim(pc.replace_substring(pc.utf8_trim_whitespace(texts), "−", "-"), "+")
    try:
        return np.asarray(plain.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:  # beyond what a float can be
        return near


def numbers_in(found: Readings) -> Array:
    """A column's texts as numbers, NaN where they are none.

    Commas stand before decimals where the column shows so (`11,57`), and between thousands where it
    shows that (`1,234,567`); a column with nothing but `1,234` shows neither, and has no numbers.
    """
    return _with_commas(found, _plain_kinds())


def degrees_in(found: Readings) -> Array:
    """A column's texts as degrees, NaN where they are none: numbers, or with a sign or letter."""
    from lakejoin.kernels.points.texts import DEGREES, LATITUDE, LONGITUDE

    return _with_commas(found, [*_plain_kinds(), DEGREES, LATITUDE, LONGITUDE])


def _plain_kinds() -> list[int]:
    from lakejoin.kernels.points.texts import NUMBER

    return [NUMBER]


def _with_commas(found: Readings, kinds: list[int]) -> Array:
    from lakejoin.kernels.points.texts import COMMAS, GROUPS, KINDS, THREE

    there = np.bincount(found.kinds, minlength=KINDS) > 0
    scale = np.full(KINDS, np.nan)
    scale[kinds] = 1.0
    if there[COMMAS] and not there[GROUPS]:
        scale[[COMMAS, THREE]] = 1.0
    elif there[GROUPS] and not there[COMMAS]:
        scale[[GROUPS, THREE]] = 1.0, 1000.0
    numbers = found.values * scale[found.kinds]
    if there[GROUPS]:  # 1.234 * 1000 is not 1234 for sure, but the nearest whole number is
        three = found.kinds == THREE
        numbers[three] = np.rint(numbers[three])
    return np.asarray(numbers)


def numbers_of(texts: pa.LargeStringArray) -> Array:
    """The numbers of a column's distinct texts, NaN where there is none.

    >>> import pyarrow as pa
    >>> numbers_of(pa.array(["7", "-0.5", "n/a"], pa.large_string())).tolist()
    [7.0, -0.5, nan]
    """
    return numbers_in(read_values(texts))


def degrees_of(texts: pa.LargeStringArray) -> Array:
    """The degrees of a column's distinct texts, NaN where there are none; south and west negative.

    >>> import pyarrow as pa
    >>> texts = pa.array(["48.1° N", "33°51'54\\"S", "-12.5", "Ulm"], pa.large_string())
    >>> degrees_of(texts).tolist()
    [48.1, -33.865, -12.5, nan]
    """
    return degrees_in(read_values(texts))


def places_of(
    texts: pa.LargeStringArray, longitude_first: bool = False, surely: bool = True
) -> Array:
    """The (latitude, longitude) of texts that hold both, in degrees; NaN where they do not.

    Where nothing in a text says which is which, the latitude comes first; unless the other way
    round is asked for, or numbers beyond 90 show it. These also say that the latitude comes first
    after all, where the longitude does not `surely`.

    >>> import pyarrow as pa
    >>> places_of(pa.array(["48.1, 11.6", "POINT(11.6 48.1)", "?"], pa.large_string())).tolist()
    [[48.1, 11.6], [48.1, 11.6], [nan, nan]]
    """
    from lakejoin.kernels.points.texts import PLACE, read_pairs

    pairs = np.empty((len(texts), 2), dtype=np.float64)
    offsets, data = string_buffers(texts)
    read_pairs(offsets, data, pairs)
    open_ = read_values(texts).kinds != PLACE
    first, second = np.abs(pairs[open_]).T
    with np.errstate(invalid="ignore"):
        beyond = bool((first > 90).any()), bool((second > 90).any())
    if beyond == (True, False) or (longitude_first and (surely or beyond != (False, True))):
        pairs[open_] = pairs[open_][:, ::-1]
    pairs[~valid_places(pairs)] = np.nan
    return pairs


def valid_places(pairs: Array) -> Array:
    """Which (latitude, longitude) are on the globe."""
    with np.errstate(invalid="ignore"):
        return np.asarray((np.abs(pairs[:, 0]) <= 90) & (np.abs(pairs[:, 1]) <= 180))


def vectors_of(texts: pa.LargeStringArray) -> Array:
    """The vectors that texts hold (`[0.1, 0.2]`), one a row; NaN where there is none.

    They have as many numbers as most of the texts do.

    >>> import pyarrow as pa
    >>> vectors_of(pa.array(["[1,2.5]", "[3,4]", "[5]"], pa.large_string())).tolist()
    [[1.0, 2.5], [3.0, 4.0], [nan, nan]]
    """
    found = read_values(texts)
    dimension = dimension_in(found)
    out = np.full((len(texts), dimension), np.nan)
    which = np.flatnonzero(_of_dimension(found, dimension))
    step = max(1, _SLICE // max(dimension, 1))
    for begin in range(0, len(which), step):
        part = which[begin : begin + step]
        out[part] = _listed(texts.take(part)).reshape(len(part), dimension)
    return out


def dimension_in(found: Readings) -> int:
    """How many numbers most of the vectors have; 0 where there are none."""
    from lakejoin.kernels.points.texts import VECTOR

    sizes = found.values[found.kinds == VECTOR].astype(np.int64)
    return int(np.bincount(sizes).argmax()) if len(sizes) else 0


def _of_dimension(found: Readings, dimension: int) -> Array:
    from lakejoin.kernels.points.texts import VECTOR

    return np.asarray((found.kinds == VECTOR) & (found.values == dimension))


def vector_share(found: Readings, dimension: int) -> float:
    """The share of the texts that are vectors of so many numbers."""
    return float(_of_dimension(found, dimension).mean()) if len(found) else 0.0


def _listed(texts: pa.LargeStringArray) -> Array:
    """All numbers of lists in brackets, one after another."""
    import pyarrow as pa
    import pyarrow.compute as pc

    inside = pc.utf8_trim(texts, characters="[]{} ")
    if pc.any(pc.match_substring_regex(inside, r"[^, ] +[^, ]")).as_py():
        inside = pc.replace_substring_regex(inside, r" *[, ] *", ",")
    numbers = pc.utf8_trim_whitespace(pc.split_pattern(inside, ",").flatten())
    return np.asarray(pc.utf8_ltrim(numbers, "+").cast(pa.float64()).to_numpy(zero_copy_only=False))
