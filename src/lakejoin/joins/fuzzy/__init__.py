"""Which rows join although their texts differ? Fuzzy joins that set themselves up."""

from lakejoin.joins.fuzzy.finding import FuzzyFound, find_fuzzy
from lakejoin.joins.fuzzy.matching import FuzzyMatches, fuzzy_matches, nearest_texts
from lakejoin.joins.fuzzy.options import FuzzyOptions, Rule

__all__ = [
    "FuzzyFound",
    "FuzzyMatches",
    "FuzzyOptions",
    "Rule",
    "find_fuzzy",
    "fuzzy_matches",
    "nearest_texts",
]
