"""An opened index: `Lake`, with its tables, searches, join graph and paths."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from lakejoin.inputs import DEFAULT_INDEX, PathLike, find_indexed_file, index_location
from lakejoin.lake_search import LakeSearch
from lakejoin.lake_table import LakeTable
from lakejoin.search.options import DEFAULT_K
from lakejoin.store.snapshot import Snapshot

if TYPE_CHECKING:
    from lakejoin.encoders.factory import EncoderChoice
    from lakejoin.engines.query import QueryTable
    from lakejoin.graph.join_graph import JoinGraph
    from lakejoin.model import Skipped
    from lakejoin.paths.answer import Paths
    from lakejoin.store.meaning_vectors import MeaningOptions
    from lakejoin.union.answer import UnionAnswer

__all__ = [
    "DEFAULT_INDEX",
    "CurrentLake",
    "Lake",
    "LakeTable",
    "PathLike",
    "index_location",
    "open_lake",
]


def open_lake(index: PathLike | None, encoder: EncoderChoice = None) -> Lake:
    """Open the newest version of an index."""
    return Lake(Snapshot(index_location(index)), encoder)


class Lake(LakeSearch):
    """One version of an index; it stays unchanged while a build commits a newer version.

    >>> lake = lakejoin.open("data.index")
    >>> len(lake), [table.name for table in lake.tables("*s.csv")]
    (4, ['cities.csv', 'offices.csv', 'sights.csv'])
    """

    def __repr__(self) -> str:
        totals = self._snapshot.manifest.totals
        return f"<Lake {self._snapshot.location}: {totals.tables:,} tables, {totals.rows:,} rows>"

    def __len__(self) -> int:
        return self._snapshot.manifest.totals.tables

    def __reduce__(self) -> tuple[Any, tuple[str, EncoderChoice]]:
        """Copies and unpickled lakes open the index again."""
        return open_lake, (self._snapshot.location.uri, self._encoder)

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
            "encoder": _encoder_info(manifest.options.meaning),
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

    def union(self, table: Any, k: int = DEFAULT_K) -> UnionAnswer:
        """Find the tables of the lake whose rows could be appended to `table`, best first: how
        their columns align with those of `table`, and how many of their rows are new.

        `table` is as for `search`. Copies and versions of it, and tables that are better joined
        with it, are kept apart in `answer.misses`.

        >>> answer = lake.union({"name": ["Rome", "Ulm"], "land": ["Italy", "Germany"]})
        >>> answer[0].table, answer[0].new_rows
        ('more.csv', 3)
        """
        since = time.perf_counter()
        from lakejoin.engines.limits import check_k
        from lakejoin.union.union_search import search_unions

        check_k(k)
        query_table, notes = self._query_table(table)
        try:
            return search_unions(self._searcher, query_table, k, notes, since)
        finally:
            query_table.release()

    def graph(self) -> JoinGraph:
        """The join graph that `lakejoin graph` built: all pairs of columns that join, the tables
        that a table reaches, figures about the lake, and exports to other programs.

        >>> around = lake.graph().around("sights.csv", hops=2)
        >>> around.picture("sights.svg")
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

        >>> paths = lake.paths("mine.csv", "sights.csv")
        >>> paths.table, paths.other_table
        ('mine.csv', 'sights.csv')
        """
        from lakejoin.engines.limits import check_k
        from lakejoin.paths.path_search import find_paths

        check_k(k)
        ends, notes = zip(*(self._path_end(end) for end in (table, other_table)), strict=True)
        try:
            return find_paths(self._searcher, ends, joins, k, (*notes[0], *notes[1]))
        finally:
            for end in ends:
                end.release()

    def _path_end(self, table: Any) -> tuple[QueryTable, tuple[str, ...]]:
        """As `_query_table`, but a file of the lake becomes its table."""
        indexed = find_indexed_file(table, self._snapshot)
        return self._query_table(table if indexed is None else indexed)

    def skipped(self) -> list[Skipped]:
        """The files, and parts of files, that were skipped, with the reasons."""
        return self._snapshot.skipped()

    @property
    def snapshot(self) -> Snapshot:
        """The underlying snapshot: segments and their arrays."""
        return self._snapshot


class CurrentLake:
    """The newest version of an index; checked for at most every `seconds`."""

    def __init__(self, index: str | None, seconds: float = 0.0) -> None:
        self._index = index
        self._seconds = seconds
        self._lock = threading.Lock()
        self._lake = open_lake(index)
        self._checked = time.monotonic()

    def lake(self) -> Lake:
        """The newest version; the same object, with its caches, until a newer version exists."""
        with self._lock:
            if time.monotonic() - self._checked >= self._seconds:
                newest = open_lake(self._index)
                if newest.snapshot.manifest != self._lake.snapshot.manifest:
                    self._lake = newest
                self._checked = time.monotonic()
            return self._lake


def _encoder_info(meaning: MeaningOptions | None) -> dict[str, Any] | None:
    if meaning is None:
        return None
    return {"given": meaning.encoder, "identity": meaning.identity, "kept": meaning.keep}
