"""A key query with how to search for it, and the trees that are made of it once."""

from __future__ import annotations

from dataclasses import dataclass

from lakejoin.errors import InputError
from lakejoin.search.mate.hits import KeyCounters
from lakejoin.search.mate.query import KeyQuery
from lakejoin.search.mate.trie import Trie, trie_of

FILTERS = ("superkeys", "none", "each")


@dataclass(frozen=True, slots=True)
class MateOptions:
    """How to search; all ways give the same answer.

    `row_filter`: "superkeys" are those of the index; "none" fetches by the initial column and
    verifies every row (SCR in the paper), "each" fetches the rows of every key column and
    intersects them (MCR). `bounds` off bounds tables by the initial column alone, and tries all
    their columns, as algorithm 1 does. `initial` is "items" (where fetching rows costs least;
    without `bounds`, the fewest entries in posting lists), "cardinality" (the fewest distinct
    values), the name of a key column or its place in the key. A row is tested against the super
    keys of all combinations of its initial value if these are at most `pairs`: to test more takes
    as long as to verify the row. Else only what they have in common is tested.
    """

    row_filter: str = "superkeys"
    bounds: bool = True
    initial: str | int = "items"
    pairs: int = 16

    def __post_init__(self) -> None:
        if self.row_filter not in FILTERS:
            raise InputError(f"row_filter must be one of {', '.join(FILTERS)}")


class Key:
    """A key query with what is made of it once: its trees, by their first level."""

    def __init__(self, query: KeyQuery, options: MateOptions) -> None:
        self.query = query
        self.options = options
        self.counters = KeyCounters()
        self._tries: dict[int | None, Trie] = {}
        places = range(len(query.columns))
        if options.initial not in ("items", "cardinality", *query.columns, *places):
            raise InputError(f"the initial column {options.initial!r} is not one of the key")

    def trie(self, initial: int | None = None) -> Trie:
        """The tree that begins with a key column, and then the more values one has, the earlier;
        without one, the tree of the key columns in their order."""
        if initial not in self._tries:
            sizes = [len(tokens) for tokens in self.query.tokens]
            order = list(range(len(sizes)))
            if initial is not None:
                order.sort(key=lambda j: (j != initial, -sizes[j]))
            self._tries[initial] = trie_of(self.query.combinations, order, sizes[order[0]])
        return self._tries[initial]
