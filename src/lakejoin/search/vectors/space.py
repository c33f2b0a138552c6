"""What is near enough, and among which vectors is it looked for?"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.search.near_options import MEASURES
from lakejoin.search.vectors.candidates import Finder
from lakejoin.search.vectors.counting import Board
from lakejoin.search.vectors.exact import check_metric
from lakejoin.search.vectors.lists import ColumnLists
from lakejoin.store.compact import LARGEST, Compact, VectorSource

Array = np.ndarray[Any, Any]

METHODS = ("auto", "tree", "flat", "grid", "groups")


@dataclass(frozen=True, slots=True)
class Nearness:
    """What is near enough, and how columns are scored.

    `radius` is in the `metric`: `l2`, `l1`, or `angular`, in radians, for vectors of length 1. The
    `measure` is `hit`, the number of my values with a partner in the column, or `all`, the number
    of pairs. Columns that score less than `least` are left out, and all but the best `k`.

    >>> Nearness(-1.0)
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: a distance must be a number from 0 to 1e+12, not -1.0
    """

    radius: float
    metric: str = "l2"
    measure: str = "hit"
    least: int = 1
    k: int | None = None
    method: str = "auto"

    def __post_init__(self) -> None:
        if not 0 <= self.radius <= LARGEST:
            raise InputError(
                f"a distance must be a number from 0 to {LARGEST:g}, not {self.radius!r}"
            )
        if self.k is not None and self.k < 1:
            raise InputError(f"k must be a whole number from 1 on, not {self.k!r}")
        check_metric(self.metric)
        if self.measure not in MEASURES:
            raise InputError(f"measure must be {' or '.join(MEASURES)}, not {self.measure!r}")
        if self.method not in METHODS:
            raise InputError(f"no method {self.method!r}; there are {', '.join(METHODS)}")


@dataclass(frozen=True, eq=False)
class Space:
    """The vectors of one segment: in compact form, whole, and by column."""

    compact: Compact
    source: VectorSource
    lists: ColumnLists
    papers: dict[tuple[str, str], Any] = field(default_factory=dict, repr=False)  # once built
    boards: list[Board] = field(default_factory=list, repr=False)  # those that nobody uses
    slots: list[Array] = field(default_factory=list, repr=False)  # room by id, of the same kind

    @cached_property
    def finder(self) -> Finder:
        """Finds candidates."""
        return Finder(self.compact, self.source)

    def paper(self, name: str, metric: str) -> Any:
        """A method of the papers for a metric, built when it is first asked for."""
        if (name, metric) not in self.papers:
            self.papers[name, metric] = _build(name, metric, self)
        return self.papers[name, metric]


def _build(name: str, metric: str, space: Space) -> Any:
    if name == "grid":
        from lakejoin.search.vectors.grid import GridMethod

        return GridMethod.of(space, metric)
    from lakejoin.search.vectors.groups import GroupMethod

    return GroupMethod.of(space, metric)
