"""Search for tables that join on a composite key (MATE)."""

from lakejoin.engines.composite.engine import Mate
from lakejoin.engines.composite.hits import KeyCounters, KeyHits, Mapping
from lakejoin.engines.composite.query import KeyQuery, key_query

__all__ = ["KeyCounters", "KeyHits", "KeyQuery", "Mapping", "Mate", "key_query"]
