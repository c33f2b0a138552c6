"""How many rows a program would match with wrong values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.codegen.programs import Casing, Constant, Extract, Operator, Program
from lakejoin.joins.learned.program_learner import Scorer
from lakejoin.joins.learned.row_samples import Sample
from lakejoin.signals.chance import LEAST_CHANCE, match_chance_by

MOST_COINCIDENCE = 0.6  # of the matching rows: largest share that wrong values may match
_TRIALS = 3
_DIGITS = "0123456789"
_LOOKED_AT = 100


def coincidence_rate(program: Program, scorer: Scorer) -> float:
    """The rows that match with wrong values, per row that matches with the right ones.

    >>> from lakejoin.joins.learned.program_learner import KeyTable, hash_texts
    >>> numbers = pa.table({"price": [f"{7 * i % 100}.{i * 37 % 100:02}" for i in range(50)]})
    >>> keys = pa.array([f"{i:02}" for i in range(100) if i % 5], pa.large_string())
    >>> cents = Program((Extract("price", ((".", 1),)),))
    >>> scorer = Scorer(Sample(numbers), KeyTable(hash_texts(keys)))
    >>> coincidence_rate(cents, scorer) > MOST_COINCIDENCE
    True
    """
    _, rows = scorer.score(program)
    parts, source = program.extracts, scorer.source.table
    if len(parts) > 1:
        trials = [_mix_rows(program, source, seed) for seed in range(_TRIALS)]
    elif not rows:
        return 0.0
    elif _has_letters(parts[0], source):
        return _changed_letter_rate(program, scorer)
    else:
        trials = [_shift_last_digit(program, source, by) for by in range(1, _TRIALS + 1)]
    matches = [Scorer(Sample(rows_of), scorer.keys).score(wrong)[1] for wrong, rows_of in trials]
    return min(1.0, sum(matches) / (rows * _TRIALS)) if rows else 0.0


def _mix_rows(program: Program, source: pa.Table, seed: int) -> tuple[Program, pa.Table]:
    """The program with each part taken from another row."""
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


def _shift_last_digit(program: Program, source: pa.Table, by: int) -> tuple[Program, pa.Table]:
    """The program of one part with the last digit of the part changed."""
    texts = apply_program(Program(program.extracts), source)
    head, last = pc.utf8_slice_codeunits(texts, 0, -1), pc.utf8_slice_codeunits(texts, -1)
    digits = pa.array(list(_DIGITS), pa.large_string())
    shifted = pa.array([_DIGITS[(i + by) % 10] for i in range(10)], pa.large_string())
    changed = pc.coalesce(shifted.take(pc.index_in(last, value_set=digits)), last)
    column = pc.binary_join_element_wise(head, changed, pa.scalar("", pa.large_string()))
    operators = [o if isinstance(o, Constant) else Extract("part") for o in program.operators]
    return Program(tuple(operators)), pa.table({"part": column})


def _changed_letter_rate(program: Program, scorer: Scorer) -> float:
    """The share of matching texts that still match with another letter."""
    rows = np.flatnonzero(scorer.matched_keys(program) >= 0)
    some = rows[np.linspace(0, len(rows) - 1, min(_LOOKED_AT, len(rows))).astype(np.int64)]
    texts = (
        pc.utf8_lower(apply_program(program, scorer.source.table.take(some))).unique().drop_null()
    )
    chance = match_chance_by(texts, scorer.keys.contains)
    return chance if chance > LEAST_CHANCE else 0.0


def _has_letters(part: Extract, source: pa.Table) -> bool:
    """Whether most of the part's texts contain a letter."""
    lettered = pc.match_substring_regex(apply_program(Program((part,)), source), r"\p{L}")
    return bool((pc.mean(lettered).as_py() or 0.0) > 0.5)
