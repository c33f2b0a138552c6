"""Pairs of rows that are near each other, and how far apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class RowDistances:
    """Pairs of rows, in the order of the left ones, and the distance of each in `unit`.

    The unit is `m` for places, `days` for dates and times, and nothing for plain numbers; by
    meaning the distance is a share of the largest one, 0 to 1, and has none either.
    """

    left_rows: Array
    right_rows: Array
    distance: Array
    unit: str = ""

    def __len__(self) -> int:
        return len(self.left_rows)
