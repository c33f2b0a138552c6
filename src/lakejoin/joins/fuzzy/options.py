"""The options of a fuzzy join, and the rules that describe its matches."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lakejoin.errors import InputError

_DISTANCES = {
    "jaccard": "Jaccard",
    "cosine": "cosine",
    "containment": "containment",
    "edit": "edit",
    "jaro-winkler": "Jaro-Winkler",
    "weighed": "weighted",
}


@dataclass(frozen=True, slots=True)
class FuzzyOptions:
    """How precise a fuzzy join must be, and how often a key may match.

    `precision` is the least share of correct matches, as estimated without examples. At 1, nothing
    is estimated: instead, a rule may not give any text two keys. With `one_to_one`, every key
    matches at most one distinct text. The seed samples the keys to compare with each other if
    there are very many.
    """

    precision: float = 0.9
    one_to_one: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.precision <= 1:
            raise InputError(f"precision must be above 0 and at most 1, not {self.precision}")


@dataclass(frozen=True, slots=True)
class FuzzyRule:
    """Texts match if the distance of their tokens is small; `rows` are the left rows it adds.

    >>> print(FuzzyRule("3-grams", "jaccard", 0.25, 7))
    Jaccard distance of 3-grams at most 0.25
    """

    tokens: str
    distance: str
    threshold: float
    rows: int

    def __str__(self) -> str:
        most = math.ceil(self.threshold * 1000) / 1000
        return f"{_DISTANCES[self.distance]} distance of {self.tokens} at most {most:g}"
