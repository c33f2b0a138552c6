"""Numbers that leave few gaps: do two columns begin and end at the same ones?

Of numbers that count up, chance makes every value meet. But that two columns run from 10,248 to
11,077 is no chance. Each end says log(range / how far the ends are apart); the lower one the less
the nearer it is to 0, where every count begins. Texts that are numbers behind the same letters
(INV-0001) count as well.
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
    """The smallest and the largest of a column's whole numbers, which may stand behind letters."""

    low: int
    high: int
    behind: str = ""

    @property
    def are_common(self) -> bool:
        """Whether they are numbers that any count would have, or any list of years."""
        return self.are_years or (not self.behind and self.begin_at_zero)

    @property
    def begin_at_zero(self) -> bool:
        """Whether they begin at about 0, as counts and amounts do."""
        return self.low <= max(_FIRST, _ABOUT_ZERO * self.high)

    @property
    def are_years(self) -> bool:
        """Whether they may be years, which begin and end alike in many tables."""
        return not self.behind and self.low >= _YEARS[0] and self.high <= _YEARS[1]


def ends_of(values: pa.LargeStringArray) -> Ends | None:
    """The ends of a column that holds whole numbers only, behind the same letters; else None.

    >>> import pyarrow as pa
    >>> ends_of(pa.array(["7", "12", "9"])), ends_of(pa.array(["7", "x"]))
    (Ends(low=7, high=12, behind=''), None)
    >>> ends_of(pa.array(["d-0017", "d-0100"]))
    Ends(low=17, high=100, behind='d')
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(values):
        return None
    least, most = (side.as_py() for side in pc.min_max(values).values())
    same = _common_beginning(least, most).rstrip(_DIGITS).removesuffix("-")
    numbers: Any = pc.utf8_slice_codeunits(values, len(same)) if same else values
    if same:
        numbers = pc.utf8_ltrim(numbers, "-")
    if not pc.all(pc.match_substring_regex(numbers, _WHOLE)).as_py():
        return None
    found = pc.min_max(numbers.cast(pa.int64()))
    return Ends(found["min"].as_py(), found["max"].as_py(), same)


def _common_beginning(one: str, other: str) -> str:
    pairs = enumerate(zip(one, other, strict=False))
    return one[: next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))]


def same_ends(mine: Ends, theirs: Ends) -> float:
    """What it says that both end where they do, in nats.

    >>> round(same_ends(Ends(10_248, 11_077), Ends(10_248, 11_077)), 1)
    13.4
    >>> round(same_ends(Ends(1, 1000), Ends(1, 1000)), 1), same_ends(Ends(1, 1000), Ends(1, 4000))
    (6.9, 0.0)
    """
    if mine.are_years and theirs.are_years:
        return 0.0
    span = min(mine.high - mine.low, theirs.high - theirs.low) + 1
    # That counts begin at about 0 says nothing; that they begin at 10,248, much.
    beginning = min(span, max(1, min(mine.low, theirs.low)))
    return _near(mine.high, theirs.high, span) + _near(mine.low, theirs.low, beginning)


def _near(one: int, other: int, span: int) -> float:
    return max(0.0, math.log(span / (abs(one - other) + 1)))
