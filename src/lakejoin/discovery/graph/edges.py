"""Columns that are contained in columns of other tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Columns that are contained in columns of other tables: `share` of the values of `source`,
    `shared` of them, are in `target`. Both are numbers of columns."""

    source: Array
    target: Array
    shared: Array
    share: Array

    def __len__(self) -> int:
        return len(self.shared)

    def take(self, chosen: Array) -> Edges:
        """Those at some places, or of a mask, in this order."""
        found = self.source[chosen], self.target[chosen], self.shared[chosen]
        return Edges(*found, self.share[chosen])


def all_edges(parts: Sequence[Edges]) -> Edges:
    """The edges of several."""
    none = np.zeros(0, dtype=np.int64)
    return Edges(
        np.concatenate([none, *(one.source for one in parts)]),
        np.concatenate([none, *(one.target for one in parts)]),
        np.concatenate([none, *(one.shared for one in parts)]),
        np.concatenate([np.zeros(0), *(one.share for one in parts)]),
    )
