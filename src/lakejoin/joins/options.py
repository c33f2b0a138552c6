"""What can be asked of a join?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lakejoin.errors import InputError
from lakejoin.joins.joined import HOWS, SUFFIX
from lakejoin.model import ValueRules

if TYPE_CHECKING:
    from lakejoin.encoders.opening import Given

BYS = ("auto", "equal", "transform", "fuzzy", "meaning", "nearest")
TAU = 0.3

Progress = Callable[[str], None]  # is told what is being done


@dataclass(frozen=True, slots=True)
class JoinOptions:
    """How two tables are to be joined.

    `on` fixes the columns, as pairs of a left and a right name. `by` is how rows may meet; left
    out, it is `auto`: equal values, then learned programs, then fuzzy matching for the rows that
    are left over. Columns that are given are first joined on equal values alone, and more is tried
    only where no row meets so. `one_to_one` gives every row at most one partner. `aggregate` makes
    one row of all partners of a left row, see `aggregating`.

    >>> JoinOptions(how="outer")
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: a join is one of inner, left, right, full, not 'outer'
    """

    on: tuple[tuple[str, str], ...] = ()
    how: str = "inner"
    by: str | None = None
    one_to_one: bool = False
    aggregate: tuple[str, ...] = ()
    suffix: str = SUFFIX
    precision: float = 0.9  # that a fuzzy rule must have, as estimated
    within: str | float | None = None  # by nearest: how far at most
    tau: float | None = None  # by meaning: how far at most
    encoder: Given = None
    rules: ValueRules = field(default_factory=ValueRules)

    def __post_init__(self) -> None:
        if self.how not in HOWS:
            raise InputError(f"a join is one of {', '.join(HOWS)}, not {self.how!r}")
        if self.by is not None and self.by not in BYS:
            raise InputError(f"rows are joined by one of {', '.join(BYS)}, not {self.by!r}")
        if not 0 < self.precision <= 1:
            raise InputError(f"a precision is above 0 and at most 1, not {self.precision:g}")
        if self.tau is not None and not 0 <= self.tau <= 1:
            raise InputError(f"tau is a share from 0 to 1, not {self.tau:g}")
        if self.within is not None and self.by != "nearest":
            raise InputError("within is how far the nearest may be: it goes with by nearest")
        if self.tau is not None and self.by != "meaning":
            raise InputError("tau is how far apart meanings may be: it goes with by meaning")
        if self.by in ("meaning", "nearest") and not self.on:
            raise InputError(f"by {self.by}, the columns have to be named: on")
        if self.by == "meaning" and len(self.on) != 1:
            raise InputError("by meaning, one column of each table is joined")
        if self.aggregate and self.how not in ("inner", "left"):
            raise InputError(f"aggregate makes one row of a left row: not with how {self.how}")
        if self.aggregate and self.one_to_one:
            raise InputError("one to one leaves nothing to aggregate: ask for one of the two")
