"""Find the columns and programs that match the most rows of two tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.codegen.programs import Program, is_shorter
from lakejoin.joins.join_key import RejectedJoin
from lakejoin.joins.learned.plausibility import ProgramEvidence, match_keys, weigh_programs
from lakejoin.joins.learned.program_cover import (
    ENOUGH,
    LearnedProgram,
    LearningTables,
    LearnOptions,
    learn_programs,
)
from lakejoin.joins.learned.program_learner import KeyTable
from lakejoin.joins.learned.row_samples import Sample, TextColumn, sample_rows, sample_sizes
from lakejoin.joins.learned.target_columns import further_targets, key_targets, text_columns
from lakejoin.joins.row_keys import NO_KEY, KeyColumn, Keys, Pairing, find_first_rows
from lakejoin.model import Array, ValueRules
from lakejoin.values.column_encoder import encode_query

Named = Sequence[tuple[str, str]]
_EASY = 0.1  # if so many rows match, a smaller sample suffices: it is tried first


def _no_rows() -> Array:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class LearnedJoin:
    """How two tables join: the side that is rewritten, by which programs, and the matching rows.

    `programs` are sorted best first, and a row is joined by the first one that finds a match:
    `program_of` is its index for every pair. They match the result of `target` on the other side: a
    column, a part of one, or several together; `key_of` is the code of this key in each row, below
    `key_count`. Without programs, nothing was found; `rejected` is then the best rejected
    candidate. `evidence` is given if no columns were named.
    """

    source_side: str = ""  # the side that the programs rewrite: left or right
    target: Program | None = None
    programs: tuple[LearnedProgram, ...] = ()
    left_rows: Array = field(default_factory=_no_rows)
    right_rows: Array = field(default_factory=_no_rows)
    program_of: Array = field(default_factory=_no_rows)
    key_of: Array = field(default_factory=_no_rows)
    key_count: int = 0
    rejected: RejectedPrograms | None = None
    evidence: ProgramEvidence | None = None

    def __bool__(self) -> bool:
        return bool(self.programs)

    @property
    def source_columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(c for s in self.programs for c in s.program.columns))

    @cached_property
    def joined(self) -> tuple[int, int]:
        """The number of left and right rows with a match."""
        return len(np.unique(self.left_rows)), len(np.unique(self.right_rows))


@dataclass(frozen=True, slots=True)
class RejectedPrograms(RejectedJoin):
    """The best candidate that was rejected.

    `learned` has its programs, for callers with more evidence, such as other columns that agree.
    """

    learned: LearnedJoin


def find_programs(
    left: pa.Table,
    right: pa.Table,
    options: LearnOptions | None = None,
    on: Named = (),
    rules: ValueRules | None = None,
) -> LearnedJoin:
    """Learn programs that join two tables, without examples; the result is deterministic.

    `on` restricts the columns, as pairs of a left and a right name. `rules` say which texts are
    equal.

    >>> names = ["Barack Obama", "George Bush", "Bill Clinton", "Ronald Reagan"]
    >>> votes = pa.table({"president": names})
    >>> full = ["Reagan, Ronald (1911)", "Bush, George (1946)", "Obama, Barack (1961)"]
    >>> learned = find_programs(votes, pa.table({"who": full, "rating": ["53", "49", "47"]}))
    >>> learned.source_side, learned.source_columns, str(learned.target)
    ('right', ('who',), 'president')
    >>> print(learned.programs[0].program)
    without_first_word(split(who, "(")[0]) + split(who, ",")[0]
    >>> list(zip(learned.left_rows.tolist(), learned.right_rows.tolist()))
    [(0, 2), (1, 1), (3, 0)]
    """
    options = options or LearnOptions()
    left_side = _side(left, [name for name, _ in on])
    right_side = _side(right, [name for _, name in on])
    if not left_side.rows or not right_side.rows:
        return LearnedJoin()
    doubted: list[_Candidate] = []
    for further in (False, True) if options.further else (False,):
        candidate = _best_candidate(left_side, right_side, options, further, doubted)
        if candidate is not None:
            return _join_rows(candidate, rules or ValueRules())
    return LearnedJoin(rejected=_best_doubted(doubted, rules or ValueRules()))


@dataclass(frozen=True, eq=False)
class _Side:
    """A table's texts, and its possible keys."""

    texts: pa.Table
    named: tuple[str, ...]
    _samples: dict[int, Sample] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return int(self.texts.num_rows) if self.texts.num_columns else 0

    def sample(self, size: int) -> Sample:
        """Rows to learn from, the same for every target."""
        if size not in self._samples:
            self._samples[size] = Sample(_some(self.texts, size, seed=0))
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
class _Candidate:
    """What was learned for one direction and target.

    `reach` ranks candidates: the target rows that match unambiguously, as their key is unique,
    less those that match ambiguously; then the unambiguous source rows; then shorter programs.
    """

    forth: bool
    target: Program
    tables: LearningTables
    programs: list[LearnedProgram]
    reach: tuple[int, int, int]
    weighed: ProgramEvidence | None  # if no columns were named

    @property
    def doubt(self) -> str:
        """Why it is not believed; "" if it is."""
        return self.weighed.why_not if self.weighed else ""

    @property
    def complete(self) -> bool:
        """Whether nearly all rows of a side match, so that the search can stop."""
        tables = self.tables
        enough = ENOUGH * len(tables.target), ENOUGH * tables.source.num_rows
        return self.reach[0] >= enough[0] or self.reach[1] >= enough[1]


def _best_candidate(
    left: _Side, right: _Side, options: LearnOptions, further: bool, doubted: list[_Candidate]
) -> _Candidate | None:
    """The best direction and target, from small samples if they suffice."""
    shares = dict.fromkeys((max(options.participation, _EASY), options.participation))
    for share in shares:
        best: _Candidate | None = None
        for candidate in _candidates(left, right, replace(options, participation=share), further):
            if candidate.doubt:
                doubted.append(candidate)
                continue
            if best is None or candidate.reach > best.reach:
                best = candidate
            if best.complete:
                break
        sizes = sample_sizes(left.rows, right.rows, share)
        if best is not None or sizes == (left.rows, right.rows):
            return best
    return None


def _candidates(
    left: _Side, right: _Side, options: LearnOptions, further: bool
) -> Iterator[_Candidate]:
    for source, target, forth in ((left, right, True), (right, left, False)):
        for program in target.further if further else target.keys:
            candidate = _learn_candidate(source, target, program, options, forth)
            if candidate is not None:
                yield candidate


def _learn_candidate(
    source: _Side, target: _Side, program: Program, options: LearnOptions, forth: bool
) -> _Candidate | None:
    """Learn the programs for one target on samples, and count their matches on all rows."""
    sizes = sample_sizes(source.rows, target.rows, options.participation)
    keys = apply_program(program, target.texts)
    tables = LearningTables(
        source.texts,
        keys,
        source.sample(sizes[0]),
        TextColumn(_some(keys, sizes[1], seed=1)),
        len(program.columns),
        target.keys.get(program),
    )
    programs = _drop_shorter(learn_programs(tables, options))
    if not programs:
        return None
    evidence = None if target.named else weigh_programs(tables, program, programs)
    return _Candidate(forth, program, tables, programs, _reach(tables, programs), evidence)


def _drop_shorter(programs: list[LearnedProgram]) -> list[LearnedProgram]:
    """Drop programs that only take fewer characters than an earlier one.

    If the longer text matches nothing, its beginning matches by coincidence: ABTC is not ABT.
    """
    longest: list[LearnedProgram] = []
    for believed in programs:
        if not any(is_shorter(believed.program, other.program) for other in longest):
            longest.append(believed)
    return longest


def _some(rows: Any, size: int, seed: int) -> Any:
    """A sample of `size` rows of a table or column."""
    return rows if size >= len(rows) else rows.take(sample_rows(len(rows), size, seed))


def _reach(tables: LearningTables, programs: list[LearnedProgram]) -> tuple[int, int, int]:
    keys = tables.keys
    _, codes = tables.first_matches(programs)
    rows_of = np.bincount(codes[codes >= 0], minlength=len(keys))
    alone = keys.counts == 1
    certain, doubtful = (rows_of > 0) & alone, (rows_of > 0) & ~alone
    size = sum(len(believed.program.operators) for believed in programs)
    reached = int(certain.sum()) - int(keys.counts[doubtful].sum())
    return reached, int(rows_of[alone].sum()), -size


def _best_doubted(candidates: list[_Candidate], rules: ValueRules) -> RejectedPrograms | None:
    if not candidates:
        return None
    candidate = max(candidates, key=lambda candidate: candidate.reach)
    learned = _join_rows(candidate, rules)
    source, target = str(candidate.programs[0].program), str(candidate.target)
    words = f"{source} = {target}" if candidate.forth else f"{target} = {source}"
    return RejectedPrograms(words, *learned.joined, candidate.doubt, learned)


def _join_rows(candidate: _Candidate, rules: ValueRules) -> LearnedJoin:
    """Join every row by the first program that finds a match, by canonical values."""
    source, target = candidate.tables.source, candidate.tables.target
    key = KeyColumn(encode_query(target, rules))
    matched, matches, which, supported = [], [], [], []
    waiting = np.ones(source.num_rows, bool)
    for index, believed in enumerate(candidate.programs):
        codes = match_keys(candidate.tables, believed.program, key, rules)
        pairing = Pairing(Keys(codes, key.codes, key.count))
        rows, partners = pairing.rows(0, len(pairing))
        fresh = waiting[rows]
        rows, partners = rows[fresh], partners[fresh]
        before = int(waiting.sum())
        waiting[rows] = False
        joined = before - int(waiting.sum())
        supported.append(replace(believed, source_rows=joined))
        matched.append(rows)
        matches.append(partners)
        which.append(np.full(len(rows), index, np.int64))
    rows, partners = np.concatenate(matched), np.concatenate(matches)
    left, right = (rows, partners) if candidate.forth else (partners, rows)
    order = np.lexsort((right, left))
    side = "left" if candidate.forth else "right"
    return LearnedJoin(
        side,
        candidate.target,
        tuple(supported),
        left[order],
        right[order],
        np.concatenate(which)[order],
        key.codes,
        key.count,
        evidence=candidate.weighed,
    )


def apply_learned(learned: LearnedJoin, left: pa.Table, right: pa.Table, rules: ValueRules) -> Keys:
    """The keys of the rows of two tables; each row's by the first program that gives one.

    >>> left = pa.table({"code": [f"{n * 7919 % 10_007:05}" for n in range(40)]})
    >>> right = pa.table({"id": [f"X-{n * 7919 % 10_007:05}" for n in range(10, 60)]})
    >>> learned = find_programs(left[:20], right[:20])
    >>> keys = apply_learned(learned, left, right, ValueRules())
    >>> len(set(keys.left.tolist()) & set(keys.right.tolist()) - {NO_KEY})
    30
    """
    assert learned.target is not None, "programs lead to a key"
    source, target = (left, right) if learned.source_side == "left" else (right, left)
    key = KeyColumn(encode_query(apply_program(learned.target, target), rules))
    exists = find_first_rows(key.codes, key.count) >= 0
    codes = np.full(source.num_rows, NO_KEY, np.int64)
    for supported in learned.programs:
        waiting = np.flatnonzero(codes == NO_KEY)
        if not len(waiting):
            break
        texts = apply_program(supported.program, source.take(waiting))
        matches = key.codes_of(encode_query(texts, rules))
        codes[waiting] = np.where(exists[matches], matches, NO_KEY)
    keys = (codes, key.codes) if learned.source_side == "left" else (key.codes, codes)
    return Keys(*keys, key.count)
