"""What did each step of a join add? Its rows, and why it is to be believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.joins.pairing import Pairing
from lakejoin.joins.ways import NO_WAY, Found

if TYPE_CHECKING:
    from lakejoin.joins.autojoin.programs import Program
    from lakejoin.joins.keys import Keys

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a join: how it makes rows meet, and the rows that those before it left over."""

    kind: str  # equal, transform, agreeing, fuzzy, meaning or nearest
    words: str  # what meets what, the left side first
    left_rows: int
    right_rows: int
    sure: float  # 0..1
    why: str
    program: Program | None = None

    def to_json(self) -> dict[str, Any]:
        """The step as plain values."""
        return {
            "kind": self.kind,
            "words": self.words,
            "program": str(self.program) if self.program else None,
            "left_rows": self.left_rows,
            "right_rows": self.right_rows,
            "sure": self.sure,
            "why": self.why,
        }


def steps_of(found: Found, keys: Keys) -> tuple[Step, ...]:
    """What each way added, where the rows in the end meet by these keys."""
    pairing = Pairing(keys)
    partners = pairing.partners_of_left, pairing.partners_of_right
    codes = keys.left, keys.right
    if found.source_side == "right":
        partners, codes = partners[::-1], codes[::-1]
    way = np.where(partners[0] > 0, found.way_of, NO_WAY)
    first = np.full(keys.count + 1, len(found.ways), np.int64)
    joined = way >= 0
    np.minimum.at(first, codes[0][joined], way[joined])
    way_of_target = np.where(partners[1] > 0, first[codes[1]], NO_WAY)
    steps = []
    for place, one in enumerate(found.ways):
        rows = np.count_nonzero(way == place), np.count_nonzero(way_of_target == place)
        mine, theirs = map(int, rows if found.source_side == "left" else rows[::-1])
        program = one.program if one.kind == "transform" else None
        steps.append(Step(one.kind, one.words, mine, theirs, one.sure, one.why, program))
    return tuple(steps)
