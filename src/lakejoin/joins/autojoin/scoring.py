"""How many rows does a program join? Its result met with the keys of the other table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.joins.autojoin.applying import Applier, apply
from lakejoin.joins.autojoin.casing import agreed
from lakejoin.joins.autojoin.forms import Casing
from lakejoin.joins.autojoin.keytable import KeyTable, hashes_of
from lakejoin.joins.autojoin.learning import Step
from lakejoin.joins.autojoin.programs import Constant, Operator, Program, simplified
from lakejoin.joins.autojoin.samples import Sample

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

Score = tuple[int, int]


@dataclass(eq=False)
class Scorer:
    """The rows of a source, and the distinct keys of a target that they should meet."""

    source: pa.Table
    keys: KeyTable
    applier: Applier | None = None  # to the source
    _known: dict[Program, Score] = field(default_factory=dict)

    def made(self, program: Program) -> pa.LargeStringArray:
        """What the program makes of the source."""
        return apply(program, self.source) if self.applier is None else self.applier.apply(program)

    def met(self, program: Program) -> Array:
        """For every row of the source the number of the key that it meets, -1 for none."""
        return self.keys.places(hashes_of(self.made(program)))

    def score(self, program: Program) -> Score:
        """How many keys are met, and by how many rows."""
        if program not in self._known:
            met = self.met(program)
            met = met[met >= 0]
            keys = int(np.count_nonzero(np.bincount(met, minlength=1)))
            self._known[program] = keys, len(met)
        return self._known[program]

    def fitted(self, steps: tuple[Step, ...]) -> Program:
        """The program whose ways, chosen step by step, meet the most keys."""
        chosen = [step.ways[0] for step in steps]
        best = self.score(simplified(chosen))
        for place, step in enumerate(steps):
            for way in step.ways[1:]:
                tried = [*chosen[:place], way, *chosen[place + 1 :]]
                score = self.score(simplified(tried))
                if score > best:
                    best, chosen = score, tried
        return simplified(chosen)


def with_case(program: Program, source: Sample, target: pa.Array) -> Program:
    """The program with the case changed where more of its results are then exactly in the target.

    Rows join without it, as equality ignores case; code that is taken away is to give the
    target's own spelling.
    """
    import pyarrow.compute as pc

    def exact(operators: list[Operator]) -> int:
        made = source.applier.apply(Program(tuple(operators)))
        return int(pc.sum(pc.is_in(made, value_set=target)).as_py() or 0)

    free = {name for name in program.columns if agreed(source.table[name])}
    tried = [[_cased(o, casing, free) for o in program.operators] for casing in Casing]
    chosen = max(tried, key=exact)
    best = exact(chosen)
    for place, operator in enumerate(program.operators):
        for casing in Casing:  # as it is first: the case is changed only where that is needed
            other = [*chosen[:place], _cased(operator, casing, free), *chosen[place + 1 :]]
            found = exact(other)
            if found > best or (found == best and casing is Casing.SAME):
                best, chosen = found, other
    return Program(tuple(chosen))


def _cased(operator: Operator, casing: Casing, free: set[str]) -> Operator:
    if isinstance(operator, Constant) or operator.column not in free:
        return operator
    return replace(operator, casing=casing)
