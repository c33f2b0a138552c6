"""Fuzzy joins that configure themselves: match rows with similar texts."""

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
