"""Fuzzy joins that configure themselves: match rows with similar texts."""

from lakejoin.joins.fuzzy.fuzzy_join import FuzzyJoin, find_fuzzy_join
from lakejoin.joins.fuzzy.matching import FuzzyMatches, fuzzy_matches, nearest_texts
from lakejoin.joins.fuzzy.options import FuzzyOptions, FuzzyRule

__all__ = [
    "FuzzyJoin",
    "FuzzyMatches",
    "FuzzyOptions",
    "FuzzyRule",
    "find_fuzzy_join",
    "fuzzy_matches",
    "nearest_texts",
]
