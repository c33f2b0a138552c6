"""Finds the tables that join with the query table, as links that can be stored and applied to
other rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakejoin.encoders.factory import find_named_encoder
from lakejoin.engines.query import QueryTable
from lakejoin.enrich.key_matches import (
    DistinctKeys,
    EqualKeys,
    KeyJoin,
    KeyMatches,
    LinkedTable,
    MeaningKeys,
    NearestPoints,
    RewrittenKeys,
    SimilarKeys,
    distinct_keys,
    distinct_tokens,
)
from lakejoin.enrich.text_similarity import learn_matcher
from lakejoin.errors import InputError
from lakejoin.inputs import resolve_table
from lakejoin.model import ColumnType
from lakejoin.search.tau_choice import default_tau
from lakejoin.store.snapshot import Snapshot

if TYPE_CHECKING:
    from lakejoin.lake import Lake
    from lakejoin.ranking.answer import FusedResult
    from lakejoin.ranking.join_candidates import JoinCandidate


# The kinds of joins for each `by`, in the order in which they are tried.
JOIN_KINDS: dict[str, tuple[str, ...]] = {
    "auto": ("equal", "rewritten", "fuzzy", "meaning", "near"),
    "equal": ("equal",),
    "fuzzy": ("equal", "rewritten", "fuzzy"),
    "meaning": ("equal", "meaning"),
}


@dataclass(frozen=True)
class Link:
    """A table in the lake, the query columns it joins on, and its joins: each is used for the keys
    that have no match yet."""

    table: str
    query_columns: tuple[str, ...]
    joins: tuple[KeyJoin, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(join.kind for join in self.joins))

    @property
    def lake_columns(self) -> frozenset[str]:
        """The columns of the lake table that are joined on."""
        return frozenset(name for join in self.joins for name in join.lake_columns)

    def matches(self, keys: DistinctKeys, table: LinkedTable) -> KeyMatches:
        matches = self.joins[0].matches(keys, table)
        for join in self.joins[1:]:
            if matches.matched.all():
                break
            matches = matches.fill(join.matches(keys, table))
        return matches


def join_kinds(by: str) -> tuple[str, ...]:
    """The kinds of joins for `by`; raises if it is unknown."""
    if by not in JOIN_KINDS:
        raise InputError(f"by must be one of {', '.join(JOIN_KINDS)}, not {by!r}")
    return JOIN_KINDS[by]


@dataclass(frozen=True)
class EnrichOptions:
    """The options of an enrichment: the key (None: any column that may be one) and how it joins,
    the number of tables to search for and the names of those to leave out, the number of sampled
    rows, the most columns to choose, the seed; and the target, its kind, and the folds of the lift.
    """

    on: tuple[str, ...] | None
    by: str = "auto"
    tables: int = 30
    exclude: tuple[str, ...] = ()
    sample: int = 2_000
    columns: int = 20
    seed: int = 0
    target: str = ""
    task: str = "auto"
    folds: int = 5


def find_links(lake: Lake, query: pa.Table, options: EnrichOptions) -> list[Link]:
    """Find the tables that join with the query table, the best first."""
    kinds = join_kinds(options.by)
    answer = lake.search(query, options.on, options.tables)
    keys: dict[tuple[str, ...], DistinctKeys] = {}
    links = []
    for result in answer:
        if result.table in options.exclude:
            continue
        link = _Linker(lake.snapshot, query, result, kinds, keys).link()
        if link is not None:
            links.append(link)
    return links + _find_more(lake, query, options, links)


def _find_more(
    lake: Lake, query: pa.Table, options: EnrichOptions, links: Sequence[Link]
) -> list[Link]:
    """Find tables that the search does not return, by the requested kinds of joins."""
    if options.on is None or len(options.on) != 1:
        return []
    key, kinds = options.on[0], join_kinds(options.by)
    known = {link.table for link in links} | set(options.exclude)
    more: list[Link] = []
    if "fuzzy" in kinds:
        more += find_similar_tables(lake, query, key, known)
    if kinds == JOIN_KINDS["meaning"]:
        more += find_meaning_tables(lake, query, key, known)
    return more


@dataclass(eq=False)
class _Linker:
    """Turns a search result into a link."""

    snapshot: Snapshot
    query: pa.Table
    result: FusedResult
    kinds: Sequence[str]
    keys: dict[tuple[str, ...], DistinctKeys]

    @cached_property
    def _table(self) -> LinkedTable:
        return LinkedTable(self.snapshot, self.result.table)

    def link(self) -> Link | None:
        """The link, or None if the table joins by none of the requested kinds."""
        usable = [
            candidate
            for candidate in self.result.candidates
            if candidate.believed and candidate.kind in self.kinds
        ]
        if not usable:
            return None
        columns = usable[0].query_columns
        same = [candidate for candidate in usable if candidate.query_columns == columns]
        best = {candidate.kind: candidate for candidate in reversed(same)}  # the best of each kind
        joins = [join for candidate in best.values() for join in self._convert(candidate)]
        if not joins:
            return None
        if "fuzzy" in self.kinds:
            joins += self._by_similarity(columns, joins)
        if self.kinds == JOIN_KINDS["meaning"] and all(join.kind != "meaning" for join in joins):
            joins += self._by_meaning(self._text_column(columns, joins))
        joins.sort(key=lambda join: self.kinds.index(join.kind))
        return Link(self.result.table, columns, tuple(joins))

    def _convert(self, candidate: JoinCandidate) -> Iterator[KeyJoin]:
        """Convert a candidate to a join that can be stored."""
        columns = candidate.lake_columns
        if candidate.kind == "equal":
            yield EqualKeys(columns)
        elif candidate.rewriting is not None:
            yield RewrittenKeys(columns, candidate.rewriting)
        elif candidate.kind == "meaning":
            yield from self._by_meaning(columns)
        elif candidate.radius is not None:
            yield NearestPoints(columns, candidate.radius)

    def _by_meaning(self, columns: tuple[str, ...]) -> Iterator[KeyJoin]:
        """The join by meaning, if the index has an encoder, within its default tau."""
        meaning = self.snapshot.manifest.options.meaning
        if columns and meaning is not None and meaning.encoder is not None:
            tau = default_tau(meaning.identity)
            yield MeaningKeys(columns, tau, find_named_encoder(meaning.encoder))

    def _by_similarity(
        self, query_columns: tuple[str, ...], joins: Sequence[KeyJoin]
    ) -> Iterator[KeyJoin]:
        """The join of texts that are written differently, if there are any."""
        columns = self._text_column(query_columns, joins)
        if not columns:
            return
        if query_columns not in self.keys:
            self.keys[query_columns] = distinct_keys(self.query, query_columns)
        keys = self.keys[query_columns].table
        tokens, _ = distinct_tokens(keys.column(0), self._table.rules)
        matcher = learn_matcher(tokens, self._table, columns[0])
        if matcher is not None:
            yield SimilarKeys(columns, matcher)

    def _text_column(
        self, query_columns: tuple[str, ...], joins: Sequence[KeyJoin]
    ) -> tuple[str, ...]:
        """The single lake column that is joined on, if it contains texts, and not too many."""
        columns = next((join.lake_columns for join in joins if len(join.lake_columns) == 1), ())
        if len(query_columns) != 1 or not columns:
            return ()
        profile = self._table.columns[self._table.column_index(columns[0])].profile
        is_short = profile.type in TEXT_TYPES and profile.distinct <= MOST_TEXTS
        return columns if is_short else ()


TEXT_TYPES = (ColumnType.TEXT, ColumnType.MIXED)
MOST_TEXTS = 20_000  # most distinct texts of a lake column that are compared one by one
_SIMILAR_COLUMNS, _MEANING_COLUMNS = 12, 15  # columns examined
_SAMPLE_TEXTS = 200  # searched by meaning
_MIN_CONTAINED = 0.3  # share of the values that must match


def find_similar_tables(lake: Lake, query: pa.Table, key: str, known: set[str]) -> Iterator[Link]:
    """Find tables with texts similar to those of the key."""
    from lakejoin.engines.rewritten.engine import find_rewritable_columns
    from lakejoin.search.searcher import Searcher

    searcher = Searcher(lake.snapshot)
    table = resolve_table(query).query_table(lake.snapshot)
    key_index = query.column_names.index(key)
    if not _is_text(table, key_index):
        return
    rules = lake.snapshot.manifest.options.rules
    tokens, _ = distinct_tokens(distinct_keys(query, [key]).table.column(0), rules)
    excluded = searcher.excluded(table, key_index)
    segments = lake.snapshot.segments
    for hit in find_rewritable_columns(table, (key_index,), segments, excluded, _SIMILAR_COLUMNS):
        entry = segments[hit.segment_index].catalog.table(
            searcher.table_of(hit.segment_index, hit.column)
        )
        if entry.name in known:
            continue
        linked = LinkedTable(lake.snapshot, entry.name)
        column = linked.columns[hit.column - entry.first]
        if column.profile.type not in TEXT_TYPES or column.profile.distinct > MOST_TEXTS:
            continue
        matcher = learn_matcher(tokens, linked, column.name, alone=True)
        if matcher is not None:
            known.add(entry.name)
            names = (column.name,)
            yield Link(entry.name, (key,), (EqualKeys(names), SimilarKeys(names, matcher)))


def find_meaning_tables(lake: Lake, query: pa.Table, key: str, known: set[str]) -> Iterator[Link]:
    """Find tables with texts that mean the same as the key's, if the index has vectors."""
    meaning = lake.snapshot.manifest.options.meaning
    if meaning is None or meaning.encoder is None:
        return
    table = resolve_table(query).query_table(lake.snapshot)
    if not _is_text(table, query.column_names.index(key)):
        return
    tau = default_tau(meaning.identity)
    keys = distinct_keys(query, [key]).table
    sample = np.sort(np.random.default_rng(0).permutation(keys.num_rows)[:_SAMPLE_TEXTS])
    for result in lake.similar(keys.take(sample), key, _MEANING_COLUMNS):
        if result.table not in known and result.containment >= _MIN_CONTAINED:
            known.add(result.table)
            names = result.columns
            encoder = find_named_encoder(meaning.encoder)
            joins = EqualKeys(names), MeaningKeys(names, tau, encoder)
            yield Link(result.table, (key,), joins)


def _is_text(table: QueryTable, column_index: int) -> bool:
    return table.profile(column_index).type in TEXT_TYPES
