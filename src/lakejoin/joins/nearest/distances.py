"""Pairs of nearest rows with their distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class RowDistances:
    """Pairs of rows in the order of the left rows, and their distances in `unit`.

    The unit is `m` for coordinates, `days` for dates and times, and empty for numbers. Distances
    by meaning are shares of the largest distance, 0 to 1, without a unit.
    """

    left_rows: Array
    right_rows: Array
    distance: Array
    unit: str = ""

    def __len__(self) -> int:
        return len(self.left_rows)
