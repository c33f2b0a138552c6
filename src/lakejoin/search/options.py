"""Options of a search with their checks: engine, limits, and how near values must be."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, TypeAlias

from lakejoin.engines.limits import check_k, check_share
from lakejoin.errors import InputError

AUTO = "auto"
_SURE, _JUDGED = "sure", "judged"
MEASURES = ("hit", "all")
METRICS = ("l2", "l1", "angular", "haversine")


@dataclass(frozen=True, slots=True)
class ByMeaning:
    """A text matches the nearest text of a column if the chance that this is right is at least
    `sure` (0.9); or, with a `tau`, all texts within that share of the largest distance.

    `tau` `"auto"` is chosen by how many columns would qualify at each; `"sure 0.95"` sets `sure`,
    and `"judged 0.95"` has the best columns `judged` by the sentence model too. `encoder` defaults
    to the index's. `measure` hit counts query values with a match, all counts pairs, within the
    encoder's own tau if none is given.

    >>> ByMeaning("30%").tau, ByMeaning("auto").tau, ByMeaning("sure 0.95").sure
    (0.3, 'auto', 0.95)
    """

    tau: Any = None
    encoder: Any = None
    measure: str = MEASURES[0]
    sure: Any = None
    judged: bool = False

    def __post_init__(self) -> None:
        word, _, chance = self.tau.partition(" ") if isinstance(self.tau, str) else ("", "", "")
        if word in (_SURE, _JUDGED):
            object.__setattr__(self, "sure", parse_sure(chance) if chance else self.sure)
            object.__setattr__(self, "judged", self.judged or word == _JUDGED)
            object.__setattr__(self, "tau", None)
        by_chance = self.sure is not None or self.judged
        if by_chance and (self.tau is not None or self.measure != MEASURES[0]):
            raise InputError(
                "sure and judge give a value at most one match: leave out tau and measure all"
            )
        if self.sure is not None:
            object.__setattr__(self, "sure", parse_sure(self.sure))
        if self.tau is not None and self.tau != AUTO:
            object.__setattr__(self, "tau", parse_tau(self.tau))
        _check_one(self.measure, MEASURES, "measure")

    @property
    def by_rule(self) -> bool:
        """Whether a value has one match, by its chance, and not all within a distance."""
        return self.tau is None and self.measure == MEASURES[0]


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


@dataclass(frozen=True, slots=True)
class VectorDistance:
    """A distance of vectors: at most `within`, by the metric l2, l1, angular or haversine.

    >>> VectorDistance(0.2, metric="angular")
    VectorDistance(within=0.2, metric='angular')
    """

    within: float
    metric: str = METRICS[0]

    def __post_init__(self) -> None:
        _check_one(self.metric, METRICS, "metric")


NearOptions: TypeAlias = ByMeaning | ByDistance


_MISPLACED = {  # arguments that do not apply to a search, and why
    "meaning": {"within": "use tau to set how near texts must be"},
    "distance": {
        "tau": "use within to set how near values must be",
        "sure": "use within to set how near values must be",
    },
}
_ELSEWHERE = {
    "tau": "it is for search by meaning",
    "sure": "it is for search by meaning",
    "within": "it is for search by distance",
}


def near_options(
    by: str, tau: Any = None, within: Any = None, sure: Any = None
) -> NearOptions | None:
    """The options of a search `by` meaning or distance; arguments that do not apply are refused."""
    passed = {"tau": tau, "within": within, "sure": sure}
    for name, why in _MISPLACED.get(by, _ELSEWHERE).items():
        if passed[name] is not None:
            search = "fused search" if by == "fused" else f"search by {by}"
            raise InputError(f"{name} {passed[name]} does not apply to {search}: {why}")
    if by == "meaning":
        return ByMeaning(tau, sure=sure)
    if by == "distance" and within is None:
        raise InputError(
            "distance search needs a distance: within 500m for coordinates, within 1% or 0.5 for "
            "numbers"
        )
    return ByDistance(within) if by == "distance" else None


def parse_sure(given: Any) -> float:
    """Parse a chance.

    >>> parse_sure("95%"), parse_sure(0.8)
    (0.95, 0.8)
    """
    try:
        text = str(given).strip()
        chance = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        chance = math.nan
    if not 0 < chance < 1:
        raise InputError(f"sure must be a chance between 0 and 1 such as 0.95, not {given}")
    return chance


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


BY = ("fused", "overlap", "containment", "meaning", "distance")
DEFAULT_K = 10
DEFAULT_MIN = 0.6
RULE_MIN = 0.15  # by the match rule: of the values are expected to have a right match
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

    >>> SearchOptions("containment").with_defaults().min
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
            check_share(self.min, "min_share")
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

    def with_defaults(self) -> SearchOptions:
        """Fill in the defaults."""
        if self.by == "overlap":
            return replace(self, k=self.k or DEFAULT_K)
        near = ByMeaning() if self.by == "meaning" and self.near is None else self.near
        by_rule = isinstance(near, ByMeaning) and near.by_rule
        usual = RULE_MIN if by_rule else DEFAULT_MIN
        least = usual if self.min is None and self.k is None else self.min
        return replace(self, min=least, near=near)

    def check_for_column(self) -> SearchOptions:
        """Return the options if they apply to a single column."""
        if self.initial is not None:
            raise InputError(
                f"initial ({self.initial!r}) is the key column to fetch rows by and needs two or "
                "more columns"
            )
        return self

    def check_for_key(self) -> SearchOptions:
        """Return the options if they apply to a composite key, which is always counted exactly."""
        if self.by == "meaning":
            raise InputError("search by meaning takes one column: use composite for several")
        if not self.verified:
            raise InputError("search for a composite key is always exact and cannot be unverified")
        if self.algorithm != AUTO:
            raise InputError(
                f"algorithm ({self.algorithm!r}) applies to a single column, not to a composite key"
            )
        return self
