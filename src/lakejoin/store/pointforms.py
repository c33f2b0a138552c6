"""Stores numbers in the narrowest exact form: integers over a power of ten, or floats."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

FORMS: tuple[Any, ...] = (np.int8, np.int16, np.int32, np.float32, np.float64)
REPEAT_FORMS: tuple[Any, ...] = (np.uint8, np.uint16, np.uint32, np.int64)

_POWERS = 10  # decimals that are tried
_SAMPLE = 64


def narrow_numbers(numbers: Array) -> tuple[int, int, Array]:
    """(form, power, stored): `stored / 10 ** power` gives back every number exactly.

    >>> form, power, stored = narrow_numbers(np.array([1.5, 12.34]))
    >>> FORMS[form].__name__, power, stored.tolist()
    ('int16', 2, [150, 1234])
    """
    for power in range(_POWERS):
        sample = numbers[:: max(1, len(numbers) // _SAMPLE)]
        if _is_whole(sample, power) and _is_whole(numbers, power):
            whole = np.rint(numbers * 10.0**power)
            low, high = float(whole.min()), float(whole.max())
            for form in range(3):
                limits = np.iinfo(FORMS[form])
                if limits.min <= low and high <= limits.max:
                    return form, power, whole.astype(FORMS[form])
            break
    with np.errstate(over="ignore"):
        short = numbers.astype(np.float32)
    if np.array_equal(short, numbers):
        return 3, 0, short
    return 4, 0, numbers.astype(np.float64)


def _is_whole(numbers: Array, power: int) -> bool:
    """Whether all numbers are exactly integers over this power of ten."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.rint(numbers * 10.0**power)
        return bool((scaled / 10.0**power == numbers).all())


def widen_numbers(stored: Array, power: int) -> Array:
    """The original numbers, as float64."""
    return stored.astype(np.float64) if power == 0 else stored / 10.0**power
