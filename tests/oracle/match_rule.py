"""The match rule by hand: loops over all pairs of texts."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from lakejoin.engines.meaning import match_rule
from lakejoin.engines.meaning.match_rule import Calibration
from lakejoin.engines.meaning.text_numbers import NUMBER_WORDS
from lakejoin.model import Array


def numbers_by_hand(text: str) -> frozenset[str]:
    """The numbers of an ASCII text."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    found = set()
    for word in words:
        if word in NUMBER_WORDS:
            found.add(NUMBER_WORDS[word])
        elif re.search(r"\d", word):
            found.add(re.sub(r"^0*(\d+)(st|nd|rd|th)?$", r"\1", word))
    return frozenset(found)


def conflict_by_hand(mine: str, theirs: str) -> bool:
    a, b = numbers_by_hand(mine), numbers_by_hand(theirs)
    return bool(a and b and not (a <= b or b <= a))


def matches_by_hand(
    calibration: Calibration,
    vectors: Array,
    others: Array,
    mine: Sequence[str],
    their: Sequence[str],
) -> list[tuple[int, float]]:
    """For each of my texts its partner (-1 for none) and its chance."""
    own = [calibration.split(vectors[i : i + 1]) for i in range(len(mine))]
    lake = [calibration.split(others[j : j + 1]) for j in range(len(their))]

    def cosines(i: int, j: int) -> list[float]:
        return [float((a @ b.T)[0, 0]) for a, b in zip(own[i], lake[j], strict=True)]

    def score(i: int, j: int) -> float:
        if conflict_by_hand(mine[i], their[j]):
            return -math.inf
        parts = zip(cosines(i, j), calibration.curves, calibration.weights, strict=True)
        return sum(w * (cosine - curve.mean) / curve.deviation for cosine, curve, w in parts)

    scores = [[score(i, j) for j in range(len(their))] for i in range(len(mine))]
    logits: list[tuple[int, float | None]] = []
    for i, text in enumerate(mine):
        if text in their:
            logits.append((their.index(text), 12.0))
            continue
        j = max(range(len(their)), key=lambda j, i=i: (round(scores[i][j], 4), -j))
        rest = max((s for k, s in enumerate(scores[i]) if k != j), default=-math.inf)
        back = max((row[j] for k, row in enumerate(scores) if k != i), default=-math.inf)
        if scores[i][j] == -math.inf or scores[i][j] - back < 0:
            logits.append((-1, None))
            continue
        rarity = max(
            float(curve.rarity(np.array([c]))[0])
            for c, curve in zip(cosines(i, j), calibration.curves, strict=True)
        )
        evidence = (
            rarity - max(0.0, math.log10(len(their) / 50)),
            min(5.0, max(0.0, scores[i][j] - rest)),
            min(5.0, max(-5.0, scores[i][j] - back)),
            float(numbers_by_hand(text) != numbers_by_hand(their[j])),
        )
        weighted = sum(w * x for w, x in zip(match_rule.WEIGHTS, evidence, strict=True))
        logits.append((j, match_rule.CONSTANT + weighted))
    differing = [
        0.0 if logit is None else 1 / (1 + math.exp(-logit))
        for text, (_, logit) in zip(mine, logits, strict=True)
        if text not in their
    ]
    every = [1 / (1 + math.exp(12 if x is None else -x)) for _, x in logits]
    share = (sum(differing) + 0.15 * 4) / (len(differing) + 4)
    share = max(share, min(0.3, sum(every) / len(every)))
    column = math.log(min(share, 0.4) / (1 - min(share, 0.4)))
    found = []
    for text, (j, logit) in zip(mine, logits, strict=True):
        if text in their:
            found.append((j, 1.0))
        elif logit is None:
            found.append((-1, 0.0))
        else:
            found.append((j, 1 / (1 + math.exp(-(3.2 + 0.5 * logit + 1.7 * column)))))
    return found
