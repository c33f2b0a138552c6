"""The edges of the join graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Columns that are contained in columns of other tables: `shared` values of `source`, a share
    `share` of them, are in `target`. Both are indexes of columns in the graph."""

    source: Array
    target: Array
    shared: Array
    share: Array

    def __len__(self) -> int:
        return len(self.shared)

    def take(self, chosen: Array) -> Edges:
        """The edges at these positions, in this order, or where a mask is set."""
        return Edges(
            self.source[chosen], self.target[chosen], self.shared[chosen], self.share[chosen]
        )


def concat_edges(parts: Sequence[Edges]) -> Edges:
    """Concatenate edges."""
    none = np.zeros(0, dtype=np.int64)
    return Edges(
        np.concatenate([none, *(edges.source for edges in parts)]),
        np.concatenate([none, *(edges.target for edges in parts)]),
        np.concatenate([none, *(edges.shared for edges in parts)]),
        np.concatenate([np.zeros(0), *(edges.share for edges in parts)]),
    )
