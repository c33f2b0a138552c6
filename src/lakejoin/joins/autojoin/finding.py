"""How do two tables join? The columns and the programs that make the most rows meet.

Both directions are tried: values of the left table are rewritten to meet a key of the right one,
and the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.joins.autojoin.applying import apply
from lakejoin.joins.autojoin.columns import key_columns, text_columns
from lakejoin.joins.autojoin.covering import LearnOptions, Tables, covering_programs
from lakejoin.joins.autojoin.programs import Program
from lakejoin.joins.autojoin.sampling import sample_sizes, sampled_rows
from lakejoin.joins.keys import key_codes
from lakejoin.joins.pairing import Pairing
from lakejoin.model import ValueRules

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Supported:
    """A program, and how many rows it joins that those before it do not."""

    program: Program
    source_rows: int
    target_rows: int


@dataclass(frozen=True, eq=False)
class Learned:
    """How two tables join: which side is rewritten, by which programs, and what then meets.

    `programs` come best first, and a row is joined by the first one that finds it a partner. With
    no program, nothing was found, and all else is empty.
    """

    source_side: str = ""  # the side that the programs rewrite: left or right
    target_column: str = ""
    programs: tuple[Supported, ...] = ()
    left_rows: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    right_rows: Array = field(default_factory=lambda: np.zeros(0, np.int64))

    def __bool__(self) -> bool:
        return bool(self.programs)

    @property
    def source_columns(self) -> tuple[str, ...]:
        """The columns that the programs take text from."""
        return tuple(dict.fromkeys(c for one in self.programs for c in one.program.columns))

    @cached_property
    def joined(self) -> tuple[int, int]:
        """How many rows of the left and of the right table find a partner."""
        return len(np.unique(self.left_rows)), len(np.unique(self.right_rows))


def find_programs(left: pa.Table, right: pa.Table, options: LearnOptions | None = None) -> Learned:
    """The programs that join two tables, learned without any example; the same every time.

    >>> import pyarrow as pa
    >>> names = ["Barack Obama", "George Bush", "Bill Clinton", "Ronald Reagan"]
    >>> votes = pa.table({"president": names})
    >>> full = ["Reagan, Ronald (1911)", "Bush, George (1946)", "Obama, Barack (1961)"]
    >>> learned = find_programs(votes, pa.table({"who": full, "rating": ["53", "49", "47"]}))
    >>> learned.source_side, learned.source_columns, learned.target_column
    ('right', ('who',), 'president')
    >>> print(learned.programs[0].program)
    split(split(who, "(")[0], ", ")[1] + split(who, ",")[0]
    >>> list(zip(learned.left_rows.tolist(), learned.right_rows.tolist()))
    [(0, 2), (1, 1), (3, 0)]
    """
    options = options or LearnOptions()
    forth = _one_way(left, right, options)
    back = _one_way(right, left, options)
    if forth and (back is None or forth.reach >= back.reach):
        return _learned("left", forth, *forth.pairs)
    if back:
        return _learned("right", back, *reversed(back.pairs))
    return Learned()


@dataclass(frozen=True, slots=True)
class _Way:
    """What was learned in one direction, and the pairs (source row, target row) that it joins.

    `reach` ranks ways: the target rows that join without doubt, as their key is in no other row,
    less those that join in doubt; then the source rows without doubt; then the shorter programs.
    """

    target_column: str
    programs: tuple[Supported, ...]
    pairs: tuple[Array, Array]
    reach: tuple[int, int, int]


def _learned(side: str, way: _Way, left: Array, right: Array) -> Learned:
    order = np.lexsort((right, left))
    return Learned(side, way.target_column, way.programs, left[order], right[order])


def _one_way(source: pa.Table, target: pa.Table, options: LearnOptions) -> _Way | None:
    """The best of the target's key columns, learned on samples and applied to all rows."""
    texts, keys = text_columns(source), text_columns(target).select(key_columns(target))
    sizes = sample_sizes(source.num_rows, target.num_rows, options.sample)
    mine = texts.take(sampled_rows(source.num_rows, sizes[0], options.seed))
    theirs = sampled_rows(target.num_rows, sizes[1], options.seed + 1)
    best: _Way | None = None
    for column in keys.column_names:
        whole = keys[column].combine_chunks()
        tables = Tables(texts, whole, mine, whole.take(theirs))
        programs = covering_programs(tables, options)
        if programs:
            way = _joined(texts, keys[column], column, programs)
            if best is None or way.reach > best.reach:
                best = way
    return best


def _joined(
    source: pa.Table, target: pa.ChunkedArray, column: str, programs: list[Program]
) -> _Way:
    """Every row by the first program that finds it a partner, by canonical values."""
    left, right, sure, supported = [], [], [], []
    waiting = np.ones(source.num_rows, bool)
    met = np.zeros(len(target), bool)
    for program in programs:
        keys = key_codes([apply(program, source)], [target], ValueRules())
        pairing = Pairing(keys)
        mine, theirs = pairing.rows(0, len(pairing))
        fresh = waiting[mine]
        mine, theirs = mine[fresh], theirs[fresh]
        new_targets = len(np.unique(theirs[~met[theirs]]))
        supported.append(Supported(program, len(np.unique(mine)), new_targets))
        left.append(mine)
        right.append(theirs)
        sure.append(pairing.partners_of_left[mine] == 1)
        waiting[mine] = False
        met[theirs] = True
    mine, theirs, alone = np.concatenate(left), np.concatenate(right), np.concatenate(sure)
    size = sum(len(program.operators) for program in programs)
    certain, doubtful = len(np.unique(theirs[alone])), len(np.unique(theirs[~alone]))
    reach = certain - doubtful, len(np.unique(mine[alone])), -size
    return _Way(column, tuple(supported), (mine, theirs), reach)
