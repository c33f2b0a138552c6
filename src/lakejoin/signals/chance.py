"""Would chance make two columns share as much? Then sharing says nothing.

Row numbers, years, small codes and flags meet in any two tables. What chance gives is measured with
values that are certainly wrong: each value of the smaller column is changed a little, a whole
number by a step, a text in one letter or digit, and looked up in the other column. Numbers that
count up are met by wrong values as often as by the right ones; of two-letter codes every third
wrong one is a code as well; of names of towns hardly any is a town.

The evidence is n KL(share || chance), in nats: n values of which a share is met where chance would
have that part of it met; it is the logarithm of how much likelier such a share is without chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]
Held = Callable[["pa.LargeStringArray"], Any]  # which of these texts are held, as Arrow booleans

# Never less: unrelated tables do share a word now and then.
LEAST = 0.02
_SAMPLE = 500
_STEPS = (1, -1, 2, -2, 5, 10, -10, 100, 1000)
_WHOLE = r"^-?\d{1,15}$"
_SHIFTS = (1, 2, 3)


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


def chance_by(values: pa.LargeStringArray, held: Held) -> float:
    """The share of wrong values that are held, at least `LEAST`; `held` tells it of texts."""
    return chance_of([Wrong(one.share, _held(one.ways, held)) for one in wrong_values(values)])


@dataclass(frozen=True, slots=True, eq=False)
class Wrong:
    """Wrong values of a share of a column's, made in several `ways`: a row of them for each."""

    share: float
    ways: Any


def wrong_values(values: pa.LargeStringArray, sample: int = _SAMPLE) -> list[Wrong]:
    """Wrong values for some of these, as texts; null where none can be made."""
    import pyarrow.compute as pc

    if len(values) > sample:
        places = np.random.default_rng(0).choice(len(values), sample, replace=False)
        values = values.take(np.sort(places))
    whole = pc.match_substring_regex(values, _WHOLE)
    numbers, texts = values.filter(whole), values.filter(pc.invert(whole))
    kinds = ((numbers, _wrong_numbers), (texts, _wrong_texts))
    return [Wrong(len(some) / len(values), make(some)) for some, make in kinds if len(some)]


def chance_of(met: Sequence[Wrong]) -> float:
    """The share of wrong values that are met, of the ways that meet most, at least `LEAST`.

    `ways` are 1 where a wrong value is met, 0 where it is not, and -1 where there is none.
    """
    chance = 0.0
    for one in met:
        hits, asked = (one.ways > 0).sum(axis=1), (one.ways >= 0).sum(axis=1)
        chance += one.share * float((hits / np.maximum(asked, 1)).max())
    return max(LEAST, chance)


def evidence(values: int, share: float, chance: float) -> float:
    """How much sharing that share of so many values says, in nats; 0 where chance gives as much.

    >>> round(evidence(100, 1.0, 0.5)), evidence(100, 0.4, 0.5)
    (69, 0.0)
    """
    chance = min(chance, 1 - 1e-9)
    if share <= chance:
        return 0.0
    rest = (1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0.0
    return values * (share * math.log(share / chance) + rest)


def _wrong_numbers(values: pa.LargeStringArray) -> list[list[str | None]]:
    """Whole numbers after some steps."""
    import pyarrow as pa

    moved = values.cast(pa.int64()).to_numpy() + np.array(_STEPS)[:, None]
    return [[str(n) for n in each] for each in moved.tolist()]


def _wrong_texts(values: pa.LargeStringArray) -> list[list[str | None]]:
    """Texts with another letter, in some places."""
    texts = [(text, _places(text)) for text in values.to_pylist()]
    return [
        [_changed(text, at[place], shift) for text, at in texts for shift in _SHIFTS]
        for place in (-1, -2, 0)
    ]


def _places(text: str) -> dict[int, int]:
    """Where the first, the last and the last but one of its letters and digits stand."""
    # Looked for from either end: a text may be endless.
    first = next((i for i, character in enumerate(text) if character.isalnum()), -1)
    places = (i for i in range(len(text) - 1, -1, -1) if text[i].isalnum())
    last, before = (*islice(places, 2), -1, -1)[:2]
    return {-1: last, -2: before, 0: first}


def _changed(text: str, at: int, shift: int) -> str | None:
    """The text with the letter or digit there moved on in its alphabet; none where it has none."""
    return None if at < 0 else text[:at] + _next(text[at], shift) + text[at + 1 :]


def _next(character: str, shift: int) -> str:
    for first, size in (("0", 10), ("a", 26), ("A", 26)):
        place = ord(character) - ord(first)
        if 0 <= place < size:
            return chr(ord(first) + (place + shift) % size)
    return chr(ord("a") + (ord(character) + shift) % 26)


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
