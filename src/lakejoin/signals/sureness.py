"""How sure a join is: the chance that it is right, and the verdict that follows.

Evidence in nats becomes a chance by one curve, and everything that makes joins wrong in practice
takes a share of it: a key that repeats in both tables, that leaves out rows of both, or that has a
measure in it, values that had to be rewritten, columns of other names, and another key that is
nearly as good but joins other rows. The shares are larger than a fit on labelled pairs of tables
and changed copies of them gives, as unseen tables do worse (`benchmarks/first_join.py` shows how
often joins of each sureness are right).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["strong", "check", "coincidence"]

SURE = 0.97  # the most that values can show
STRONG = 0.9  # from here on a join is strong
LIKELY = 0.3  # below, it is a coincidence
UNDECIDED = 0.5  # of numbers that may refer to a key, but any numbers would match
_SCALE = 12.0  # nats that make a join e times less likely to be wrong
_ALL, _FEW = 0.97, 0.5  # shares of the rows of a table
# What is left of the sureness of a join …
_PARTIAL = 0.9  # that leaves out rows of both tables
_SMALL = 0.9  # … and most of them
_REPEATED = 0.85  # whose key repeats in both tables
_MEASURED = 0.85  # by a price or a count
_REWRITTEN = 0.88  # whose values are rewritten
_UNNAMED = 0.93  # whose columns have other names
_RIVAL, _RIVALLED = 0.8, 0.7  # if another key is worth that much; and as much


@dataclass(frozen=True, slots=True)
class KeyQuality:
    """What keeps a join from being nearly certain.

    `repeated` if the key repeats in both tables, `rewritten` if values had to be rewritten, `named`
    if the column names match, `measured` if a price or a count is part of the key. `reach` is the
    share of the rows that join, of the table where it is larger. `rival` is the worth of another
    key that joins other rows, as a share of this one's.
    """

    repeated: bool = False
    rewritten: bool = False
    named: bool = True
    measured: bool = False
    reach: float = 1.0
    rival: float = 0.0

    @property
    def most_sure(self) -> float:
        """The most that such a join can be sure."""
        doubts = (
            (self.reach < _ALL, _PARTIAL),
            (self.reach < _FEW, _SMALL),
            (self.repeated, _REPEATED),
            (self.measured, _MEASURED),
            (self.rewritten, _REWRITTEN),
            (not self.named, _UNNAMED),
        )
        sure = SURE * math.prod(left for holds, left in doubts if holds)
        near = max(0.0, min(1.0, (self.rival - _RIVAL) / (1 - _RIVAL)))
        return sure * (1 - (1 - _RIVALLED) * near)


def estimate_sureness(nats: float, key: KeyQuality) -> float:
    """The chance that a join with so much evidence is right.

    >>> plain = KeyQuality()
    >>> round(estimate_sureness(60.0, plain), 2), round(estimate_sureness(12.0, plain), 2)
    (0.96, 0.61)
    >>> round(estimate_sureness(60.0, KeyQuality(named=False)), 2)
    0.9
    >>> round(estimate_sureness(60.0, KeyQuality(repeated=True, reach=0.4)), 2)
    0.66
    """
    return key.most_sure * (1 - math.exp(-max(0.0, nats) / _SCALE))


def judge(sure: float) -> Verdict:
    """The verdict on a join that is right with this chance.

    >>> judge(0.97), judge(0.6), judge(0.1)
    ('strong', 'check', 'coincidence')
    """
    if sure >= STRONG:
        return "strong"
    return "check" if sure >= LIKELY else "coincidence"
