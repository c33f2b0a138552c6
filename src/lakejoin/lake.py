"""An opened index: `Lake`, with its tables, searches, join graph and paths."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

from lakejoin.lake_table import LakeTable
from lakejoin.locations import Location
from lakejoin.store.snapshot import Snapshot

if TYPE_CHECKING:
    from lakejoin.encoders.factory import EncoderChoice
    from lakejoin.engines.query import QueryTable
    from lakejoin.graph.join_graph import JoinGraph
    from lakejoin.model import Skipped
    from lakejoin.paths.answer import Paths
    from lakejoin.ranking.answer import FusedAnswer
    from lakejoin.ranking.fused_search import FusedOptions
    from lakejoin.search.answer import Answer, Answers, Failed
    from lakejoin.search.query_columns import ColumnSelection
    from lakejoin.search.searcher import Searcher
    from lakejoin.store.meaning_vectors import MeaningOptions
    from lakejoin.union.answer import UnionAnswer

__all__ = ["DEFAULT_INDEX", "Lake", "LakeTable", "PathLike", "index_location", "open_lake"]

DEFAULT_INDEX = ".lakejoin"

PathLike = str | os.PathLike[str]


def index_location(index: PathLike | None) -> Location:
    """The location of the index: `index`, else `$LAKEJOIN_INDEX`, else `./.lakejoin`."""
    return Location.of(index or os.environ.get("LAKEJOIN_INDEX") or DEFAULT_INDEX)


def open_lake(index: PathLike | None) -> Lake:
    """Open the newest version of an index."""
    return Lake(Snapshot(index_location(index)))


class Lake:
    """One version of an index; it stays unchanged while a build commits a newer version."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    @property
    def _index(self) -> str | None:
        """The location of the index; None for the default, which commands find by themselves."""
        place = self._snapshot.location.uri
        return None if place == index_location(None).uri else place

    def __repr__(self) -> str:
        totals = self._snapshot.manifest.totals
        return f"<Lake {self._snapshot.location}: {totals.tables:,} tables, {totals.rows:,} rows>"

    def __len__(self) -> int:
        return self._snapshot.manifest.totals.tables

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """Copies and unpickled lakes open the index again."""
        return _lake_at, (self._snapshot.location.uri,)

    def info(self) -> dict[str, Any]:
        """Figures about the index, with the keys of `lakejoin info --json`."""
        manifest = self._snapshot.manifest
        totals = manifest.totals
        return {
            "tables": totals.tables,
            "columns": totals.columns,
            "rows": totals.rows,
            "cells": totals.cells,
            "values": totals.values,
            "values_exact": totals.values_exact,
            "bytes": totals.bytes,
            "segments": len(manifest.segments),
            "version": manifest.version,
            "created": manifest.created,
            "parts": list(manifest.options.parts or ()),
            "encoder": _encoder(manifest.options.meaning),
            "lakes": list(manifest.lakes),
            "index": self._snapshot.location.uri,
        }

    def tables(self, pattern: str | None = None) -> list[LakeTable]:
        """The tables in order of their names; `pattern` is a glob, or a part of a name."""
        found = self._snapshot.tables(pattern)
        return [LakeTable(self._snapshot, segment, entry) for segment, entry in found]

    def table(self, name: str) -> LakeTable:
        """The table with this name."""
        return LakeTable(self._snapshot, *self._snapshot.table(name))

    @overload
    def search(
        self,
        table: Any,
        on: ColumnSelection = ...,
        k: int | None = ...,
        by: Literal["fused"] = ...,
        *,
        others: bool = ...,
    ) -> FusedAnswer: ...
    @overload
    def search(
        self,
        table: Any,
        on: Literal["*"],
        k: int | None = ...,
        *,
        by: str,
        min: float | None = ...,
        others: bool = ...,
        verified: bool = ...,
        algorithm: str = ...,
        initial: str | int | None = ...,
        tau: float | str | None = ...,
        encoder: EncoderChoice = ...,
        measure: str | None = ...,
        within: float | str | None = ...,
        metric: str | None = ...,
    ) -> Answers: ...
    @overload
    def search(
        self,
        table: Any,
        on: ColumnSelection = ...,
        k: int | None = ...,
        *,
        by: str,
        min: float | None = ...,
        others: bool = ...,
        verified: bool = ...,
        algorithm: str = ...,
        initial: str | int | None = ...,
        tau: float | str | None = ...,
        encoder: EncoderChoice = ...,
        measure: str | None = ...,
        within: float | str | None = ...,
        metric: str | None = ...,
    ) -> Answer: ...
    def search(
        self,
        table: Any,
        on: ColumnSelection = None,
        k: int | None = None,
        by: str = "fused",
        min: float | None = None,
        others: bool = False,
        verified: bool = True,
        algorithm: str = "auto",
        initial: str | int | None = None,
        *,
        tau: float | str | None = None,
        encoder: EncoderChoice = None,
        measure: str | None = None,
        within: float | str | None = None,
        metric: str | None = None,
    ) -> Answer | Answers | FusedAnswer:
        """Find the tables of the lake that join with `table`, best first; with a single engine,
        find the columns that join with one column.

        `table` is a path, the name of a table in the lake, a `LakeTable`, or a frame (pandas,
        polars, Arrow, DuckDB, a mapping of columns, a list of values). `on` is a column name or a
        zero-based column index. Two or more columns are a composite key, which is matched whatever
        the lake columns are called; `{"country": "land", "name": None}` allows only the lake column
        `land` for `country`.

        `by="fused"`, the default, returns a `FusedAnswer`: the `k` (10) tables that join best, on
        any column. By default `on` is every column that may be a key. Tables that overlap only by
        coincidence are kept apart in `answer.misses`; the table itself and its copies are left out.

        Every other `by` runs a single engine, for one column (by default the text column that is
        most like a key; `"*"` searches each column separately and returns `Answers`), or for a
        composite key (then the tables that contain the most of its combinations):

        `by="overlap"`: the `k` (10) columns that share the most distinct values, counted exactly.
        `by="containment"`: every column that contains at least `min` (0.6) of the values. Small
        queries are counted; for larger ones sketches find the columns and each is then verified;
        `verified=False` returns the estimates of the sketches. `others` leaves out the table itself
        and its exact copies. `algorithm` selects how overlaps are counted (`by="overlap"` only).
        Composite keys are always counted exactly; `initial` is the key column that rows are fetched
        by: its name, its index in `table`, `"cardinality"` for the column with the fewest distinct
        values, or `"items"` (the default) for the cheapest. It affects the speed, not the answer.

        `by="meaning"`: every text column in which at least `min` (0.6) of the values have a partner
        within `tau` (a share of the largest possible distance of two vectors), or the best `k`. By
        default tau is the encoder's own; `"auto"` chooses it (`answer.taus`). `encoder` must be the
        one of the index; pass it only if it is a function. `by="distance"`: the same for numbers,
        coordinates and vectors within a distance: `within="500m"` (coordinates), `"1%"` or `0.5`;
        two columns in `on` are latitude and longitude. `measure="all"` counts pairs instead of
        values that have a partner. `metric` is for vectors: `"l2"`, `"l1"`, `"angular"`,
        `"haversine"`.

        >>> lakejoin.open("data.index").search("mine.csv")[0].table  # doctest: +SKIP
        >>> lakejoin.open("data.index").search("mine.csv", ["first", "last"])  # doctest: +SKIP
        >>> lakejoin.open("data.index").search("mine.csv", "city", by="overlap")  # doctest: +SKIP
        >>> lakejoin.open("data.index").search("mine.csv", "city", by="meaning")  # doctest: +SKIP
        """
        since = time.perf_counter()
        from lakejoin.search.answer import Answers
        from lakejoin.search.meaning_search import require_part
        from lakejoin.search.options import NearArguments, SearchOptions
        from lakejoin.search.query_columns import choose_columns

        near = NearArguments(tau, encoder, measure, within, metric).to_options(by)
        options = SearchOptions(by, k, min, others, verified, algorithm, initial, near)
        require_part(self._snapshot, by, self._index)
        query_table, notes = self._query_table(table)
        found = []
        try:
            if by == "fused":
                return self._fused(query_table, on, options.k, notes, since)
            choice = choose_columns(
                query_table, on, self._snapshot.manifest.options.all_columns, by
            )
            notes = (*notes, choice.note) if choice.note else notes
            if by == "distance":
                return self._searcher.search_near(
                    query_table, choice.column_indexes, options, notes, since
                )
            if choice.is_key:
                return self._searcher.search_key(query_table, choice, options, notes, since)
            for place in choice.column_indexes:
                found.append(self._searcher.search(query_table, place, options, notes, since))
                since = time.perf_counter()
        finally:
            query_table.release()  # an answer needs less than the whole encoded table
        return Answers(found) if choice.is_every_column else found[0]

    def search_progressively(
        self, table: Any, on: ColumnSelection = None, k: int | None = None
    ) -> Iterator[FusedAnswer]:
        """Yield the answers of a fused search as they improve: the first at once, from sketches;
        the last (`answer.final`) is the answer that `search` returns.

        >>> for answer in lake.search_progressively("mine.csv"):  # doctest: +SKIP
        ...     print(answer[:3])
        """
        since = time.perf_counter()
        from lakejoin.ranking.fused_search import stream_fused_answers
        from lakejoin.search.options import SearchOptions

        k = SearchOptions("fused", k).k
        query_table, notes = self._query_table(table)
        try:
            yield from stream_fused_answers(
                self._searcher, query_table, self._fused_request(query_table, on, k, notes, since)
            )
        finally:
            query_table.release()

    def _fused(
        self,
        query_table: QueryTable,
        on: ColumnSelection,
        k: int | None,
        notes: tuple[str, ...],
        since: float,
    ) -> FusedAnswer:
        from lakejoin.ranking.fused_search import search_fused

        return search_fused(
            self._searcher, query_table, self._fused_request(query_table, on, k, notes, since)
        )

    def _fused_request(
        self,
        query_table: QueryTable,
        on: ColumnSelection,
        k: int | None,
        notes: tuple[str, ...],
        since: float,
    ) -> FusedOptions:
        from lakejoin.ranking.fused_search import FusedOptions
        from lakejoin.search.query_columns import choose_columns

        all_columns = self._snapshot.manifest.options.all_columns
        choice = None if on is None else choose_columns(query_table, on, all_columns)
        return FusedOptions(choice, k, notes, since)

    def search_many(
        self,
        queries: Iterable[Any],
        on: ColumnSelection = None,
        threads: int | None = None,
        **options: Any,
    ) -> Iterator[Answer | Answers | FusedAnswer | Failed]:
        """Search for many queries with several threads; yields the answers in order.

        A query is a table as for `search`, or a pair of a table and its column (or the columns of a
        composite key). The options are those of `search`. A query that fails yields a `Failed` with
        its error and does not affect the others.

        >>> tables = ["a.csv", ("b.csv", "city"), ("c.csv", ["first", "last"])]
        >>> for answer in lake.search_many(tables, k=5):  # doctest: +SKIP
        ...     print(answer.error or answer)
        """
        from lakejoin.search.answer import search_each, split_query
        from lakejoin.search.query_columns import to_column_list

        on = to_column_list(on)  # an iterator can be read only once, and every query needs it

        def search_one(query: Any) -> Answer | Answers | FusedAnswer:
            table, columns = split_query(query, on)
            answer: Answer | Answers | FusedAnswer = self.search(table, columns, **options)
            return answer

        return search_each(queries, search_one, lambda query: _query_name(query, on), threads)

    def union(self, table: Any, k: int | None = None) -> UnionAnswer:
        """Find the tables of the lake whose rows could be appended to `table`, best first: how
        their columns align with those of `table`, and how many of their rows are new.

        `table` is as for `search`. Copies and versions of it, and tables that are better joined
        with it, are kept apart in `answer.misses`.

        >>> answer = lakejoin.open("data.index").union("mine.csv")  # doctest: +SKIP
        >>> answer[:1].write("longer.csv")  # doctest: +SKIP
        """
        since = time.perf_counter()
        from lakejoin.engines.limits import check_k
        from lakejoin.union.union_search import search_unions

        if k is not None:
            check_k(k)
        query_table, notes = self._query_table(table)
        try:
            return search_unions(self._searcher, query_table, k, notes, since)
        finally:
            query_table.release()

    @cached_property
    def _searcher(self) -> Searcher:
        from lakejoin.search.searcher import Searcher

        return Searcher(self._snapshot)

    def _query_table(self, table: Any) -> tuple[QueryTable, tuple[str, ...]]:
        from lakejoin.search.table_lookup import IndexedTable, resolve_table

        if isinstance(table, LakeTable):
            # The segment may have been opened by another `Lake`; otherwise treat it as a frame.
            for segment_index, segment in enumerate(self._snapshot.segments):
                removed = table.entry.table_id in segment.record.dead
                if segment.location == table._segment.location and not removed:
                    return IndexedTable(self._snapshot, segment_index, table.entry), ()
            return resolve_table(table.to_arrow(), self._snapshot)
        return resolve_table(table, self._snapshot)

    def graph(self) -> JoinGraph:
        """The join graph that `lakejoin graph` built: all pairs of columns that join, the tables
        that a table reaches, figures about the lake, and exports to other programs.

        >>> graph = lakejoin.open("data.index").graph()  # doctest: +SKIP
        >>> graph.around("airports.csv", hops=2).picture("airports.svg")  # doctest: +SKIP
        """
        from lakejoin.graph.join_graph import JoinGraph

        return JoinGraph(self._snapshot)

    def paths(self, table: Any, other_table: Any, k: int = 5, joins: int = 4) -> Paths:
        """Find paths of at most `joins` joins from one table to another: the `k` paths that keep
        the most rows of the first table, each with its SQL.

        Each end is a table of the lake, or a file or frame of yours, as for `search`; a file that
        is in the lake stands for its table there. Joins come from the graph that `lakejoin graph`
        built. Without a graph, and for new tables, they are searched for from both ends, which does
        not cover all tables.

        >>> lakejoin.open("data.index").paths("flights.csv", "countries.csv")  # doctest: +SKIP
        """
        from lakejoin.engines.limits import check_k
        from lakejoin.paths.path_search import find_paths

        check_k(k)
        ends, notes = zip(*(self._path_end(end) for end in (table, other_table)), strict=True)
        try:
            return find_paths(self._searcher, ends, joins, k, (*notes[0], *notes[1]))
        finally:
            for end in ends:
                end.forget()

    def _path_end(self, table: Any) -> tuple[QueryTable, tuple[str, ...]]:
        """As `_query_table`, but a file of the lake becomes its table."""
        from lakejoin.search.table_lookup import find_lake_table

        if isinstance(table, str | os.PathLike):
            known = find_lake_table(os.fspath(table), self._snapshot)
            if known is not None:
                return known, ()
        return self._query_table(table)

    def skipped(self) -> list[Skipped]:
        """The files, and parts of files, that were skipped, with the reasons."""
        return self._snapshot.skipped()

    @property
    def snapshot(self) -> Snapshot:
        """The underlying snapshot: segments and their arrays."""
        return self._snapshot


def _lake_at(uri: str) -> Lake:
    return Lake(Snapshot(Location.of(uri)))


def _encoder(meaning: MeaningOptions | None) -> dict[str, Any] | None:
    if meaning is None:
        return None
    return {"given": meaning.encoder, "identity": meaning.identity, "kept": meaning.keep}


def _query_name(query: Any, on: ColumnSelection = None) -> tuple[str, ColumnSelection]:
    from lakejoin.search.answer import split_query

    table, on = split_query(query, on)
    if isinstance(table, LakeTable):
        return table.name, on
    return os.fspath(table) if isinstance(table, str | os.PathLike) else "my_table", on
