"""How do two tables join? The columns and the programs that make the most rows meet.

Both directions are tried: values of the left table are rewritten to meet a key of the right one,
and the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.joins.autojoin.applying import apply
from lakejoin.joins.autojoin.believing import Weighed, weighed
from lakejoin.joins.autojoin.columns import text_columns
from lakejoin.joins.autojoin.covering import (
    ENOUGH,
    Believed,
    LearnOptions,
    Tables,
    covering_programs,
)
from lakejoin.joins.autojoin.keytable import KeyTable
from lakejoin.joins.autojoin.meeting import keys_met
from lakejoin.joins.autojoin.programs import Program, is_shorter
from lakejoin.joins.autojoin.samples import Sample, TextColumn
from lakejoin.joins.autojoin.sampling import sample_sizes, sampled_rows
from lakejoin.joins.autojoin.targets import further_targets, key_targets
from lakejoin.joins.keys import KeyColumn, Keys
from lakejoin.joins.pairing import Pairing
from lakejoin.lake.columns import encode_query
from lakejoin.model import ValueRules

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]
Named = Sequence[tuple[str, str]]


def _no_rows() -> Array:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Supported:
    """A program, and how many rows it joins that those before it do not.

    `by_chance` tells how many rows deliberately wrong values would join, for each that it joins.
    """

    program: Program
    source_rows: int
    target_rows: int
    by_chance: float


@dataclass(frozen=True, eq=False)
class Learned:
    """How two tables join: which side is rewritten, by which programs, and what then meets.

    `programs` come best first, and a row is joined by the first one that finds it a partner:
    `which` tells it for every pair. They meet what `target` gives on the other side: a column as it
    is, or a part of one, or several together; `key_of` numbers these keys, row by row, from 0 to
    `key_count`. With no program, nothing was found; `doubted` is then the best that was tried.
    `weighed` is what speaks for it all, where no columns were named.
    """

    source_side: str = ""  # the side that the programs rewrite: left or right
    target: Program | None = None
    programs: tuple[Supported, ...] = ()
    left_rows: Array = field(default_factory=_no_rows)
    right_rows: Array = field(default_factory=_no_rows)
    which: Array = field(default_factory=_no_rows)
    key_of: Array = field(default_factory=_no_rows)
    key_count: int = 0
    doubted: Doubted | None = None
    weighed: Weighed | None = None

    def __bool__(self) -> bool:
        return bool(self.programs)

    @property
    def target_column(self) -> str:
        """The column, or columns, that are met."""
        return " + ".join(self.target.columns) if self.target else ""

    @property
    def source_columns(self) -> tuple[str, ...]:
        """The columns that the programs take text from."""
        return tuple(dict.fromkeys(c for one in self.programs for c in one.program.columns))

    @cached_property
    def joined(self) -> tuple[int, int]:
        """How many rows of the left and of the right table find a partner."""
        return len(np.unique(self.left_rows)), len(np.unique(self.right_rows))


@dataclass(frozen=True, slots=True)
class Doubted:
    """What came nearest to a join and is not believed: the words say what would meet what.

    `learned` has the programs, for those who know more: that other columns agree, for instance.
    """

    words: str
    left_rows: int
    right_rows: int
    why: str
    learned: Learned


def find_programs(
    left: pa.Table,
    right: pa.Table,
    options: LearnOptions | None = None,
    on: Named = (),
    rules: ValueRules | None = None,
) -> Learned:
    """The programs that join two tables, learned without any example; the same every time.

    `on` names the only columns that may be used, as pairs of a left and a right one. `rules` say
    which texts are equal.

    >>> import pyarrow as pa
    >>> names = ["Barack Obama", "George Bush", "Bill Clinton", "Ronald Reagan"]
    >>> votes = pa.table({"president": names})
    >>> full = ["Reagan, Ronald (1911)", "Bush, George (1946)", "Obama, Barack (1961)"]
    >>> learned = find_programs(votes, pa.table({"who": full, "rating": ["53", "49", "47"]}))
    >>> learned.source_side, learned.source_columns, learned.target_column
    ('right', ('who',), 'president')
    >>> print(learned.programs[0].program)
    without_first_word(split(who, "(")[0]) + split(who, ",")[0]
    >>> list(zip(learned.left_rows.tolist(), learned.right_rows.tolist()))
    [(0, 2), (1, 1), (3, 0)]
    """
    options = options or LearnOptions()
    mine = _side(left, [name for name, _ in on])
    theirs = _side(right, [name for _, name in on])
    if not mine.rows or not theirs.rows:
        return Learned()
    doubted: list[_Way] = []
    for further in (False, True) if options.further else (False,):
        way = _best_way(mine, theirs, options, further, doubted)
        if way is not None:
            return _joined(way, rules or ValueRules())
    return Learned(doubted=_most_reached(doubted, rules or ValueRules()))


@dataclass(frozen=True, eq=False)
class _Side:
    """A table's texts, and what of it can be met."""

    texts: pa.Table
    named: tuple[str, ...]
    _samples: dict[int, Sample] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return int(self.texts.num_rows) if self.texts.num_columns else 0

    def sample(self, size: int, seed: int) -> Sample:
        """Rows to learn from; the same ones for every target."""
        if size not in self._samples:
            self._samples[size] = Sample(_some(self.texts, size, seed))
        return self._samples[size]

    @cached_property
    def keys(self) -> dict[Program, KeyTable | None]:
        return key_targets(self.texts, self.named)

    @cached_property
    def further(self) -> list[Program]:
        return list(further_targets(self.texts, list(self.keys), bool(self.named)))


def _side(table: pa.Table, named: Sequence[str]) -> _Side:
    texts = text_columns(table.select(named) if named else table)
    return _Side(texts, tuple(name for name in named if name in texts.column_names))


@dataclass(frozen=True, eq=False)
class _Way:
    """What was learned in one direction.

    `reach` ranks ways: the target rows that join without doubt, as their key is in no other row,
    less those that join in doubt; then the source rows without doubt; then the shorter programs.
    """

    forth: bool
    target: Program
    tables: Tables
    programs: list[Believed]
    reach: tuple[int, int, int]
    weighed: Weighed | None  # where no columns were named

    @property
    def doubt(self) -> str:
        """Why it is not believed, if it is not."""
        return self.weighed.why_not if self.weighed else ""

    @property
    def complete(self) -> bool:
        """Whether nearly all rows of a side join: nothing better is to be looked for."""
        tables = self.tables
        enough = ENOUGH * len(tables.target), ENOUGH * tables.source.num_rows
        return self.reach[0] >= enough[0] or self.reach[1] >= enough[1]


def _best_way(
    left: _Side, right: _Side, options: LearnOptions, further: bool, doubted: list[_Way]
) -> _Way | None:
    """The best direction and target, from small samples if they are enough."""
    for sample in options.sample.stages():
        best: _Way | None = None
        for way in _ways(left, right, replace(options, sample=sample), further):
            if way.doubt:
                doubted.append(way)
                continue
            if best is None or way.reach > best.reach:
                best = way
            if best.complete:
                break
        sizes = sample_sizes(left.rows, right.rows, sample)
        if best is not None or sizes == (left.rows, right.rows):
            return best
    return None


def _ways(left: _Side, right: _Side, options: LearnOptions, further: bool) -> Iterator[_Way]:
    for source, target, forth in ((left, right, True), (right, left, False)):
        for program in target.further if further else target.keys:
            way = _way(source, target, program, options, forth)
            if way is not None:
                yield way


def _way(
    source: _Side, target: _Side, program: Program, options: LearnOptions, forth: bool
) -> _Way | None:
    """The programs that meet one target, learned on samples and counted on all rows."""
    sizes = sample_sizes(source.rows, target.rows, options.sample)
    keys = apply(program, target.texts)
    tables = Tables(
        source.texts,
        keys,
        source.sample(sizes[0], options.seed),
        TextColumn(_some(keys, sizes[1], options.seed + 1)),
        len(program.columns),
        target.keys.get(program),
    )
    programs = _without_shorter(covering_programs(tables, options))
    if not programs:
        return None
    speaks = None if target.named else weighed(tables, program, programs)
    return _Way(forth, program, tables, programs, _reach(tables, programs), speaks)


def _without_shorter(programs: list[Believed]) -> list[Believed]:
    """The programs without those that only cut more off than one before.

    What the longer text did not meet, its beginning meets by accident: ABTC is not ABT.
    """
    kept: list[Believed] = []
    for one in programs:
        if not any(is_shorter(one.program, other.program) for other in kept):
            kept.append(one)
    return kept


def _some(rows: Any, size: int, seed: int) -> Any:
    """So many rows of a table or column."""
    return rows if size >= len(rows) else rows.take(sampled_rows(len(rows), size, seed))


def _reach(tables: Tables, programs: list[Believed]) -> tuple[int, int, int]:
    keys = tables.keys
    _, met = tables.rewritten(programs)
    rows_of = np.bincount(met[met >= 0], minlength=len(keys))
    alone = keys.counts == 1
    certain, doubtful = (rows_of > 0) & alone, (rows_of > 0) & ~alone
    size = sum(len(one.program.operators) for one in programs)
    reached = int(certain.sum()) - int(keys.counts[doubtful].sum())
    return reached, int(rows_of[alone].sum()), -size


def _most_reached(ways: list[_Way], rules: ValueRules) -> Doubted | None:
    if not ways:
        return None
    way = max(ways, key=lambda way: way.reach)
    learned = _joined(way, rules)
    mine, theirs = str(way.programs[0].program), str(way.target)
    words = f"{mine} = {theirs}" if way.forth else f"{theirs} = {mine}"
    return Doubted(words, *learned.joined, way.doubt, learned)


def _joined(way: _Way, rules: ValueRules) -> Learned:
    """Every row by the first program that finds it a partner, by canonical values."""
    source, target = way.tables.source, way.tables.target
    key = KeyColumn(encode_query(target, rules))
    mine, theirs, which, supported = [], [], [], []
    waiting, unmet = np.ones(source.num_rows, bool), np.ones(len(target), bool)
    for place, one in enumerate(way.programs):
        codes = keys_met(way.tables, one.program, key, rules)
        pairing = Pairing(Keys(codes, key.codes, key.count))
        rows, partners = pairing.rows(0, len(pairing))
        fresh = waiting[rows]
        rows, partners = rows[fresh], partners[fresh]
        before = int(waiting.sum()), int(unmet.sum())
        waiting[rows] = False
        unmet[partners] = False
        joined = before[0] - int(waiting.sum()), before[1] - int(unmet.sum())
        supported.append(Supported(one.program, *joined, one.by_chance))
        mine.append(rows)
        theirs.append(partners)
        which.append(np.full(len(rows), place, np.int64))
    rows, partners = np.concatenate(mine), np.concatenate(theirs)
    left, right = (rows, partners) if way.forth else (partners, rows)
    order = np.lexsort((right, left))
    side = "left" if way.forth else "right"
    return Learned(
        side,
        way.target,
        tuple(supported),
        left[order],
        right[order],
        np.concatenate(which)[order],
        key.codes,
        key.count,
        weighed=way.weighed,
    )
