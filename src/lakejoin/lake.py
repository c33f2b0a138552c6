"""An opened index: `Lake`, with its tables, searches, join graph and paths."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from lakejoin.engines.limits import check_k
from lakejoin.errors import DamagedIndex
from lakejoin.inputs import (
    LakeTable,
    PathLike,
    find_indexed_file,
    index_location,
    resolve_table,
)
from lakejoin.lake_search import LakeSearch, check_column_count
from lakejoin.model import Skipped
from lakejoin.search.options import DEFAULT_K, SearchOptions
from lakejoin.store.snapshot import Snapshot

if TYPE_CHECKING:
    from lakejoin.encoders.factory import EncoderChoice
    from lakejoin.engines.query import QueryTable
    from lakejoin.graph.join_graph import JoinGraph
    from lakejoin.paths.answer import Paths
    from lakejoin.ranking.answer import FusedAnswer
    from lakejoin.ranking.fused_search import FusedOptions
    from lakejoin.search.answer import Answer, Answers
    from lakejoin.search.query_columns import ColumnSelection
    from lakejoin.search.searcher import Searcher
    from lakejoin.union.answer import UnionAnswer


def open_lake(index: PathLike | None, encoder: EncoderChoice = None) -> Lake:
    """Open the newest version of an index."""
    return Lake(Snapshot(index_location(index)), encoder)


class Lake(LakeSearch):
    """One version of an index; it stays unchanged while a build commits a newer version.

    >>> lake = lakejoin.open("data.index")
    >>> len(lake), [table.name for table in lake.tables("*s.csv")]
    (4, ['cities.csv', 'offices.csv', 'sights.csv'])
    """

    def __init__(self, snapshot: Snapshot, encoder: EncoderChoice = None) -> None:
        self.snapshot = snapshot  # segments and their arrays
        self._encoder = encoder

    def __repr__(self) -> str:
        totals = self.snapshot.manifest.totals
        return f"<Lake {self.snapshot.location}: {totals.tables:,} tables, {totals.rows:,} rows>"

    def __len__(self) -> int:
        return self.snapshot.manifest.totals.tables

    def __enter__(self) -> Self:
        """Do nothing but allow `with`: a lake needs no closing."""
        return self

    def __exit__(self, *problem: object) -> None: ...

    def __reduce__(self) -> tuple[Any, tuple[str, EncoderChoice]]:
        """Copies and unpickled lakes open the index again."""
        return open_lake, (self.snapshot.location.uri, self._encoder)

    def info(self) -> dict[str, Any]:
        """Figures about the index, with the keys of `lakejoin info --json`."""
        manifest, meaning = self.snapshot.manifest, self.snapshot.manifest.options.meaning
        return {
            **asdict(manifest.totals),
            "segments": len(manifest.segments),
            "version": manifest.version,
            "created": manifest.created,
            "parts": list(manifest.options.parts or ()),
            "encoder": meaning
            and {"given": meaning.encoder, "identity": meaning.identity, "kept": meaning.keep},
            "lakes": list(manifest.lakes),
            "index": self.snapshot.location.uri,
        }

    def tables(self, pattern: str | None = None) -> list[LakeTable]:
        """The tables in order of their names; `pattern` is a glob, or a part of a name."""
        found = self.snapshot.tables(pattern)
        return [LakeTable(self.snapshot, segment, entry) for segment, entry in found]

    def table(self, name: str) -> LakeTable:
        """The table with this name."""
        return LakeTable(self.snapshot, *self.snapshot.table(name))

    def search(self, table: Any, on: ColumnSelection = None, k: int = DEFAULT_K) -> FusedAnswer:
        """Find the `k` tables in the lake that join best with `table`, with every engine.

        `table` is a path (`book.xlsx#sheet` for a part of a file), the name of a table in the lake,
        a `LakeTable`, a table that was read, or a frame (pandas, polars, Arrow, DuckDB, a mapping
        of columns, a list of values).

        `on` is a column name or a zero-based column index; by default, every column that may be a
        key. Two or more columns are a composite key, which is matched whatever the lake columns are
        called; `{"country": "land", "name": None}` allows only the lake column `land` for
        `country`.

        Tables that overlap only by coincidence are listed in `answer.misses`; the table itself
        and its copies are left out.

        >>> answer = lake.search("mine.csv", on="city")
        >>> answer[0].table, answer[0].candidates[0].result.matched
        ('cities.csv', 4)
        """
        since = time.perf_counter()
        from lakejoin.ranking.fused_search import search_fused

        check_k(k)
        with self._open_query(table) as (query_table, notes):
            request = self._fused_request(query_table, on, k, notes, since)
            return search_fused(self._searcher, query_table, request)

    def _search_columns(
        self, table: Any, on: ColumnSelection, options: SearchOptions, is_key: bool | None = None
    ) -> Answer | Answers:
        """Search with one engine; `is_key` says whether it takes a composite key or one column."""
        since = time.perf_counter()
        from lakejoin.search.answer import Answers
        from lakejoin.search.meaning_search import require_part
        from lakejoin.search.query_columns import choose_columns, split_searches

        by = options.by
        require_part(self.snapshot, by, self._index)
        found = []
        with self._open_query(table) as (query_table, about):
            all_columns = self.snapshot.manifest.options.all_columns
            choice = choose_columns(query_table, on, all_columns, by)
            notes = (*about, choice.note) if choice.note else about
            if is_key is not None and by != "distance":
                check_column_count(by, len(choice.fixed_partners), is_key)
            for searched in split_searches(choice, by):
                found.append(self._searcher.search(query_table, searched, options, notes, since))
                since = time.perf_counter()
        return Answers(found) if choice.is_every_column else found[0]

    def search_progressively(
        self, table: Any, on: ColumnSelection = None, k: int = DEFAULT_K
    ) -> Iterator[FusedAnswer]:
        """Yield the answers of `search` as they improve: the first at once, from sketches; the last
        (`answer.final`) is the answer that `search` returns.

        >>> [answer.final for answer in lake.search_progressively("mine.csv", "city")][-1]
        True
        """
        since = time.perf_counter()
        from lakejoin.ranking.fused_search import stream_fused_answers

        check_k(k)
        with self._open_query(table) as (query_table, notes):
            request = self._fused_request(query_table, on, k, notes, since)
            yield from stream_fused_answers(self._searcher, query_table, request)

    def _fused_request(
        self,
        query_table: QueryTable,
        on: ColumnSelection,
        k: int,
        notes: tuple[str, ...],
        since: float,
    ) -> FusedOptions:
        from lakejoin.ranking.fused_search import FusedOptions
        from lakejoin.search.query_columns import choose_columns

        all_columns = self.snapshot.manifest.options.all_columns
        choice = None if on is None else choose_columns(query_table, on, all_columns)
        return FusedOptions(choice, k, notes, since)

    def union(self, table: Any, k: int = DEFAULT_K) -> UnionAnswer:
        """Find the tables in the lake whose rows could be appended to `table`, best first: how
        their columns align with those of `table`, and how many of their rows are new.

        `table` is as for `search`. Copies and versions of it, and tables that are better joined
        with it, are listed in `answer.misses`.

        >>> answer = lake.union({"name": ["Rome", "Ulm"], "land": ["Italy", "Germany"]})
        >>> answer[0].table, answer[0].new_rows
        ('more.csv', 3)
        """
        since = time.perf_counter()
        from lakejoin.union.union_search import search_unions

        check_k(k)
        with self._open_query(table) as (query_table, notes):
            return search_unions(self._searcher, query_table, k, notes, since)

    def graph(self) -> JoinGraph:
        """The join graph that `lakejoin graph` built: all pairs of columns that join, the tables
        that a table reaches, figures about the lake, and exports to other programs.

        >>> around = lake.graph().around("sights.csv", hops=2)
        >>> around.picture("sights.svg")
        """
        from lakejoin.graph.join_graph import JoinGraph

        return JoinGraph(self.snapshot)

    def paths(self, table: Any, other_table: Any, k: int = 5, joins: int = 4) -> Paths:
        """Find paths of at most `joins` joins from one table to another: the `k` paths that keep
        the most rows of the first table, each with its SQL.

        Each end is a table in the lake, or a file or frame of yours, as for `search`; a file that
        is in the lake is treated as its lake table. Joins come from the graph that `lakejoin graph`
        built. Without a graph, and for new tables, they are searched for from both ends, which does
        not cover all tables.

        >>> paths = lake.paths("mine.csv", "sights.csv")
        >>> paths.table, paths.other_table
        ('mine.csv', 'sights.csv')
        """
        from lakejoin.paths.path_search import find_paths

        check_k(k)
        ends = [find_indexed_file(end, self.snapshot) or end for end in (table, other_table)]
        with self._open_query(ends[0]) as first, self._open_query(ends[1]) as last:
            both = (first[0], last[0])
            return find_paths(self._searcher, both, joins, k, (*first[1], *last[1]))

    def skipped(self) -> list[Skipped]:
        """The files, and parts of files, that were skipped, with the reasons."""
        return self.snapshot.skipped()

    @cached_property
    def _searcher(self) -> Searcher:
        from lakejoin.search.searcher import Searcher

        return Searcher(self.snapshot, self._encoder)

    @contextmanager
    def _open_query(self, table: Any) -> Iterator[tuple[QueryTable, tuple[str, ...]]]:
        """The query table and notes about it; an answer needs less than the whole encoded table."""
        resolved = resolve_table(table, self.snapshot)
        with self.snapshot.in_use():
            query_table = resolved.query_table(self.snapshot)
            try:
                yield query_table, resolved.notes
            finally:
                query_table.release()

    @property
    def _index(self) -> str | None:
        """The location of the index; None for the default, which commands find by themselves."""
        uri = self.snapshot.location.uri
        return None if uri == index_location(None).uri else uri


class CurrentLake:
    """The newest version of an index; checked for at most every `seconds`."""

    def __init__(self, index: str | None, seconds: float = 0.0) -> None:
        self._index = index
        self._seconds = seconds
        self._lock = threading.Lock()
        self._lake = open_lake(index)
        self._checked = time.monotonic()

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Check that no file of the index is changed in place until and while it is used; if one
        is, raise `DamagedIndex`, and open the index again next time."""
        lake = self.lake()
        try:
            lake.snapshot.check_unchanged()
            try:
                yield
            finally:  # also if the work failed: this may be why
                lake.snapshot.check_unchanged()
        except DamagedIndex:
            with self._lock:
                self._lake = open_lake(self._index)
            raise

    def lake(self) -> Lake:
        """The newest version; the same object, with its caches, until a newer version exists."""
        with self._lock:
            if time.monotonic() - self._checked >= self._seconds:
                newest = open_lake(self._index)
                if newest.snapshot.manifest != self._lake.snapshot.manifest:
                    self._lake = newest
                self._checked = time.monotonic()
            return self._lake
