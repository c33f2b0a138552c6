"""How to search, and what cannot be asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

from lakejoin.errors import InputError
from lakejoin.search.near_options import AUTO, ByDistance, ByMeaning, Near

BY = ("fused", "overlap", "containment", "meaning", "distance")
DEFAULT_K = 10
DEFAULT_MIN = 0.6
INITIAL = ("items", "cardinality")  # the cheapest column to fetch by; the fewest distinct values


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search.

    `by` overlap: the `k` columns (10) that share the most values, exactly; `min` leaves out those
    that contain less. `by` containment: every column that contains at least `min` (0.6 where `k`
    is not given either), or the best `k`; from sketches alone where `verified` is off. For a
    composite key it is tables and combinations, always counted exactly. `by` meaning or distance:
    every column of which at least `min` of my values have a partner that is near, or the best `k`;
    `near` says what near is. `by` fused: the `k` tables (10) that join best, by all that speaks
    for each. `others` leaves out the query's own table and its exact copies; fused they always are.
    `algorithm` chooses how overlaps are counted. `initial` is the column of a composite key by
    which rows are fetched, by its name or its place in my table, or how it is chosen (`INITIAL`).

    >>> SearchOptions("containment").settled().min
    0.6
    >>> SearchOptions(k=True)
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: k must be a whole number from 1 on, not True
    """

    by: str = "overlap"
    k: int | None = None
    min: float | None = None
    others: bool = False
    verified: bool = True
    algorithm: str = AUTO
    initial: str | int | None = None
    near: Near | None = None

    def __post_init__(self) -> None:
        if self.by not in BY:
            raise InputError(f"by must be {', '.join(BY[:-1])} or {BY[-1]}, not {self.by!r}")
        if self.k is not None:
            check_k(self.k)
        if self.min is not None:
            check_share(self.min, "min")
        if self.by != "containment" and not self.verified:
            raise InputError("only a search by containment can go unverified")
        if self.by != "overlap" and self.algorithm != AUTO:
            raise InputError(
                f"an algorithm ({self.algorithm!r}) counts overlaps: it goes with by='overlap' and "
                f"not with by={self.by!r}"
            )
        if self.by == "fused":
            self._check_fused()
        wanted = {"meaning": ByMeaning, "distance": ByDistance}.get(self.by, type(None))
        if self.near is not None and not isinstance(self.near, wanted):
            raise InputError(f"{self.near!r} does not go with by={self.by!r}")

    def _check_fused(self) -> None:
        if self.min is not None:
            raise InputError(
                f"min ({self.min:g}) does not go with by='fused', which weighs how much is "
                "contained against chance: it goes with by overlap, containment, meaning or "
                "distance"
            )
        if self.initial is not None:
            raise InputError(
                f"initial ({self.initial!r}) does not go with by='fused', which takes the cheapest "
                "column itself: it goes with by overlap or containment"
            )

    def settled(self) -> SearchOptions:
        """The same with what was left open filled in."""
        if self.by == "overlap":
            return replace(self, k=self.k or DEFAULT_K)
        near = ByMeaning() if self.by == "meaning" and self.near is None else self.near
        least = DEFAULT_MIN if self.min is None and self.k is None else self.min
        return replace(self, min=least, near=near)

    def for_column(self) -> SearchOptions:
        """The same, if they fit one column."""
        if self.initial is not None:
            raise InputError(
                f"initial ({self.initial!r}) is the column of a composite key by which rows are "
                "fetched: it goes with two columns or more"
            )
        return self

    def for_key(self) -> SearchOptions:
        """The same, if they fit a composite key: its combinations are always counted, one way."""
        if self.by == "meaning":
            raise InputError(
                "a search by meaning is for one column: several columns together are found by "
                "overlap or by containment"
            )
        if not self.verified:
            raise InputError(
                "a search for several columns together is always exact: it cannot go unverified"
            )
        if self.algorithm != AUTO:
            raise InputError(
                f"an algorithm ({self.algorithm!r}) counts the values of one column, and not "
                "several columns together"
            )
        return self


def check_k(k: Any) -> None:
    """Raises unless `k` is a number of results; a bool is none, although Python counts with it."""
    if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
        raise InputError(f"k must be a whole number from 1 on, not {k!r}")


def check_share(share: Any, name: str) -> None:
    """Raises unless it is a number between 0 and 1, as a containment is."""
    number = isinstance(share, Real) and not isinstance(share, bool)
    if not number or math.isnan(share) or not 0.0 <= share <= 1.0:
        raise InputError(f"{name} must be a number between 0 and 1, not {share!r}")
