"""Count the rows that a program matches with the keys of the other table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.codegen.arrow_programs import Applier, apply_program
from lakejoin.codegen.casing import has_agreed_case
from lakejoin.codegen.forms import Casing
from lakejoin.joins.learned.keytable import KeyTable, hashes_of
from lakejoin.joins.learned.program_learner import ProgramStep
from lakejoin.codegen.programs import Constant, Operator, Program, merge_constants
from lakejoin.joins.learned.row_samples import Sample

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

Score = tuple[int, int]


@dataclass(eq=False)
class Scorer:
    """The rows of a source, and the distinct keys of a target that they should match."""

    source: pa.Table
    keys: KeyTable
    applier: Applier | None = None  # of the source
    _known: dict[Program, Score] = field(default_factory=dict)

    def made(self, program: Program) -> pa.LargeStringArray:
        """The program's results for the source."""
        return apply_program(program, self.source) if self.applier is None else self.applier.apply(program)

    def met(self, program: Program) -> Array:
        """The key code that every source row matches, -1 for none."""
        return self.keys.places(hashes_of(self.made(program)))

    def score(self, program: Program) -> Score:
        """The number of matched keys, and of matching rows."""
        if program not in self._known:
            met = self.met(program)
            met = met[met >= 0]
            keys = int(np.count_nonzero(np.bincount(met, minlength=1)))
            self._known[program] = keys, len(met)
        return self._known[program]

    def fitted(self, steps: tuple[ProgramStep, ...]) -> Program:
        """The program whose variants, chosen step by step, match the most keys."""
        chosen = [step.ways[0] for step in steps]
        best = self.score(merge_constants(chosen))
        for index, step in enumerate(steps):
            for variant in step.ways[1:]:
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
    import pyarrow.compute as pc

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
