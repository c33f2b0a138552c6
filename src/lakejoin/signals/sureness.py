"""How sure a join is: the chance that it is right, and the verdict that follows.

Evidence in nats becomes a chance by one curve, fitted on labelled pairs of tables
(`benchmarks/first_join.py` shows how often joins of each sureness are right). Some joins are never
nearly certain, whatever the evidence: those whose key repeats in both tables, those whose values
had to be rewritten, those whose columns have other names, and numbers that chance explains.
"""

from __future__ import annotations

import math
from typing import Literal

Verdict = Literal["strong", "check", "coincidence"]

SURE = 0.99  # the most that values can show
STRONG = 0.9  # from here on a join is strong
LIKELY = 0.3  # below, it is a coincidence
UNDECIDED = 0.5  # of numbers that may refer to a key, but any numbers would match
_SCALE = 12.0  # nats that make a join e times less likely to be wrong
_MAX_IF_REPEATED = 0.85  # sureness of a join whose key repeats in both tables
IF_REWRITTEN = 0.92  # at most, if values had to be rewritten
_MAX_IF_UNNAMED = 0.92  # sureness of a join whose column names do not match


def estimate_sureness(
    nats: float, repeated: bool = False, rewritten: bool = False, named: bool = True
) -> float:
    """The chance that a join with so much evidence is right.

    `repeated` if the key repeats in both tables, `rewritten` if values had to be rewritten, `named`
    if the column names match.

    >>> round(estimate_sureness(60.0), 2), round(estimate_sureness(12.0), 2)
    (0.99, 0.63)
    >>> estimate_sureness(60.0, named=False), estimate_sureness(60.0, repeated=True)
    (0.92, 0.85)
    """
    most = SURE if named else _MAX_IF_UNNAMED
    if rewritten:
        most = min(most, IF_REWRITTEN)
    if repeated:
        most = min(most, _MAX_IF_REPEATED)
    return min(most, 1 - math.exp(-max(0.0, nats) / _SCALE))


def judge(sure: float) -> Verdict:
    """The verdict on a join that is right with this chance.

    >>> judge(0.97), judge(0.6), judge(0.1)
    ('strong', 'check', 'coincidence')
    """
    if sure >= STRONG:
        return "strong"
    return "check" if sure >= LIKELY else "coincidence"
