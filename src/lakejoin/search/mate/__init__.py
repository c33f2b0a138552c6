"""Search for tables that join on a composite key (MATE)."""

from lakejoin.search.mate.engine import Mate
from lakejoin.search.mate.hits import KeyCounters, KeyHits, Mapping
from lakejoin.search.mate.key import MateOptions
from lakejoin.search.mate.query import KeyQuery, key_query

__all__ = ["KeyCounters", "KeyHits", "KeyQuery", "Mapping", "Mate", "MateOptions", "key_query"]
