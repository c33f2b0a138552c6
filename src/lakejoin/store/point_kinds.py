"""What a point set is, and what it is built from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from lakejoin.model import Array
    from lakejoin.store.catalog import Catalog
    from lakejoin.store.dictionary import Dictionary
    from lakejoin.store.rows import Rows

NUMBER, COORDINATES, VECTOR = KINDS = ("number", "place", "vector")


class PointSource(Protocol):
    """What point sets are built from: a `lakejoin.store.segment.Segment`."""

    @property
    def catalog(self) -> Catalog:
        """The tables and columns."""

    @property
    def dictionary(self) -> Dictionary:
        """The values."""

    @property
    def rows(self) -> Rows:
        """The rows."""


@dataclass(frozen=True, slots=True, eq=False)
class PointSet:
    """A set to be written: distinct points (n, d) in order, and the number of rows of each."""

    kind: str
    columns: tuple[int, ...]
    points: Array
    repeats: Array
