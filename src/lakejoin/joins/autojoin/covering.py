"""Which programs lead from a table to a key column of another? Few that together meet many keys.

The first is the one that meets the most keys. Where it leaves rows over, another is learned from
what is left, until no further one is to be believed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.joins.autojoin.applying import apply
from lakejoin.joins.autojoin.learning import learn
from lakejoin.joins.autojoin.programs import Constant, Program, identity
from lakejoin.joins.autojoin.rowpairs import RowPair, row_pairs, row_pairs_of_several
from lakejoin.joins.autojoin.sampling import SampleOptions
from lakejoin.joins.autojoin.scoring import Scorer, plain, with_case

if TYPE_CHECKING:
    import pyarrow as pa

ENOUGH = 0.98  # of all keys or rows: a program that meets so many is not improved upon
_SIZES = (3, 3, 2, 4)  # of example sets, in turns
_FEWEST = 3  # keys that a program must meet, where there are so many
_SHARE = 0.05  # of the keys or of the rows, whichever are fewer, that it must meet
_NEARLY_ALL = 0.8  # of the keys
_LETTERS = 3  # characters that must come from the source, on average


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """How long to look."""

    sample: SampleOptions = field(default_factory=SampleOptions)
    column_pairs: int = 4  # that are learned from, those with the best row pairs
    row_pairs: int = 100  # of a column pair that examples are drawn from
    example_sets: int = 16  # that are drawn
    programs: int = 5  # at most, for all rows together
    seed: int = 0


def covering_programs(source: pa.Table, target: pa.Array, options: LearnOptions) -> list[Program]:
    """The programs from columns of text to a column of keys, best first; none if none is good.

    >>> import pyarrow as pa
    >>> names = pa.table({"name": ["Ada Lovelace", "Alan Turing", "Grace Hopper", "Kurt Gödel"]})
    >>> users = pa.array(["alovelace", "aturing", "ghopper", "kgödel"])
    >>> for program in covering_programs(names, users, LearnOptions()):
    ...     print(program)
    lower(substring(name, 0, 1)) + lower(split(name, " ")[1])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    found: list[Program] = []
    target = target.cast(pa.large_string())
    while len(found) < options.programs and source.num_rows:
        keys = pc.unique(plain(target)).drop_null()
        scorer = Scorer(source, keys)
        program = _best(scorer, target, options, first=not found)
        if program is None:
            break
        found.append(with_case(program, source, target))
        met = scorer.met(program)
        source = source.filter(pa.array(met < 0))
        left = pc.is_in(plain(target), value_set=keys.take(pa.array(np.unique(met[met >= 0]))))
        target = target.filter(pc.invert(left))
    return found


def _best(scorer: Scorer, target: pa.Array, options: LearnOptions, first: bool) -> Program | None:
    best, reached = None, (0, 0, 0)
    for program in _candidates(scorer, target, options, first):
        met, rows = scorer.score(program)
        reach = met, rows, -len(program.operators)
        if reach > reached and _believable(program, scorer, first):
            best, reached = program, reach
            if met >= ENOUGH * len(scorer.keys) or rows >= ENOUGH * scorer.source.num_rows:
                break
    return best


def _candidates(
    scorer: Scorer, target: pa.Array, options: LearnOptions, first: bool
) -> Iterator[Program]:
    """Columns as they are, then what is learned from example sets."""
    names = scorer.source.column_names
    if first:
        yield from (identity(name) for name in names)
    tried = set()
    for pairs, columns in _groups(scorer.source, target, options):
        for examples in _example_sets(pairs, options):
            rows = scorer.source.take([pair.source for pair in examples]).to_pylist()
            targets = target.take([pair.target for pair in examples]).to_pylist()
            steps = learn(rows, targets, columns)
            if steps is None and len(columns) < len(names):
                steps = learn(rows, targets, names)
            if steps is not None and steps not in tried:
                tried.add(steps)
                yield scorer.fitted(steps)


def _groups(
    source: pa.Table, target: pa.Array, options: LearnOptions
) -> Iterator[tuple[list[RowPair], list[str]]]:
    """Row pairs with the columns to begin with: of the best columns, then of all together."""
    names = source.column_names
    found = []
    for name in names:
        pairs = row_pairs(source[name].combine_chunks(), target, options.row_pairs)
        found.append((pairs, [name]))
    found.sort(key=lambda group: -sum(pair.score * pair.shared for pair in group[0]))
    yield from found[: options.column_pairs]
    if len(names) > 1:
        yield row_pairs_of_several(source, target), names


def _example_sets(pairs: list[RowPair], options: LearnOptions) -> Iterator[list[RowPair]]:
    """Small sets of row pairs, drawn at random but always the same."""
    rng = np.random.default_rng(options.seed)
    drawn: set[tuple[int, ...]] = set()
    for turn in range(options.example_sets):
        size = min(_SIZES[turn % len(_SIZES)], len(pairs))
        if size < 2:
            return
        chosen = tuple(sorted(rng.choice(len(pairs), size, replace=False).tolist()))
        if chosen not in drawn:
            drawn.add(chosen)
            yield [pairs[i] for i in chosen]


def _believable(program: Program, scorer: Scorer, first: bool) -> bool:
    """Whether so many keys are met that it is no accident.

    Three keys, unless there are fewer, and a share of them; further programs always three. What
    meets them must come from the source and not from constants, unless nearly all are met.
    """
    met, rows = scorer.score(program)
    size = min(scorer.source.num_rows, len(scorer.keys))
    if met < max(2, min(_FEWEST, size) if first else _FEWEST, _SHARE * size):
        return False
    return _letters(program, scorer) >= _LETTERS * rows or met >= _NEARLY_ALL * len(scorer.keys)


def _letters(program: Program, scorer: Scorer) -> int:
    """How many characters of the joined results come from the source."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = scorer.source.filter(pa.array(scorer.met(program) >= 0))
    constant = sum(len(o.text) for o in program.operators if isinstance(o, Constant))
    total = pc.sum(pc.utf8_length(apply(program, rows))).as_py() or 0
    return int(total - constant * rows.num_rows)
