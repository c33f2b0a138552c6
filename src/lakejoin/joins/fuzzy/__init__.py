"""Fuzzy joins that configure themselves: match rows with similar texts."""

from lakejoin.joins.fuzzy.fuzzy_join import (
    FuzzyJoin,
    FuzzyMatches,
    find_fuzzy_join,
    fuzzy_matches,
    nearest_texts,
)
from lakejoin.joins.fuzzy.match_choice import FuzzyOptions, FuzzyRule

__all__ = [
    "FuzzyJoin",
    "FuzzyMatches",
    "FuzzyOptions",
    "FuzzyRule",
    "find_fuzzy_join",
    "fuzzy_matches",
    "nearest_texts",
]
