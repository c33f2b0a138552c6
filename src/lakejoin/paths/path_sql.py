"""A chain of joins as DuckDB SQL, over the files themselves where DuckDB can read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lakejoin.codegen.file_join import EqualColumns, FileTable, write_equality_joins
from lakejoin.codegen.text_equality import ColumnPair

if TYPE_CHECKING:
    from lakejoin.paths.path_hops import Hop
    from lakejoin.paths.path_tables import PathTables


def write_path_sql(tables: PathTables, route: Sequence[Hop]) -> str:
    """DuckDB SQL for a chain of joins, with all columns of all tables."""
    refs = [route[0].table, *(hop.other_table for hop in route)]
    sources = [
        FileTable.of(f"t{number}", f"table_{number}", tables.table(ref))
        for number, ref in enumerate(refs, 1)
    ]
    comments = [
        f"{source.alias} is {source.name}"
        + (f"; first: {source.register}" if source.register else "")
        for source in sources
    ]
    rules = tables.snapshot.manifest.options.rules
    return write_equality_joins(sources, _joins(tables, route), rules, comments)


def _joins(tables: PathTables, route: Sequence[Hop]) -> Iterator[list[EqualColumns]]:
    for hop in route:
        left = tables.column_index(hop.table, hop.column)
        right = tables.column_index(hop.other_table, hop.other)
        mine, theirs = tables.table(hop.table), tables.table(hop.other_table)
        yield [EqualColumns(left, right, ColumnPair(mine.spellings(left), theirs.spellings(right)))]
