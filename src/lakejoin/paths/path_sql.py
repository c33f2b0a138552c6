"""A chain of joins as DuckDB SQL, over the files themselves where DuckDB can read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin.codegen.result_sql import (
    SqlColumn,
    cell_expression,
    format_comments,
    quote_literal,
    reader_call,
)
from lakejoin.codegen.text_equality import ColumnPair, count_equality_join, find_null_words
from lakejoin.search.evidence import make_names_unique

if TYPE_CHECKING:
    from lakejoin.engines.query import QueryTable
    from lakejoin.paths.path_hops import Hop
    from lakejoin.paths.path_tables import PathTables, SegmentRef


@dataclass(frozen=True, slots=True)
class _Side:
    """A table of the SQL query: its source, its alias, and a comment on it."""

    source: str
    alias: str
    names: tuple[str, ...]
    comment: str
    is_read: bool  # whether DuckDB reads it from its file
    table: QueryTable

    def column(self, index: int) -> SqlColumn:
        """One of its columns."""
        # A lake table that has to be registered comes from the index, as text.
        of_index = self.table.home is not None and not self.is_read
        return SqlColumn(self.names[index], of_index or self.table.is_text(index))


def write_path_sql(tables: PathTables, route: Sequence[Hop]) -> str:
    """DuckDB SQL for a chain of joins, with all columns of all tables."""
    refs = [route[0].table, *(hop.other_table for hop in route)]
    sides = [_side(tables, ref, number) for number, ref in enumerate(refs, 1)]
    comments = [side.comment for side in sides if side.comment]
    joins, conditions = [], []
    for hop, left, right in zip(route, sides[:-1], sides[1:], strict=True):
        equal, not_null, remarks = _equality(tables, hop, left, right)
        joins.append(f"JOIN {right.source} AS {right.alias}\n  ON {equal}")
        conditions += not_null
        comments += remarks
    chosen = ", ".join(f"{side.alias.partition('(')[0]}.*" for side in sides)
    where = "\nWHERE " + "\n  AND ".join(conditions) if conditions else ""
    return (
        format_comments(comments)
        + f"SELECT {chosen}\nFROM {sides[0].source} AS {sides[0].alias}\n"
        + "\n".join(joins)
        + where
        + ";"
    )


def _equality(
    tables: PathTables, hop: Hop, left_side: _Side, right_side: _Side
) -> tuple[str, list[str], list[str]]:
    """The join condition, conditions that exclude words for null, and comments on them."""
    sides = (
        (left_side, tables.column_index(hop.table, hop.column)),
        (right_side, tables.column_index(hop.other_table, hop.other)),
    )
    part = ColumnPair(*(side.table.spellings(index) for side, index in sides))
    rules = tables.snapshot.manifest.options.rules
    normal, joined = False, count_equality_join([part], [False])
    if rules.fold and not joined.exact:
        normal, joined = True, count_equality_join([part], [True])
    columns = [(side.alias.partition("(")[0], side.column(index)) for side, index in sides]
    left, right = (cell_expression(alias, column, normal) for alias, column in columns)
    words = find_null_words(rules, part)
    listed = ", ".join(map(quote_literal, words))
    not_null = [f"{cell_expression(*columns[0], rules.fold)} NOT IN ({listed})"] if words else []
    return f"{left} = {right}", not_null, joined.notes()


def _side(tables: PathTables, ref: SegmentRef, number: int) -> _Side:
    table = tables.table(ref)
    raw = list(table.column_names)
    names = make_names_unique(raw, alike=str.lower)  # DuckDB ignores case
    alias = f"t{number}"
    reader = reader_call(table.origin, names)
    listed = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    whole = alias if names == raw else f"{alias}({listed})"
    comment = f"{alias} is {table.name}"
    if not reader:
        comment += f"; first: con.register('table_{number}', {_rows_of(table)})"
    return _Side(reader or f"table_{number}", whole, tuple(names), comment, bool(reader), table)


def _rows_of(table: QueryTable) -> str:
    """Python code for the rows of a table that DuckDB does not read as we do."""
    if table.home is not None:
        return f"lake.table({table.name!r}).to_arrow()"
    if table.origin.format:
        return f"lakejoin.read({table.name!r}).to_arrow()"
    return table.name
