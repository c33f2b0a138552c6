"""Detects lake columns that copy the query table or the target.

A column copies one of the query table if nearly all matching rows have the same value in both, and
rows of other keys do not; values are compared by codes, so spellings and several rows per key do
not matter. A table that copies most columns is a version or an extract of the query table and is
left out as a whole. A column that is the target in another unit, rounded, or with other names for
its classes is left out too: it will not be known for new rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakejoin.enrich.key_matches import LinkedTable, distinct_keys, distinct_tokens
from lakejoin.enrich.training_data import Target, mean_ranks
from lakejoin.model import Array
from lakejoin.store.dictionary import NOT_FOUND

if TYPE_CHECKING:
    from lakejoin.enrich.lake_columns import ColumnValues, GatheredColumns
    from lakejoin.enrich.links import Link
    from lakejoin.store.snapshot import Snapshot

_COMPARED_ROWS = 300  # of the query table
_FEWEST = 10
_SAME, _SAME_OF_FEW, _FEW = 0.5, 0.95, 10  # agreement beyond chance; for few distinct values
_BY_NAME = 0.98
_VERSION_SHARE = 0.8  # share of copied columns that makes a table a version
_COPIED, _RANKED = 0.99999, 0.9999  # correlation of numbers, and of ranks
_DIGITS = range(-6, 7)  # decimals to which numbers may have been rounded
_OF_SPREAD = 0.4  # of the standard deviation: a coarser last digit proves nothing
_OF_DIGIT = 0.65  # half of the last digit, and the error of the fitted line
_MIN_ONE_TO_ONE = 0.99  # share of rows whose class always has the same other name
# A column that nearly predicts the target alone is noted but not left out: the class of this share
# of rows, or numbers or ranks with this correlation.
_ALONE, _NEARLY = 0.99, 0.98


@dataclass(frozen=True)
class LeftOut:
    """A column that is left out, or a whole table (`column` is empty), and why."""

    table: str
    column: str
    why: str

    def __str__(self) -> str:
        name = f"{self.column} of {self.table}" if self.column else self.table
        return f"{name}: {self.why}"


# By link and column index of a lake column, the query table's columns that it copies.
CopiedColumns = dict[tuple[int, int], tuple[str, ...]]


def find_copied_columns(
    snapshot: Snapshot, links: Sequence[Link], query_table: pa.Table, rows: Array
) -> CopiedColumns:
    """Find the lake columns that copy the query table, judged by some rows; it may include the
    target."""
    sample = query_table.take(
        rows[np.linspace(0, len(rows) - 1, min(_COMPARED_ROWS, len(rows))).astype(np.int64)]
    )
    copied: CopiedColumns = {}
    for link_index, link in enumerate(links):
        table = LinkedTable(snapshot, link.table)
        keys = distinct_keys(sample, link.query_columns)
        matches = link.matches(keys, table)
        match = np.append(matches.by_key, -1)[keys.of_row]
        matched = np.flatnonzero(match >= 0)
        if len(matched) < _FEWEST:
            continue
        others = [name for name in query_table.column_names if name not in link.query_columns]
        own = {name: _codes(sample[name], table) for name in others}
        for column_index, column in enumerate(table.columns):
            held = table.distinct_pairs(column_index, matches)
            same = [
                name
                for name, codes in own.items()
                if _is_same(codes[matched], match[matched], held, name == column.name)
            ]
            if same:
                copied[link_index, column_index] = tuple(same)
    return copied


def _codes(column: pa.ChunkedArray, table: LinkedTable) -> Array:
    """The code of each row in the lake table's segment; negative for unknown values."""
    tokens, of_row = distinct_tokens(column, table.rules)
    codes = table.find(tokens).astype(np.int64)
    codes = np.where(codes == NOT_FOUND, -2 - np.arange(len(codes)), codes)
    return np.append(codes, -1)[of_row]


def _is_same(codes: Array, match: Array, held: Array, same_name: bool) -> bool:
    """Whether the values are among those of the matching lake rows, but not of other rows."""
    known = codes != -1
    codes, match = codes[known], match[known]
    distinct = len(np.unique(codes))
    if len(codes) < _FEWEST or distinct < 2:
        return False
    share = np.isin(_pairs(match, codes), held).mean()
    if share < _SAME:
        return False
    if same_name and share >= _BY_NAME:
        return True
    shuffled = np.random.default_rng(0).permutation(len(codes))
    chance = np.isin(_pairs(match, codes[shuffled]), held).mean()
    if chance > 0.9:
        return False  # agreement proves nothing
    beyond = (share - chance) / (1 - chance)
    return bool(beyond >= (_SAME if distinct > _FEW else _SAME_OF_FEW))


def _pairs(match: Array, codes: Array) -> Array:
    return np.where(codes < 0, -1, (match.astype(np.int64) << 32) | np.maximum(codes, 0))


def find_own_versions(
    same: CopiedColumns, links: Sequence[Link], columns: Sequence[str]
) -> dict[int, LeftOut]:
    """By link, the tables that are versions of the query table; `columns` includes the target."""
    versions = {}
    for index, link in enumerate(links):
        others = [name for name in columns if name not in link.query_columns]
        copied = {name for (of, _), names in same.items() if of == index for name in names}
        if len(copied) >= 2 and len(copied) >= _VERSION_SHARE * len(others):
            why = f"it has {len(copied)} columns of the table with the same values: a version of it"
            versions[index] = LeftOut(link.table, "", why)
    return versions


def explain_target_copy(
    values: ColumnValues, gathered: GatheredColumns, rows: Array, target: Target
) -> str:
    """Why a column is the target on another scale or with other names; empty if it is not.

    `rows` are positions in the sample, and `target` is that of these rows.
    """
    theirs, mine = _known_pairs(values, gathered, rows, target)
    if len(theirs) < _FEWEST:
        return ""
    if target.is_classes:
        return "it is the target under other names" if _one_to_one(theirs, mine) else ""
    if values.texts or len(np.unique(mine)) < _FEW or theirs.std() == 0 or mine.std() == 0:
        return ""
    if abs(float(np.corrcoef(theirs, mine)[0, 1])) >= _COPIED:
        return "it is the target in another unit"
    if abs(float(np.corrcoef(mean_ranks(theirs), mean_ranks(mine))[0, 1])) >= _RANKED:
        return "it is the target on another scale"
    if _rounds_to(theirs, mine) or _rounds_to(mine, theirs):
        return "it is the target, rounded"
    return ""


def _known_pairs(
    values: ColumnValues, gathered: GatheredColumns, rows: Array, target: Target
) -> tuple[Array, Array]:
    """The values of a column and of the target, in the rows where the column has one."""
    theirs = gathered.at_rows(values)[rows]
    there = np.isfinite(theirs)
    return theirs[there], target.values[there]


def _rounds_to(fine: Array, rough: Array) -> bool:
    """Whether `rough` is `fine` rounded, possibly in another unit: nearly all are within half of
    the last digit."""
    fits = (10.0**-d for d in _DIGITS if np.allclose(np.round(rough, d), rough, 1e-12, 1e-12))
    last = next(fits, np.inf)
    if last > _OF_SPREAD * rough.std():
        return False  # so few digits agree by coincidence
    slope, offset = np.polyfit(fine, rough, 1)
    error = np.abs(slope * fine + offset - rough)
    return bool((error <= _OF_DIGIT * last).mean() >= _BY_NAME)


def _one_to_one(theirs: Array, classes: Array) -> bool:
    """Whether each value has one class and each class one value, nearly always."""
    values = np.unique(theirs, return_inverse=True)[1].reshape(-1)
    names = np.unique(classes, return_inverse=True)[1].reshape(-1)
    if values.max() > 2 * names.max() + 1 or names.max() < 1:
        return False
    table = np.zeros((values.max() + 1, names.max() + 1))
    np.add.at(table, (values, names), 1)
    best = table.max(axis=1).sum(), table.max(axis=0).sum()
    # In both directions: a value that only implies the class is a good predictor, not a copy.
    return bool(min(best) >= _MIN_ONE_TO_ONE * len(theirs))


def predicts_alone(
    values: ColumnValues, gathered: GatheredColumns, rows: Array, target: Target
) -> bool:
    """Whether a column alone predicts the target of nearly all rows, so that it may be a leak: a
    text that implies the class, or a number that correlates with the target."""
    theirs, mine = _known_pairs(values, gathered, rows, target)
    if len(theirs) < _FEWEST:
        return False
    if not target.is_classes:
        return not values.texts and _correlates(theirs, mine)
    return bool(values.texts) and _implies_class(theirs, mine.astype(np.int64), target)


def _correlates(theirs: Array, mine: Array) -> bool:
    if theirs.std() == 0 or mine.std() == 0 or len(np.unique(mine)) < _FEW:
        return False
    pairs = (theirs, mine), (mean_ranks(theirs), mean_ranks(mine))
    return any(abs(float(np.corrcoef(*pair)[0, 1])) >= _NEARLY for pair in pairs)


def _implies_class(theirs: Array, mine: Array, target: Target) -> bool:
    table = np.zeros((int(theirs.max()) + 1, len(target.classes)))
    np.add.at(table, (theirs.astype(np.int64), mine), 1)
    several = table.sum(axis=1) > 1
    usual = np.bincount(mine).max() / len(mine)
    right = table[several].max(axis=1).sum() / max(1, table[several].sum())
    return bool(several.any() and right >= _ALONE and usual < _ALONE and table[several].sum() > 0)
