"""The ways in which a table of the lake joins with mine, each with its signals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from lakejoin.discovery.fused.agreeing import MyWords, agreement
from lakejoin.discovery.fused.chances import Chances
from lakejoin.discovery.fused.ends import Ends, ends_of, same_ends
from lakejoin.joins.given import subject
from lakejoin.model import ColumnType
from lakejoin.search.fuse import Signals, Weighed, weigh
from lakejoin.search.query import locate
from lakejoin.signals.chance import LEAST
from lakejoin.signals.likely_names import identifies, names_alike

if TYPE_CHECKING:
    from lakejoin.discovery.fused.lake_names import LakeNames
    from lakejoin.search.mine import MyTable
    from lakejoin.search.query import Query
    from lakejoin.search.result import Found

Array = np.ndarray[Any, Any]

_SOME = 8  # values that must meet for their rarity to count in full
_DENSE = 0.5  # of the share that meets, chance gives as much: of numbers, the ends are asked

Kind = Literal["equal", "rewritten", "meaning", "near"]


class Met(Protocol):
    """What a way needs to know of the values that meet; results of the engines tell it."""

    @property
    def rank(self) -> int:
        """Its place among what was found for the same columns of mine."""

    @property
    def table(self) -> str:
        """The table."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table, in the order of mine."""

    @property
    def matched(self) -> int:
        """How many of my values find a partner."""

    @property
    def containment(self) -> float:
        """That share of my values."""

    @property
    def query_size(self) -> int:
        """How many values of mine there are."""

    @property
    def column_size(self) -> int:
        """How many values theirs are."""

    @property
    def row_coverage(self) -> float | None:
        """The share of my rows that find a partner."""

    @property
    def fan_out(self) -> float | None:
        """The rows of the join per row of mine."""

    @property
    def found(self) -> Found | None:
        """Where it lies in the index."""

    def sql(self) -> str:
        """DuckDB SQL that makes the join."""


@dataclass(frozen=True, eq=False)
class Way:
    """One way to join: my columns with theirs, what was found, and what it is worth.

    `kind` says whether values are equal, equal once rewritten, mean the same or lie near; `how` is
    in words by which program, or within which distance, and empty for equal values. `beside_equal`
    says that some values of the same columns are equal as they are.
    """

    columns: tuple[str, ...]
    result: Met
    signals: Signals
    kind: Kind = "equal"
    how: str = ""
    beside_equal: bool = False

    @cached_property
    def weighed(self) -> Weighed:
        """Its score and reasons."""
        return weigh(replace(self.signals, plain=self.kind == "equal" or self.beside_equal))

    @property
    def order(self) -> tuple[bool, float, float]:
        """By this ways are put in order, the smallest first."""
        return not self.believed, -self.weighed.score, -self.weighed.nats

    @property
    def believed(self) -> bool:
        """Whether it is more than an accident."""
        return not self.weighed.accidental

    @property
    def pairs(self) -> str:
        """Which of my columns goes with which of theirs, and how."""
        mine, theirs = self.columns, self.result.columns
        sign = "=" if self.kind == "equal" else "~"
        if len(mine) == len(theirs):
            both = zip(mine, theirs, strict=True)
            told = " and ".join(f"{one} {sign} {other}" for one, other in both)
        else:  # a place may be one column or two
            told = f"{', '.join(mine)} {sign} {', '.join(theirs)}"
        return f"{told} ({self.how})" if self.how else told

    @property
    def why(self) -> str:
        """Why it is believed, or why not, in words."""
        told = "; ".join(one.words for one in self.weighed.reasons)
        return self.weighed.accidental or told

    def with_rows(self, nats: float) -> Way:
        """The same, knowing how much other columns agree."""
        return replace(self, signals=replace(self.signals, rows=nats))

    def to_dict(self) -> dict[str, Any]:
        """The way as JSON has it."""
        return {
            "kind": self.kind,
            "how": self.how,
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


def found_by(way: Way) -> Found:
    """Where the table of a way lies in the index."""
    assert way.result.found is not None, "a result of a search has its place"
    return way.result.found


def unique_of(result: Met) -> float:
    """Distinct values for each row that has one: of my columns or of theirs, the larger."""
    return min(1.0, max(_unique_sides(result)))


def refers(result: Met) -> float:
    """How near it is to a reference: how much of one side is in the other, times how near that is
    to a key. 1 where all my values are in a key of theirs, or theirs in mine."""
    mine, theirs = _unique_sides(result)
    of_theirs = result.matched / max(1, result.column_size)
    return min(1.0, max(mine * of_theirs, theirs * result.containment))


def _unique_sides(result: Met) -> tuple[float, float]:
    """Distinct values for each row that has one, of mine and of theirs."""
    found = result.found
    assert found is not None, "a result of a search has its place"
    mine = len(found.query) / max(1, int(found.query.counts.sum()))
    if len(found.columns) == 1:
        theirs = found.segment.catalog.columns["uniqueness"][found.columns[0]].as_py()
    else:
        theirs = result.column_size / max(1, found.entry.rows)
    return mine, float(theirs)


class ColumnWays:
    """The ways by which one column of mine joins columns of the lake."""

    def __init__(self, mine: MyTable, place: int, lake: LakeNames) -> None:
        self._mine = mine
        self._place = place
        self._lake = lake
        self.query: Query = mine.query(place)
        self._chances = Chances(self.query)
        self._codes: dict[int, Array] = {}  # of the query, by segment

    @cached_property
    def _words(self) -> MyWords:
        return MyWords(self._mine, self._place, self.query)

    @cached_property
    def _ends(self) -> Ends | None:
        return ends_of(self.query.tokens)

    def quick(self, results: Sequence[Met]) -> list[Way]:
        """What is known without looking at their values: as if chance gave little."""
        matched = np.sort([one.matched for one in results])
        return [self._quick(one, matched) for one in results]

    def _quick(self, result: Met, matched: Array) -> Way:
        fewer = max(1, min(result.query_size, result.column_size))
        theirs = result.columns[0]
        tables = subject(self.query.table), subject(result.table)
        alike = names_alike(self.query.column, theirs, *tables)
        as_many = len(matched) - int(np.searchsorted(matched, result.matched / 2))
        signals = Signals(
            fewer,
            min(1.0, result.matched / fewer),
            LEAST,
            result.containment,
            alike.alike,
            rarity=self._rarity(result.matched, as_many),
            telling=self._telling(theirs),
            identify=alike.say_identifier,
            unique=unique_of(result),
            refers=refers(result),
        )
        return Way((self.query.column,), result, signals)

    def _telling(self, theirs: str) -> float:
        """Of the two names the one that says more, as of `film_id` and the `id` of films."""
        if self.query.type is ColumnType.DATE:
            return 0.0
        return max(map(self._lake.telling, (self.query.column, theirs)))

    def _rarity(self, matched: int, as_many: int) -> float:
        """Less where few values meet; and the days of a year are in many tables."""
        if self.query.type is ColumnType.DATE:
            return 0.0
        nats = max(0.0, math.log(self._lake.columns / max(1, as_many)))
        return nats * min(1.0, matched / _SOME)

    def against_chance(self, way: Way) -> Way:
        """The same, knowing what chance would give."""
        found = way.result.found
        assert found is not None, "a result of a search has its place"
        size = way.result.column_size
        chance = self._chances.of(found.number, found.segment, found.columns[0], size)
        signals = replace(way.signals, chance=chance)
        # Both count only where nearly all values of the smaller column are in both.
        theirs = self._their_ends(found) if signals.nearly_all else None
        if self._ends and theirs:
            dense = chance >= _DENSE * signals.share
            named = signals.telling * self._named(way, dense, self._ends.are_years)
            signals = replace(
                signals,
                ends=same_ends(self._ends, theirs) if dense else 0.0,
                # Few columns are large enough to hold a long count; that says nothing.
                rarity=0.0 if self._ends.are_common or theirs.are_common else signals.rarity,
                telling=named,
            )
        return replace(way, signals=signals)

    def _named(self, way: Way, dense: bool, years: bool) -> float:
        """How much names of numbers count: not at all of years, and half where the numbers leave
        few gaps and no name says that they identify something."""
        if years:
            return 0.0
        return 0.5 if dense and not identifies(way.result.columns[0]) else 1.0

    def _their_ends(self, found: Found) -> Ends | None:
        if self._ends is None:
            return None
        codes = found.segment.postings.codes_of(found.columns[0])
        return ends_of(found.segment.dictionary.texts.take(codes))

    def with_agreement(self, way: Way) -> Way:
        """The same, knowing whether other columns agree in the rows that meet."""
        found = way.result.found
        assert found is not None, "a result of a search has its place"
        if found.number not in self._codes:
            self._codes[found.number] = locate(self.query, found.number, found.segment)
        codes = self._codes[found.number]
        entry, column = found.entry, found.columns[0]
        return way.with_rows(
            agreement(self._words, self.query, codes, found.segment, entry, column)
        )
