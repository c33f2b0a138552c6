"""Learn a few programs that together match many keys of another table's column.

The first program is the one that matches the most keys. If it leaves rows unmatched, another is
learned from these, until no further one is believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.codegen.programs import Constant, Program, identity, is_cut
from lakejoin.joins.learned.program_learner import (
    KeyTable,
    Learner,
    ProgramStep,
    Scorer,
    fewest_substrings,
    fit_case,
    hash_texts,
)
from lakejoin.joins.learned.row_samples import PARTICIPATION, RowPair, Sample, TextColumn
from lakejoin.joins.learned.substrings import Examples
from lakejoin.joins.learned.target_columns import fills_columns, parts_by_separator
from lakejoin.joins.learned.written_values import replaces_text
from lakejoin.joins.learned.wrong_values import MOST_COINCIDENCE, coincidence_rate
from lakejoin.model import Array

ENOUGH = 0.98  # share of keys or rows from which on a program is good enough
_SIZES = (3, 3, 3, 2, 3, 4)  # of example sets, in turn
_EXAMPLES, _PLAIN = 8, 0.3  # every third set is drawn from this many, or this share
_CUT = 0.9  # weight of a key that is matched by a fragment of one text
_CODE = 4  # characters
_MORE_TRIED = 6  # programs to try once all keys are matched
_WIDE_SETS = 9  # example sets to try with all columns too
_FEWEST = 3  # keys that a program must match, if there are as many
_SHARE = 0.1  # of the keys or rows, whichever are fewer, that it must match
_NEARLY_ALL = 0.8  # of the keys
_LETTERS = 3  # characters that must come from the source, on average


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """How much effort to spend on learning."""

    participation: float = PARTICIPATION  # the assumed share of rows that match
    column_pairs: int = 4  # to learn from, those with the best row pairs
    row_pairs: int = 100  # of a column pair, to draw examples from
    example_sets: int = 18  # to draw
    programs: int = 5  # at most, for all rows together
    further: bool = True  # whether to match several columns, and parts of columns, too


@dataclass(frozen=True, slots=True)
class LearnedProgram:
    """A program, and how many source rows it matches that earlier programs do not, once known.

    `by_chance` is the number of rows that deliberately wrong values would match, per matched row.
    """

    program: Program
    by_chance: float
    source_rows: int = 0


@dataclass(eq=False)
class LearningTables:
    """Text columns and a key column, complete and as samples to learn from."""

    source: pa.Table
    target: pa.LargeStringArray
    source_sample: Sample
    target_sample: TextColumn
    columns: int = 1  # of the target
    known_keys: KeyTable | None = None  # of the whole target, if already computed
    _results: dict[Program, Array] = field(default_factory=dict)
    _matches: dict[Program, Array] = field(default_factory=dict)

    @cached_property
    def keys(self) -> KeyTable:
        return self.known_keys or KeyTable(hash_texts(self.target))

    def result_hashes(self, program: Program) -> Array:
        """The program's results for the whole source, as hashes."""
        if program not in self._results:
            self._results[program] = hash_texts(apply_program(program, self.source))
        return self._results[program]

    def matched_keys(self, program: Program) -> Array:
        """The key code that each row of the whole source matches, -1 for none."""
        if program not in self._matches:
            self._matches[program] = self.keys.codes_of(self.result_hashes(program))
        return self._matches[program]

    def first_matches(self, programs: Sequence[LearnedProgram]) -> tuple[Array, Array]:
        """The result of the first matching program for every source row, and its key code.

        Results are hashes; if no program matches, the first program's result, and -1.
        """
        first, *others = (learned.program for learned in programs)
        hashes, codes = self.result_hashes(first).copy(), self.matched_keys(first).copy()
        for program in others:
            fresh = (codes < 0) & (self.matched_keys(program) >= 0)
            hashes[fresh] = self.result_hashes(program)[fresh]
            codes[fresh] = self.matched_keys(program)[fresh]
        return hashes, codes

    @property
    def fewest(self) -> float:
        """The pairs in the samples that match if just enough of the tables match."""
        sizes = self.source.num_rows, len(self.target)
        rates = self.source_sample.num_rows / sizes[0] * len(self.target_sample) / sizes[1]
        return float(_SHARE * min(sizes) * rates)


def learn_programs(tables: LearningTables, options: LearnOptions) -> list[LearnedProgram]:
    """Learn programs from text columns to a key column, best first; empty if none is good.

    >>> names = pa.table({"name": ["Ada Lovelace", "Alan Turing", "Grace Hopper", "Kurt Gödel"]})
    >>> users = pa.array(["alovelace", "aturing", "ghopper", "kgödel"], pa.large_string())
    >>> tables = LearningTables(names, users, Sample(names), TextColumn(users))
    >>> for learned in learn_programs(tables, LearnOptions()):
    ...     print(learned.program)
    lower(substring(name, 0, 1)) + lower(split(name, " ")[1])
    """
    programs: list[LearnedProgram] = []
    source, target = tables.source_sample, tables.target_sample
    while len(programs) < options.programs and source.num_rows and len(target):
        scorer = Scorer(source, KeyTable(hash_texts(target.array)))
        size = min(source.num_rows, len(scorer.keys))
        # A first program may match fewer keys of a tiny table; later ones a share of the rest.
        fewest = _FEWEST if programs else max(2, min(_FEWEST, size))
        share = _SHARE * size if programs else tables.fewest
        candidates = _candidates(scorer, source, target, options, first=not programs)
        filling = (program for program in candidates if fills_columns(program, tables.columns))
        best = _best(scorer, filling, max(fewest, share))
        if best is None:
            break
        cased = fit_case(best.program, source, target.array)
        programs.append(LearnedProgram(cased, best.by_chance))
        source, target = _drop_matched(cased, tables, source, target)
    return programs


def _drop_matched(
    program: Program, tables: LearningTables, source: Sample, target: TextColumn
) -> tuple[Sample, TextColumn]:
    """The sampled rows that the program does not match in the whole tables."""
    source_codes = tables.keys.codes_of(hash_texts(source.applier.apply(program)))
    if (source_codes >= 0).all():
        return source.without(source_codes >= 0), target
    target_codes = KeyTable(tables.result_hashes(program)).codes_of(hash_texts(target.array))
    return source.without(source_codes >= 0), target.without(target_codes >= 0)


def _best(scorer: Scorer, candidates: Iterable[Program], fewest: float) -> LearnedProgram | None:
    best, reached = None, (0.0, 0, 0)
    complete = 0
    for program in candidates:
        matched, rows = scorer.score(program)
        # A fragment matches more by chance than the whole text: it must match clearly more.
        reach = matched * (_CUT if is_cut(program) else 1.0), rows, -len(program.operators)
        if reach > reached and _matches_enough(program, scorer, fewest):
            chance = coincidence_rate(program, scorer)
            if chance < MOST_COINCIDENCE and not _replaces_text(program, scorer):
                best, reached = LearnedProgram(program, chance), reach
        if reached[1] >= ENOUGH * scorer.source.num_rows:
            break
        # All keys are matched, but not all rows: another program may match more of them.
        complete += reached[0] >= ENOUGH * len(scorer.keys)
        if complete > _MORE_TRIED:
            break
    return best


def _replaces_text(program: Program, scorer: Scorer) -> bool:
    matching = pa.array(scorer.matched_keys(program) >= 0)
    return replaces_text(program, scorer.source.table, matching)


def _candidates(
    scorer: Scorer, source: Sample, target: TextColumn, options: LearnOptions, first: bool
) -> Iterator[Program]:
    """Unchanged columns first, then programs learned from example sets."""
    names = list(source.columns)
    if first:
        yield from (identity(name) for name in names)
        if _are_codes(target.array):
            for name in names:
                yield from parts_by_separator(source.table, name)
    tried: dict[tuple[ProgramStep, ...], Program] = {}
    explained = _Explained(scorer, target)

    def groups() -> Iterator[tuple[list[RowPair], Array]]:
        yield from _groups(source, target, options)
        # Numbers that share nothing rare, such as dates, may still agree in several pieces.
        if first and not tried and _are_numbers(target.array):
            for column in range(min(len(names), options.column_pairs)):
                yield source.piece_pairer(column, target).of_several(), np.array([column])

    for pairs, columns in groups():
        if len(pairs) < min(_SIZES):
            continue
        for steps in _learn_from_sets(source, target, pairs, columns, explained, options):
            if steps in tried:
                explained.add(tried[steps])
                continue
            tried[steps] = scorer.fit_steps(steps)
            yield tried[steps]


class _Explained:
    """The row pairs explained by programs that two example sets agreed on."""

    def __init__(self, scorer: Scorer, target: TextColumn) -> None:
        self._scorer = scorer
        self._keys = scorer.keys.codes_of(hash_texts(target.array))
        self._matches: dict[Program, Array] = {}

    def add(self, program: Program) -> None:
        if program not in self._matches:
            self._matches[program] = self._scorer.matched_keys(program)

    def all_of(self, pairs: Sequence[RowPair]) -> bool:
        """Whether one such program explains all these pairs, so that they teach nothing new."""
        return any(
            all(codes[pair.source] == self._keys[pair.target] for pair in pairs)
            for codes in self._matches.values()
        )


def _learn_from_sets(
    source: Sample,
    target: TextColumn,
    pairs: list[RowPair],
    columns: Array,
    explained: _Explained,
    options: LearnOptions,
) -> Iterator[tuple[ProgramStep, ...]]:
    """Learn from small sets of the pairs, with these columns; if that fails, with all."""
    examples = source.examples(target, pairs)
    learner, every = Learner(examples, source.memory), np.arange(len(examples.columns))
    sets = _example_sets(len(examples), options.example_sets)
    sets = np.append(_plainest_first(examples), -1)[sets]
    possible, wide = learner.possible(sets, columns), np.zeros(len(sets), bool)
    if len(columns) < len(every):
        wide[:_WIDE_SETS] = learner.possible(sets[:_WIDE_SETS], every)
    for index in np.flatnonzero(possible | wide):
        rows = sets[index][sets[index] >= 0]
        if explained.all_of([pairs[row] for row in rows]):
            continue
        steps = learner.steps(rows, columns) if possible[index] else None
        if steps is None and wide[index]:
            steps = learner.steps(rows, every)
        if steps is not None:
            yield steps


def _are_numbers(target: pa.Array) -> bool:
    """Whether most texts have several numbers and no long word."""
    numbers = pc.match_substring_regex(target, r"^(\pL{0,3}[^\pL]+)+\pL{0,3}$")
    several = pc.match_substring_regex(target, "[0-9][^0-9]+[0-9]")
    return 2 * (pc.sum(pc.and_(numbers, several)).as_py() or 0) > len(target)


def _are_codes(target: pa.Array) -> bool:
    """Whether keys are so short that no substring is rare: then all substrings are tried."""
    return bool((pc.approximate_median(pc.utf8_length(target)).as_py() or 0) <= _CODE)


def _plainest_first(examples: Examples) -> Array:
    """Sort the examples by how few substrings of their rows make up the target.

    Rows that share one rare substring by chance share little else.
    """
    sizes = examples.goals[:, 1] - examples.goals[:, 0]
    return np.argsort(fewest_substrings(examples) / np.maximum(1, sizes), kind="stable")


def _groups(
    source: Sample, target: TextColumn, options: LearnOptions
) -> Iterator[tuple[list[RowPair], Array]]:
    """Row pairs and the columns to start with: the best single columns, then all together."""
    pairer, count = source.pairer(target), len(source.columns)
    groups = [
        (pairer.of_column(column, options.row_pairs), np.array([column])) for column in range(count)
    ]
    groups.sort(key=lambda group: -sum(pair.score * pair.shared for pair in group[0]))
    yield from groups[: options.column_pairs]
    if count > 1:
        yield pairer.of_several(), np.arange(count)


@lru_cache
def _example_sets(examples: int, count: int) -> Array:
    """Small random sets of examples, from the first or from all; the same sets every time.

    Each row has the positions of one set, padded with -1.
    """
    rng = np.random.default_rng(0)
    first = min(examples, max(_EXAMPLES, int(_PLAIN * examples)))
    drawn: dict[tuple[int, ...], None] = {}
    for turn in range(count):
        size = min(_SIZES[turn % len(_SIZES)], examples)
        among = first if turn % 3 == 0 else examples
        drawn[tuple(sorted(rng.choice(among, size, replace=False).tolist()))] = None
    most = max(_SIZES)
    return np.array([(*chosen, *[-1] * (most - len(chosen))) for chosen in drawn], np.int64)


def _matches_enough(program: Program, scorer: Scorer, fewest: float) -> bool:
    """Whether enough keys are matched to rule out chance.

    The matching text must come from the source, not from constants, unless nearly all keys match.
    """
    matched, rows = scorer.score(program)
    if matched < fewest:
        return False
    return matched >= _NEARLY_ALL * len(scorer.keys) or _letters(program, scorer) >= _LETTERS * rows


def _letters(program: Program, scorer: Scorer) -> int:
    """How many characters of the matching results come from the source."""
    rows = scorer.source.table.filter(pa.array(scorer.matched_keys(program) >= 0))
    constant = sum(len(o.text) for o in program.operators if isinstance(o, Constant))
    total = pc.sum(pc.utf8_length(apply_program(program, rows))).as_py() or 0
    return int(total - constant * rows.num_rows)
