"""The ways in which a table of the lake joins with mine, each with its signals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.fuse import Signals, Weighed, weigh
from lakejoin.search.fused.agreeing import MyWords, agreement
from lakejoin.search.fused.chances import Chances
from lakejoin.search.query import locate
from lakejoin.signals.chance import LEAST
from lakejoin.signals.likely_names import names_alike

if TYPE_CHECKING:
    from lakejoin.search.mine import MyTable
    from lakejoin.search.query import Query
    from lakejoin.search.result import Result

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Way:
    """One way to join: my columns with theirs, what was found, and what it is worth."""

    columns: tuple[str, ...]
    result: Result
    signals: Signals

    @cached_property
    def weighed(self) -> Weighed:
        """Its score and reasons."""
        return weigh(self.signals)

    def with_rows(self, nats: float) -> Way:
        """The same, knowing how much other columns agree."""
        return replace(self, signals=replace(self.signals, rows=nats))

    def to_dict(self) -> dict[str, Any]:
        """The way as JSON has it."""
        return {
            "kind": "equal",
            "mine": list(self.columns),
            "theirs": list(self.result.columns),
            "matched": self.result.matched,
            "containment": self.result.containment,
            "row_coverage": self.result.row_coverage,
            "fan_out": self.result.fan_out,
            "chance": self.signals.chance,
            "score": self.weighed.score,
            "reasons": [
                {"what": one.what, "nats": one.nats, "words": one.words}
                for one in self.weighed.reasons
            ],
            "accidental": self.weighed.accidental,
        }


class ColumnWays:
    """The ways by which one column of mine joins columns of the lake."""

    def __init__(self, mine: MyTable, place: int) -> None:
        self._mine = mine
        self._place = place
        self.query: Query = mine.query(place)
        self._chances = Chances(self.query)

    @cached_property
    def _words(self) -> MyWords:
        return MyWords(self._mine, self._place, self.query)

    def quick(self, result: Result) -> Way:
        """What is known without looking at their values: as if chance gave little."""
        fewer = max(1, min(result.query_size, result.column_size))
        signals = Signals(
            fewer,
            min(1.0, result.matched / fewer),
            LEAST,
            result.containment,
            names_alike(self.query.column, result.columns[0]).alike,
        )
        return Way((self.query.column,), result, signals)

    def against_chance(self, way: Way) -> Way:
        """The same, knowing what chance would give."""
        found = way.result.found
        assert found is not None, "a result of a search has its place"
        size = way.result.column_size
        chance = self._chances.of(found.number, found.segment, found.columns[0], size)
        return replace(way, signals=replace(way.signals, chance=chance))

    def with_agreement(self, way: Way) -> Way:
        """The same, knowing whether other columns agree in the rows that meet."""
        found = way.result.found
        assert found is not None, "a result of a search has its place"
        codes = locate(self.query, found.number, found.segment)
        entry, column = found.entry, found.columns[0]
        return way.with_rows(
            agreement(self._words, self.query, codes, found.segment, entry, column)
        )
