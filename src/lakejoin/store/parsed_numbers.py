"""Parses the texts of a column as numbers, degrees, coordinates or vectors.

`kernels/coordinate_texts.py` classifies each text; this module decides what only the whole column
can tell. Indexing and queries use the same functions, so both get the same numbers. Numbers are the
nearest float64 of the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.model import Array, string_buffers

if TYPE_CHECKING:
    import pyarrow as pa

# A column has a kind if at least this share of its distinct values has it.
KIND_SHARE = 0.95
_SLICE = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class ParsedValues:
    """The kind of each text (`kernels/coordinate_texts.py`) and its first number, or the dimension
    of a vector."""

    kinds: Array
    values: Array

    def __len__(self) -> int:
        return len(self.kinds)

    def take(self, which: Array) -> ParsedValues:
        return ParsedValues(self.kinds[which], self.values[which])

    def share(self, *kinds: int) -> float:
        """The share of the texts of these kinds; 0 without texts."""
        counts = np.bincount(self.kinds, minlength=16)
        return float(counts[list(kinds)].sum() / len(self)) if len(self) else 0.0


def parse_values(texts: pa.LargeStringArray) -> ParsedValues:
    """Classify and parse texts; nulls have no kind.

    >>> import pyarrow as pa
    >>> parse_values(pa.array(["48.1° N", "12", "Ulm"], pa.large_string())).values.tolist()
    [48.1, 12.0, 0.0]
    """
    from lakejoin.kernels.coordinate_texts import NO_NUMBERS, NUMBER, ROUGH, classify_texts

    kinds = np.zeros(len(texts), dtype=np.uint8)
    values = np.zeros(len(texts), dtype=np.float64)
    offsets, data = string_buffers(texts)
    classify_texts(offsets, data, kinds, values)
    if texts.null_count:
        kinds[np.asarray(texts.is_null())] = NO_NUMBERS
    rough = np.flatnonzero(kinds == ROUGH)
    if len(rough):
        values[rough] = _nearest(texts.take(rough), values[rough])
        kinds[rough] = np.where(np.isfinite(values[rough]), NUMBER, NO_NUMBERS)
    return ParsedValues(kinds, values)


def _nearest(texts: pa.LargeStringArray, near: Array) -> Array:
    """Parse numbers with many digits exactly; compiled code only approximates them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pc.utf8_ltrim(pc.replace_substring(pc.utf8_trim_whitespace(texts), "−", "-"), "+")
    try:
        return np.asarray(plain.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:  # beyond the range of a float
        return near


def column_numbers(parsed: ParsedValues, *kinds: int) -> Array:
    """The numbers of a column's texts that are numbers or of one of these kinds, NaN for others.

    A comma is a decimal comma if the column shows so (`11,57`), and a thousands separator if it
    shows that (`1,234,567`). A column with only texts like `1,234` is ambiguous and has no numbers.

    >>> import pyarrow as pa
    >>> column_numbers(parse_values(pa.array(["7", "-0.5", "n/a"], pa.large_string()))).tolist()
    [7.0, -0.5, nan]
    """
    from lakejoin.kernels.coordinate_texts import COMMAS, GROUPS, KIND_COUNT, NUMBER, THREE

    there = np.bincount(parsed.kinds, minlength=KIND_COUNT) > 0
    scale = np.full(KIND_COUNT, np.nan)
    scale[[NUMBER, *kinds]] = 1.0
    if there[COMMAS] and not there[GROUPS]:
        scale[[COMMAS, THREE]] = 1.0
    elif there[GROUPS] and not there[COMMAS]:
        scale[[GROUPS, THREE]] = 1.0, 1000.0
    numbers = parsed.values * scale[parsed.kinds]
    if there[GROUPS]:  # 1.234 * 1000 may not be exactly 1234
        three = parsed.kinds == THREE
        numbers[three] = np.rint(numbers[three])
    return np.asarray(numbers)


def column_degrees(parsed: ParsedValues) -> Array:
    """The degrees of a column's texts, NaN for other texts; south and west are negative.

    >>> import pyarrow as pa
    >>> texts = pa.array(["48.1° N", "33°51'54\\"S", "-12.5", "Ulm"], pa.large_string())
    >>> column_degrees(parse_values(texts)).tolist()
    [48.1, -33.865, -12.5, nan]
    """
    from lakejoin.kernels.coordinate_texts import DEGREES, LATITUDE, LONGITUDE

    return column_numbers(parsed, DEGREES, LATITUDE, LONGITUDE)


def parse_points(
    texts: pa.LargeStringArray, longitude_first: bool = False, certain: bool = True
) -> Array:
    """The (latitude, longitude) of texts that hold both, in degrees; NaN for other texts.

    If a text does not say which is which, the latitude comes first, unless `longitude_first` or
    numbers beyond 90 show the opposite. Numbers beyond 90 override `longitude_first` unless it is
    `certain` so.

    >>> import pyarrow as pa
    >>> parse_points(pa.array(["48.1, 11.6", "POINT(11.6 48.1)", "?"], pa.large_string())).tolist()
    [[48.1, 11.6], [48.1, 11.6], [nan, nan]]
    """
    from lakejoin.kernels.coordinate_texts import POINT, read_number_pairs

    pairs = np.empty((len(texts), 2), dtype=np.float64)
    offsets, data = string_buffers(texts)
    read_number_pairs(offsets, data, pairs)
    ambiguous = parse_values(texts).kinds != POINT
    first, second = np.abs(pairs[ambiguous]).T
    with np.errstate(invalid="ignore"):
        beyond = bool((first > 90).any()), bool((second > 90).any())
    if beyond == (True, False) or (longitude_first and (certain or beyond != (False, True))):
        pairs[ambiguous] = pairs[ambiguous][:, ::-1]
    pairs[~are_on_globe(pairs)] = np.nan
    return pairs


def are_on_globe(pairs: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return np.asarray((np.abs(pairs[:, 0]) <= 90) & (np.abs(pairs[:, 1]) <= 180))


def parse_vectors(texts: pa.LargeStringArray) -> Array:
    """The vectors in texts (`[0.1, 0.2]`), one per row; NaN for other texts.

    The dimension is that of most texts.

    >>> import pyarrow as pa
    >>> parse_vectors(pa.array(["[1,2.5]", "[3,4]", "[5]"], pa.large_string())).tolist()
    [[1.0, 2.5], [3.0, 4.0], [nan, nan]]
    """
    parsed = parse_values(texts)
    dimension = common_dimension(parsed)
    out = np.full((len(texts), dimension), np.nan)
    which = np.flatnonzero(_of_dimension(parsed, dimension))
    step = max(1, _SLICE // max(dimension, 1))
    for begin in range(0, len(which), step):
        rows = which[begin : begin + step]
        out[rows] = _listed(texts.take(rows)).reshape(len(rows), dimension)
    return out


def common_dimension(parsed: ParsedValues) -> int:
    """The dimension of most vectors; 0 without vectors."""
    from lakejoin.kernels.coordinate_texts import VECTOR

    sizes = parsed.values[parsed.kinds == VECTOR].astype(np.int64)
    return int(np.bincount(sizes).argmax()) if len(sizes) else 0


def _of_dimension(parsed: ParsedValues, dimension: int) -> Array:
    from lakejoin.kernels.coordinate_texts import VECTOR

    return np.asarray((parsed.kinds == VECTOR) & (parsed.values == dimension))


def vector_share(parsed: ParsedValues, dimension: int) -> float:
    return float(_of_dimension(parsed, dimension).mean()) if len(parsed) else 0.0


def _listed(texts: pa.LargeStringArray) -> Array:
    """All numbers of bracketed lists, one after another."""
    import pyarrow as pa
    import pyarrow.compute as pc

    inside = pc.utf8_trim(texts, characters="[]{} ")
    if pc.any(pc.match_substring_regex(inside, r"[^, ] +[^, ]")).as_py():
        inside = pc.replace_substring_regex(inside, r" *[, ] *", ",")
    numbers = pc.utf8_trim_whitespace(pc.split_pattern(inside, ",").flatten())
    return np.asarray(pc.utf8_ltrim(numbers, "+").cast(pa.float64()).to_numpy(zero_copy_only=False))
