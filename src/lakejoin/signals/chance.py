"""Would chance make two columns share as much? Then sharing says nothing.

Row numbers, years, small codes and flags meet in any two tables. What chance gives is measured with
values that are certainly wrong: each value of the smaller column is changed a little, a whole
number by a step, a text in one letter or digit (`wrong.py`), and looked up in the other column.
Numbers that count up are met by wrong values as often as by the right ones; of two-letter codes
every third wrong one is a code as well; of names of towns hardly any is a town.

The evidence is n KL(share || chance), in nats: n values of which a share is met where chance would
have that part of it met; it is the logarithm of how much likelier such a share is without chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.signals.wrong import wrong_numbers, wrong_texts

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]
Held = Callable[["pa.LargeStringArray"], Any]  # which of these texts are held, as Arrow booleans

# Never less: unrelated tables do share a word now and then.
LEAST = 0.02
# So many values of a column tell how it makes its own; more are not looked at.
KNOWN = 5_000
_SAMPLE = 500
_WHOLE = r"^-?\d{1,15}$"


def chance_of_meeting(values: pa.LargeStringArray, others: pa.LargeStringArray) -> float:
    """The share of wrong values that `others` hold, at least `LEAST`.

    >>> import pyarrow as pa
    >>> count = pa.array([str(n) for n in range(1, 101)], pa.large_string())
    >>> chance_of_meeting(count, count)
    0.99
    >>> chance_of_meeting(pa.array(["bern", "ulm"]), pa.array(["bern", "ulm", "bonn"]))
    0.02
    """
    import pyarrow.compute as pc

    return chance_by(values, lambda wrong: pc.is_in(wrong, value_set=others))


def chance_by(values: pa.LargeStringArray, held: Held, sample: int = _SAMPLE) -> float:
    """The share of wrong values that are held, at least `LEAST`; `held` tells it of texts."""
    wrong = wrong_values(values, sample)
    return chance_of([Wrong(one.share, _held(one.ways, held)) for one in wrong])


@dataclass(frozen=True, slots=True, eq=False)
class Wrong:
    """Wrong values of a share of a column's, made in several `ways`: a row of them for each."""

    share: float
    ways: Any


def wrong_values(values: pa.LargeStringArray, sample: int = _SAMPLE) -> list[Wrong]:
    """Wrong values for some of these, as texts; null where none can be made."""
    import pyarrow.compute as pc

    values = _some(values, KNOWN)
    whole = pc.match_substring_regex(values, _WHOLE)
    kinds = (
        (values.filter(whole), wrong_numbers),
        (values.filter(pc.invert(whole)), wrong_texts),
    )
    return [
        Wrong(share, make(known, _some(known, math.ceil(share * sample))))
        for known, make in kinds
        if (share := len(known) / max(1, len(values)))
    ]


def _some(values: pa.LargeStringArray, most: int) -> pa.LargeStringArray:
    if len(values) <= most:
        return values
    places = np.random.default_rng(0).choice(len(values), most, replace=False)
    return values.take(np.sort(places))


def chance_of(met: Sequence[Wrong]) -> float:
    """The share of wrong values that are met, of the ways that meet most, at least `LEAST`.

    `ways` are 1 where a wrong value is met, 0 where it is not, and -1 where there is none.
    """
    chance = 0.0
    for one in met:
        hits, asked = (one.ways > 0).sum(axis=1), (one.ways >= 0).sum(axis=1)
        chance += one.share * float((hits / np.maximum(asked, 1)).max())
    return max(LEAST, chance)


def evidence(values: float, share: float, chance: float) -> float:
    """How much sharing that share of so many values says, in nats; 0 where chance gives as much.

    >>> round(evidence(100, 1.0, 0.5)), evidence(100, 0.4, 0.5)
    (69, 0.0)
    """
    chance = min(chance, 1 - 1e-9)
    if share <= chance:
        return 0.0
    rest = (1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0.0
    return values * (share * math.log(share / chance) + rest)


def _held(ways: Sequence[Sequence[str | None]], held: Held) -> Array:
    """1 where a text is held, 0 where it is not, -1 where there is none.

    All ways are asked for at once: what holds them may be large, and made ready for each question.
    """
    import pyarrow as pa

    wrong = pa.array([text for way in ways for text in way], pa.large_string())
    made = np.asarray(wrong.is_valid())
    met = np.full(len(wrong), -1, np.int8)
    if made.any():
        met[made] = np.asarray(held(wrong.drop_null()).fill_null(False))
    return met.reshape(len(ways), -1)
