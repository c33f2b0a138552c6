"""What is asked of a fuzzy join, and the rules that it finds."""

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
    "weighed": "weighed",
}


@dataclass(frozen=True, slots=True)
class FuzzyOptions:
    """How sure a fuzzy join must be, and how often a key may be met.

    `precision` is the least share of joined texts that must be right, as estimated without any
    example. At 1 nothing is estimated: a rule then may not give any text two keys. With
    `one_to_one` every key joins at most one distinct text. The seed chooses the keys that are
    compared among each other where there are very many.
    """

    precision: float = 0.9
    one_to_one: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.precision <= 1:
            raise InputError(f"precision must be above 0 and at most 1, not {self.precision}")


@dataclass(frozen=True, slots=True)
class Rule:
    """Texts join whose tokens are that near; `rows` are the left rows that the rule adds.

    >>> print(Rule("3-grams", "jaccard", 0.25, 7))
    3-grams, Jaccard distance of at most 0.25
    """

    tokens: str
    distance: str
    threshold: float
    rows: int

    def __str__(self) -> str:
        most = math.ceil(self.threshold * 1000) / 1000
        return f"{self.tokens}, {_DISTANCES[self.distance]} distance of at most {most:g}"
