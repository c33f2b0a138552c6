"""Find tables that may have rows to append: they share values or column names with the query table,
or hold texts with similar meaning.

A few more are added whose column profiles are similar: the same types, similar lengths, similar
repetition. If no name and no value is shared, nothing else is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.engines.query import QueryTable, is_searched
from lakejoin.model import Array, ColumnType
from lakejoin.search.lake_background import LakeNames, plain_names
from lakejoin.search.options import SearchOptions
from lakejoin.union.union_meanings import find_near_columns

if TYPE_CHECKING:
    from lakejoin.search.searcher import Searcher

TableRef = tuple[int, int]  # the index of a segment, and of a table in it

COMPARED = 50  # tables that are compared column by column
_SEARCHED = 12  # columns of the query table whose values are searched for
_SIMILAR = 15  # tables that are added for their profiles alone
_PROFILED = 50  # columns of the query table whose profiles are compared
_LENGTHS, _UNIQUE = 3.0, 2.0  # weights of differences in length and in repetition
_BY_MEANING = 2  # columns of the query table that are searched for by meaning
_FETCHED = 100  # lake columns fetched for each
_HALF = 0.5  # share of the best column's matches from which a column is counted as common
_EVERYWHERE = 0.3  # weight of a column that every table has
_OPTIONS = SearchOptions("overlap", k=_FETCHED, others=True)


@dataclass(frozen=True, slots=True, eq=False)
class UnionCandidates:
    """Tables that may be unionable, the likeliest first, and the weight of each column of the query
    table: less if many tables in the lake have such a column."""

    tables: tuple[TableRef, ...]
    weights: Array
    notes: tuple[str, ...]


def find_candidates(
    searcher: Searcher, query_table: QueryTable, names: LakeNames
) -> UnionCandidates:
    """Find the tables to compare with the query table."""
    weights = np.array(
        [column_weight(names.specificity(name)) for name in query_table.column_names]
    )
    of_values: dict[TableRef, dict[int, float]] = {}
    of_names: dict[TableRef, dict[int, float]] = {}
    for column in _searchable(searcher, query_table):
        results, _ = searcher.results(query_table, column, _OPTIONS)
        most = max((result.matched for result in results), default=0)
        common = sum(result.matched >= _HALF * most for result in results)
        rare = 1 - math.log(max(1, common)) / math.log(max(2, names.columns))
        weights[column] = min(weights[column], column_weight(rare))
        for result in results:
            assert result.found is not None, "a result of a search has a location"
            share = result.matched / max(1, min(result.query_size, result.column_size))
            table = result.found.segment_index, result.found.table_index
            _keep_best(of_values, table, column, share)
    for column in _meaning_columns(searcher, query_table):
        for segment, lake_column, share in find_near_columns(searcher, query_table, column):
            table = segment, searcher.table_of(segment, lake_column)
            _keep_best(of_values, table, column, share)
    excluded = searcher.excluded(query_table, 0).columns
    for segment, index, lake_column, column in _find_same_names(
        searcher, names, query_table.column_names
    ):
        if lake_column not in excluded[segment]:
            _keep_best(of_names, (segment, index), column, 1.0)
    worth: dict[TableRef, float] = {}
    for signs in (of_values, of_names):
        for table, shares in signs.items():
            total = sum(float(weights[column]) * share for column, share in shares.items())
            worth[table] = worth.get(table, 0.0) + total
    order = sorted(worth, key=lambda table: (-worth[table], table))[:COMPARED]
    order += find_similar_profiles(searcher, query_table, excluded, {*order})
    notes = searcher.note_left_out_tables(query_table, 0)
    return UnionCandidates(tuple(order), weights, tuple(notes))


def find_similar_profiles(
    searcher: Searcher, query_table: QueryTable, excluded: Sequence[Array], known: set[TableRef]
) -> list[TableRef]:
    """The tables, other than the known ones, whose columns have similar profiles."""
    scored: list[tuple[float, TableRef]] = []
    profiles = [profile for profile in query_table.profiles() if profile.distinct][:_PROFILED]
    for segment_index, segment in enumerate(searcher.snapshot.segments):
        columns = segment.catalog.columns
        first = segment.catalog.tables["first"].to_numpy()
        width = segment.catalog.tables["width"].to_numpy()
        if not len(first) or not profiles:
            continue
        of_table = np.repeat(np.arange(len(first)), width)
        kinds = np.asarray(columns["type"].cast("string").to_pylist(), dtype=object)
        length = np.maximum(columns["mean_length"].to_numpy(), 0.1)
        unique = columns["uniqueness"].to_numpy()
        score = np.zeros(len(first))
        for profile in profiles:
            distance = _LENGTHS * np.abs(np.log(length / max(profile.mean_length, 0.1)))
            distance += _UNIQUE * np.abs(unique - profile.uniqueness)
            near = np.exp(-distance) * (kinds == profile.type)
            best = np.zeros(len(first))
            np.maximum.at(best, of_table, near)
            score += best
        score /= np.maximum(len(profiles), width)
        score[of_table[excluded[segment_index]]] = 0.0
        tables = np.argsort(-score, kind="stable")[: _SIMILAR + len(known)].tolist()
        nonzero = (table for table in tables if score[table])
        scored += [(-float(score[table]), (segment_index, table)) for table in nonzero]
    return [table for _, table in sorted(scored) if table not in known][:_SIMILAR]


def column_weight(rare: float) -> float:
    """The weight of a column, by how rare it is in the lake (0 to 1)."""
    return _EVERYWHERE + (1 - _EVERYWHERE) * max(0.0, rare)


def _keep_best(
    signs: dict[TableRef, dict[int, float]], table: TableRef, column: int, share: float
) -> None:
    """Keep the largest share known for a table and a column of the query table."""
    shares = signs.setdefault(table, {})
    shares[column] = max(shares.get(column, 0.0), share)


def _searchable(searcher: Searcher, query_table: QueryTable) -> list[int]:
    """The columns of the query table to search with, those with the most values first."""
    every = searcher.snapshot.manifest.options.all_columns
    profiles = query_table.profiles()
    usable = [
        column
        for column, profile in enumerate(profiles)
        if is_searched(profile.type, every) and profile.distinct > 1
    ]
    return sorted(usable, key=lambda column: -profiles[column].distinct)[:_SEARCHED]


def _meaning_columns(searcher: Searcher, query_table: QueryTable) -> list[int]:
    """The text columns to search with by meaning too, those with the most values first."""
    if searcher.snapshot.manifest.options.meaning is None:
        return []
    profiles = query_table.profiles()
    texts = [column for column, profile in enumerate(profiles) if profile.type is ColumnType.TEXT]
    return sorted(texts, key=lambda column: -profiles[column].distinct)[:_BY_MEANING]


def _find_same_names(
    searcher: Searcher, lake_names: LakeNames, names: Sequence[str]
) -> list[tuple[int, int, int, int]]:
    """(segment, table, column, column of the query table) for lake columns with a matching name."""
    query_names = plain_names(pa.array(names, pa.string()))
    matching = []
    for segment_index, plain in enumerate(lake_names.plain_names):
        matches = pc.index_in(plain, value_set=query_names)
        matches = matches.combine_chunks() if isinstance(matches, pa.ChunkedArray) else matches
        columns = np.flatnonzero(np.asarray(matches.is_valid()))
        indexes = np.asarray(matches.take(pa.array(columns))).tolist()
        first = searcher.snapshot.segments[segment_index].catalog.tables["first"].to_numpy()
        tables = np.searchsorted(first, columns, side="right") - 1
        matching += [
            (segment_index, table, column, index)
            for table, column, index in zip(tables.tolist(), columns.tolist(), indexes, strict=True)
            if names[index]
        ]
    return matching
