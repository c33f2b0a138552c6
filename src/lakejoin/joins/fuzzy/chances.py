"""How likely is each key to be the one that a text means? Without any example of the user's.

A text means one of its nearest keys, or none: a choice among them (McFadden's conditional logit),
whose few weights were fitted once, on twelve public pairs of tables with known answers, and hold
for others. How many texts mean any key at all differs from table to table, and is found by
expectation maximisation from the columns themselves (Saerens and others, 2002).
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# In the order of `evidence`: the share of rarity that is paired, numbers on both sides that differ,
# doubts in the words left over, leads over other keys and over other texts.
WEIGHTS = np.array([11.0, -2.0, -0.6, 0.65, 1.25])
NONE = -7.0  # what is added for it, as the choice "none" weighs 0
_USUAL = 0.8  # the share of texts that meant one of their keys where the weights come from
_WORTH = 10.0  # texts: how firmly that share is believed before the columns are looked at
_ROUNDS = 50


def chances(evidence: Array, texts: Array) -> Array:
    """The chance of every pair; those of a text stand together and add up to at most one."""
    if not len(texts):
        return np.zeros(0)
    group = np.cumsum(np.concatenate([[False], texts[1:] != texts[:-1]]))
    score = evidence @ WEIGHTS + NONE
    count = int(group[-1]) + 1
    top = np.zeros(count)
    np.maximum.at(top, group, score)
    weight = np.exp(score - top[group])
    total, none = np.bincount(group, weight, count), np.exp(-top)
    usual = _USUAL / (1 - _USUAL)
    share = _USUAL
    for _ in range(_ROUNDS):
        odds = share / (1 - share) / usual
        some = odds * total / (odds * total + none)
        share = float((some.sum() + _WORTH * _USUAL) / (count + _WORTH))
    odds = share / (1 - share) / usual
    return np.asarray(odds * weight / (odds * total + none)[group])
