"""An opened index: the lake and its tables, as a Python user has them in hand."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

from lakejoin.errors import needed
from lakejoin.storage import Place
from lakejoin.store.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.discovery.fused.answer import FusedAnswer
    from lakejoin.discovery.fused.searching import Asked
    from lakejoin.discovery.graph.joingraph import JoinGraph
    from lakejoin.discovery.paths.answer import Paths
    from lakejoin.discovery.union.answer import UnionAnswer
    from lakejoin.encoders.opening import Given
    from lakejoin.joins.sides import Side
    from lakejoin.model import Skipped
    from lakejoin.search.answer import Answer, Answers, Failed
    from lakejoin.search.choice import On
    from lakejoin.search.mine import MyTable
    from lakejoin.search.searcher import Searcher
    from lakejoin.store.catalog import ColumnEntry, TableEntry
    from lakejoin.store.meaning import MeaningOptions
    from lakejoin.store.segment import Segment

DEFAULT_INDEX = ".lakejoin"

PathLike = str | os.PathLike[str]


def index_place(index: PathLike | None) -> Place:
    """Where the index is: as given, else `LAKEJOIN_INDEX`, else `./.lakejoin`."""
    return Place.of(index or os.environ.get("LAKEJOIN_INDEX") or DEFAULT_INDEX)


class Lake:
    """An opened index: one version of it, which stays as it is while a build commits another."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    @property
    def _index(self) -> str | None:
        """Where the index is, unless a command finds it without being told."""
        place = self._snapshot.place.uri
        return None if place == index_place(None).uri else place

    def __repr__(self) -> str:
        totals = self._snapshot.manifest.totals
        return f"<Lake {self._snapshot.place}: {totals.tables:,} tables, {totals.rows:,} rows>"

    def __len__(self) -> int:
        return self._snapshot.manifest.totals.tables

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """A copy, or one that was pickled, opens the index again."""
        return _opened_at, (self._snapshot.place.uri,)

    def info(self) -> dict[str, Any]:
        """The figures of the index, with the keys of `lakejoin info --json`."""
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
            "index": self._snapshot.place.uri,
        }

    def tables(self, pattern: str | None = None) -> list[LakeTable]:
        """The tables by name: all, those that fit a glob, or those whose name contains a text."""
        found = self._snapshot.tables(pattern)
        return [LakeTable(self._snapshot, segment, entry) for segment, entry in found]

    def table(self, name: str) -> LakeTable:
        """The table of that name."""
        return LakeTable(self._snapshot, *self._snapshot.table(name))

    @overload
    def search(
        self,
        table: Any,
        on: On = ...,
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
        encoder: Given = ...,
        method: str | None = ...,
        measure: str | None = ...,
        within: float | str | None = ...,
        metric: str | None = ...,
    ) -> Answers: ...
    @overload
    def search(
        self,
        table: Any,
        on: On = ...,
        k: int | None = ...,
        *,
        by: str,
        min: float | None = ...,
        others: bool = ...,
        verified: bool = ...,
        algorithm: str = ...,
        initial: str | int | None = ...,
        tau: float | str | None = ...,
        encoder: Given = ...,
        method: str | None = ...,
        measure: str | None = ...,
        within: float | str | None = ...,
        metric: str | None = ...,
    ) -> Answer: ...
    def search(
        self,
        table: Any,
        on: On = None,
        k: int | None = None,
        by: str = "fused",
        min: float | None = None,
        others: bool = False,
        verified: bool = True,
        algorithm: str = "auto",
        initial: str | int | None = None,
        *,
        tau: float | str | None = None,
        encoder: Given = None,
        method: str | None = None,
        measure: str | None = None,
        within: float | str | None = None,
        metric: str | None = None,
    ) -> Answer | Answers | FusedAnswer:
        """The tables of the lake that join with `table`, the best first; or, by one engine, the
        columns that do.

        `table` is a path, the name of a table in the lake, a `LakeTable`, or a frame (pandas,
        polars, Arrow, DuckDB, a mapping of columns, a list of values). `on` is the name of a
        column or its zero-based place; two or more are a composite key, whatever the columns of
        other tables are called, and `{"country": "land", "name": None}` allows only their column
        `land` for `country`.

        `by="fused"`, as where it is left out: the `k` tables (10) that join best, whichever of my
        columns they join by, as a `FusedAnswer`. `on` left out is every column that may be a key.
        What only meets by accident is told apart (`answer.misses`); the table itself and its copies
        are left out. The other options are for one engine each, which answers its own question, for
        one column (left out, the most key-like text column; `"*"` is each by itself, and gives
        `Answers`) or for the tables that hold most combinations of a composite key:

        `by="overlap"`: the `k` columns (10) that share the most distinct values, exactly.
        `by="containment"`: every column that contains at least `min` (0.6) of the values. Small
        queries are counted; for others sketches find the columns, and each is then verified.
        `verified=False` shows what the sketches tell. `others` leaves out the table itself and its
        exact copies. `algorithm` says how overlaps are counted (`by="overlap"` only). A composite
        key is always counted exactly; `initial` is the key column by which rows are fetched: its
        name, its place in `table`, `"cardinality"` for the one with the fewest distinct values, or
        `"items"`, as where it is left out, for the cheapest. It changes the time, not the answer.

        `by="meaning"`: every text column of which at least `min` (0.6) of the values have a partner
        within `tau`, a share of the largest distance of two vectors, or the best `k`. Left out, tau
        is the encoder's own; `"auto"` chooses it (`answer.taus`). `encoder` has to be the index's,
        and may be left out unless it is a function. `by="distance"`: the same for numbers, places
        and vectors that lie `within="500m"` (places), `"1%"` or `0.5` of each other; two columns of
        `on` are a latitude and a longitude. `measure="all"` counts pairs, and not values that have
        a partner. `method` (by meaning) changes the time and not the answer; `metric` is for
        vectors: `"l2"`, `"l1"`, `"angular"`, `"haversine"`.

        >>> lakejoin.open("data.index").search("mine.csv")[0].table  # doctest: +SKIP
        >>> lakejoin.open("data.index").search("mine.csv", ["first", "last"])  # doctest: +SKIP
        >>> lakejoin.open("data.index").search("mine.csv", "city", by="overlap")  # doctest: +SKIP
        >>> lakejoin.open("data.index").search("mine.csv", "city", by="meaning")  # doctest: +SKIP
        """
        since = time.perf_counter()
        from lakejoin.search.answer import Answers
        from lakejoin.search.choice import choose
        from lakejoin.search.near_options import NearAsked
        from lakejoin.search.needed_part import check_part
        from lakejoin.search.options import SearchOptions

        near = NearAsked(tau, encoder, method, measure, within, metric).near(by)
        options = SearchOptions(by, k, min, others, verified, algorithm, initial, near)
        check_part(self._snapshot, by, self._index)
        mine, notes = self._mine(table)
        found = []
        try:
            if by == "fused":
                return self._fused(mine, on, options.k, notes, since)
            choice = choose(mine, on, self._snapshot.manifest.options.all_columns, by)
            notes = (*notes, choice.said) if choice.said else notes
            if by == "distance":
                return self._searcher.search_near(mine, choice.places, options, notes, since)
            if choice.is_key:
                return self._searcher.search_key(mine, choice, options, notes, since)
            for place in choice.places:
                found.append(self._searcher.search(mine, place, options, notes, since))
                since = time.perf_counter()
        finally:
            mine.forget()  # an answer needs less than the whole table, encoded
        return Answers(found) if choice.every else found[0]

    def search_progressively(
        self, table: Any, on: On = None, k: int | None = None
    ) -> Iterator[FusedAnswer]:
        """The answers of a fused search as they get better: the first at once, from sketches, and
        the last one (`answer.final`) as `search` gives it.

        >>> for answer in lake.search_progressively("mine.csv"):  # doctest: +SKIP
        ...     print(answer[:3])
        """
        since = time.perf_counter()
        from lakejoin.discovery.fused.searching import fused_answers
        from lakejoin.search.options import SearchOptions

        k = SearchOptions("fused", k).k
        mine, notes = self._mine(table)
        try:
            yield from fused_answers(self._searcher, mine, self._asked(mine, on, k, notes, since))
        finally:
            mine.forget()

    def _fused(
        self, mine: MyTable, on: On, k: int | None, notes: tuple[str, ...], since: float
    ) -> FusedAnswer:
        from lakejoin.discovery.fused.searching import fused_search

        return fused_search(self._searcher, mine, self._asked(mine, on, k, notes, since))

    def _asked(
        self, mine: MyTable, on: On, k: int | None, notes: tuple[str, ...], since: float
    ) -> Asked:
        from lakejoin.discovery.fused.searching import Asked
        from lakejoin.search.choice import choose

        all_columns = self._snapshot.manifest.options.all_columns
        choice = None if on is None else choose(mine, on, all_columns)
        return Asked(choice, k, notes, since)

    def search_many(
        self,
        queries: Iterable[Any],
        on: On = None,
        threads: int | None = None,
        **options: Any,
    ) -> Iterator[Answer | Answers | FusedAnswer | Failed]:
        """The answers for many queries, in their order, worked out by several threads.

        A query is a table as `search` takes it, or a pair of a table and its column (or the columns
        of a composite key). Options are those of `search`. A query that cannot be answered gives a
        `Failed` with its error; the others are answered all the same.

        >>> tables = ["a.csv", ("b.csv", "city"), ("c.csv", ["first", "last"])]
        >>> for answer in lake.search_many(tables, k=5):  # doctest: +SKIP
        ...     print(answer.error or answer)
        """
        from lakejoin.search.choice import in_order
        from lakejoin.search.many import each, table_and_columns

        on = in_order(on)  # once, for every query

        def one(query: Any) -> Answer | Answers | FusedAnswer:
            table, column = table_and_columns(query, on)
            found: Answer | Answers | FusedAnswer = self.search(table, column, **options)
            return found

        return each(queries, one, lambda query: _query_name(query, on), threads)

    def union(self, table: Any, k: int | None = None) -> UnionAnswer:
        """The tables of the lake whose rows could be appended to `table`, the best first: which of
        their columns go with which of mine, and how many of their rows are new.

        `table` is as for `search`. Copies and versions of it, and tables that would rather be
        joined with it, are told apart (`answer.misses`).

        >>> answer = lakejoin.open("data.index").union("mine.csv")  # doctest: +SKIP
        >>> answer[:1].write("longer.csv")  # doctest: +SKIP
        """
        since = time.perf_counter()
        from lakejoin.discovery.union.searching import union_search
        from lakejoin.search.options import check_k

        if k is not None:
            check_k(k)
        mine, notes = self._mine(table)
        try:
            return union_search(self._searcher, mine, k, notes, since)
        finally:
            mine.forget()

    @cached_property
    def _searcher(self) -> Searcher:
        from lakejoin.search.searcher import Searcher

        return Searcher(self._snapshot)

    def _mine(self, table: Any) -> tuple[MyTable, tuple[str, ...]]:
        from lakejoin.search.known_table import KnownTable
        from lakejoin.search.meant import table_of

        if isinstance(table, LakeTable):
            # Of this very segment, also where another `Lake` has opened it; else as a frame.
            for number, segment in enumerate(self._snapshot.segments):
                gone = table.entry.number in segment.record.dead
                if segment.place == table._segment.place and not gone:
                    return KnownTable(self._snapshot, number, table.entry), ()
            return table_of(table.to_arrow(), self._snapshot)
        return table_of(table, self._snapshot)

    def graph(self) -> JoinGraph:
        """All pairs of columns that join, as `lakejoin graph` has counted them; what a table
        reaches by them, figures of the lake, files for other programs.

        >>> graph = lakejoin.open("data.index").graph()  # doctest: +SKIP
        >>> graph.around("airports.csv", hops=2).picture("airports.svg")  # doctest: +SKIP
        """
        from lakejoin.discovery.graph.joingraph import JoinGraph

        return JoinGraph(self._snapshot)

    def paths(self, table: Any, other_table: Any, k: int = 5, joins: int = 4) -> Paths:
        """How to get from one table to another by at most so many `joins`: the `k` paths that most
        rows of the first table survive, each with its SQL.

        Each is a table of the lake, or a file or frame of yours, as for `search`; a file that is in
        the lake is taken for its table there. Joins are those of the graph that `lakejoin graph`
        has made; where there is none, or tables are new, they are searched for from both ends, and
        not all tables are looked at.

        >>> lakejoin.open("data.index").paths("flights.csv", "countries.csv")  # doctest: +SKIP
        """
        from lakejoin.discovery.paths.finding import find_paths
        from lakejoin.search.options import check_k

        check_k(k)
        ends, notes = zip(*(self._end(one) for one in (table, other_table)), strict=True)
        try:
            return find_paths(self._searcher, ends, joins, k, (*notes[0], *notes[1]))
        finally:
            for one in ends:
                one.forget()

    def _end(self, table: Any) -> tuple[MyTable, tuple[str, ...]]:
        """A table as `_mine` takes it; a file of the lake as its table."""
        from lakejoin.search.meant import lake_table_of

        if isinstance(table, str | os.PathLike):
            known = lake_table_of(os.fspath(table), self._snapshot)
            if known is not None:
                return known, ()
        return self._mine(table)

    def skipped(self) -> list[Skipped]:
        """The files, and parts of files, that gave no table, with reasons."""
        return self._snapshot.skipped()

    @property
    def snapshot(self) -> Snapshot:
        """What lies beneath: segments and their arrays."""
        return self._snapshot


class LakeTable:
    """A table of the index, rebuilt from its codes on demand."""

    def __init__(self, snapshot: Snapshot, segment: Segment, entry: TableEntry) -> None:
        self._snapshot = snapshot
        self._segment = segment
        self.entry = entry

    def __repr__(self) -> str:
        return f"<LakeTable {self.name}: {self.entry.rows:,} rows, {self.entry.width} columns>"

    @property
    def name(self) -> str:
        """Its path in the lake, with `#` and the part for what lies inside a container."""
        return self.entry.name

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.entry.rows

    def columns(self) -> list[ColumnEntry]:
        """Its columns with their profiles."""
        return self._segment.catalog.columns_of(self.entry)

    @property
    def lakes(self) -> tuple[str, ...]:
        """Where the files of its lake are."""
        return tuple(self._snapshot.manifest.lakes)

    @property
    def identity(self) -> str:
        """A text that is another one as soon as the table was indexed anew."""
        return f"{self.name}@{self._segment.record.id}/{self.entry.number}"

    def to_arrow(
        self, begin: int = 0, end: int | None = None, places: Sequence[int] | None = None
    ) -> pa.Table:
        """Rows [begin, end) with their original texts, as a `pyarrow.Table`; of all columns, or of
        those at some zero-based `places`."""
        return self._segment.to_arrow(self.entry, begin, end, places)

    def to_pandas(self) -> Any:
        """The rows as a `pandas.DataFrame`."""
        needed("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The rows as a `polars.DataFrame`."""
        return needed("polars").from_arrow(self.to_arrow())


def _opened_at(uri: str) -> Lake:
    return Lake(Snapshot(Place.of(uri)))


def side_of(table: Any, default: str = "") -> Side:
    """A table as a side of a join; one of the lake is not read as long as codes suffice."""
    from lakejoin.joins.given import name_given, table_and_losses
    from lakejoin.joins.sides import Side, side_of_rows

    if isinstance(table, LakeTable):
        stored, snapshot = (table._segment, table.entry), table._snapshot
        rules = snapshot.manifest.options.rules
        losses = table.entry.losses
        return Side(table.name, table.to_arrow, stored, snapshot.place.uri, rules, losses)
    return side_of_rows(name_given(table, default), *table_and_losses(table))


def _encoder(meaning: MeaningOptions | None) -> dict[str, Any] | None:
    if meaning is None:
        return None
    return {"given": meaning.encoder, "identity": meaning.identity, "kept": meaning.keep}


def _query_name(query: Any, on: On = None) -> tuple[str, On]:
    from lakejoin.search.many import table_and_columns

    table, on = table_and_columns(query, on)
    if isinstance(table, LakeTable):
        return table.name, on
    return os.fspath(table) if isinstance(table, str | os.PathLike) else "my_table", on
