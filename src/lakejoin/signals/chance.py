"""Estimate how much two columns would overlap by chance, and how much evidence their overlap is.

Row numbers, years, small codes and flags overlap in any two tables. To measure chance, each value
of the smaller column is made wrong on purpose (a whole number by a step, a text in one letter or
digit) and looked up in the other column. With consecutive numbers, wrong values match as often as
right ones; with two-letter codes, a third of them match; with names of towns, hardly any do.

The evidence is n KL(share || chance), in nats: of n values a share matches, where chance alone
would match that many. It is the logarithm of how much likelier the share is if it is not chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.model import Array
from lakejoin.signals.wrong_values import wrong_numbers, wrong_texts

if TYPE_CHECKING:
    import pyarrow as pa

Lookup = Callable[["pa.LargeStringArray"], Any]  # which texts a column contains: Arrow booleans

LEAST_CHANCE = 0.02  # unrelated tables share a word now and then
PATTERN_VALUES = 5_000  # values of a column that show its pattern; more are not read
_SAMPLE = 500
_WHOLE = r"^-?\d{1,15}$"


def match_chance(values: pa.LargeStringArray, other_values: pa.LargeStringArray) -> float:
    """The share of wrong values that `other_values` contain, at least `LEAST_CHANCE`.

    >>> import pyarrow as pa
    >>> count = pa.array([str(n) for n in range(1, 101)], pa.large_string())
    >>> match_chance(count, count)
    0.99
    >>> match_chance(pa.array(["bern", "ulm"]), pa.array(["bern", "ulm", "bonn"]))
    0.02
    """
    import pyarrow.compute as pc

    return match_chance_by(values, lambda wrong: pc.is_in(wrong, value_set=other_values))


def match_chance_by(values: pa.LargeStringArray, lookup: Lookup, sample: int = _SAMPLE) -> float:
    """The share of wrong values that `lookup` finds, at least `LEAST_CHANCE`."""
    wrong = wrong_values(values, sample)
    return combine_chances(
        [WrongValues(group.share, _look_up_variants(group.variants, lookup)) for group in wrong]
    )


@dataclass(frozen=True, slots=True, eq=False)
class WrongValues:
    """Wrong values for a share of a column's values; `variants` has a row per kind of change."""

    share: float
    variants: Any


def wrong_values(values: pa.LargeStringArray, sample: int = _SAMPLE) -> list[WrongValues]:
    """Wrong values for a sample of these, as texts; null where none can be made."""
    import pyarrow.compute as pc

    values = _sample(values, PATTERN_VALUES)
    whole = pc.match_substring_regex(values, _WHOLE)
    kinds = (
        (values.filter(whole), wrong_numbers),
        (values.filter(pc.invert(whole)), wrong_texts),
    )
    return [
        WrongValues(share, make(kind_values, _sample(kind_values, math.ceil(share * sample))))
        for kind_values, make in kinds
        if (share := len(kind_values) / max(1, len(values)))
    ]


def _sample(values: pa.LargeStringArray, most: int) -> pa.LargeStringArray:
    if len(values) <= most:
        return values
    positions = np.random.default_rng(0).choice(len(values), most, replace=False)
    return values.take(np.sort(positions))


def combine_chances(matched: Sequence[WrongValues]) -> float:
    """The share of wrong values that match in the variants with the most matches.

    It is at least `LEAST_CHANCE`. `variants` are 1 where a wrong value matches, 0 where it does
    not, and -1 where there is none.
    """
    chance = 0.0
    for group in matched:
        hits, tried = (group.variants > 0).sum(axis=1), (group.variants >= 0).sum(axis=1)
        chance += group.share * float((hits / np.maximum(tried, 1)).max())
    return max(LEAST_CHANCE, chance)


def evidence(values: float, share: float, chance: float) -> float:
    """The evidence, in nats, that a share of the values matches; 0 if chance explains it.

    >>> round(evidence(100, 1.0, 0.5)), evidence(100, 0.4, 0.5)
    (69, 0.0)
    """
    chance = min(chance, 1 - 1e-9)
    if share <= chance:
        return 0.0
    rest = (1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0.0
    return values * (share * math.log(share / chance) + rest)


def _look_up_variants(variants: Sequence[Sequence[str | None]], lookup: Lookup) -> Array:
    """1 where a text is found, 0 where it is not, -1 where there is none.

    All texts are looked up at once, because every lookup may have to prepare a large column.
    """
    import pyarrow as pa

    wrong = pa.array([text for variant in variants for text in variant], pa.large_string())
    exists = np.asarray(wrong.is_valid())
    matched = np.full(len(wrong), -1, np.int8)
    if exists.any():
        matched[exists] = np.asarray(lookup(wrong.drop_null()).fill_null(False))
    return matched.reshape(len(variants), -1)
