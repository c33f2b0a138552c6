"""The few names that a Python user needs: `read`, `index`, `open`, `join`, `predicates`,
`relations`, and the opened `Lake`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

from lakejoin.errors import needed
from lakejoin.storage import Place
from lakejoin.store.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.encoders.opening import Given
    from lakejoin.joins.join import Join
    from lakejoin.joins.options import Progress
    from lakejoin.joins.predicates.database import Relations
    from lakejoin.joins.predicates.described import Predicates
    from lakejoin.joins.predicates.preferences import Wanted
    from lakejoin.joins.sides import Side
    from lakejoin.model import Skipped
    from lakejoin.search.answer import Answer, Answers, Failed
    from lakejoin.search.choice import On
    from lakejoin.search.fused.answer import FusedAnswer
    from lakejoin.search.mine import MyTable
    from lakejoin.search.searcher import Searcher
    from lakejoin.spark.build import BuildReport
    from lakejoin.spark.options import BuildOptions
    from lakejoin.spark.tasks import Listener
    from lakejoin.store.catalog import ColumnEntry, TableEntry
    from lakejoin.store.meaning import MeaningOptions
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
    parts: str | Sequence[str] | None = None,
    encoder: Given = None,
    options: BuildOptions | None = None,
    listener: Listener | None = None,
) -> BuildReport:
    """Builds or refreshes the index of a lake and says what was done.

    `lake` is a file, a folder, a glob or several of them (left out: what the index was made from).
    `spark` is a session of yours, which is left running; without one, the running session is used,
    or one is made (by `master` and `conf`) and stopped again.

    `parts` are to be added to the index, "meaning" and "distance", for searches by these; an empty
    list takes both away. Left out, an index keeps those that it has; a new one gets both where the
    lake is small. `encoder` makes the vectors of "meaning": a name, a path, or a function from
    strings to vectors (see `lakejoin.encoders`). Other `options` are `BuildOptions`.

    >>> report = lakejoin.index("data/", index="data.index")  # doctest: +SKIP
    """
    from dataclasses import replace

    from lakejoin.spark.build import Cluster, build_index
    from lakejoin.spark.options import BuildOptions

    options = options or BuildOptions()
    if parts is not None:
        options = replace(options, parts=(parts,) if isinstance(parts, str) else tuple(parts))
    if encoder is not None:
        options = replace(options, encoder=encoder)
    lakes = [lake] if isinstance(lake, str | os.PathLike) else list(lake)
    return build_index(
        [os.fspath(one) for one in lakes],
        index_place(index),
        options,
        Cluster(spark, master, conf or {}),
        listener or (lambda progress: None),
    )


def open(index: PathLike | None = None) -> Lake:
    """Opens an index: no JVM, a few milliseconds.

    >>> lakejoin.open("data.index").info()["tables"]  # doctest: +SKIP
    1519
    """
    return Lake(Snapshot(index_place(index)))


def join(
    left: Any,
    right: Any,
    on: Any = None,
    how: str = "inner",
    by: str | None = None,
    *,
    one_to_one: bool = False,
    aggregate: str | Sequence[str] | Mapping[str, str] = (),
    suffix: str = "_right",
    precision: float = 0.9,
    within: float | str | None = None,
    tau: float | None = None,
    encoder: Given = None,
    progress: Progress | None = None,
) -> Join:
    """How two tables join, and the joined table; a `Join` that is false where none was found.

    Each table is a frame (pandas, polars, Arrow, DuckDB, a mapping of columns), the path of a file,
    or a `LakeTable`. `on` fixes the columns: `"code"` or `"code=iso"`, `{"code": "iso"}`, or a list
    of names and of pairs. `how` is `inner`, `left`, `right` or `full`.

    `by="auto"` finds columns with equal values, or learns programs that rewrite values of either
    side, and then matches the rows that are left over by likeness, as far as the estimated
    `precision` allows. `by` may also be `equal`, `transform` or `fuzzy` alone; `meaning` joins each
    left row with the nearest meaning within `tau`, `nearest` with the nearest number, moment or
    place (two pairs of columns: latitude and longitude), at most `within` away. Left out, it is
    `auto`; where `on` is given and rows meet by equal values, nothing else is tried.

    `one_to_one` gives each row at most one partner. `aggregate` makes one row of all partners of a
    left row: `"first"` for every right column, or `{"price": "mean"}` for some.

    >>> towns = {"town": ["Bern", "Ulm", "Zug"], "people": [134, 126, 31]}
    >>> codes = {"place": ["ULM", "bern"], "code": ["UL", "BE"]}
    >>> join(towns, codes, on="town=place").table().column("code").to_pylist()
    ['BE', 'UL']
    """
    from lakejoin.joins.join import NAMES
    from lakejoin.joins.joining import join_tables
    from lakejoin.joins.on import pairs_given
    from lakejoin.joins.options import JoinOptions
    from lakejoin.joins.sides import rules_of

    sides = side_of(left, NAMES[0]), side_of(right, NAMES[1])
    mine, theirs = (side.rows for side in sides)
    if isinstance(aggregate, Mapping):
        aggregate = [f"{column}={function}" for column, function in aggregate.items()]
    options = JoinOptions(
        pairs_given(on, mine.column_names, theirs.column_names),
        how,
        by,
        one_to_one,
        (aggregate,) if isinstance(aggregate, str) else tuple(aggregate),
        suffix,
        precision,
        within,
        tau,
        encoder,
        rules=rules_of(sides),
    )
    return join_tables(mine, theirs, options, progress, (sides[0].name, sides[1].name))


def predicates(
    left: Any,
    right: Any,
    *more: Any,
    prefer: Wanted | Sequence[Wanted] = "compact",
    n: int = 5,
    most: int | None = 100_000,
    progress: Progress | None = None,
) -> Predicates:
    """Which columns should be equated? The best join predicates for what is wanted of the result.

    Each table is a frame (pandas, polars, Arrow, DuckDB, a mapping of columns), the path of a file,
    or a `LakeTable`. Nothing is asked of names or types: every set of pairs of columns whose join
    is not empty is a candidate, and only those are shown that are closed, so that they have all
    pairs which are equal in every row of their join. Values are equal as the search counts them; as
    in the index, where one of the tables lies in it.

    `prefer` is `"coverage"` (h1), `"groups"` (h2), `"compact"` (h3), `"balanced"` (h4) or
    `"strength"` (h5), several of them, or a function of the `Facts` of a join. A function may have
    a method `bound`, which must be no less for a predicate than the function is for it and for all
    that join more columns; without one all predicates are looked at, though no more than `most`
    (None: all).

    >>> people = {"id": [1, 2, 3], "boss": [3, 3, 1]}
    >>> calls = {"caller": [2, 2, 3, 1, 3], "minutes": [1, 3, 3, 2, 1]}
    >>> found = predicates(people, calls, prefer="compact")
    >>> found[0].pairs, found[0].scores["compact"], found[0].facts.inner
    ((('id', 'caller'),), 3, 5)
    >>> predicates(people, calls, prefer=lambda facts: -facts.outer)[0].pairs
    (('id', 'caller'),)
    """
    from lakejoin.joins.predicates.described import best_predicates
    from lakejoin.joins.predicates.finding import PredicateOptions
    from lakejoin.joins.sides import rules_of

    tables = left, right, *more
    once: dict[int, Side] = {}  # a table that is given twice is one, and read once
    for place, one in enumerate(tables, 1):
        if id(one) not in once:
            once[id(one)] = side_of(one, f"table {place}")
    sides = [once[id(one)] for one in tables]
    options = PredicateOptions(prefer, n, rules_of(sides), most=most)
    return best_predicates(sides, options, progress)


def relations(
    tables: PathLike | Lake | Mapping[str, Any] | None = None, progress: Progress | None = None
) -> Relations:
    """The likely key relations among all tables: which columns refer to the key of which table.

    `tables` is a folder, a glob, a file that holds several (SQLite, Excel), an opened `Lake`, or a
    mapping of names to frames; left out, it is the lake in the usual place.

    >>> films = {"film_id": ["f1", "f2", "f3"], "title": ["Alien", "Heat", "Ran"]}
    >>> roles = {"film_id": ["f1", "f1", "f3"], "name": ["Ash", "Kane", "Jiro"]}
    >>> found = relations({"films": films, "roles": roles})
    >>> [(one.table, one.columns, one.key_table, one.key_columns) for one in found]
    [('roles', ('film_id',), 'films', ('film_id',))]
    """
    from lakejoin.joins.predicates.database import related, tables_at, tables_given
    from lakejoin.joins.predicates.references import TableGiven

    if tables is None:
        tables = open()
    if isinstance(tables, Lake):
        given = [TableGiven(one.name, one.to_arrow, one.entry.losses) for one in tables.tables()]
        return related(given, tables.snapshot.manifest.options.rules, progress)
    if isinstance(tables, Mapping):
        return related(tables_given(tables), None, progress)
    found, notes = tables_at(os.fspath(tables), progress, index_place(None).uri)
    return related(found, None, progress, notes)


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
        *,
        by: Literal["fused"],
        others: bool = ...,
    ) -> FusedAnswer: ...
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
        initial: str | int | None = ...,
        *,
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
        by: str = ...,
        min: float | None = ...,
        others: bool = ...,
        verified: bool = ...,
        algorithm: str = ...,
        initial: str | int | None = ...,
        *,
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
        by: str = "overlap",
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
        """The columns of the lake that join with a column of `table`, the best first; or the tables
        that join with several of its columns together.

        `table` is a path, the name of a table in the lake, a `LakeTable`, or a frame (pandas,
        polars, Arrow, DuckDB, a mapping of columns, a list of values). `on` is the name of a
        column or its zero-based place; left out, it is the most key-like text column; `"*"`
        searches for every column and gives `Answers`. Two or more names or places are a composite
        key: the tables are found that hold most of its combinations, whatever their columns are
        called. `{"country": "land", "name": None}` allows only their column `land` for `country`.

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

        `by="fused"`: the `k` tables (10) that join best, whichever of my columns they join by, as a
        `FusedAnswer`. `on` left out is every column that may be a key. What only meets by accident
        is told apart (`answer.misses`); the table itself and its copies are left out.

        >>> lakejoin.open("data.index").search("mine.csv", on="city")  # doctest: +SKIP
        >>> lakejoin.open("data.index").search("mine.csv", on=["first", "last"])  # doctest: +SKIP
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

    def _fused(
        self, mine: MyTable, on: On, k: int | None, notes: tuple[str, ...], since: float
    ) -> FusedAnswer:
        from lakejoin.search.choice import choose
        from lakejoin.search.fused.searching import fused_search

        all_columns = self._snapshot.manifest.options.all_columns
        choice = None if on is None else choose(mine, on, all_columns)
        return fused_search(self._searcher, mine, choice, k, notes, since)

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
        from lakejoin.search.many import each

        on = in_order(on)  # once, for every query

        def one(query: Any) -> Answer | Answers | FusedAnswer:
            table, column = query if _is_pair(query) else (query, on)
            found: Answer | Answers | FusedAnswer = self.search(table, column, **options)
            return found

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


def _is_pair(query: Any) -> bool:
    if not isinstance(query, tuple) or len(query) != 2:
        return False
    on = query[1]
    several = isinstance(on, list | tuple) and all(isinstance(one, str | int) for one in on)
    return isinstance(on, str | int | None | Mapping) or several or _is_array_of_names(on)


def _is_array_of_names(on: Any) -> bool:
    from lakejoin.search.choice import in_order

    if not hasattr(on, "tolist") and not hasattr(on, "to_list"):
        return False
    names = in_order(on)  # else it may be a value of a table that is given as a tuple
    return isinstance(names, list) and bool(names) and all(isinstance(one, str) for one in names)


def _query_name(query: Any, on: On = None) -> tuple[str, On]:
    table, on = query if _is_pair(query) else (query, on)
    if isinstance(table, LakeTable):
        return table.name, on
    return os.fspath(table) if isinstance(table, str | os.PathLike) else "my_table", on
