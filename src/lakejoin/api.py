"""The few names that a Python user needs: `read`, `index`, `open`, `join`, `predicates`,
`relations`, and the opened `Lake`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lakejoin.opened import Lake, PathLike, index_place, side_of
from lakejoin.store.snapshot import Snapshot

if TYPE_CHECKING:
    from lakejoin.encoders.opening import Given
    from lakejoin.joins.join import Join
    from lakejoin.joins.options import Progress
    from lakejoin.joins.predicates.database import Relations
    from lakejoin.joins.predicates.described import Predicates
    from lakejoin.joins.predicates.preferences import Wanted
    from lakejoin.joins.sides import Side
    from lakejoin.spark.build import BuildReport
    from lakejoin.spark.options import BuildOptions
    from lakejoin.spark.tasks import Listener


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
