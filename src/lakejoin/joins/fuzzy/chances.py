"""Estimate the probability that a text matches each of its nearest keys, without examples.

A text matches one of its nearest keys, or none: a choice among them (McFadden's conditional
logit), whose few weights were fitted once, on twelve public pairs of tables with known matches,
and carry over to others. The share of texts that match any key differs from table to table, and is
estimated by expectation maximisation from the columns themselves (Saerens and others, 2002).
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# In the order of `evidence`: the share of rarity that is paired, differing numbers on both sides,
# doubts from the unpaired words, leads over other keys and over other texts.
WEIGHTS = np.array([11.0, -2.0, -0.6, 0.65, 1.25])
INTERCEPT = -7.0  # intercept, as the choice "none" weighs 0
_USUAL = 0.8  # share of texts with a match in the training tables
_PRIOR_TEXTS = 10.0  # weight of that share as a prior, in texts
_ROUNDS = 50


def match_probabilities(evidence: Array, texts: Array) -> Array:
    """The probability of every pair; pairs of a text are adjacent and add up to at most 1."""
    if not len(texts):
        return np.zeros(0)
    group = np.cumsum(np.concatenate([[False], texts[1:] != texts[:-1]]))
    score = evidence @ WEIGHTS + INTERCEPT
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
        share = float((some.sum() + _PRIOR_TEXTS * _USUAL) / (count + _PRIOR_TEXTS))
    odds = share / (1 - share) / usual
    return np.asarray(odds * weight / (odds * total + none)[group])
