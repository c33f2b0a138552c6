"""What near is: by meaning (tau, encoder, method) or by distance (within, metric)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

from lakejoin.errors import InputError

AUTO = "auto"
MEASURES = ("hit", "all")
METHODS = (AUTO, "tree", "flat", "grid", "groups")
METRICS = ("l2", "l1", "angular", "haversine")


@dataclass(frozen=True, slots=True)
class ByMeaning:
    """Texts are near where their vectors are within `tau`, a share of the largest distance.

    `tau` left out is the encoder's own; `"auto"` chooses it from how many columns would qualify at
    each. `encoder` left out is the index's. `measure` hit counts my values that have a partner, all
    counts the pairs. `method` changes the time and not the answer.

    >>> ByMeaning("30%").tau, ByMeaning("auto").tau
    (0.3, 'auto')
    """

    tau: Any = None
    encoder: Any = None
    measure: str = MEASURES[0]
    method: str = AUTO

    def __post_init__(self) -> None:
        if self.tau is not None and self.tau != AUTO:
            object.__setattr__(self, "tau", share_of(self.tau))
        _check_one(self.measure, MEASURES, "measure")
        _check_one(self.method, METHODS, "method")


@dataclass(frozen=True, slots=True)
class ByDistance:
    """Numbers, places or vectors are near where they are `within` a distance.

    `within` is a length for places (`"500m"`, `"2km"`, `"3mi"`), a number or a share (`0.5`,
    `"1%"`) for numbers, a number for vectors. `metric` is for vectors; `measure` as for meaning.
    """

    within: Any
    metric: str | None = None
    measure: str = MEASURES[0]

    def __post_init__(self) -> None:
        _check_one(self.measure, MEASURES, "measure")
        if self.metric is not None:
            _check_one(self.metric, METRICS, "metric")


Near: TypeAlias = ByMeaning | ByDistance


@dataclass(frozen=True, slots=True)
class NearAsked:
    """What a caller gave of all this; nothing of it is a default of ours."""

    tau: Any = None
    encoder: Any = None
    method: str | None = None
    measure: str | None = None
    within: Any = None
    metric: str | None = None

    def near(self, by: str) -> Near | None:
        """What near is in a search `by` something; what does not go with it is refused."""
        hit = self.measure or MEASURES[0]
        if by == "meaning":
            self._refuse(by, "within", "it is tau that says how near texts must be")
            self._refuse(by, "metric", "vectors of texts are compared by L2")
            return ByMeaning(self.tau, self.encoder, hit, self.method or AUTO)
        if by == "distance":
            self._refuse(by, "tau", "it is within that says how near values must be")
            self._refuse(by, "encoder", "numbers and places need none")
            self._refuse(by, "method", "it is chosen by the kind of values")
            if self.within is None:
                raise InputError(
                    "a search by distance needs to know how near is near: within 500m for places, "
                    "within 1% or within 0.5 for numbers"
                )
            return ByDistance(self.within, self.metric, hit)
        for name, goes_with in _GOES_WITH.items():
            self._refuse(by, name, f"it goes with a search by {goes_with}")
        return None

    def _refuse(self, by: str, name: str, why: str) -> None:
        value = getattr(self, name)
        if value is not None:
            given = f" {value}" if isinstance(value, str | Real) else ""
            search = "a fused search" if by == "fused" else f"a search by {by}"
            raise InputError(f"{name}{given} is not for {search}: {why}")


_GOES_WITH = {
    "tau": "meaning",
    "encoder": "meaning",
    "method": "meaning",
    "measure": "meaning or by distance",
    "within": "distance",
    "metric": "distance",
}


def share_of(given: Any) -> float:
    """A tau as it was written.

    >>> share_of(0.06), share_of("6%"), share_of("0.06")
    (0.06, 0.06, 0.06)
    >>> share_of(6)
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: tau must be a share of the largest distance between 0 and 1, such \
as 0.06 or 6%, or auto, and not 6
    """
    share = given
    if isinstance(given, str):
        number, percent = given.strip().removesuffix("%"), given.strip().endswith("%")
        try:
            share = float(number) / (100 if percent else 1)
        except ValueError:
            share = None
    number_given = isinstance(share, Real) and not isinstance(share, bool)
    if not number_given or math.isnan(share) or not 0.0 <= share <= 1.0:
        raise InputError(
            "tau must be a share of the largest distance between 0 and 1, such as 0.06 or 6%, or "
            f"auto, and not {given}"
        )
    return float(share)


def _check_one(value: Any, allowed: tuple[str, ...], name: str) -> None:
    if value not in allowed:
        raise InputError(f"{name} must be {', '.join(allowed[:-1])} or {allowed[-1]}, not {value}")
