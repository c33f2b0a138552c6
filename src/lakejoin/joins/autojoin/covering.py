"""Which programs lead from a table to a key column of another? Few that together meet many keys.

The first is the one that meets the most keys. Where it leaves rows over, another is learned from
what is left, until no further one is to be believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.joins.autojoin.accidents import MOST, by_chance
from lakejoin.joins.autojoin.applying import apply
from lakejoin.joins.autojoin.examples import Examples
from lakejoin.joins.autojoin.keytable import KeyTable, hashes_of
from lakejoin.joins.autojoin.learning import Learner, Step, stretches
from lakejoin.joins.autojoin.programs import Constant, Program, identity, is_cut
from lakejoin.joins.autojoin.rowpairs import RowPair
from lakejoin.joins.autojoin.samples import Sample, TextColumn
from lakejoin.joins.autojoin.sampling import SampleOptions
from lakejoin.joins.autojoin.scoring import Scorer, with_case
from lakejoin.joins.autojoin.targets import fills, pieces_by_separator

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

ENOUGH = 0.98  # of all keys or rows: a program that meets so many is not improved upon
_SIZES = (3, 3, 3, 2, 3, 4)  # of example sets, in turns
_EXAMPLES, _PLAIN = 8, 0.3  # every third set is drawn from so many, or that share of them
_CUT = 0.9  # what a key counts that a piece of one text meets
_CODE = 4  # characters
_MORE_TRIED = 6  # programs that are tried once all keys are met
_WIDE_SETS = 9  # example sets that are also tried with all columns
_FEWEST = 3  # keys that a program must meet, where there are so many
_SHARE = 0.1  # of the keys or of the rows, whichever are fewer, that it must meet
_NEARLY_ALL = 0.8  # of the keys
_LETTERS = 3  # characters that must come from the source, on average


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """How long to look."""

    sample: SampleOptions = field(default_factory=SampleOptions)
    column_pairs: int = 4  # that are learned from, those with the best row pairs
    row_pairs: int = 100  # of a column pair that examples are drawn from
    example_sets: int = 18  # that are drawn
    programs: int = 5  # at most, for all rows together
    further: bool = True  # whether several columns, and parts of columns, are met as well
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Believed:
    """A program, and the share of its rows that wrong values would join as well."""

    program: Program
    by_chance: float


@dataclass(eq=False)
class Tables:
    """Columns of text and a column of keys, as a whole and as the samples that are learned from."""

    source: pa.Table
    target: pa.LargeStringArray
    source_sample: Sample
    target_sample: TextColumn
    columns: int = 1  # that make up the target
    known_keys: KeyTable | None = None  # of the whole target, if they were looked at before
    _made: dict[Program, Array] = field(default_factory=dict)
    _met: dict[Program, Array] = field(default_factory=dict)

    @cached_property
    def keys(self) -> KeyTable:
        """The keys of the whole target."""
        return self.known_keys or KeyTable(hashes_of(self.target))

    def made(self, program: Program) -> Array:
        """The program's results for the whole source, as hashes."""
        if program not in self._made:
            self._made[program] = hashes_of(apply(program, self.source))
        return self._made[program]

    def met(self, program: Program) -> Array:
        """The number of the key that each row of the whole source meets, -1 for none."""
        if program not in self._met:
            self._met[program] = self.keys.places(self.made(program))
        return self._met[program]

    def rewritten(self, programs: Sequence[Believed]) -> tuple[Array, Array]:
        """What the first program that meets a key makes of every source row, and the key's number.

        As hashes; where none does, what the first program makes, and -1.
        """
        made, met = self.made(programs[0].program), self.met(programs[0].program)
        if len(programs) > 1:
            made, met = made.copy(), met.copy()
        for one in programs[1:]:
            other, place = self.made(one.program), self.met(one.program)
            fresh = (met < 0) & (place >= 0)
            made[fresh], met[fresh] = other[fresh], place[fresh]
        return made, met

    @property
    def fewest(self) -> float:
        """The pairs of the samples that join if just enough of the tables does."""
        sizes = self.source.num_rows, len(self.target)
        rates = self.source_sample.num_rows / sizes[0] * len(self.target_sample) / sizes[1]
        return float(_SHARE * min(sizes) * rates)


def covering_programs(tables: Tables, options: LearnOptions) -> list[Believed]:
    """The programs from columns of text to a column of keys, best first; none if none is good.

    >>> import pyarrow as pa
    >>> names = pa.table({"name": ["Ada Lovelace", "Alan Turing", "Grace Hopper", "Kurt Gödel"]})
    >>> users = pa.array(["alovelace", "aturing", "ghopper", "kgödel"], pa.large_string())
    >>> tables = Tables(names, users, Sample(names), TextColumn(users))
    >>> for found in covering_programs(tables, LearnOptions()):
    ...     print(found.program)
    lower(substring(name, 0, 1)) + lower(split(name, " ")[1])
    """
    found: list[Believed] = []
    source, target = tables.source_sample, tables.target_sample
    while len(found) < options.programs and source.num_rows and len(target):
        scorer = Scorer(source.table, KeyTable(hashes_of(target.array)), source.applier)
        size = min(source.num_rows, len(scorer.keys))
        # A first program may meet fewer of a tiny table; a further one joins a share of the rest.
        fewest = _FEWEST if found else max(2, min(_FEWEST, size))
        share = _SHARE * size if found else tables.fewest
        candidates = _candidates(scorer, source, target, options, first=not found)
        filling = (program for program in candidates if fills(program, tables.columns))
        best = _best(scorer, filling, max(fewest, share))
        if best is None:
            break
        cased = with_case(best.program, source, target.array)
        found.append(Believed(cased, best.by_chance))
        source, target = _left_over(cased, tables, source, target)
    return found


def _left_over(
    program: Program, tables: Tables, source: Sample, target: TextColumn
) -> tuple[Sample, TextColumn]:
    """What the program does not join in the whole tables, sampled or not."""
    mine = tables.keys.places(hashes_of(source.applier.apply(program)))
    if (mine >= 0).all():
        return source.without(mine >= 0), target
    theirs = KeyTable(tables.made(program)).places(hashes_of(target.array))
    return source.without(mine >= 0), target.without(theirs >= 0)


def _best(scorer: Scorer, candidates: Iterable[Program], fewest: float) -> Believed | None:
    best, reached = None, (0.0, 0, 0)
    complete = 0
    for program in candidates:
        met, rows = scorer.score(program)
        # A piece of one text meets more than the text by accident: it must meet clearly more.
        reach = met * (_CUT if is_cut(program) else 1.0), rows, -len(program.operators)
        if reach > reached and _enough(program, scorer, fewest):
            chance = by_chance(program, scorer)
            if chance < MOST:
                best, reached = Believed(program, chance), reach
        if reached[1] >= ENOUGH * scorer.source.num_rows:
            break
        # All keys are met, but not by all rows: another program may bring more of these.
        complete += reached[0] >= ENOUGH * len(scorer.keys)
        if complete > _MORE_TRIED:
            break
    return best


def _candidates(
    scorer: Scorer, source: Sample, target: TextColumn, options: LearnOptions, first: bool
) -> Iterator[Program]:
    """Columns as they are, then what is learned from example sets."""
    names = list(source.columns)
    if first:
        yield from (identity(name) for name in names)
        if _are_codes(target.array):
            for name in names:
                yield from pieces_by_separator(source.table, name)
    tried: dict[tuple[Step, ...], Program] = {}
    explained = _Explained(scorer, target)
    for pairs, columns in _groups(source, target, options):
        if len(pairs) < min(_SIZES):
            continue
        for steps in _learned(source, target, pairs, columns, explained, options):
            if steps in tried:
                explained.add(tried[steps])
                continue
            tried[steps] = scorer.fitted(steps)
            yield tried[steps]


class _Explained:
    """Which pairs of rows are made equal by programs that two sets of examples agreed on."""

    def __init__(self, scorer: Scorer, target: TextColumn) -> None:
        self._scorer = scorer
        self._keys = scorer.keys.places(hashes_of(target.array))
        self._met: dict[Program, Array] = {}

    def add(self, program: Program) -> None:
        if program not in self._met:
            self._met[program] = self._scorer.met(program)

    def all_of(self, pairs: Sequence[RowPair]) -> bool:
        """Whether one such program explains all these pairs: they teach nothing new."""
        return any(
            all(met[pair.source] == self._keys[pair.target] for pair in pairs)
            for met in self._met.values()
        )


def _learned(
    source: Sample,
    target: TextColumn,
    pairs: list[RowPair],
    columns: Array,
    explained: _Explained,
    options: LearnOptions,
) -> Iterator[tuple[Step, ...]]:
    """What small sets of the pairs teach, from these columns; if nothing, from all."""
    examples = source.examples(target, pairs)
    learner, every = Learner(examples, source.memory), np.arange(len(examples.columns))
    sets = _example_sets(len(examples), options.example_sets, options.seed)
    sets = np.append(_plainest_first(examples), -1)[sets]
    possible, wide = learner.possible(sets, columns), np.zeros(len(sets), bool)
    if len(columns) < len(every):
        wide[:_WIDE_SETS] = learner.possible(sets[:_WIDE_SETS], every)
    for place in np.flatnonzero(possible | wide):
        rows = sets[place][sets[place] >= 0]
        if explained.all_of([pairs[row] for row in rows]):
            continue
        steps = learner.steps(rows, columns) if possible[place] else None
        if steps is None and wide[place]:
            steps = learner.steps(rows, every)
        if steps is not None:
            yield steps


def _are_codes(target: pa.Array) -> bool:
    """Whether the keys are so short that no stretch of them is rare: pieces are tried outright."""
    import pyarrow.compute as pc

    return bool((pc.approximate_median(pc.utf8_length(target)).as_py() or 0) <= _CODE)


def _plainest_first(examples: Examples) -> Array:
    """The examples, those first whose targets are made of the fewest stretches of their rows.

    Rows that share one rare stretch by accident share little else.
    """
    sizes = examples.goals[:, 1] - examples.goals[:, 0]
    return np.argsort(stretches(examples) / np.maximum(1, sizes), kind="stable")


def _groups(
    source: Sample, target: TextColumn, options: LearnOptions
) -> Iterator[tuple[list[RowPair], Array]]:
    """Row pairs with the columns to begin with: of the best columns, then of all together."""
    pairer, count = source.pairer(target), len(source.columns)
    found = [
        (pairer.of_column(place, options.row_pairs), np.array([place])) for place in range(count)
    ]
    found.sort(key=lambda group: -sum(pair.score * pair.shared for pair in group[0]))
    yield from found[: options.column_pairs]
    if count > 1:
        yield pairer.of_several(), np.arange(count)


@lru_cache
def _example_sets(examples: int, count: int, seed: int) -> Array:
    """Small sets of examples, at random but always the same ones, from the first or from all.

    Each is a row of their places, with -1 behind the last.
    """
    rng = np.random.default_rng(seed)
    first = min(examples, max(_EXAMPLES, int(_PLAIN * examples)))
    drawn: dict[tuple[int, ...], None] = {}
    for turn in range(count):
        size = min(_SIZES[turn % len(_SIZES)], examples)
        among = first if turn % 3 == 0 else examples
        drawn[tuple(sorted(rng.choice(among, size, replace=False).tolist()))] = None
    most = max(_SIZES)
    return np.array([(*chosen, *[-1] * (most - len(chosen))) for chosen in drawn], np.int64)


def _enough(program: Program, scorer: Scorer, fewest: float) -> bool:
    """Whether so many keys are met that it is no accident.

    What meets them must come from the source and not from constants, unless nearly all are met.
    """
    met, rows = scorer.score(program)
    if met < fewest:
        return False
    return met >= _NEARLY_ALL * len(scorer.keys) or _letters(program, scorer) >= _LETTERS * rows


def _letters(program: Program, scorer: Scorer) -> int:
    """How many characters of the joined results come from the source."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = scorer.source.filter(pa.array(scorer.met(program) >= 0))
    constant = sum(len(o.text) for o in program.operators if isinstance(o, Constant))
    total = pc.sum(pc.utf8_length(apply(program, rows))).as_py() or 0
    return int(total - constant * rows.num_rows)
