"""A chain of joins as SQL that DuckDB runs: over the files themselves where it reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin.search.equalities import Part, joined_by, null_words
from lakejoin.search.evidence import told_apart
from lakejoin.search.mine import originals_of
from lakejoin.search.origins import origin_of, written_as_text
from lakejoin.search.sql import Column, cell, comment_lines, literal, reader_of

if TYPE_CHECKING:
    from lakejoin.discovery.paths.hops import Hop, Place
    from lakejoin.search.origins import Origin
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.segment import Segment
    from lakejoin.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class _Side:
    """A table of the query: what is read, as what, and what to say first."""

    source: str
    alias: str
    names: tuple[str, ...]
    comment: str
    origin: Origin | None  # of a file that DuckDB reads
    segment: Segment
    entry: TableEntry

    def column(self, number: int) -> Column:
        """One of its columns."""
        place = number - self.entry.first
        kind = self.segment.catalog.columns_of(self.entry)[place].profile.type
        is_text = self.origin is None or written_as_text(self.origin, kind)
        return Column(self.names[place], is_text)


def path_sql(snapshot: Snapshot, route: Sequence[Hop]) -> str:
    """DuckDB SQL for a chain of joins, all columns of all tables."""
    places = [route[0].table, *(hop.other_table for hop in route)]
    sides = [_side(snapshot, place, number) for number, place in enumerate(places, 1)]
    comments = [side.comment for side in sides if side.comment]
    joins, apart = [], []
    for hop, mine, theirs in zip(route, sides[:-1], sides[1:], strict=True):
        equal, words, said = _equality(snapshot, hop, mine, theirs)
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
    snapshot: Snapshot, hop: Hop, mine: _Side, theirs: _Side
) -> tuple[str, list[str], list[str]]:
    """What must be equal, what must not stand there, and what is said of it."""
    part = Part(
        originals_of(mine.segment, hop.column[1]), originals_of(theirs.segment, hop.other[1])
    )
    rules = snapshot.manifest.options.rules
    normal, joined = False, joined_by([part], [False])
    if rules.fold and not joined.exact:
        normal, joined = True, joined_by([part], [True])
    sides = (mine, hop.column), (theirs, hop.other)
    columns = [(side.alias.partition("(")[0], side.column(place[1])) for side, place in sides]
    left, right = (cell(alias, column, normal) for alias, column in columns)
    words = null_words(rules, part)
    listed = ", ".join(map(literal, words))
    apart = [f"{cell(*columns[0], rules.fold)} NOT IN ({listed})"] if words else []
    return f"{left} = {right}", apart, joined.said()


def _side(snapshot: Snapshot, place: Place, number: int) -> _Side:
    segment = snapshot.segments[place[0]]
    entry = segment.catalog.table(place[1])
    raw = [one.name for one in segment.catalog.columns_of(entry)]
    names = told_apart(raw, alike=str.lower)  # upper and lower case are the same to DuckDB
    alias = f"t{number}"
    origin = origin_of(snapshot.manifest.lakes, entry)
    reader = reader_of(origin, names)
    listed = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    whole = alias if names == raw else f"{alias}({listed})"
    register = f"first: con.register('table_{number}', lake.table({entry.name!r}).to_arrow())"
    return _Side(
        reader or f"table_{number}",
        whole,
        tuple(names),
        f"{alias} is {entry.name}" if reader else f"{alias} is {entry.name}; {register}",
        origin if reader else None,
        segment,
        entry,
    )
