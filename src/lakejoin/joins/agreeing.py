"""Which other columns agree in the rows that meet?

Rows that belong together tell so in several columns: governors that meet by their years in office
have the same name. Every reading of a column (see `readings`) is compared with every reading of the
other table's columns in the rows that met. One agrees if far more of them are equal than rows that
were paired at random would be: the evidence (see `chance`) must be strong enough for the many
readings that are tried.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.joins.autojoin.applying import apply
from lakejoin.joins.autojoin.programs import Extract, Program, identity
from lakejoin.joins.keys import NO_KEY, KeyColumn
from lakejoin.joins.readings import NOTHING, Reader
from lakejoin.joins.ways import Found
from lakejoin.lake.columns import encode_query
from lakejoin.signals.chance import LEAST, evidence

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.task import Task

Array = np.ndarray[Any, Any]

_ROWS = 120  # pairs of rows that are compared
_FIRST = 24  # of which these tell whether the others have to be
_COLUMNS = 12  # of each table
_NATS = 25.0
_HALF = 0.5
_AS_MANY = 0.05  # that a more telling agreement may have less


@dataclass(frozen=True, slots=True)
class Agreement:
    """A reading of the source and one of the other table that are equal in rows that meet."""

    source: Program
    target: Program
    compared: int  # pairs of rows in which both are there
    share: float  # of these that agree
    chance: float  # the share that would agree if rows were paired at random
    nats: float

    @property
    def parts(self) -> int:
        """How much is done to read it: the less, the plainer."""
        extracts = (*self.source.extracts, *self.target.extracts)
        return sum(len(one.splits) + bool(one.form) for one in extracts)

    def codes(self, task: Task, found: Found) -> tuple[Array, Array]:
        """Equal numbers for equal values, of all rows of the source and of the other table."""
        rules = task.options.rules
        texts = task.text(found.target_side, self.target.columns, self.target)
        key = KeyColumn(encode_query(texts, rules))
        texts = task.text(found.source_side, self.source.columns, self.source)
        return key.codes_of(encode_query(texts, rules)), key.codes


def agreements(task: Task, found: Found) -> list[Agreement]:
    """The readings that agree in the rows of a join, the strongest first; found once for a task.

    A reading that agrees as often as another and tells fewer rows apart, or is less plain, is left
    out: where names nearly always agree as a whole, the last word of others says nothing.
    """
    asked = (found.source_side, found.columns, str(found.program), found.ways[0].words)
    if asked not in task.agreed:
        task.agreed[asked] = _agreements(task, found)
    return task.agreed[asked]


def _agreements(task: Task, found: Found) -> list[Agreement]:
    sources, targets = certain_pairs(found)
    if evidence(len(sources), 1.0, LEAST) < _NATS:
        return []
    few = slice(0, _FIRST)
    mine, theirs = _read(task, found, (sources[few], targets[few]))
    likely = list(_equal_often(mine, theirs, _HALF / 2))
    parts = {mine[0][i] for i, _ in likely}, {theirs[0][j] for _, j in likely}
    mine, theirs = _read(task, found, (sources, targets), parts)
    used = set(found.ways[0].columns), set(found.columns)
    ranked = []
    for i, j in _equal_often(mine, theirs, _HALF):
        first, second = mine[0][i], theirs[0][j]
        if first.column in used[0] and second.column in used[1]:
            continue
        agreement = _agreement(first, second, mine[1][i], theirs[1][j])
        if agreement.nats >= _NATS:
            ranked.append(agreement)
    ranked.sort(key=lambda one: (-one.nats, one.parts))
    return [one for one in ranked if not any(_is_better(other, one) for other in ranked)]


def _is_better(other: Agreement, one: Agreement) -> bool:
    more_telling = (other.chance, other.parts) < (one.chance, one.parts)
    return more_telling and other.share >= one.share - _AS_MANY


Read = tuple[list[Extract], Array]
Parts = Collection[Extract] | None


def _read(
    task: Task, found: Found, rows: tuple[Array, Array], only: tuple[Parts, Parts] = (None, None)
) -> tuple[Read, Read]:
    """All readings of both tables' columns at these rows, or some."""
    reader = Reader()
    sides = found.source_side, found.target_side
    made = [
        _read_table(task.table(side), at, parts, reader)
        for side, at, parts in zip(sides, rows, only, strict=True)
    ]
    return made[0], made[1]


def _read_table(table: pa.Table, rows: Array, only: Parts, reader: Reader) -> Read:
    plain = [name for name in table.column_names if _is_plain(table, name)][:_COLUMNS]
    parts: list[Extract] = []
    numbers = [np.zeros((0, len(rows)), np.int64)]
    columns = None if only is None else {part.column for part in only}
    for name in plain if columns is None else [name for name in plain if name in columns]:
        texts = apply(identity(name), table.select([name]).take(rows)).to_pylist()
        read, found = reader.read(name, texts, only)
        parts += read
        numbers.append(found)
    return parts, np.concatenate(numbers)


def _equal_often(mine: Read, theirs: Read, share: float) -> Iterator[tuple[int, int]]:
    """The pairs of readings that are equal in that share of the rows."""
    first, second = mine[1], theirs[1]
    equal = np.zeros((len(first), len(second)), np.int32)
    for one, other in zip(first.T, second.T, strict=True):
        equal += (one[:, None] == other) & (one[:, None] != NOTHING)
    for i, j in zip(*np.nonzero(equal >= max(1, share * first.shape[1])), strict=True):
        yield int(i), int(j)


def _agreement(first: Extract, second: Extract, mine: Array, theirs: Array) -> Agreement:
    both = (mine != NOTHING) & (theirs != NOTHING)
    compared = int(np.count_nonzero(both))
    share = float(np.count_nonzero(both & (mine == theirs)) / max(1, compared))
    chance = _chance(mine, theirs)
    nats = evidence(compared, share, max(LEAST, chance))
    return Agreement(Program((first,)), Program((second,)), compared, share, chance, nats)


def certain_pairs(found: Found) -> tuple[Array, Array]:
    """Source rows with the only partner they have, one for each key; of many keys a sample.

    Keys with one row on both sides are the surest; where these are few, the source may have more.
    """
    mine, theirs = found.source_codes, found.codes
    counts = [np.bincount(codes[codes >= 0], minlength=found.count) for codes in (mine, theirs)]
    once = (counts[0] == 1) & (counts[1] == 1)
    sure = once if 2 * np.count_nonzero(once) >= np.count_nonzero(counts[0]) else counts[1] == 1
    keys = np.flatnonzero(sure & (counts[0] > 0) & (counts[1] > 0))
    if len(keys) > _ROWS:
        keys = np.sort(np.random.default_rng(0).choice(keys, _ROWS, replace=False))
    return _first_rows(mine, found.count)[keys], _first_rows(theirs, found.count)[keys]


def _first_rows(codes: Array, count: int) -> Array:
    """The first row of each key."""
    first = np.full(count, NO_KEY, np.int64)
    held = np.flatnonzero(codes >= 0)[::-1]
    first[codes[held]] = held
    return first


def _chance(mine: Array, theirs: Array) -> float:
    """The share of the rows that agree when they are paired otherwise."""
    right = int(np.count_nonzero((mine == theirs) & (mine != NOTHING)))
    mine, theirs = mine[mine != NOTHING], theirs[theirs != NOTHING]
    most = 1 + max(int(mine.max(initial=0)), int(theirs.max(initial=0)))
    together = np.bincount(mine, minlength=most) * np.bincount(theirs, minlength=most)
    others = len(mine) * len(theirs) - min(len(mine), len(theirs))
    return float((together.sum() - right) / max(1, others))


def _is_plain(table: pa.Table, name: str) -> bool:
    """Whether a column can be named and holds single values."""
    import pyarrow as pa

    if table.column_names.count(name) != 1:
        return False
    kind = table.schema.field(name).type
    return not (pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_null(kind))
