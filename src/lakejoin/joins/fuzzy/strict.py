"""The largest threshold at which no text gets two keys (thesis, section 4.6, equation 4.10).

The constraint is monotone in the threshold, so that binary search finds the largest one for every
distance measure; the measure that matches the most texts wins. Only the few nearest keys of a text
are considered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Constraint:
    """Pairs that may match, and the constraint on them.

    A `forbidden` pair would give a second key to a text that has one; with `one_to_one`, a pair
    whose key is taken is forbidden too, and no key may get two texts.
    """

    texts: Array
    keys: Array
    forbidden: Array
    one_to_one: bool

    def allows(self, within: Array) -> bool:
        """Whether these pairs may all match."""
        if self.forbidden[within].any():
            return False
        sides = [self.texts[within]] + [self.keys[within]] * self.one_to_one
        return all(np.bincount(side, minlength=1).max() <= 1 for side in sides)


def strict_rule(far: Array, constraint: Constraint) -> tuple[int, float]:
    """The measure (a row of `far`) and threshold that match the most; -1 for no threshold.

    >>> texts, keys, free = np.array([0, 0, 1]), np.array([0, 1, 1]), np.zeros(3, bool)
    >>> far = np.array([[0.1, 0.9, 0.5], [0.3, 0.3, 0.2]])
    >>> strict_rule(far, Constraint(texts, keys, free, False))
    (0, 0.5)
    """
    largest = [_largest(row, constraint) for row in far]
    joined = [int((row <= s).sum()) for row, s in zip(far, largest, strict=True)]
    best = int(np.argmax(joined))
    return best, largest[best]


def _largest(far: Array, constraint: Constraint) -> float:
    """The largest distance within which the constraint holds, or -1."""
    steps = np.unique(far)
    low, high = 0, len(steps)  # the first `low` steps hold, those from `high` on do not
    while low < high:
        middle = (low + high) // 2
        if constraint.allows(far <= steps[middle]):
            low = middle + 1
        else:
            high = middle
    return float(steps[low - 1]) if low else -1.0
