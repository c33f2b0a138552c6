"""A chain of joins as SQL that DuckDB runs: over the files themselves where it reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin.search.equalities import Part, joined_by, null_words
from lakejoin.search.evidence import told_apart
from lakejoin.search.sql import Column, cell, comment_lines, literal, reader_of

if TYPE_CHECKING:
    from lakejoin.discovery.paths.hops import Hop
    from lakejoin.discovery.paths.tables import Place, Tables
    from lakejoin.search.mine import MyTable


@dataclass(frozen=True, slots=True)
class _Side:
    """A table of the query: what is read, as what, and what to say first."""

    source: str
    alias: str
    names: tuple[str, ...]
    comment: str
    is_read: bool  # by DuckDB, from its file
    table: MyTable

    def column(self, place: int) -> Column:
        """One of its columns."""
        # A table of the lake that has to be registered comes as texts, from the index.
        of_index = self.table.home is not None and not self.is_read
        return Column(self.names[place], of_index or self.table.is_text(place))


def path_sql(tables: Tables, route: Sequence[Hop]) -> str:
    """DuckDB SQL for a chain of joins, all columns of all tables."""
    places = [route[0].table, *(hop.other_table for hop in route)]
    sides = [_side(tables, place, number) for number, place in enumerate(places, 1)]
    comments = [side.comment for side in sides if side.comment]
    joins, apart = [], []
    for hop, mine, theirs in zip(route, sides[:-1], sides[1:], strict=True):
        equal, words, said = _equality(tables, hop, mine, theirs)
        joins.append(f"JOIN {theirs.source} AS {theirs.alias}\n  ON {equal}")
        apart += words
        comments += said
    chosen = ", ".join(f"{side.alias.partition('(')[0]}.*" for side in sides)
    where = "\nWHERE " + "\n  AND ".join(apart) if apart else ""
    return (
        comment_lines(comments)
        + f"SELECT {chosen}\nFROM {sides[0].source} AS {sides[0].alias}\n"
        + "\n".join(joins)
        + where
        + ";"
    )


def _equality(
    tables: Tables, hop: Hop, mine: _Side, theirs: _Side
) -> tuple[str, list[str], list[str]]:
    """What must be equal, what must not stand there, and what is said of it."""
    sides = (
        (mine, tables.place(hop.table, hop.column)),
        (theirs, tables.place(hop.other_table, hop.other)),
    )
    part = Part(*(side.table.originals(place) for side, place in sides))
    rules = tables.snapshot.manifest.options.rules
    normal, joined = False, joined_by([part], [False])
    if rules.fold and not joined.exact:
        normal, joined = True, joined_by([part], [True])
    columns = [(side.alias.partition("(")[0], side.column(place)) for side, place in sides]
    left, right = (cell(alias, column, normal) for alias, column in columns)
    words = null_words(rules, part)
    listed = ", ".join(map(literal, words))
    apart = [f"{cell(*columns[0], rules.fold)} NOT IN ({listed})"] if words else []
    return f"{left} = {right}", apart, joined.said()


def _side(tables: Tables, place: Place, number: int) -> _Side:
    table = tables.table(place)
    raw = list(table.names)
    names = told_apart(raw, alike=str.lower)  # upper and lower case are the same to DuckDB
    alias = f"t{number}"
    reader = reader_of(table.origin, names)
    listed = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    whole = alias if names == raw else f"{alias}({listed})"
    comment = f"{alias} is {table.name}"
    if not reader:
        comment += f"; first: con.register('table_{number}', {_rows_of(table)})"
    return _Side(reader or f"table_{number}", whole, tuple(names), comment, bool(reader), table)


def _rows_of(table: MyTable) -> str:
    """Python that gives the rows of a table which DuckDB does not read as we do."""
    if table.home is not None:
        return f"lake.table({table.name!r}).to_arrow()"
    if table.origin.format:
        return f"lakejoin.read({table.name!r}).to_arrow()"
    return table.name
