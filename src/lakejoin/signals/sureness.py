"""How sure a join is: the chance that it is right, and the verdict that follows.

Evidence in nats becomes a chance by one curve, fitted on labelled pairs of tables
(`benchmarks/first_join.py` shows how often joins of each sureness are right). Some joins are never
nearly certain, whatever the evidence: those whose key repeats in both tables, those that leave out
most rows of both, those by a measure, those whose values had to be rewritten, those whose columns
have other names, and numbers that chance explains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["strong", "check", "coincidence"]

SURE = 0.99  # the most that values can show
STRONG = 0.9  # from here on a join is strong
LIKELY = 0.3  # below, it is a coincidence
UNDECIDED = 0.5  # of numbers that may refer to a key, but any numbers would match
_SCALE = 12.0  # nats that make a join e times less likely to be wrong
_FEW = 0.5  # a smaller share of the rows of both tables is few
_MAX_IF_DOUBTFUL = 0.85  # sureness of a join that multiplies rows, has few, or is by a measure
_MAX_IF_CHANGED = 0.92  # sureness of a join whose values are rewritten or whose names differ


@dataclass(frozen=True, slots=True)
class KeyQuality:
    """What keeps a join from being nearly certain.

    `repeated` if the key repeats in both tables, `rewritten` if values had to be rewritten, `named`
    if the column names match, `measured` if a price or a count is part of the key. `reach` is the
    share of the rows that join, of the table where it is larger.
    """

    repeated: bool = False
    rewritten: bool = False
    named: bool = True
    measured: bool = False
    reach: float = 1.0

    @property
    def most_sure(self) -> float:
        """The most that such a join can be sure."""
        if self.repeated or self.measured or self.reach < _FEW:
            return _MAX_IF_DOUBTFUL
        return _MAX_IF_CHANGED if self.rewritten or not self.named else SURE


def estimate_sureness(nats: float, key: KeyQuality) -> float:
    """The chance that a join with so much evidence is right.

    >>> plain = KeyQuality()
    >>> round(estimate_sureness(60.0, plain), 2), round(estimate_sureness(12.0, plain), 2)
    (0.99, 0.63)
    >>> estimate_sureness(60.0, KeyQuality(named=False))
    0.92
    >>> estimate_sureness(60.0, KeyQuality(repeated=True))
    0.85
    """
    return min(key.most_sure, 1 - math.exp(-max(0.0, nats) / _SCALE))


def judge(sure: float) -> Verdict:
    """The verdict on a join that is right with this chance.

    >>> judge(0.97), judge(0.6), judge(0.1)
    ('strong', 'check', 'coincidence')
    """
    if sure >= STRONG:
        return "strong"
    return "check" if sure >= LIKELY else "coincidence"
