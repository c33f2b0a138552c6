"""Count the keys that a program matches, and test whether wrong values would match too."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.codegen.arrow_programs import apply_program, has_agreed_case
from lakejoin.codegen.programs import Casing, Constant, Extract, Operator, Program, merge_constants
from lakejoin.joins.learned.program_learner import ProgramStep
from lakejoin.joins.learned.row_samples import Sample
from lakejoin.kernels.text_tables import build_hash_table, hash_plain_texts, look_up_hashes
from lakejoin.model import Array
from lakejoin.signals.chance import LEAST_CHANCE, match_chance_by
from lakejoin.values.text_arrays import read_only, text_buffers

MOST_COINCIDENCE = 0.6  # of the matching rows: largest share that wrong values may match
_TRIALS = 3
_DIGITS = "0123456789"
_LOOKED_AT = 100


def coincidence_rate(program: Program, scorer: Scorer) -> float:
    """The rows that match with wrong values, per row that matches with the right ones.

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


Score = tuple[int, int]


@dataclass(eq=False)
class Scorer:
    """The rows of a source, and the distinct keys of a target that they should match."""

    source: Sample
    keys: KeyTable
    _scores: dict[Program, Score] = field(default_factory=dict)

    def matched_keys(self, program: Program) -> Array:
        """The key code that every source row matches, -1 for none."""
        return self.keys.codes_of(hash_texts(self.source.applier.apply(program)))

    def score(self, program: Program) -> Score:
        """The number of matched keys, and of matching rows."""
        if program not in self._scores:
            codes = self.matched_keys(program)
            codes = codes[codes >= 0]
            keys = int(np.count_nonzero(np.bincount(codes, minlength=1)))
            self._scores[program] = keys, len(codes)
        return self._scores[program]

    def fit_steps(self, steps: tuple[ProgramStep, ...]) -> Program:
        """The program whose variants, chosen step by step, match the most keys."""
        chosen = [step[0] for step in steps]
        best = self.score(merge_constants(chosen))
        for index, step in enumerate(steps):
            for variant in step[1:]:
                tried = [*chosen[:index], variant, *chosen[index + 1 :]]
                score = self.score(merge_constants(tried))
                if score > best:
                    best, chosen = score, tried
        return merge_constants(chosen)


def fit_case(program: Program, source: Sample, target: pa.Array) -> Program:
    """Change the case of parts if more results are then exactly in the target.

    Rows match without it, as equality ignores case; but generated code should give the target's
    own spelling.
    """

    def exact(operators: list[Operator]) -> int:
        made = source.applier.apply(Program(tuple(operators)))
        return int(pc.sum(pc.is_in(made, value_set=target)).as_py() or 0)

    free = {name for name in program.columns if has_agreed_case(source.table[name])}
    tried = [[_with_casing(o, casing, free) for o in program.operators] for casing in Casing]
    chosen = max(tried, key=exact)
    best = exact(chosen)
    for index, operator in enumerate(program.operators):
        for casing in Casing:  # unchanged first: the case is changed only if needed
            other = [*chosen[:index], _with_casing(operator, casing, free), *chosen[index + 1 :]]
            count = exact(other)
            if count > best or (count == best and casing is Casing.SAME):
                best, chosen = count, other
    return Program(tuple(chosen))


def _with_casing(operator: Operator, casing: Casing, free: set[str]) -> Operator:
    if isinstance(operator, Constant) or operator.column not in free:
        return operator
    return replace(operator, casing=casing)


def hash_texts(texts: pa.LargeStringArray) -> Array:
    """The hash of every text, 0 if it is null or empty.

    >>> hashes = hash_texts(pa.array(["Züg  A", " züg a ", "", None], pa.large_string()))
    >>> bool(hashes[0] == hashes[1]), hashes[2:].tolist()
    (True, [0, 0])
    """
    flat = text_buffers(texts)
    if flat.data[flat.offsets[0] : flat.offsets[-1]].max(initial=0) >= 128:  # beyond ASCII
        flat = text_buffers(pc.utf8_lower(texts))
    return np.asarray(hash_plain_texts(*flat))


class KeyTable:
    """The distinct keys of a column.

    >>> keys = KeyTable(hash_texts(pa.array(["Bern", "Ulm", None, "bern"], pa.large_string())))
    >>> len(keys), keys.counts.tolist()
    (2, [2, 1])
    >>> keys.codes_of(hash_texts(pa.array(["ulm ", "Bonn"], pa.large_string()))).tolist()
    [1, -1]
    """

    def __init__(self, hashes: Array) -> None:
        self._slots, self._distinct, self.counts, self.first_rows = build_hash_table(
            read_only(hashes)
        )

    def __len__(self) -> int:
        return len(self._distinct)

    @property
    def share(self) -> float:
        """The distinct keys per row with a key; 0 if all are the same."""
        return len(self) / int(self.counts.sum()) if len(self) > 1 else 0.0

    def codes_of(self, hashes: Array) -> Array:
        """The code of the key that each text matches, -1 for none."""
        return np.asarray(look_up_hashes(self._slots, self._distinct, read_only(hashes)))

    def contains(self, texts: pa.LargeStringArray) -> pa.BooleanArray:
        return pa.array(self.codes_of(hash_texts(texts)) >= 0)
