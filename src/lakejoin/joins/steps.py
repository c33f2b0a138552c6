"""The steps of a join: the rows that each adds, and why to trust it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.joins.pairing import Pairing
from lakejoin.joins.join_key import NO_RULE, JoinKey

if TYPE_CHECKING:
    from lakejoin.codegen.programs import Program
    from lakejoin.joins.row_keys import Keys

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a join: how rows match, and the rows that it adds to earlier steps."""

    kind: str  # equal, transform, agreeing, fuzzy, meaning or nearest
    words: str  # what matches what, the left side first
    left_rows: int
    right_rows: int
    sure: float  # 0..1
    why: str
    program: Program | None = None

    def to_json(self) -> dict[str, Any]:
        """The step as JSON values."""
        return {
            "kind": self.kind,
            "words": self.words,
            "program": str(self.program) if self.program else None,
            "left_rows": self.left_rows,
            "right_rows": self.right_rows,
            "sure": self.sure,
            "why": self.why,
        }


def steps_of(found: JoinKey, keys: Keys) -> tuple[Step, ...]:
    """The steps of a join whose rows finally match by these keys."""
    pairing = Pairing(keys)
    partners = pairing.partners_of_left, pairing.partners_of_right
    codes = keys.left, keys.right
    if found.source_side == "right":
        partners, codes = partners[::-1], codes[::-1]
    rule_of = np.where(partners[0] > 0, found.way_of, NO_RULE)
    first = np.full(keys.count + 1, len(found.ways), np.int64)
    joined = rule_of >= 0
    np.minimum.at(first, codes[0][joined], rule_of[joined])
    rule_of_target = np.where(partners[1] > 0, first[codes[1]], NO_RULE)
    steps = []
    for index, rule in enumerate(found.ways):
        rows = np.count_nonzero(rule_of == index), np.count_nonzero(rule_of_target == index)
        left, right = map(int, rows if found.source_side == "left" else rows[::-1])
        program = rule.program if rule.kind == "transform" else None
        steps.append(Step(rule.kind, rule.words, left, right, rule.sure, rule.why, program))
    return tuple(steps)
