"""Compare where two columns of dense numbers start and end.

Numbers that count up all match by chance, but that two columns both run from 10,248 to 11,077 is no
coincidence. Each end is worth log(range / distance of the ends); the lower one less the nearer it
is to 0, where every count starts. Numbers after a common prefix (INV-0001) work the same way.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

_WHOLE = r"^-?\d{1,15}$"
_DIGITS = "0123456789"
_FIRST = 1
_ABOUT_ZERO = 0.001  # of the largest
_YEARS = (1500, 2100)


class Ends(NamedTuple):
    """The smallest and largest whole number of a column, and their common prefix (`behind`)."""

    low: int
    high: int
    behind: str = ""

    @property
    def are_common(self) -> bool:
        """Whether any count or any list of years may have these ends."""
        return self.are_years or (not self.behind and self.begin_at_zero)

    @property
    def begin_at_zero(self) -> bool:
        """Whether they start at about 0, as counts and amounts do."""
        return self.low <= max(_FIRST, _ABOUT_ZERO * self.high)

    @property
    def are_years(self) -> bool:
        """Whether they may be years, which start and end alike in many tables."""
        return not self.behind and self.low >= _YEARS[0] and self.high <= _YEARS[1]


def find_ends(values: pa.LargeStringArray) -> Ends | None:
    """The ends of a column of whole numbers, with or without a common prefix; otherwise None.

    >>> import pyarrow as pa
    >>> find_ends(pa.array(["7", "12", "9"])), find_ends(pa.array(["7", "x"]))
    (Ends(low=7, high=12, behind=''), None)
    >>> find_ends(pa.array(["d-0017", "d-0100"]))
    Ends(low=17, high=100, behind='d')
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(values):
        return None
    least, most = (side.as_py() for side in pc.min_max(values).values())
    prefix = _common_beginning(least, most).rstrip(_DIGITS).removesuffix("-")
    numbers: Any = pc.utf8_slice_codeunits(values, len(prefix)) if prefix else values
    if prefix:
        numbers = pc.utf8_ltrim(numbers, "-")
    if not pc.all(pc.match_substring_regex(numbers, _WHOLE)).as_py():
        return None
    range_ = pc.min_max(numbers.cast(pa.int64()))
    return Ends(range_["min"].as_py(), range_["max"].as_py(), prefix)


def _common_beginning(first: str, second: str) -> str:
    pairs = enumerate(zip(first, second, strict=False))
    return first[
        : next((position for position, (a, b) in pairs if a != b), min(len(first), len(second)))
    ]


def compare_ends(mine: Ends, theirs: Ends) -> float:
    """How much the ends of two columns agree, in nats.

    >>> round(compare_ends(Ends(10_248, 11_077), Ends(10_248, 11_077)), 1)
    13.4
    >>> round(compare_ends(Ends(1, 1000), Ends(1, 1000)), 1), compare_ends(Ends(1, 1000), Ends(1, 4000))
    (6.9, 0.0)
    """
    if mine.are_years and theirs.are_years:
        return 0.0
    span = min(mine.high - mine.low, theirs.high - theirs.low) + 1
    # A start at about 0 says nothing, a start at 10,248 a lot.
    beginning = min(span, max(1, min(mine.low, theirs.low)))
    return _near(mine.high, theirs.high, span) + _near(mine.low, theirs.low, beginning)


def _near(first: int, second: int, span: int) -> float:
    return max(0.0, math.log(span / (abs(first - second) + 1)))
