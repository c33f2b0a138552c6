"""The public functions `index`, `open`, `join`, `predicates` and `relations`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lakejoin.lake import Lake, PathLike, index_location, open_lake
from lakejoin.lake_table import join_side

if TYPE_CHECKING:
    from lakejoin.encoders.factory import EncoderChoice
    from lakejoin.joins.join import Join
    from lakejoin.joins.join_inputs import Side
    from lakejoin.joins.options import Progress
    from lakejoin.joins.predicates.database_relations import Relations
    from lakejoin.joins.predicates.join_predicate import Predicates
    from lakejoin.joins.predicates.preferences import PreferenceChoice
    from lakejoin.pipeline.build import BuildReport
    from lakejoin.pipeline.options import BuildOptions
    from lakejoin.spark.task_runner import Listener


def index(
    lake: PathLike | Sequence[PathLike] = (),
    index: PathLike | None = None,
    spark: Any = None,
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    parts: str | Sequence[str] | None = None,
    encoder: EncoderChoice = None,
    options: BuildOptions | None = None,
    listener: Listener | None = None,
) -> BuildReport:
    """Build or refresh the index of a lake; returns a report of what was done.

    `lake` is a file, a folder, a glob, or several of them; by default, the files that the index was
    built from. `spark` is a Spark session of yours, which is left running. Without it, the running
    session is used, or one is started (with `master` and `conf`) and stopped again.

    `parts` adds what searches by "meaning" and by "distance" need; an empty list removes both. By
    default an index keeps the parts it has, and a new index of a small lake gets both. `encoder`
    makes the vectors for "meaning": a name, a path, or a function from strings to vectors (see
    `lakejoin.encoders`). All other options are in `BuildOptions`.

    >>> report = lakejoin.index("data/", index="data.index")  # doctest: +SKIP
    """
    from dataclasses import replace

    from lakejoin.pipeline.build import Cluster, build_index
    from lakejoin.pipeline.options import BuildOptions

    options = options or BuildOptions()
    if parts is not None:
        options = replace(options, parts=(parts,) if isinstance(parts, str) else tuple(parts))
    if encoder is not None:
        options = replace(options, encoder=encoder)
    lakes = [lake] if isinstance(lake, str | os.PathLike) else list(lake)
    return build_index(
        [os.fspath(path) for path in lakes],
        index_location(index),
        options,
        Cluster(spark, master, conf or {}),
        listener or (lambda progress: None),
    )


def open(index: PathLike | None = None) -> Lake:
    """Open an index; takes a few milliseconds and needs no Java.

    >>> lakejoin.open("data.index").info()["tables"]  # doctest: +SKIP
    1519
    """
    return open_lake(index)


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
    encoder: EncoderChoice = None,
    progress: Progress | None = None,
) -> Join:
    """Find out how two tables join; returns a `Join`, which is false if no join was found.

    Each table is a frame (pandas, polars, Arrow, DuckDB, a mapping of columns), the path of a file,
    or a `LakeTable`. `on` fixes the columns: `"code"` or `"code=iso"`, `{"code": "iso"}`, or a list
    of names and pairs. `how` is `inner`, `left`, `right` or `full`.

    `by="auto"` finds columns with equal values, or learns programs that rewrite the values of one
    side, and then matches the remaining rows by similarity, as far as the estimated `precision`
    allows. `by` may also be `equal`, `match_rewritten` or `fuzzy` alone. `meaning` joins each left row
    with the row nearest in meaning, within `tau`. `nearest` joins it with the nearest number, time
    or coordinates (two pairs of columns: latitude and longitude), at most `within` away. The
    default is `auto`; but if `on` is given and any rows match by equal values, nothing else is
    tried.

    `one_to_one` gives each row at most one partner. `aggregate` merges all partners of a left row
    into one row: `"first"` for every right column, or `{"price": "mean"}` for some.

    >>> towns = {"town": ["Bern", "Ulm", "Zug"], "people": [134, 126, 31]}
    >>> codes = {"place": ["ULM", "bern"], "code": ["UL", "BE"]}
    >>> join(towns, codes, on="town=place").table().column("code").to_pylist()
    ['BE', 'UL']
    """
    from lakejoin.joins.join import NAMES
    from lakejoin.joins.join_finder import join_tables
    from lakejoin.joins.join_inputs import common_value_rules, parse_column_pairs
    from lakejoin.joins.options import JoinOptions

    sides = join_side(left, NAMES[0]), join_side(right, NAMES[1])
    left_rows, right_rows = (side.rows for side in sides)
    if isinstance(aggregate, Mapping):
        aggregate = [f"{column}={function}" for column, function in aggregate.items()]
    options = JoinOptions(
        parse_column_pairs(on, left_rows.column_names, right_rows.column_names),
        how,
        by,
        one_to_one,
        (aggregate,) if isinstance(aggregate, str) else tuple(aggregate),
        suffix,
        precision,
        within,
        tau,
        encoder,
        rules=common_value_rules(sides),
    )
    return join_tables(left_rows, right_rows, options, progress, (sides[0].name, sides[1].name))


def predicates(
    left: Any,
    right: Any,
    *more: Any,
    prefer: PreferenceChoice | Sequence[PreferenceChoice] = "compact",
    n: int = 5,
    most: int | None = 100_000,
    progress: Progress | None = None,
) -> Predicates:
    """Find the best join predicates (sets of column pairs to equate) for a preference.

    Each table is a frame (pandas, polars, Arrow, DuckDB, a mapping of columns), the path of a file,
    or a `LakeTable`. Names and types do not matter: every set of column pairs with a non-empty join
    is a candidate. Only closed predicates are returned: those that contain every pair that is equal
    in all rows of their join. Values are compared in canonical form, by the rules of the index if
    one of the tables is in it.

    `prefer` is `"coverage"` (h1), `"groups"` (h2), `"compact"` (h3), `"balanced"` (h4) or
    `"strength"` (h5), several of them, or a function of the `Facts` of a join. Such a function may
    have a method `bound`: an upper bound of its value for a predicate and for all predicates that
    add column pairs to it. Without `bound` every predicate is examined, up to `most` (None: all).

    >>> people = {"id": [1, 2, 3], "boss": [3, 3, 1]}
    >>> calls = {"caller": [2, 2, 3, 1, 3], "minutes": [1, 3, 3, 2, 1]}
    >>> found = predicates(people, calls, prefer="compact")
    >>> found[0].pairs, found[0].scores["compact"], found[0].facts.inner
    ((('id', 'caller'),), 3, 5)
    >>> predicates(people, calls, prefer=lambda facts: -facts.outer)[0].pairs
    (('id', 'caller'),)
    """
    from lakejoin.joins.join_inputs import common_value_rules
    from lakejoin.joins.predicates.join_predicate import best_predicates
    from lakejoin.joins.predicates.predicate_finder import PredicateOptions

    tables = left, right, *more
    by_id: dict[int, Side] = {}  # a table that is passed twice is read once
    for position, table in enumerate(tables, 1):
        if id(table) not in by_id:
            by_id[id(table)] = join_side(table, f"table {position}")
    sides = [by_id[id(table)] for table in tables]
    options = PredicateOptions(prefer, n, common_value_rules(sides), most=most)
    return best_predicates(sides, options, progress)


def relations(
    tables: PathLike | Lake | Mapping[str, Any] | None = None, progress: Progress | None = None
) -> Relations:
    """Find the likely foreign keys: which columns refer to the key of which table.

    `tables` is a folder, a glob, a file with several tables (SQLite, Excel), an opened `Lake`, or a
    mapping of names to frames; by default, the lake of the default index.

    >>> films = {"film_id": ["f1", "f2", "f3"], "title": ["Alien", "Heat", "Ran"]}
    >>> roles = {"film_id": ["f1", "f1", "f3"], "name": ["Ash", "Kane", "Jiro"]}
    >>> found = relations({"films": films, "roles": roles})
    >>> [(r.table, r.columns, r.key_table, r.key_columns) for r in found]
    [('roles', ('film_id',), 'films', ('film_id',))]
    """
    from lakejoin.joins.predicates.column_references import NamedTable
    from lakejoin.joins.predicates.database_relations import (
        read_tables,
        relate_tables,
        tables_of_frames,
    )

    if tables is None:
        tables = open()
    if isinstance(tables, Lake):
        lake_tables = [
            NamedTable(table.name, table.to_arrow, table.entry.losses) for table in tables.tables()
        ]
        return relate_tables(lake_tables, tables.snapshot.manifest.options.rules, progress)
    if isinstance(tables, Mapping):
        return relate_tables(tables_of_frames(tables), None, progress)
    found, notes = read_tables(os.fspath(tables), progress, index_location(None).uri)
    return relate_tables(found, None, progress, notes)
