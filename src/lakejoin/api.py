"""The few names that a Python user needs: `read`, `index`, `open` and the opened `Lake`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

from lakejoin.errors import needed
from lakejoin.storage import Place
from lakejoin.store.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.model import Skipped
    from lakejoin.search.answer import Answer, Answers, Failed
    from lakejoin.search.mine import MyTable
    from lakejoin.search.searcher import Searcher
    from lakejoin.spark.build import BuildOptions, BuildReport
    from lakejoin.spark.tasks import Listener
    from lakejoin.store.catalog import ColumnEntry, TableEntry
    from lakejoin.store.segment import Segment

DEFAULT_INDEX = ".lakejoin"

PathLike = str | os.PathLike[str]


def index_place(index: PathLike | None) -> Place:
    """Where the index is: as given, else `LAKEJOIN_INDEX`, else `./.lakejoin`."""
    return Place.of(index or os.environ.get("LAKEJOIN_INDEX") or DEFAULT_INDEX)


def index(
    lake: PathLike | Sequence[PathLike] = (),
    index: PathLike | None = None,
    spark: Any = None,
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    options: BuildOptions | None = None,
    listener: Listener | None = None,
) -> BuildReport:
    """Builds or refreshes the index of a lake and says what was done.

    `lake` is a file, a folder, a glob or several of them (left out: what the index was made from).
    `spark` is a session of yours, which is left running; without one, the running session is used,
    or one is made (by `master` and `conf`) and stopped again.

    >>> report = lakejoin.index("data/", index="data.index")  # doctest: +SKIP
    """
    from lakejoin.spark.build import BuildOptions, Cluster, build_index

    lakes = [lake] if isinstance(lake, str | os.PathLike) else list(lake)
    return build_index(
        [os.fspath(one) for one in lakes],
        index_place(index),
        options or BuildOptions(),
        Cluster(spark, master, conf or {}),
        listener or (lambda progress: None),
    )


def open(index: PathLike | None = None) -> Lake:
    """Opens an index: no JVM, a few milliseconds.

    >>> lakejoin.open("data.index").info()["tables"]  # doctest: +SKIP
    1519
    """
    return Lake(Snapshot(index_place(index)))


class Lake:
    """An opened index: one version of it, which stays as it is while a build commits another."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def __repr__(self) -> str:
        totals = self._snapshot.manifest.totals
        return f"<Lake {self._snapshot.place}: {totals.tables:,} tables, {totals.rows:,} rows>"

    def __len__(self) -> int:
        return self._snapshot.manifest.totals.tables

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
            "lakes": list(manifest.lakes),
            "index": self._snapshot.place.uri,
        }

    def tables(self, pattern: str | None = None) -> list[LakeTable]:
        """The tables by name: all, those that fit a glob, or those whose name contains a text."""
        return [LakeTable(segment, entry) for segment, entry in self._snapshot.tables(pattern)]

    def table(self, name: str) -> LakeTable:
        """The table of that name."""
        return LakeTable(*self._snapshot.table(name))

    @overload
    def search(
        self,
        table: Any,
        on: Literal["*"],
        k: int | None = ...,
        by: str = ...,
        min: float | None = ...,
        others: bool = ...,
        verified: bool = ...,
        algorithm: str = ...,
    ) -> Answers: ...
    @overload
    def search(
        self,
        table: Any,
        on: str | int | None = ...,
        k: int | None = ...,
        by: str = ...,
        min: float | None = ...,
        others: bool = ...,
        verified: bool = ...,
        algorithm: str = ...,
    ) -> Answer: ...
    def search(
        self,
        table: Any,
        on: str | int | None = None,
        k: int | None = None,
        by: str = "overlap",
        min: float | None = None,
        others: bool = False,
        verified: bool = True,
        algorithm: str = "auto",
    ) -> Answer | Answers:
        """The columns of the lake that join with a column of `table`, the best first.

        `table` is a path, the name of a table in the lake, a `LakeTable`, or a frame (pandas,
        polars, Arrow, DuckDB, a mapping of columns, a list of values). `on` is the name of a
        column or its zero-based place; left out, it is the most key-like text column; `"*"`
        searches for every column and gives `Answers`.

        `by="overlap"`: the `k` columns (10) that share the most distinct values, exactly.
        `by="containment"`: every column that contains at least `min` (0.6) of the values, found
        with sketches and then verified, unless `verified=False`. `others` leaves out the table
        itself and its exact copies.

        >>> lakejoin.open("data.index").search("mine.csv", on="city")  # doctest: +SKIP
        """
        from lakejoin.search.answer import Answers
        from lakejoin.search.choice import ALL, choose
        from lakejoin.search.searcher import SearchOptions

        options = SearchOptions(by, k, min, others, verified, algorithm)
        mine, notes = self._mine(table)
        places, said = choose(mine, on, self._snapshot.manifest.options.all_columns)
        notes = (*notes, said) if said else notes
        try:
            found = [self._searcher.search(mine, place, options, notes) for place in places]
        finally:
            mine.forget()  # an answer needs less than the whole table, encoded
        answers = Answers(found)
        return answers if on == ALL and ALL not in mine.names else answers[0]

    def search_many(
        self,
        queries: Iterable[Any],
        on: str | int | None = None,
        threads: int | None = None,
        **options: Any,
    ) -> Iterator[Answer | Answers | Failed]:
        """The answers for many queries, in their order, worked out by several threads.

        A query is a table as `search` takes it, or a pair of a table and its column. Options are
        those of `search`. A query that cannot be answered gives a `Failed` with its error; the
        others are answered all the same.

        >>> tables = ["a.csv", ("b.csv", "city")]
        >>> for answer in lake.search_many(tables, k=5):  # doctest: +SKIP
        ...     print(answer.error or answer)
        """
        from lakejoin.search.many import each

        def one(query: Any) -> Answer | Answers:
            table, column = query if _is_pair(query) else (query, on)
            return self.search(table, column, **options)

        return each(queries, one, lambda query: _query_name(query, on), threads)

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

    def skipped(self) -> list[Skipped]:
        """The files, and parts of files, that gave no table, with reasons."""
        return self._snapshot.skipped()

    @property
    def snapshot(self) -> Snapshot:
        """What lies beneath: segments and their arrays."""
        return self._snapshot


class LakeTable:
    """A table of the index, rebuilt from its codes on demand."""

    def __init__(self, segment: Segment, entry: TableEntry) -> None:
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

    def to_arrow(self, begin: int = 0, end: int | None = None) -> pa.Table:
        """Rows [begin, end) with their original texts, as a `pyarrow.Table`."""
        return self._segment.to_arrow(self.entry, begin, end)

    def to_pandas(self) -> Any:
        """The rows as a `pandas.DataFrame`."""
        needed("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The rows as a `polars.DataFrame`."""
        return needed("polars").from_arrow(self.to_arrow())


def _is_pair(query: Any) -> bool:
    return isinstance(query, tuple) and len(query) == 2 and isinstance(query[1], str | int | None)


def _query_name(query: Any, on: str | int | None = None) -> tuple[str, str | int | None]:
    table, on = query if _is_pair(query) else (query, on)
    if isinstance(table, LakeTable):
        return table.name, on
    return os.fspath(table) if isinstance(table, str | os.PathLike) else "my_table", on
