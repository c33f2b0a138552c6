"""The narrow forms of numbers: whole ones over a power of ten, or floats, whichever is exact."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

FORMS: tuple[Any, ...] = (np.int8, np.int16, np.int32, np.float32, np.float64)
REPEAT_FORMS: tuple[Any, ...] = (np.uint8, np.uint16, np.uint32, np.int64)

_POWERS = 10  # decimals that whole numbers are tried with
_SAMPLE = 64


def narrowed(numbers: Array) -> tuple[int, int, Array]:
    """(form, power, kept): `kept / 10 ** power` in the narrowest form gives back every number.

    >>> form, power, kept = narrowed(np.array([1.5, 12.34]))
    >>> FORMS[form].__name__, power, kept.tolist()
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
    """Whether the numbers are exactly whole ones over that power of ten."""
    with np.errstate(over="ignore", invalid="ignore"):
        moved = np.rint(numbers * 10.0**power)
        return bool((moved / 10.0**power == numbers).all())


def widened(kept: Array, power: int) -> Array:
    """The numbers again, as float64."""
    return kept.astype(np.float64) if power == 0 else kept / 10.0**power
