"""In which ways do rows get a key? What was found of a join, before its rows are made.

One table has the key: columns as they are, or a text that a program makes of them. A row of the
other, the source, gets a value of that key in one of several ways, tried one after the other: its
own column is equal, a program rewrites it, or a list says which value is meant. So all rows that
join do so by one number each, whatever the way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.joins.keys import NO_KEY, Keys

if TYPE_CHECKING:
    from lakejoin.joins.autojoin.programs import Program

Array = np.ndarray[Any, Any]

NO_WAY = -1
LISTED = (
    "agreeing",
    "fuzzy",
    "meaning",
    "nearest",
)  # ways that are a list of values and not a rule


@dataclass(frozen=True, eq=False)
class Way:
    """One way for source rows to get a key: `codes` is the key of each, or `NO_KEY`.

    What is compared with the key is `columns` as they are, or what `program` makes of them.
    """

    kind: str  # equal, transform, agreeing, fuzzy, meaning or nearest
    columns: tuple[str, ...]
    codes: Array
    words: str
    sure: float  # 0..1
    why: str
    program: Program | None = None
    distance: Array | None = None  # of each source row to its key, where one is measured
    unit: str = ""  # of the distances
    met: Program | None = None  # what of the key's table is compared, where that is not the key


@dataclass(frozen=True, eq=False)
class Told:
    """What tells rows with the same key apart: texts of both tables that must agree as well.

    `split` says of which keys; rows of others meet by the key alone. The codes are equal numbers
    for equal texts.
    """

    source: Program
    target: Program
    split: Array
    source_codes: Array
    target_codes: Array
    words: str = ""
    why: str = ""

    def keys_of(self, source: Array, target: Array, count: int) -> tuple[Array, Array, int]:
        """Finer keys of source and target rows, where these and so many are the keys."""
        most = 1 + max(int(self.source_codes.max(initial=0)), int(self.target_codes.max(initial=0)))
        finer = [
            self._finer(keys, values, count, most)
            for keys, values in ((source, self.source_codes), (target, self.target_codes))
        ]
        distinct = np.unique(np.concatenate(finer))
        distinct = distinct[distinct >= count]
        mine, theirs = (
            np.where(keys < count, keys, count + np.searchsorted(distinct, keys)) for keys in finer
        )
        return mine, theirs, count + len(distinct)

    def _finer(self, keys: Array, values: Array, count: int, most: int) -> Array:
        split = np.append(self.split, False)[keys]
        finer = np.where(values >= 0, count + keys * most + values, NO_KEY)
        return np.where(split, finer, keys)


@dataclass(frozen=True, eq=False)
class Found:
    """The key of one table, and the ways in which rows of the other get it."""

    source_side: str
    columns: tuple[str, ...]  # of the key
    codes: Array  # the key of each row of that table, `NO_KEY` for none
    count: int
    ways: tuple[Way, ...]
    program: Program | None = None  # that makes the key of the columns, where it is not these
    told: Told | None = None  # what tells rows with the same key apart

    @property
    def target_side(self) -> str:
        """The side that has the key."""
        return "right" if self.source_side == "left" else "left"

    @cached_property
    def way_of(self) -> Array:
        """The way in which each source row gets its key: the first that gives one that exists."""
        way = np.full(len(self.ways[0].codes), NO_WAY, np.int64)
        exists = np.zeros(self.count + 1, bool)  # the last for `NO_KEY`
        exists[self.codes[self.codes >= 0]] = True
        for place in reversed(range(len(self.ways))):
            way[exists[self.ways[place].codes]] = place
        return way

    @cached_property
    def source_codes(self) -> Array:
        """The key of each source row, in the way that it gets it."""
        codes = np.full(len(self.way_of), NO_KEY, np.int64)
        for place, way in enumerate(self.ways):
            rows = self.way_of == place
            codes[rows] = way.codes[rows]
        return codes

    @cached_property
    def keys(self) -> Keys:
        """The keys of the left and of the right rows."""
        sides, count = (self.source_codes, self.codes), self.count
        if self.told is not None:
            *finer, count = self.told.keys_of(*sides, count)
            sides = finer[0], finer[1]
        return Keys(*(sides if self.source_side == "left" else sides[::-1]), count)

    @cached_property
    def target_joined(self) -> Array:
        """Whether each row of the key's table has a partner."""
        met = np.zeros(self.count + 1, bool)
        met[self.source_codes] = True
        met[-1] = False
        return np.asarray(met[self.codes])

    @property
    def joined(self) -> tuple[int, int]:
        """How many left and right rows have a partner."""
        counts = int(np.count_nonzero(self.way_of >= 0)), int(np.count_nonzero(self.target_joined))
        return counts if self.source_side == "left" else (counts[1], counts[0])

    @property
    def known(self) -> tuple[Array, Array]:
        """Each source row that has a partner, with the first row that holds its key."""
        first = np.full(self.count, len(self.codes), np.int64)
        held = np.flatnonzero(self.codes >= 0)
        np.minimum.at(first, self.codes[held], held)
        rows = np.flatnonzero(self.way_of >= 0)
        return rows, first[self.source_codes[rows]]

    @property
    def known_of_target(self) -> tuple[Array, Array]:
        """The same from the other side: each row that has a key and a partner, with the first."""
        first = np.full(self.count + 1, len(self.way_of), np.int64)
        held = np.flatnonzero(self.way_of >= 0)
        np.minimum.at(first, self.source_codes[held], held)
        rows = np.flatnonzero(self.target_joined)
        return rows, first[self.codes[rows]]

    @property
    def more_targets_join(self) -> bool:
        """Whether the table that has the key is the one of which a larger share joins."""
        return bool(self.target_joined.mean() > (self.way_of >= 0).mean())

    def also(self, way: Way) -> Found:
        """With one more way, for the source rows that no other one helps."""
        return replace(self, ways=(*self.ways, way))

    def told_by(self, told: Told) -> Found:
        """With rows of the same key told apart."""
        return replace(self, told=told)
