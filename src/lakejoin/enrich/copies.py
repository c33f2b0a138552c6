"""Which columns of the lake are my own again, and which are the very target?

A column is one of mine if, of the rows that meet, nearly all have in it the value that mine have,
and rows of other keys have not; by codes, so that spellings and many rows for one key do no harm. A
table with most of my columns is my table, an older version or an extract of it, and is left out
whole. A column that is the target in another unit, rounded, or by other names for its classes, is
left out too: what it tells will not be known for new rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.enrich.lines import lines_of, tokens_of
from lakejoin.enrich.target import ranks
from lakejoin.enrich.their_table import TheirTable
from lakejoin.store.dictionary import NOT_FOUND

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.enrich.gathering import Gathered, Values
    from lakejoin.enrich.linking import Link
    from lakejoin.enrich.target import Target
    from lakejoin.store.snapshot import Snapshot

Array = np.ndarray[Any, Any]

_ROWS = 300  # of mine that are compared
_FEWEST = 10
_SAME, _SAME_OF_FEW, _FEW = 0.5, 0.95, 10  # beyond chance; of columns with few values
_BY_NAME = 0.98
_MOST_OF_MINE = 0.8  # columns that make a table my own
_COPIED, _RANKED = 0.99999, 0.9999  # correlation of numbers, and of ranks
_DIGITS = range(-6, 7)  # behind the point, to which numbers may have been rounded
_OF_SPREAD = 0.4  # of the standard deviation: the last digit tells little
_OF_DIGIT = 0.65  # half of it, and what the line between both is off
_RENAMED = 0.99  # rows whose class has the name that it has elsewhere
# What one column tells nearly alone is told but not left out: the class of so many rows, or numbers
# that are correlated so much, themselves or by their ranks.
_ALONE, _NEARLY = 0.99, 0.98


@dataclass(frozen=True)
class LeftOut:
    """A column that is left out, or a whole table (`column` is empty), and why."""

    table: str
    column: str
    why: str

    def __str__(self) -> str:
        what = f"{self.column} of {self.table}" if self.column else self.table
        return f"{what}: {self.why}"


@dataclass(frozen=True, eq=False)
class Same:
    """By link and place of a column of theirs, the columns of mine that it is."""

    found: dict[tuple[int, int], tuple[str, ...]]

    def of(self, values: Values) -> tuple[str, ...]:
        """The columns of mine that a column is."""
        return self.found.get((values.column.link, values.column.place), ())


def same_columns(snapshot: Snapshot, links: Sequence[Link], mine: pa.Table, rows: Array) -> Same:
    """Which columns of theirs are mine again, as some rows tell; the target may be one of mine."""
    some = mine.take(rows[np.linspace(0, len(rows) - 1, min(_ROWS, len(rows))).astype(np.int64)])
    found = {}
    for number, link in enumerate(links):
        table = TheirTable(snapshot, link.table)
        lines = lines_of(some, link.mine)
        partners = link.partners(lines, table)
        partner = np.append(partners.of_line, -1)[lines.of_row]
        met = np.flatnonzero(partner >= 0)
        if len(met) < _FEWEST:
            continue
        others = [name for name in mine.column_names if name not in link.mine]
        own = {name: _codes(some[name], table) for name in others}
        for place, column in enumerate(table.columns):
            held = table.held(place, partners)
            same = [
                name
                for name, codes in own.items()
                if _is_same(codes[met], partner[met], held, name == column.name)
            ]
            if same:
                found[number, place] = tuple(same)
    return Same(found)


def _codes(column: pa.ChunkedArray, table: TheirTable) -> Array:
    """The code of each row in their segment; a value that it does not know has one below 0."""
    tokens, of_row = tokens_of(column, table.rules)
    codes = table.find(tokens).astype(np.int64)
    codes = np.where(codes == NOT_FOUND, -2 - np.arange(len(codes)), codes)
    return np.append(codes, -1)[of_row]


def _is_same(codes: Array, partner: Array, held: Array, same_name: bool) -> bool:
    """Whether my values are among those of each row's partner, and not of other rows'."""
    known = codes != -1
    codes, partner = codes[known], partner[known]
    distinct = len(np.unique(codes))
    if len(codes) < _FEWEST or distinct < 2:
        return False
    share = np.isin(_pairs(partner, codes), held).mean()
    if share < _SAME:
        return False
    if same_name and share >= _BY_NAME:
        return True
    mixed = np.random.default_rng(0).permutation(len(codes))
    chance = np.isin(_pairs(partner, codes[mixed]), held).mean()
    if chance > 0.9:
        return False  # nothing can be told
    beyond = (share - chance) / (1 - chance)
    return bool(beyond >= (_SAME if distinct > _FEW else _SAME_OF_FEW))


def _pairs(partner: Array, codes: Array) -> Array:
    return np.where(codes < 0, -1, (partner.astype(np.int64) << 32) | np.maximum(codes, 0))


def my_own_tables(same: Same, links: Sequence[Link], columns: Sequence[str]) -> dict[int, LeftOut]:
    """By link, the tables that are mine again; `columns` are mine, and the target."""
    found = {}
    for number, link in enumerate(links):
        others = [name for name in columns if name not in link.mine]
        again = {name for (one, _), names in same.found.items() if one == number for name in names}
        if len(again) >= 2 and len(again) >= _MOST_OF_MINE * len(others):
            why = f"it has {len(again)} of my columns with my values: a version of my own table"
            found[number] = LeftOut(link.table, "", why)
    return found


def copies_target(values: Values, gathered: Gathered, rows: Array, target: Target) -> str:
    """Why a column is the target by another scale or other names; empty if it is not.

    `rows` are places of the sample, and `target` is that of these rows.
    """
    theirs = gathered.at_rows(values)[rows]
    there = np.isfinite(theirs)
    theirs, mine = theirs[there], target.values[there]
    if len(theirs) < _FEWEST:
        return ""
    if target.is_classes:
        return "it is the target by other names" if _one_to_one(theirs, mine) else ""
    if values.texts or len(np.unique(mine)) < _FEW or theirs.std() == 0 or mine.std() == 0:
        return ""
    if abs(float(np.corrcoef(theirs, mine)[0, 1])) >= _COPIED:
        return "it is the target in another unit"
    if abs(float(np.corrcoef(ranks(theirs), ranks(mine))[0, 1])) >= _RANKED:
        return "it is the target by another scale"
    if _rounds_to(theirs, mine) or _rounds_to(mine, theirs):
        return "it is the target, rounded"
    return ""


def _rounds_to(fine: Array, rough: Array) -> bool:
    """Whether the one, in another unit if need be, is the other but for the digits that this does
    not have: nearly all are within half of its last digit."""
    fits = (10.0**-d for d in _DIGITS if np.allclose(np.round(rough, d), rough, 1e-12, 1e-12))
    last = next(fits, np.inf)
    if last > _OF_SPREAD * rough.std():
        return False  # so few digits are met by accident
    slope, offset = np.polyfit(fine, rough, 1)
    apart = np.abs(slope * fine + offset - rough)
    return bool((apart <= _OF_DIGIT * last).mean() >= _BY_NAME)


def _one_to_one(theirs: Array, classes: Array) -> bool:
    """Whether each value goes with one class and each class with one value, nearly always."""
    values = np.unique(theirs, return_inverse=True)[1].reshape(-1)
    names = np.unique(classes, return_inverse=True)[1].reshape(-1)
    if values.max() > 2 * names.max() + 1 or names.max() < 1:
        return False
    table = np.zeros((values.max() + 1, names.max() + 1))
    np.add.at(table, (values, names), 1)
    best = table.max(axis=1).sum(), table.max(axis=0).sum()
    # Both ways: a value that tells the class is a good predictor, and no copy of it.
    return bool(min(best) >= _RENAMED * len(theirs))


def tells_alone(values: Values, gathered: Gathered, rows: Array, target: Target) -> bool:
    """Whether a column tells the target of nearly all rows: to be looked at, if it is known before
    the target is. A text that tells the class, or a number that goes up and down with mine."""
    theirs = gathered.at_rows(values)[rows]
    there = np.isfinite(theirs)
    theirs, mine = theirs[there], target.values[there]
    if len(theirs) < _FEWEST:
        return False
    if not target.is_classes:
        return not values.texts and _nearly_tells(theirs, mine)
    return bool(values.texts) and _tells_class(theirs, mine.astype(np.int64), target)


def _nearly_tells(theirs: Array, mine: Array) -> bool:
    if theirs.std() == 0 or mine.std() == 0 or len(np.unique(mine)) < _FEW:
        return False
    pairs = (theirs, mine), (ranks(theirs), ranks(mine))
    return any(abs(float(np.corrcoef(*pair)[0, 1])) >= _NEARLY for pair in pairs)


def _tells_class(theirs: Array, mine: Array, target: Target) -> bool:
    table = np.zeros((int(theirs.max()) + 1, len(target.classes)))
    np.add.at(table, (theirs.astype(np.int64), mine), 1)
    several = table.sum(axis=1) > 1
    usual = np.bincount(mine).max() / len(mine)
    told = table[several].max(axis=1).sum() / max(1, table[several].sum())
    return bool(several.any() and told >= _ALONE and usual < _ALONE and table[several].sum() > 0)
