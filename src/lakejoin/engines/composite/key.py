"""A key query with its search options and the tries built from it."""

from __future__ import annotations

from dataclasses import dataclass

from lakejoin.errors import InputError
from lakejoin.engines.composite.hits import KeyCounters
from lakejoin.engines.composite.query import KeyQuery
from lakejoin.engines.composite.key_trie import Trie, build_trie

ROW_FILTERS = ("superkeys", "none", "each")


@dataclass(frozen=True, slots=True)
class MateOptions:
    """How to search; all options give the same answer.

    `row_filter`: "superkeys" are those of the index; "none" fetches by the initial column and
    verifies every row (SCR in the paper), "each" fetches the rows of every key column and
    intersects them (MCR). Without `bounds`, tables are bounded by the initial column alone, and all
    their columns are tried, as in algorithm 1. `initial` is "items" (where fetching rows is
    cheapest; without `bounds`, the fewest entries in posting lists), "cardinality" (the fewest
    distinct values), or the name or index of a key column. A row is tested against the super keys
    of all combinations of its initial value if these are at most `pairs`, because testing more
    takes as long as verifying the row; otherwise only their common bits are tested.
    """

    row_filter: str = "superkeys"
    bounds: bool = True
    initial: str | int = "items"
    pairs: int = 16

    def __post_init__(self) -> None:
        if self.row_filter not in ROW_FILTERS:
            raise InputError(f"row_filter must be one of {', '.join(ROW_FILTERS)}")


class PreparedKey:
    """A key query, and its tries by their first level, each built once."""

    def __init__(self, query: KeyQuery, options: MateOptions) -> None:
        self.query = query
        self.options = options
        self.counters = KeyCounters()
        self._tries: dict[int | None, Trie] = {}
        indexes = range(len(query.columns))
        if options.initial not in ("items", "cardinality", *query.columns, *indexes):
            raise InputError(
                f"initial column {options.initial!r} is not in the key: {', '.join(query.columns)}"
            )

    def trie(self, initial: int | None = None) -> Trie:
        """The trie that starts with key column `initial`, the others by falling number of values;
        without one, the trie of the key columns in their order."""
        if initial not in self._tries:
            sizes = [len(tokens) for tokens in self.query.tokens]
            order = list(range(len(sizes)))
            if initial is not None:
                order.sort(key=lambda j: (j != initial, -sizes[j]))
            self._tries[initial] = build_trie(self.query.combinations, order, sizes[order[0]])
        return self._tries[initial]
