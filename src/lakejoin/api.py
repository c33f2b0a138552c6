"""The verbs `index`, `open`, `history`, `rollback`, `join`, `predicates`, `relations`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lakejoin.inputs import InputTable, NearbyIndex, PathLike, index_location, resolve_table
from lakejoin.joins.join_inputs import TABLE_NAMES, common_value_rules, parse_column_pairs
from lakejoin.lake import Lake, open_lake

if TYPE_CHECKING:
    from lakejoin.encoders.factory import EncoderChoice
    from lakejoin.joins.join import Join
    from lakejoin.joins.options import MatchOptions, Progress
    from lakejoin.joins.predicates.database_relations import Relations
    from lakejoin.joins.predicates.join_predicate import Predicates
    from lakejoin.joins.predicates.preferences import PreferenceChoice
    from lakejoin.pipeline.build import BuildReport
    from lakejoin.pipeline.options import BuildOptions
    from lakejoin.pipeline.task_progress import Listener
    from lakejoin.store.history import IndexVersion


def index(
    lake: PathLike | Mapping[str, Any] | Sequence[PathLike | Mapping[str, Any]] = (),
    index: PathLike | None = None,
    spark: Any = None,
    *,
    parts: str | Sequence[str] | None = None,
    encoder: EncoderChoice = None,
    options: BuildOptions | None = None,
    listener: Listener | None = None,
) -> BuildReport:
    """Build or refresh the index of a lake; returns a report of what was done.

    `lake` is a file, a folder, a glob, the URL of a database, a mapping of names to frames (Arrow
    tables and datasets, pandas, polars, DuckDB relations, Spark DataFrames), or several of these;
    by default, what the index was built from. `spark` is your Spark session, which is left running,
    or a `Cluster` that says where to start one. Without it, the session that runs in this process
    is used. If there is none, local processes read up to 512 MB of new and changed files, and more
    if Spark or Java is missing; otherwise a session is started on this machine and stopped again.
    `BuildOptions(engine="local")` or `"spark"` chooses between them.

    `parts` adds what searches by "meaning" and by "distance" need; an empty list removes both. By
    default an index keeps the parts it has, and a new index of a small lake gets both. `encoder`
    makes the vectors for "meaning": a name, a path, or a function from strings to vectors (see
    `lakejoin.encoders`). All other options are in `BuildOptions`.

    >>> report = lakejoin.index("data/", "data.index", spark=spark)
    >>> report.totals.tables
    4
    """
    from lakejoin.pipeline.build import build_index
    from lakejoin.pipeline.options import BuildOptions
    from lakejoin.spark.engine_choice import choose_engine, open_lake_frames
    from lakejoin.spark.task_runner import Cluster

    cluster = spark if spark is None or isinstance(spark, Cluster) else Cluster(spark)
    options = options or BuildOptions()
    if parts is not None:
        options = replace(options, parts=(parts,) if isinstance(parts, str) else tuple(parts))
    if encoder is not None:
        options = replace(options, encoder=encoder)
    listener = listener or (lambda progress: None)
    lakes = [lake] if isinstance(lake, str | os.PathLike | Mapping) else list(lake)
    frames = [pair for item in lakes if isinstance(item, Mapping) for pair in item.items()]
    paths = [os.fspath(path) for path in lakes if not isinstance(path, Mapping)]
    with open_lake_frames(frames, options.tables, cluster, listener) as (found, names, session):
        return build_index(
            [*paths, *names],
            index_location(index),
            options,
            choose_engine(options.engine, session),
            listener,
            found,
        )


def open(index: PathLike | None = None, encoder: EncoderChoice = None) -> Lake:
    """Open an index; takes a few milliseconds and needs no Java.

    `index` is its folder or URI; by default `$LAKEJOIN_INDEX`, or `.lakejoin` in the current
    folder. Pass `encoder` if the vectors of the index were made by a function: the same one.

    >>> lake = lakejoin.open("data.index")
    >>> lake.info()["tables"], lake.search("mine.csv", on="city")[0].table
    (4, 'cities.csv')
    """
    return open_lake(index, encoder)


def history(index: PathLike | None = None) -> list[IndexVersion]:
    """The versions of an index that are kept, newest first: `version`, `created`, `tables`, `rows`,
    `bytes`, and whether it is the `current` one.

    >>> [version.tables for version in lakejoin.history("data.index") if version.current]
    [4]
    """
    from lakejoin.store.history import list_versions

    return list_versions(index_location(index))


def rollback(index: PathLike | None = None, version: int | None = None) -> IndexVersion:
    """Bring an older version of an index back, by default the one before the current; it becomes a
    new version, and can be rolled back itself. The next `index` reads what changed since.

    >>> lakejoin.rollback("data.index").tables, lakejoin.rollback("data.index").tables
    (4, 4)
    """
    from lakejoin.store.commit import roll_back
    from lakejoin.store.history import IndexVersion

    _, restored = roll_back(index_location(index), version)
    return IndexVersion.of(restored, current=True)


def join(
    left: Any,
    right: Any,
    on: Any = None,
    how: str = "inner",
    by: str | None = None,
    *,
    options: MatchOptions | None = None,
    progress: Progress | None = None,
) -> Join:
    """Find out how two tables join; returns a `Join`, which is false if no join was found.

    Each table is the path of a file (`book.xlsx#sheet` for a part of it), the name of a table in
    the default index, a `LakeTable`, a table that was read, or a frame (pandas, polars, Arrow,
    DuckDB, a mapping of columns). Values are compared by the rules of the index that a table is in,
    else by the default rules.

    `on` fixes the columns: `"code"` or `"code=iso"`, `{"code": "iso"}`, or a list of names and
    pairs. `how` is `inner`, `left`, `right` or `full`.

    `by="auto"` finds columns with equal values, or learns programs that rewrite the values of one
    side, and then matches the remaining rows by similarity. `by` may also be `equal`, `transform`
    or `fuzzy` alone. `meaning` joins each left row with the row nearest in meaning. `nearest` joins
    it with the nearest number, time or coordinates (two pairs of columns: latitude and longitude).
    The default is `auto`; but if `on` is given and any rows match by equal values, nothing else is
    tried. `options` has the rest: how near matches must be, one match per row, aggregation.

    >>> towns = {"town": ["Bern", "Ulm", "Zug"], "people": [134, 126, 31]}
    >>> codes = {"place": ["ULM", "bern"], "code": ["UL", "BE"]}
    >>> lakejoin.join(towns, codes, on="town=place").table().column("code").to_pylist()
    ['BE', 'UL']
    """
    from lakejoin.joins.join_finder import join_tables
    from lakejoin.joins.join_report import loss_texts
    from lakejoin.joins.options import MatchOptions

    nearby = NearbyIndex()
    tables = [
        resolve_table(table, nearby, name)
        for table, name in zip((left, right), TABLE_NAMES, strict=True)
    ]
    left_rows, right_rows = (table.rows for table in tables)
    names = (tables[0].name, tables[1].name)
    pairs = parse_column_pairs(on, left_rows.column_names, right_rows.column_names, names)
    rules = common_value_rules(tables)
    join_options = (options or MatchOptions()).for_join(pairs, how, by, rules)
    done = join_tables(left_rows, right_rows, join_options, progress, names)
    losses = [note for table in tables for note in loss_texts(table.name, table.losses)]
    return replace(done, notes=(*losses, *done.notes)) if losses else done


def predicates(
    left: Any,
    right: Any,
    *more: Any,
    prefer: PreferenceChoice | Sequence[PreferenceChoice] = "compact",
    n: int = 5,
    most: int | None = 100_000,
    progress: Progress | None = None,
) -> Predicates:
    """Find the best join predicates (sets of column pairs to join on) for a preference.

    Tables are as for `join`. Names and types do not matter: every set of column pairs with a
    non-empty join is a candidate. Only closed predicates are returned: those that contain every
    pair that is equal in all rows of their join.

    `prefer` is `"coverage"` (h1), `"groups"` (h2), `"compact"` (h3), `"balanced"` (h4) or
    `"strength"` (h5), several of them, or a function of the `Facts` of a join. Such a function may
    have a method `bound`: an upper bound of its value for a predicate and for all predicates that
    add column pairs to it. Without `bound` every predicate is examined, up to `most` (None: all).

    >>> people = {"id": [1, 2, 3], "boss": [3, 3, 1]}
    >>> calls = {"caller": [2, 2, 3, 1, 3], "minutes": [1, 3, 3, 2, 1]}
    >>> found = lakejoin.predicates(people, calls, prefer="compact")
    >>> found[0].pairs, found[0].scores["compact"], found[0].facts.inner
    ((('id', 'caller'),), 3, 5)
    >>> lakejoin.predicates(people, calls, prefer=lambda facts: -facts.outer)[0].pairs
    (('id', 'caller'),)
    """
    from lakejoin.joins.predicates.join_predicate import best_predicates
    from lakejoin.joins.predicates.predicate_finder import PredicateOptions

    tables, nearby = (left, right, *more), NearbyIndex()
    by_id: dict[int, InputTable] = {}  # a table that is passed twice is read once
    for position, table in enumerate(tables, 1):
        if id(table) not in by_id:
            by_id[id(table)] = resolve_table(table, nearby, f"table {position}")
    inputs = [by_id[id(table)] for table in tables]
    options = PredicateOptions(prefer, n, common_value_rules(inputs), most=most)
    return best_predicates(inputs, options, progress)


def relations(
    tables: PathLike | Lake | Mapping[str, Any] | None = None, progress: Progress | None = None
) -> Relations:
    """Find the likely foreign keys: which columns refer to the key of which table.

    `tables` is a folder, a glob, a file with several tables (SQLite, Excel), an opened `Lake`, or a
    mapping of names to frames; by default, the lake of the default index.

    >>> films = {"film_id": ["f1", "f2", "f3"], "title": ["Alien", "Heat", "Ran"]}
    >>> roles = {"film_id": ["f1", "f1", "f3"], "name": ["Ash", "Kane", "Jiro"]}
    >>> found = lakejoin.relations({"films": films, "roles": roles})
    >>> [(r.table, r.columns, r.key_table, r.key_columns) for r in found]
    [('roles', ('film_id',), 'films', ('film_id',))]
    """
    from lakejoin.joins.predicates.column_references import NamedTable
    from lakejoin.joins.predicates.database_relations import read_tables, relate_tables

    if tables is None:
        tables = open()
    if isinstance(tables, Lake):
        lake_tables = [
            NamedTable(table.name, table.to_arrow, table.entry.losses) for table in tables.tables()
        ]
        return relate_tables(lake_tables, tables.snapshot.manifest.options.rules, progress)
    if isinstance(tables, Mapping):
        nearby = NearbyIndex()
        inputs = [resolve_table(table, nearby, str(name)) for name, table in tables.items()]
        named = [
            NamedTable(str(name), partial(getattr, table, "rows"), table.losses)
            for name, table in zip(tables, inputs, strict=True)
        ]
        return relate_tables(named, common_value_rules(inputs), progress)
    found, notes = read_tables(os.fspath(tables), progress, index_location(None).uri)
    return relate_tables(found, None, progress, notes)
