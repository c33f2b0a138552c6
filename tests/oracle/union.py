"""Brute force for union search: every alignment, and new rows by Python sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, permutations

Cells = Sequence[Sequence[object]]


def best_product(likeness: Sequence[Sequence[float]], pairs: int) -> float | None:
    """The largest product of so many pairs in which no row and no column occurs twice; None where
    there is no such choice of pairs that are alike at all."""
    rows, columns = len(likeness), len(likeness[0]) if likeness else 0
    best = None
    for some in combinations(range(rows), pairs):
        for others in permutations(range(columns), pairs):
            factors = [likeness[r][c] for r, c in zip(some, others, strict=True)]
            if all(factors) and (best is None or math.prod(factors) > best):
                best = math.prod(factors)
    return best


def new_rows(mine: Cells, theirs: Cells) -> list[int]:
    """The places of the rows of theirs that mine does not have; both are columns."""
    known = set(zip(*mine, strict=True))
    return [i for i, row in enumerate(zip(*theirs, strict=True)) if row not in known]
