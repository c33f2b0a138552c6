"""The join as SQL that DuckDB runs: over the files themselves where it reads them as we do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin.search.equalities import Part, joined_by, null_words
from lakejoin.search.evidence import told_apart
from lakejoin.search.mine import FRAME, originals_of
from lakejoin.search.origins import DELIMITED, written_as_text

if TYPE_CHECKING:
    from lakejoin.search.origins import Origin
    from lakejoin.search.result import Found

THEIRS = "lake_table"
_ENCODINGS = {"utf-8": "utf-8", "ascii": "utf-8", "utf-8-sig": "utf-8", "latin-1": "latin-1"}
_READABLE = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data", ".gz", ".zst")
_WIDEST = 500  # columns that a query spells out


def join_sql(found: Found) -> str:
    """DuckDB SQL for the inner join of my table with the table of a result.

    A side that DuckDB cannot read as it stands is left as a name, and a comment says how to
    register it. The join is on plain equality where every shared value is written alike on both
    sides, else on lower case without blanks around; a comment says how many shared values that
    joins, if not all. The columns of a composite key are treated each by itself.
    """
    found.mine.read(found.places)
    mine, theirs = my_side(found), their_side(found)
    rules, parts = found.manifest.options.rules, _parts(found)
    found.mine.forget()
    normal = [False] * len(parts)
    joined = joined_by(parts, normal)
    if rules.fold and not joined.exact:
        normal = [not joined_by([part], [False]).exact for part in parts]
        joined = joined_by(parts, normal)
    ways = list(zip(mine.columns, theirs.columns, normal, strict=True))
    equal = [f"{cell('mine', a, n)} = {cell('theirs', b, n)}" for a, b, n in ways]
    apart = [
        f"{cell('mine', column, rules.fold)} NOT IN ({', '.join(map(literal, words))})"
        for column, part in zip(mine.columns, parts, strict=True)
        if (words := null_words(rules, part))
    ]
    comments = [*filter(None, (mine.comment, theirs.comment)), *joined.said()]
    return (
        comment_lines(comments)
        + "SELECT mine.*, theirs.*\n"
        + f"FROM {mine.source} AS mine{mine.renamed}\n"
        + f"JOIN {theirs.source} AS theirs{theirs.renamed}\n"
        + f"  ON {_all_of(equal)}"
        # What stands for a missing value must not meet its like.
        + (f"\nWHERE {_all_of(apart)}" if apart else "")
        + ";"
    )


def _parts(found: Found) -> list[Part]:
    """The columns of both sides, by pairs, as they are written."""
    own = [found.mine.originals(place) for place in found.places]
    theirs = [originals_of(found.segment, column) for column in found.columns]
    return [Part(mine, other) for mine, other in zip(own, theirs, strict=True)]


@dataclass(frozen=True, slots=True)
class Column:
    """A column, and whether it is text where DuckDB reads it."""

    name: str
    is_text: bool


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the join: what stands in the query for it, its columns, and what to say first.

    `renamed` stands behind its alias where DuckDB, to which case is nothing, could not tell its
    columns apart.
    """

    source: str
    columns: tuple[Column, ...]
    comment: str = ""
    renamed: str = ""


def my_side(found: Found) -> Side:
    """My table and its columns."""
    mine = found.mine
    every, origin = _in_sql(mine.names), mine.origin
    names, texts = [every[place] for place in found.places], map(mine.is_text, found.places)
    reader, renamed = reader_of(origin, every), _renamed(mine.names, every)
    if not reader and mine.home is not None:
        return _registered(FRAME, mine.name, names, renamed)
    columns = tuple(map(Column, names, texts))
    if reader:
        return Side(reader, columns, renamed=renamed)
    how = f"{FRAME} is your table"
    if origin.format:
        how = f"first: con.register({FRAME!r}, lakejoin.read({mine.name!r}).to_arrow())"
    elif repeated := sorted({name for name in mine.names if mine.names.count(name) > 1}):
        how += (
            f", which has several columns called {', '.join(map(repr, repeated))}: here they are "
            f"told apart by their places; of an Arrow table, rename them first"
        )
    return Side(FRAME, columns, how, renamed)


def their_side(found: Found) -> Side:
    """The table of the lake and its columns."""
    from lakejoin.search.origins import origin_of

    all_columns = found.segment.catalog.columns_of(found.entry)
    raw = [one.name for one in all_columns]
    every, places = _in_sql(raw), [found.place(part) for part in range(len(found.columns))]
    names, renamed = [every[place] for place in places], _renamed(raw, every)
    origin = origin_of(found.manifest.lakes, found.entry)
    reader = reader_of(origin, every)
    if not reader:
        return _registered(THEIRS, found.entry.name, names, renamed)
    kinds = [written_as_text(origin, all_columns[place].profile.type) for place in places]
    return Side(reader, tuple(map(Column, names, kinds)), renamed=renamed)


def _registered(alias: str, table: str, columns: Sequence[str], renamed: str) -> Side:
    how = f"con.register({alias!r}, lake.table({table!r}).to_arrow())"
    return Side(alias, tuple(Column(name, True) for name in columns), f"first: {how}", renamed)


def _in_sql(names: Sequence[str]) -> list[str]:
    """The names as DuckDB can tell them apart: upper and lower case are the same to it."""
    return told_apart(names, alike=str.lower)


def _renamed(names: Sequence[str], apart: Sequence[str]) -> str:
    """New names for all columns, by their places, where some had to be told apart."""
    return "" if list(names) == list(apart) else f"({', '.join(map(_identifier, apart))})"


def reader_of(origin: Origin, names: Sequence[str]) -> str:
    """The table function that reads a file as we do; nothing where there is none.

    >>> from lakejoin.search.origins import Origin
    >>> reader_of(Origin("a/b.parquet", "parquet"), ["x"])
    "read_parquet('a/b.parquet')"
    """
    if not origin.path or not origin.plain:
        return ""
    if origin.format == "parquet":
        return f"read_parquet({literal(origin.path)})"
    dialect = origin.dialect
    if dialect is None or origin.format not in DELIMITED or len(names) > _WIDEST:
        return ""
    encoding = _ENCODINGS.get(dialect.encoding.lower())
    usual = dialect.skip_footer == 0 and dialect.escape in ("", dialect.quote)
    if not encoding or not usual or not origin.path.lower().endswith(_READABLE):
        return ""
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    options = {
        "auto_detect": "false",
        "header": str(dialect.header).lower(),
        "skip": str(dialect.skip_rows),
        "delim": literal(dialect.delimiter),
        "quote": literal(dialect.quote),
        "escape": literal(dialect.quote),
        "encoding": literal(encoding),
        "null_padding": "true",
        "strict_mode": "false",
        "columns": f"{{{columns}}}",
    }
    listed = ", ".join(f"{key} = {value}" for key, value in options.items())
    return f"read_csv({literal(origin.path)}, {listed})"


# -- writing -------------------------------------------------------------------------------------


def cell(side: str, column: Column, normal: bool = False) -> str:
    """A cell as text: as it is, or in lower case without blanks around."""
    cell = f"{side}.{_identifier(column.name)}"
    if not column.is_text:
        # A number or a moment as its shortest text, as the index has it.
        cell = f"regexp_replace(CAST({cell} AS VARCHAR), '(\\.0| 00:00:00)$', '')"
    return f"lower(trim({cell}))" if normal else cell


def _all_of(conditions: Sequence[str]) -> str:
    return "\n  AND ".join(conditions)


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text in quotes.

    >>> literal("O'Hara")
    "'O''Hara'"
    """
    return "'" + text.replace("'", "''") + "'"


def comment_lines(comments: Iterable[str]) -> str:
    """Lines of comments; no text can end its own."""
    lines = ("".join(c if c.isprintable() else " " for c in text) for text in comments)
    return "".join(f"-- {line}\n" for line in lines)
