"""Options of a search, with checks."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

from lakejoin.errors import InputError
from lakejoin.search.options import AUTO, ByDistance, ByMeaning, NearOptions

BY = ("fused", "overlap", "containment", "meaning", "distance")
DEFAULT_K = 10
DEFAULT_MIN = 0.6
INITIAL_RULES = ("items", "cardinality")  # cheapest to fetch by; fewest distinct values


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Options of a search.

    By overlap: the `k` columns (10) that share the most values, exactly; `min` drops those that
    contain less. By containment: every column that contains at least `min` (0.6 without `k`), or
    the best `k`; from sketches alone if not `verified`. For a composite key the results are tables,
    counted by combinations, always exactly. By meaning or distance: every column that has matches
    for at least `min` of the values, or the best `k`; `near` says how near a match must be. Fused:
    the `k` tables (10) that join best by all evidence. `others` leaves out the query's own table
    and its exact copies, as fused search always does. `algorithm` is how overlaps are counted.
    `initial` is the key column to fetch rows by (name or index), or a rule from `INITIAL_RULES`.

    >>> SearchOptions("containment").settled().min
    0.6
    >>> SearchOptions(k=True)
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: k must be a positive integer, not True
    """

    by: str = "overlap"
    k: int | None = None
    min: float | None = None
    others: bool = False
    verified: bool = True
    algorithm: str = AUTO
    initial: str | int | None = None
    near: NearOptions | None = None

    def __post_init__(self) -> None:
        if self.by not in BY:
            raise InputError(f"by must be {', '.join(BY[:-1])} or {BY[-1]}, not {self.by!r}")
        if self.k is not None:
            check_k(self.k)
        if self.min is not None:
            check_share(self.min, "min")
        if self.by != "containment" and not self.verified:
            raise InputError("only search by containment can be unverified")
        if self.by != "overlap" and self.algorithm != AUTO:
            raise InputError(
                f"algorithm ({self.algorithm!r}) applies to by='overlap', not to by={self.by!r}"
            )
        if self.by == "fused":
            self._check_fused()
        expected = {"meaning": ByMeaning, "distance": ByDistance}.get(self.by, type(None))
        if self.near is not None and not isinstance(self.near, expected):
            raise InputError(f"{self.near!r} does not apply to by={self.by!r}")

    def _check_fused(self) -> None:
        if self.min is not None:
            raise InputError(
                f"min ({self.min:g}) does not apply to by='fused', which weighs containment "
                "against chance; use it with overlap, containment, meaning or distance"
            )
        if self.initial is not None:
            raise InputError(
                f"initial ({self.initial!r}) does not apply to by='fused', which takes the "
                "cheapest column; use it with overlap or containment"
            )

    def settled(self) -> SearchOptions:
        """Fill in the defaults."""
        if self.by == "overlap":
            return replace(self, k=self.k or DEFAULT_K)
        near = ByMeaning() if self.by == "meaning" and self.near is None else self.near
        least = DEFAULT_MIN if self.min is None and self.k is None else self.min
        return replace(self, min=least, near=near)

    def for_column(self) -> SearchOptions:
        """Return the options if they apply to a single column."""
        if self.initial is not None:
            raise InputError(
                f"initial ({self.initial!r}) is the key column to fetch rows by and needs two or "
                "more columns"
            )
        return self

    def for_key(self) -> SearchOptions:
        """Return the options if they apply to a composite key, which is always counted exactly."""
        if self.by == "meaning":
            raise InputError(
                "search by meaning takes one column; use overlap or containment for several"
            )
        if not self.verified:
            raise InputError("search for a composite key is always exact and cannot be unverified")
        if self.algorithm != AUTO:
            raise InputError(
                f"algorithm ({self.algorithm!r}) applies to a single column, not to a composite key"
            )
        return self


def check_k(k: Any) -> None:
    """Raise an error unless `k` is a positive integer (and no bool)."""
    if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
        raise InputError(f"k must be a positive integer, not {k!r}")


def check_share(share: Any, name: str) -> None:
    """Raise an error unless `share` is a number between 0 and 1."""
    number = isinstance(share, Real) and not isinstance(share, bool)
    if not number or math.isnan(share) or not 0.0 <= share <= 1.0:
        raise InputError(f"{name} must be a number between 0 and 1, not {share!r}")
