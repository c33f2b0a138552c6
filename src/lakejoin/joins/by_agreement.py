"""Which rows meet because their other columns agree?

Rows that are left over join where a reading agrees that also does in the rows that met (see
`agreeing`), and rows with the same key are told apart by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.joins.agreeing import Agreement, agreements
from lakejoin.joins.keys import NO_KEY
from lakejoin.joins.shown import counted, percent
from lakejoin.joins.task import sides
from lakejoin.joins.ways import NO_WAY, Found, Told, Way
from lakejoin.signals.chance import chance_of_meeting

if TYPE_CHECKING:
    from lakejoin.joins.task import Task

Array = np.ndarray[Any, Any]
Codes = tuple[Array, Array]  # of all rows of the source and of the other table

_WRONG = 0.1  # of the rows that are joined so may be expected to be wrong
_TRIED = 6  # agreements
_LARGE = 200_000  # rows that are read for one
_TIMES = 3
_NEARLY_ALL = 0.9
_OFTEN = 0.2


def agreeing(task: Task, found: Found | None) -> Found | None:
    """Rows left over whose other columns agree as those of the rows that met do."""
    if found is None or task.options.on or not _one_text(found) or _keys_contradict(found):
        return found
    task.tell("looking for other columns that agree")
    tried = _with_codes(task, found)
    for _ in range(_TIMES if tried else 0):
        ways = [_left_over(task, found, *one) for one in tried]
        best = max((way for way in ways if way is not None), key=_worth, default=None)
        if best is None:
            break
        found = found.also(best)
    return found


def _keys_contradict(found: Found) -> bool:
    """Whether rows met by equal values alone: others have another key, and are something else.

    Where values had to be rewritten, a row may be left over because it is written in another way.
    """
    return all(way.kind == "equal" for way in found.ways)


def told_apart(task: Task, found: Found) -> Found:
    """The rows of the same key told apart by other columns that agree in nearly all rows."""
    if task.options.on or not _one_text(found) or not _is_ambiguous(found):
        return found
    task.tell("telling rows with the same key apart")
    best: Told | None = None
    for agreement, codes in _with_codes(task, found, _NEARLY_ALL):
        told = _told(found, agreement, codes)
        if told is not None and (best is None or told.split.sum() > best.split.sum()):
            best = told
    if best is None:
        return found
    task.notes.append(f"rows with the same key are told apart by {best.words}: {best.why}")
    return found.told_by(best)


def _with_codes(task: Task, found: Found, least: float = 0.0) -> list[tuple[Agreement, Codes]]:
    """The strongest agreements, and their values in all rows; of large tables fewer."""
    rows = task.left.num_rows + task.right.num_rows
    most = min(_TRIED, max(1, _LARGE // max(1, rows)))
    strong = [one for one in agreements(task, found) if one.share >= least]
    return [(one, one.codes(task, found)) for one in strong[:most]]


def _one_text(found: Found) -> bool:
    return len(found.columns) == 1 or found.program is not None


# -- rows left over ----------------------------------------------------------------------------


def _worth(way: Way) -> float:
    """The rows that a way joins, each that is wrong by accident counted against those it may."""
    rows = int(np.count_nonzero(way.codes >= 0))
    return rows - rows * (1 - way.sure) / _WRONG


def _left_over(task: Task, found: Found, agreement: Agreement, codes: Codes) -> Way | None:
    """The rows without a partner that agree, where hardly any would by accident."""
    values, others = codes
    mine = np.where(found.way_of == NO_WAY, values, NO_KEY)
    theirs = np.where(~found.target_joined & (found.codes >= 0), others, NO_KEY)
    count = 1 + int(max(others.max(initial=0), 0))
    # The value that agrees must mean one thing on either side, else nothing says which.
    key = _only(theirs, found.codes, count)
    met = np.where(
        (_only(mine, _written(task, found), count) != _SEVERAL) & (key >= 0), key, NO_KEY
    )
    met = np.where(_mixed(found, others)[met], NO_KEY, met)
    keys = np.where(mine >= 0, met[mine], NO_KEY)
    rows = int(np.count_nonzero(keys >= 0))
    accidents = _accidents(found, codes, mine, theirs) if rows else 0.0
    if not rows or accidents > _WRONG * rows or _count_up(task, found, agreement, keys, theirs):
        return None
    words = sides(found.source_side, str(agreement.source), str(agreement.target), "=")
    why = (
        f"so do {percent(agreement.share)} of {counted(agreement.compared, 'row')} that met; "
        f"{accidents:.2g} would by accident"
    )
    sure = 1 - accidents / rows
    program = agreement.source
    return Way("agreeing", program.columns, keys, words, sure, why, program, met=agreement.target)


_SEVERAL = -2


def _count_up(task: Task, found: Found, agreement: Agreement, keys: Array, theirs: Array) -> bool:
    """Whether values that are a little wrong would join as well: row numbers meet anything."""
    import pyarrow.compute as pc

    source, target = agreement.source, agreement.target
    mine = task.text(found.source_side, source.columns, source).filter(keys >= 0)
    others = task.text(found.target_side, target.columns, target).filter(theirs >= 0)
    lower = [pc.utf8_trim_whitespace(pc.utf8_lower(texts)) for texts in (mine, others)]
    return chance_of_meeting(lower[0].unique().drop_null(), lower[1]) > _OFTEN


def _written(task: Task, found: Found) -> Array:
    """A number for the text that each source row has instead of a key; a missing one is like no
    other."""
    way = found.ways[0]
    texts = task.text(found.source_side, way.columns, way.program).dictionary_encode()
    numbers = np.asarray(texts.indices.fill_null(-1)).astype(np.int64)
    missing = np.flatnonzero(numbers < 0)
    numbers[missing] = len(texts.dictionary) + missing
    return numbers


def _only(groups: Array, values: Array, count: int) -> Array:
    """The one value that the rows of each group have; `_SEVERAL` if more, `NO_KEY` for no rows."""
    held = groups >= 0
    least = np.full(count + 1, np.iinfo(np.int64).max)
    most = np.full(count + 1, np.iinfo(np.int64).min)
    np.minimum.at(least, groups[held], values[held])
    np.maximum.at(most, groups[held], values[held])
    only = np.where(least == most, most, _SEVERAL)
    return np.asarray(np.where(most == np.iinfo(np.int64).min, NO_KEY, only))


def _mixed(found: Found, values: Array) -> Array:
    """Whether rows of each key have several values; the last is for `NO_KEY`."""
    return np.asarray(_only(found.codes, values, found.count) == _SEVERAL)


def _accidents(found: Found, codes: Codes, mine: Array, theirs: Array) -> float:
    """How many rows left over agree by accident: as many as rows that do not belong together do.

    These are the rows that met, paired otherwise, and rows left over with rows that met.
    """
    joined = found.way_of != NO_WAY
    met = np.where(joined, codes[0], NO_KEY)
    met_by = np.where(found.target_joined, codes[1], NO_KEY)
    right = _pairs(*_with_keys(found, met, met_by))
    wrong = _pairs(met, met_by) - right + _pairs(mine, met_by) + _pairs(met, theirs)
    rows, others = int(joined.sum()), int(found.target_joined.sum())
    left, other_left = len(met) - rows, len(met_by) - others
    tried = rows * max(1, others - 1) + left * others + rows * other_left
    return float((wrong + 1) / tried * left * other_left)


def _with_keys(found: Found, mine: Array, theirs: Array) -> tuple[Array, Array]:
    """The key and the value of each row as one number."""
    most = 1 + max(int(mine.max(initial=0)), int(theirs.max(initial=0)), 0)
    made = []
    for keys, values in ((found.source_codes, mine), (found.codes, theirs)):
        made.append(np.where((keys >= 0) & (values >= 0), keys * most + values, NO_KEY))
    return made[0], made[1]


def _pairs(mine: Array, theirs: Array) -> int:
    """How many pairs of rows have the same number."""
    values, counts = np.unique(mine[mine >= 0], return_counts=True)
    others, other_counts = np.unique(theirs[theirs >= 0], return_counts=True)
    _, i, j = np.intersect1d(values, others, assume_unique=True, return_indices=True)
    return int((counts[i] * other_counts[j]).sum())


# -- rows with the same key --------------------------------------------------------------------


def _is_ambiguous(found: Found) -> bool:
    mine, theirs = _counts(found)
    return bool(((mine > 1) & (theirs > 1)).any())


def _counts(found: Found) -> tuple[Array, Array]:
    """How many source rows and other rows each key has."""
    counts = [
        np.bincount(codes[codes >= 0], minlength=found.count)
        for codes in (found.source_codes, found.codes)
    ]
    return counts[0], counts[1]


def _told(found: Found, agreement: Agreement, values: Codes) -> Told | None:
    """The keys whose rows an agreement tells apart; None where it tells none apart.

    Only keys of which both tables have several rows: a reference keeps the one row that it names.
    And only where every row of the key agrees with one of the other table, so that none is lost.
    """
    mine, theirs = _counts(found)
    joined = (mine > 1) & (theirs > 1)
    both = _with_keys(found, *values)
    all_agree = [
        _none(codes[(codes >= 0) & ~(np.isin(one, other) & (one >= 0))], found.count)
        for codes, one, other in (
            (found.source_codes, both[0], both[1]),
            (found.codes, both[1], both[0]),
        )
    ]
    can = all_agree[0] & all_agree[1]
    told = Told(agreement.source, agreement.target, joined & can, *values)
    left, right = told.keys_of(found.source_codes, found.codes, found.count)[:2]
    fewer = _pairs_by_key(found, left, right) < mine * theirs
    split = joined & can & fewer
    if not split.any():
        return None
    pairs = int((mine * theirs)[split].sum()) - int(_pairs_by_key(found, left, right)[split].sum())
    words = sides(found.source_side, str(agreement.source), str(agreement.target), "=")
    why = (
        f"{percent(agreement.share)} of {counted(agreement.compared, 'row')} that met agree in "
        f"it, and {counted(pairs, 'pair')} of rows with the same key did not"
    )
    return Told(agreement.source, agreement.target, split, *values, words, why)


def _none(keys: Array, count: int) -> Array:
    """Whether each key is not among these."""
    return np.asarray(np.bincount(keys, minlength=count) == 0)


def _pairs_by_key(found: Found, mine: Array, theirs: Array) -> Array:
    """How many pairs of rows each key makes where rows meet by these finer keys."""
    most = 1 + max(int(mine.max(initial=0)), int(theirs.max(initial=0)), 0)
    counts = [np.bincount(codes[codes >= 0], minlength=most) for codes in (mine, theirs)]
    key = np.zeros(most, np.int64)
    key[mine[mine >= 0]] = found.source_codes[mine >= 0]
    return np.bincount(key, counts[0] * counts[1], minlength=found.count)
