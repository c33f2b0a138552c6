"""Test whether a program matches keys by coincidence: would wrong values match as many?

There are few digits, so numeric keys lie close together (dates, codes, prices), and concatenated
fragments of numbers match many of them. Trials with deliberately wrong values show this:

- a program of several parts runs with the parts of different rows mixed;
- a program of one part runs with its last digit changed, or with another letter if it has letters.

If the wrong values match nearly as many keys as the right ones, the matches prove nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.codegen.forms import Casing
from lakejoin.joins.learned.keytable import hashes_of
from lakejoin.codegen.programs import Constant, Extract, Operator, Program
from lakejoin.joins.learned.scoring import Scorer
from lakejoin.signals.chance import LEAST_CHANCE, match_chance_by

if TYPE_CHECKING:
    import pyarrow as pa

MOST_COINCIDENCE = 0.6  # of the matching rows: largest share that wrong values may match
_TRIALS = 3
_DIGITS = "0123456789"
_LOOKED_AT = 100


def coincidence_rate(program: Program, scorer: Scorer) -> float:
    """The rows that match with wrong values, per row that matches with the right ones.

    >>> import pyarrow as pa
    >>> from lakejoin.joins.learned.keytable import KeyTable, hashes_of
    >>> numbers = pa.table({"price": [f"{7 * i % 100}.{i * 37 % 100:02}" for i in range(50)]})
    >>> keys = pa.array([f"{i:02}" for i in range(100) if i % 5], pa.large_string())
    >>> cents = Program((Extract("price", ((".", 1),)),))
    >>> coincidence_rate(cents, Scorer(numbers, KeyTable(hashes_of(keys)))) > MOST_COINCIDENCE
    True
    """
    _, rows = scorer.score(program)
    parts = program.extracts
    if len(parts) > 1:
        trials = [_mixed(program, scorer.source, seed) for seed in range(_TRIALS)]
    elif not rows:
        return 0.0
    elif _has_letters(parts[0], scorer.source):
        return _changed(program, scorer)
    else:
        trials = [_moved(program, scorer.source, by) for by in range(1, _TRIALS + 1)]
    matches = [Scorer(source, scorer.keys).score(wrong)[1] for wrong, source in trials]
    return min(1.0, sum(matches) / (rows * _TRIALS)) if rows else 0.0


def _mixed(program: Program, source: pa.Table, seed: int) -> tuple[Program, pa.Table]:
    """The program with each part taken from another row."""
    import pyarrow as pa

    rows = source.num_rows
    order = np.random.default_rng(seed).permutation(rows)
    step = 1 + seed % max(1, rows - 1)
    columns: dict[str, pa.Array] = {}
    operators: list[Operator] = []
    for index, operator in enumerate(program.operators):
        if isinstance(operator, Constant):
            operators.append(operator)
            continue
        name = str(index)
        # Rotated one step further per part: no part stays in its row, even in tiny tables.
        rotated = np.roll(order, step * len(columns))
        columns[name] = source[operator.column].take(pa.array(rotated))
        operators.append(replace(operator, column=name, casing=Casing.SAME))
    return Program(tuple(operators)), pa.table(columns)


def _moved(program: Program, source: pa.Table, by: int) -> tuple[Program, pa.Table]:
    """The program of one part with the last digit of the part changed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = apply_program(Program(program.extracts), source)
    head, last = pc.utf8_slice_codeunits(texts, 0, -1), pc.utf8_slice_codeunits(texts, -1)
    digits = pa.array(list(_DIGITS), pa.large_string())
    others = pa.array([_DIGITS[(i + by) % 10] for i in range(10)], pa.large_string())
    changed = pc.coalesce(others.take(pc.index_in(last, value_set=digits)), last)
    column = pc.binary_join_element_wise(head, changed, pa.scalar("", pa.large_string()))
    operators = [o if isinstance(o, Constant) else Extract("part") for o in program.operators]
    return Program(tuple(operators)), pa.table({"part": column})


def _changed(program: Program, scorer: Scorer) -> float:
    """The share of matching texts that still match with another letter."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = np.flatnonzero(scorer.met(program) >= 0)
    some = rows[np.linspace(0, len(rows) - 1, min(_LOOKED_AT, len(rows))).astype(np.int64)]
    texts = pc.utf8_lower(apply_program(program, scorer.source.take(some))).unique().drop_null()
    chance = match_chance_by(texts, lambda wrong: pa.array(scorer.keys.places(hashes_of(wrong)) >= 0))
    return chance if chance > LEAST_CHANCE else 0.0


def _has_letters(part: Extract, source: pa.Table) -> bool:
    """Whether most of the part's texts contain a letter."""
    import pyarrow.compute as pc

    lettered = pc.match_substring_regex(apply_program(Program((part,)), source), r"\p{L}")
    return bool((pc.mean(lettered).as_py() or 0.0) > 0.5)
