"""Tables that a search passes over, as few of their values are equal to mine: those with texts that
are alike, found by the rare words they share, and those with texts that mean the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.enrich.likeness import learned_likeness
from lakejoin.enrich.lines import lines_of, tokens_of
from lakejoin.enrich.partners import ByEqual, ByLikeness, ByMeaning, Way
from lakejoin.enrich.their_table import TheirTable
from lakejoin.model import ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.opened import Lake
    from lakejoin.search.mine import MyTable

Found = tuple[str, tuple[Way, ...]]  # a table, and the ways by which it joins

WORDED = (ColumnType.TEXT, ColumnType.MIXED)
MOST_TEXTS = 20_000  # distinct ones of theirs that are compared one by one
_ALIKE, _MEANT = 12, 15  # columns that are looked at
_SAMPLE = 200  # texts of mine that meanings are looked up for
_CONTAINED = 0.3  # of my values that must have a partner


def alike_tables(lake: Lake, mine: pa.Table, key: str, known: set[str]) -> Iterator[Found]:
    """Tables with texts that are like mine."""
    from lakejoin.search.meant import table_of
    from lakejoin.search.rewritable import likely_rewritten
    from lakejoin.search.searcher import Searcher

    searcher = Searcher(lake.snapshot)
    table, _ = table_of(mine, lake.snapshot)
    place = mine.column_names.index(key)
    if not _is_worded(table, place):
        return
    rules = lake.snapshot.manifest.options.rules
    tokens, _ = tokens_of(lines_of(mine, [key]).table.column(0), rules)
    excluded = searcher.excluded(table, place)
    segments = lake.snapshot.segments
    for one in likely_rewritten(table, (place,), segments, excluded, _ALIKE):
        entry = segments[one.number].catalog.table(searcher.table_of(one.number, one.column))
        if entry.name in known:
            continue
        theirs = TheirTable(lake.snapshot, entry.name)
        column = theirs.columns[one.column - entry.first]
        if column.profile.type not in WORDED or column.profile.distinct > MOST_TEXTS:
            continue
        likeness = learned_likeness(tokens, theirs, column.name, alone=True)
        if likeness is not None:
            known.add(entry.name)
            names = (column.name,)
            yield entry.name, (ByEqual(names), ByLikeness(names, likeness))


def meant_tables(lake: Lake, mine: pa.Table, key: str, known: set[str]) -> Iterator[Found]:
    """Tables with texts that mean the same as mine, where the index has meanings."""
    from lakejoin.search.meant import table_of
    from lakejoin.search.tau import default_tau

    made = lake.snapshot.manifest.options.meaning
    if made is None or made.encoder is None:
        return
    table, _ = table_of(mine, lake.snapshot)
    if not _is_worded(table, mine.column_names.index(key)):
        return
    tau = default_tau(made.identity)
    lines = lines_of(mine, [key]).table
    some = np.sort(np.random.default_rng(0).permutation(lines.num_rows)[:_SAMPLE])
    for result in lake.search(lines.take(some), key, _MEANT, by="meaning"):
        if result.table not in known and result.containment >= _CONTAINED:
            known.add(result.table)
            names = result.columns
            yield result.table, (ByEqual(names), ByMeaning(names, tau, made.encoder))


def _is_worded(table: MyTable, place: int) -> bool:
    return table.profile(place).type in WORDED
