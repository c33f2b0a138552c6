"""Options for search by meaning (tau, encoder) and by distance (within, metric)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

from lakejoin.errors import InputError

AUTO = "auto"
MEASURES = ("hit", "all")
METRICS = ("l2", "l1", "angular", "haversine")


@dataclass(frozen=True, slots=True)
class ByMeaning:
    """Texts match if their vectors are within `tau`, a share of the largest distance.

    `tau` defaults to the encoder's own; `"auto"` chooses it by how many columns would qualify at
    each. `encoder` defaults to the index's. `measure` hit counts query values with a match, all
    counts pairs.

    >>> ByMeaning("30%").tau, ByMeaning("auto").tau
    (0.3, 'auto')
    """

    tau: Any = None
    encoder: Any = None
    measure: str = MEASURES[0]

    def __post_init__(self) -> None:
        if self.tau is not None and self.tau != AUTO:
            object.__setattr__(self, "tau", parse_tau(self.tau))
        _check_one(self.measure, MEASURES, "measure")


@dataclass(frozen=True, slots=True)
class ByDistance:
    """Numbers, points or vectors match if they are `within` a distance.

    `within` is a length for points (`"500m"`, `"2km"`, `"3mi"`), a number or a share (`0.5`,
    `"1%"`) for numbers, a number for vectors. `metric` is for vectors; `measure` as for meaning.
    """

    within: Any
    metric: str | None = None
    measure: str = MEASURES[0]

    def __post_init__(self) -> None:
        _check_one(self.measure, MEASURES, "measure")
        if self.metric is not None:
            _check_one(self.metric, METRICS, "metric")


NearOptions: TypeAlias = ByMeaning | ByDistance


@dataclass(frozen=True, slots=True)
class NearArguments:
    """The options as the caller passed them; None if not given."""

    tau: Any = None
    encoder: Any = None
    measure: str | None = None
    within: Any = None
    metric: str | None = None

    def near(self, by: str) -> NearOptions | None:
        """Make the options of a search `by` meaning or distance; reject those that do not apply."""
        hit = self.measure or MEASURES[0]
        if by == "meaning":
            self._refuse(by, "within", "use tau to set how near texts must be")
            self._refuse(by, "metric", "text vectors are always compared by L2")
            return ByMeaning(self.tau, self.encoder, hit)
        if by == "distance":
            self._refuse(by, "tau", "use within to set how near values must be")
            self._refuse(by, "encoder", "numbers and coordinates need none")
            if self.within is None:
                raise InputError(
                    "distance search needs a distance: within 500m for coordinates, within 1% or "
                    "0.5 for numbers"
                )
            return ByDistance(self.within, self.metric, hit)
        for name, goes_with in _GOES_WITH.items():
            self._refuse(by, name, f"it is for search by {goes_with}")
        return None

    def _refuse(self, by: str, name: str, why: str) -> None:
        value = getattr(self, name)
        if value is not None:
            shown = f" {value}" if isinstance(value, str | Real) else ""
            search = "fused search" if by == "fused" else f"search by {by}"
            raise InputError(f"{name}{shown} does not apply to {search}: {why}")


_GOES_WITH = {
    "tau": "meaning",
    "encoder": "meaning",
    "measure": "meaning or distance",
    "within": "distance",
    "metric": "distance",
}


def parse_tau(given: Any) -> float:
    """Parse a tau.

    >>> parse_tau(0.06), parse_tau("6%"), parse_tau("0.06")
    (0.06, 0.06, 0.06)
    >>> parse_tau(6)
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: tau must be a share of the largest distance such as 0.06 or 6%, or \
auto; got 6
    """
    share = given
    if isinstance(given, str):
        number, percent = given.strip().removesuffix("%"), given.strip().endswith("%")
        try:
            share = float(number) / (100 if percent else 1)
        except ValueError:
            share = None
    is_number = isinstance(share, Real) and not isinstance(share, bool)
    if not is_number or math.isnan(share) or not 0.0 <= share <= 1.0:
        raise InputError(
            f"tau must be a share of the largest distance such as 0.06 or 6%, or auto; got {given}"
        )
    return float(share)


def _check_one(value: Any, allowed: tuple[str, ...], name: str) -> None:
    if value not in allowed:
        raise InputError(f"{name} must be {', '.join(allowed[:-1])} or {allowed[-1]}, not {value}")
