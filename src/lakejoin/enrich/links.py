"""Finds the tables that join with the query table, as links that can be stored and applied to
other rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.enrich.key_partners import (
    DistinctKeys,
    EqualKeys,
    KeyJoin,
    MeaningKeys,
    NearestPoints,
    Partners,
    RewrittenKeys,
    SimilarKeys,
    distinct_keys,
    distinct_tokens,
)
from lakejoin.enrich.partner_table import PartnerTable
from lakejoin.enrich.text_similarity import learn_matcher
from lakejoin.errors import InputError
from lakejoin.model import ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.engines.query import QueryTable
    from lakejoin.lake import Lake
    from lakejoin.ranking.answer import FusedResult
    from lakejoin.ranking.join_candidates import JoinCandidate as FoundWay
    from lakejoin.store.snapshot import Snapshot


# The kinds of joins for each `by`, in the order in which they are tried.
JOIN_KINDS: dict[str, tuple[str, ...]] = {
    "auto": ("equal", "rewritten", "fuzzy", "meaning", "near"),
    "equal": ("equal",),
    "fuzzy": ("equal", "rewritten", "fuzzy"),
    "meaning": ("equal", "meaning"),
}


@dataclass(frozen=True)
class Link:
    """A table of the lake, the query columns it joins on, and the ways to join: each is used for
    the keys that found no partner before."""

    table: str
    query_columns: tuple[str, ...]
    joins: tuple[KeyJoin, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """How values match."""
        return tuple(dict.fromkeys(way.kind for way in self.joins))

    @property
    def lake_columns(self) -> frozenset[str]:
        """The columns of the lake table that are joined on."""
        return frozenset(name for way in self.joins for name in way.lake_columns)

    def partners(self, lines: DistinctKeys, table: PartnerTable) -> Partners:
        """Find the partners of some keys."""
        partners = self.joins[0].partners(lines, table)
        for way in self.joins[1:]:
            if partners.matched.all():
                break
            partners = partners.fill(way.partners(lines, table))
        return partners


def join_kinds(by: str) -> tuple[str, ...]:
    """The kinds of joins for `by`; raises if it is unknown."""
    if by not in JOIN_KINDS:
        raise InputError(f"tables are joined by one of {', '.join(JOIN_KINDS)}, not {by!r}")
    return JOIN_KINDS[by]


@dataclass(frozen=True)
class LinkRequest:
    """What to search for: the key (None: any column that may be one), the kinds of joins, the
    number of tables, and the names of tables to leave out."""

    on: tuple[str, ...] | None
    by: str = "auto"
    tables: int = 30
    exclude: tuple[str, ...] = ()


def find_links(lake: Lake, query: pa.Table, request: LinkRequest) -> list[Link]:
    """Find the tables that join with the query table, the best first."""
    kinds = join_kinds(request.by)
    on = None if request.on is None else list(request.on)
    if on is not None and len(on) == 1:
        answer = lake.search(query, on[0], request.tables)
    else:
        answer = lake.search(query, on, request.tables)
    lines: dict[tuple[str, ...], DistinctKeys] = {}
    links = []
    for result in answer:
        if result.table in request.exclude:
            continue
        linker = _Linker(lake.snapshot, query, result, kinds, lines)
        link = linker.link()
        if link is not None:
            links.append(link)
    return links + _find_more(lake, query, request, links)


def _find_more(
    lake: Lake, mine: pa.Table, wanted: LinkRequest, links: Sequence[Link]
) -> list[Link]:
    """Find tables that the search does not return, by the requested kinds of joins."""
    if wanted.on is None or len(wanted.on) != 1:
        return []
    key, kinds = wanted.on[0], join_kinds(wanted.by)
    known = {link.table for link in links} | set(wanted.exclude)
    more: list[tuple[str, tuple[KeyJoin, ...]]] = []
    if "fuzzy" in kinds:
        more += find_similar_tables(lake, mine, key, known)
    if kinds == JOIN_KINDS["meaning"]:
        more += find_meaning_tables(lake, mine, key, known)
    return [Link(table, (key,), ways) for table, ways in more]


class _Linker:
    """Turns a search result into a link."""

    def __init__(
        self,
        snapshot: Snapshot,
        mine: pa.Table,
        result: FusedResult,
        kinds: Sequence[str],
        lines: dict[tuple[str, ...], DistinctKeys],
    ) -> None:
        self._snapshot = snapshot
        self._mine = mine
        self._result = result
        self._kinds = kinds
        self._lines = lines
        self._table = PartnerTable(snapshot, result.table)

    def link(self) -> Link | None:
        """The link, or None if the table joins by none of the requested kinds."""
        usable = [way for way in self._result.ways if way.believed and way.kind in self._kinds]
        if not usable:
            return None
        mine = usable[0].columns
        same = [way for way in usable if way.columns == mine]
        first = {way.kind: way for way in reversed(same)}.values()  # the best of each kind
        ways = [way for found in first for way in self._convert(found)]
        if not ways:
            return None
        if "fuzzy" in self._kinds:
            ways += self._by_likeness(mine, ways)
        if self._kinds == JOIN_KINDS["meaning"] and all(way.kind != "meaning" for way in ways):
            ways += self._by_text_meaning(mine, ways)
        ways.sort(key=lambda way: self._kinds.index(way.kind))
        return Link(self._result.table, mine, tuple(ways))

    def _convert(self, way: FoundWay) -> Iterator[KeyJoin]:
        """Convert a way found by a search to one that can be stored."""
        from lakejoin.ranking.rewritten_candidates import RewrittenMatch

        theirs = way.result.columns
        if way.kind == "equal":
            yield EqualKeys(theirs)
        elif way.kind == "rewritten" and isinstance(way.result, RewrittenMatch):
            yield RewrittenKeys(theirs, way.result.learned)
        elif way.kind == "meaning":
            yield from self._by_meaning(theirs)
        elif way.kind == "near":
            yield NearestPoints(theirs, way.how.removeprefix("within "))

    def _by_meaning(self, theirs: tuple[str, ...]) -> Iterator[KeyJoin]:
        from lakejoin.search.tau_choice import default_tau

        made = self._snapshot.manifest.options.meaning
        if made is not None and made.encoder is not None:
            yield MeaningKeys(theirs, default_tau(made.identity), made.encoder)

    def _by_text_meaning(self, mine: tuple[str, ...], ways: Sequence[KeyJoin]) -> Iterator[KeyJoin]:
        """The way to join texts that mean the same, if the column contains texts."""
        theirs = self._text_column(mine, ways)
        if theirs:
            yield from self._by_meaning(theirs)

    def _by_likeness(self, mine: tuple[str, ...], ways: Sequence[KeyJoin]) -> Iterator[KeyJoin]:
        """The way to join texts that are written differently, if there are any."""
        theirs = self._text_column(mine, ways)
        if not theirs:
            return
        if mine not in self._lines:
            self._lines[mine] = distinct_keys(self._mine, mine)
        tokens, _ = distinct_tokens(self._lines[mine].table.column(0), self._table.rules)
        likeness = learn_matcher(tokens, self._table, theirs[0])
        if likeness is not None:
            yield SimilarKeys(theirs, likeness)

    def _text_column(self, mine: tuple[str, ...], ways: Sequence[KeyJoin]) -> tuple[str, ...]:
        """The single lake column that is joined on, if it contains texts, and not too many."""
        theirs = next((way.lake_columns for way in ways if len(way.lake_columns) == 1), ())
        if len(mine) != 1 or not theirs:
            return ()
        profile = self._table.columns[self._table.column_index(theirs[0])].profile
        return theirs if profile.type in TEXT_TYPES and profile.distinct <= MOST_TEXTS else ()


TableJoins = tuple[str, tuple[KeyJoin, ...]]  # a table, and the ways to join it

TEXT_TYPES = (ColumnType.TEXT, ColumnType.MIXED)
MOST_TEXTS = 20_000  # most distinct texts of a lake column that are compared one by one
_ALIKE, _MEANT = 12, 15  # columns examined
_SAMPLE = 200  # texts searched by meaning
_CONTAINED = 0.3  # share of the values that must match


def find_similar_tables(
    lake: Lake, query: pa.Table, key: str, known: set[str]
) -> Iterator[TableJoins]:
    """Find tables with texts similar to those of the key."""
    from lakejoin.engines.rewritten.engine import find_rewritable_columns
    from lakejoin.search.searcher import Searcher
    from lakejoin.search.table_lookup import resolve_table

    searcher = Searcher(lake.snapshot)
    table, _ = resolve_table(query, lake.snapshot)
    key_index = query.column_names.index(key)
    if not _is_text(table, key_index):
        return
    rules = lake.snapshot.manifest.options.rules
    tokens, _ = distinct_tokens(distinct_keys(query, [key]).table.column(0), rules)
    excluded = searcher.excluded(table, key_index)
    segments = lake.snapshot.segments
    for hit in find_rewritable_columns(table, (key_index,), segments, excluded, _ALIKE):
        entry = segments[hit.segment_index].catalog.table(
            searcher.table_of(hit.segment_index, hit.column)
        )
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


def find_meaning_tables(
    lake: Lake, query: pa.Table, key: str, known: set[str]
) -> Iterator[TableJoins]:
    """Find tables with texts that mean the same as the key's, if the index has vectors."""
    from lakejoin.search.table_lookup import resolve_table
    from lakejoin.search.tau_choice import default_tau

    meaning = lake.snapshot.manifest.options.meaning
    if meaning is None or meaning.encoder is None:
        return
    table, _ = resolve_table(query, lake.snapshot)
    if not _is_text(table, query.column_names.index(key)):
        return
    tau = default_tau(meaning.identity)
    keys = distinct_keys(query, [key]).table
    sample = np.sort(np.random.default_rng(0).permutation(keys.num_rows)[:_SAMPLE])
    for result in lake.search(keys.take(sample), key, _MEANT, by="meaning"):
        if result.table not in known and result.containment >= _CONTAINED:
            known.add(result.table)
            names = result.columns
            yield result.table, (EqualKeys(names), MeaningKeys(names, tau, meaning.encoder))


def _is_text(table: QueryTable, column_index: int) -> bool:
    return table.profile(column_index).type in TEXT_TYPES
