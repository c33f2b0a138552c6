"""Finds tables that a search misses because few values are equal: tables with similar texts, found
by shared rare words, and tables with texts that mean the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.enrich.text_similarity import learn_matcher
from lakejoin.enrich.lines import distinct_keys, distinct_tokens
from lakejoin.enrich.key_partners import EqualKeys, SimilarKeys, MeaningKeys, KeyJoin
from lakejoin.enrich.partner_table import PartnerTable
from lakejoin.model import ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.lake import Lake
    from lakejoin.engines.mine import QueryTable

TableJoins = tuple[str, tuple[KeyJoin, ...]]  # a table, and the ways to join it

TEXT_TYPES = (ColumnType.TEXT, ColumnType.MIXED)
MOST_TEXTS = 20_000  # most distinct texts of a lake column that are compared one by one
_ALIKE, _MEANT = 12, 15  # columns examined
_SAMPLE = 200  # texts searched by meaning
_CONTAINED = 0.3  # share of the values that must match


def find_similar_tables(lake: Lake, mine: pa.Table, key: str, known: set[str]) -> Iterator[TableJoins]:
    """Find tables with texts similar to those of the key."""
    from lakejoin.search.meant import resolve_table
    from lakejoin.engines.rewritten.engine import find_rewritable_columns
    from lakejoin.search.searcher import Searcher

    searcher = Searcher(lake.snapshot)
    table, _ = resolve_table(mine, lake.snapshot)
    key_index = mine.column_names.index(key)
    if not _is_text(table, key_index):
        return
    rules = lake.snapshot.manifest.options.rules
    tokens, _ = distinct_tokens(distinct_keys(mine, [key]).table.column(0), rules)
    excluded = searcher.excluded(table, key_index)
    segments = lake.snapshot.segments
    for hit in find_rewritable_columns(table, (key_index,), segments, excluded, _ALIKE):
        entry = segments[hit.number].catalog.table(searcher.table_of(hit.number, hit.column))
        if entry.name in known:
            continue
        theirs = PartnerTable(lake.snapshot, entry.name)
        column = theirs.columns[hit.column - entry.first]
        if column.profile.type not in TEXT_TYPES or column.profile.distinct > MOST_TEXTS:
            continue
        likeness = learn_matcher(tokens, theirs, column.name, alone=True)
        if likeness is not None:
            known.add(entry.name)
            names = (column.name,)
            yield entry.name, (EqualKeys(names), SimilarKeys(names, likeness))


def find_meaning_tables(lake: Lake, mine: pa.Table, key: str, known: set[str]) -> Iterator[TableJoins]:
    """Find tables with texts that mean the same as the key's, if the index has vectors."""
    from lakejoin.search.meant import resolve_table
    from lakejoin.search.tau_choice import default_tau

    meaning = lake.snapshot.manifest.options.meaning
    if meaning is None or meaning.encoder is None:
        return
    table, _ = resolve_table(mine, lake.snapshot)
    if not _is_text(table, mine.column_names.index(key)):
        return
    tau = default_tau(meaning.identity)
    keys = distinct_keys(mine, [key]).table
    sample = np.sort(np.random.default_rng(0).permutation(keys.num_rows)[:_SAMPLE])
    for result in lake.search(keys.take(sample), key, _MEANT, by="meaning"):
        if result.table not in known and result.containment >= _CONTAINED:
            known.add(result.table)
            names = result.columns
            yield result.table, (EqualKeys(names), MeaningKeys(names, tau, meaning.encoder))


def _is_text(table: QueryTable, column_index: int) -> bool:
    return table.profile(column_index).type in TEXT_TYPES
