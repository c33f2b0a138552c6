"""Write the join of a result as DuckDB SQL, over the files themselves if DuckDB can read them."""

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
_WIDEST = 500  # columns in a query


def join_sql(found: Found) -> str:
    """DuckDB SQL for the inner join of the query table with the table of a result.

    If DuckDB cannot read a side directly, the query has a name for it and a comment says how to
    register it. The join compares texts as written if all shared values are spelled the same on
    both sides, otherwise trimmed and in lower case; a comment says how many shared values that
    joins, if not all. Each column of a composite key is treated separately.
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
    conditions = list(zip(mine.columns, theirs.columns, normal, strict=True))
    equal = [f"{cell('mine', a, n)} = {cell('theirs', b, n)}" for a, b, n in conditions]
    not_null = [
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
        + f"  ON {_conjunction(equal)}"
        # Texts that stand for a missing value must not match each other.
        + (f"\nWHERE {_conjunction(not_null)}" if not_null else "")
        + ";"
    )


def _parts(found: Found) -> list[Part]:
    """The pairs of joined columns, as spelled in both tables."""
    own = [found.mine.originals(column_index) for column_index in found.places]
    theirs = [originals_of(found.segment, column) for column in found.columns]
    return [Part(mine, other) for mine, other in zip(own, theirs, strict=True)]


@dataclass(frozen=True, slots=True)
class Column:
    """A column, and whether DuckDB reads it as text."""

    name: str
    is_text: bool


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the join: its source in the FROM clause, its columns, and a comment.

    `renamed` is the list of column aliases, if names are the same to DuckDB (it ignores case).
    """

    source: str
    columns: tuple[Column, ...]
    comment: str = ""
    renamed: str = ""


def my_side(found: Found) -> Side:
    """The query table and its joined columns."""
    mine = found.mine
    unique_names, origin = _unique_names(mine.names), mine.origin
    names, texts = (
        [unique_names[column_index] for column_index in found.places],
        map(mine.is_text, found.places),
    )
    reader, renamed = reader_of(origin, unique_names), _column_aliases(mine.names, unique_names)
    if not reader and mine.home is not None:
        return _registered(FRAME, mine.name, names, renamed)
    columns = tuple(map(Column, names, texts))
    if reader:
        return Side(reader, columns, renamed=renamed)
    comment = f"{FRAME} is your table"
    if origin.format:
        comment = f"first: con.register({FRAME!r}, lakejoin.read({mine.name!r}).to_arrow())"
    elif repeated := sorted({name for name in mine.names if mine.names.count(name) > 1}):
        comment += (
            f", which has several columns called {', '.join(map(repr, repeated))}: here they are "
            f"renamed by position; if it is an Arrow table, rename them first"
        )
    return Side(FRAME, columns, comment, renamed)


def their_side(found: Found) -> Side:
    """The lake table and its joined columns."""
    from lakejoin.search.origins import origin_of

    all_columns = found.segment.catalog.columns_of(found.entry)
    raw = [column.name for column in all_columns]
    unique_names, column_indexes = (
        _unique_names(raw),
        [found.place(key_part) for key_part in range(len(found.columns))],
    )
    names, renamed = (
        [unique_names[column_index] for column_index in column_indexes],
        _column_aliases(raw, unique_names),
    )
    origin = origin_of(found.manifest.lakes, found.entry)
    reader = reader_of(origin, unique_names)
    if not reader:
        return _registered(THEIRS, found.entry.name, names, renamed)
    kinds = [
        written_as_text(origin, all_columns[column_index].profile.type)
        for column_index in column_indexes
    ]
    return Side(reader, tuple(map(Column, names, kinds)), renamed=renamed)


def _registered(alias: str, table: str, columns: Sequence[str], renamed: str) -> Side:
    register = f"con.register({alias!r}, lake.table({table!r}).to_arrow())"
    return Side(alias, tuple(Column(name, True) for name in columns), f"first: {register}", renamed)


def _unique_names(names: Sequence[str]) -> list[str]:
    """Make names unique ignoring case, as DuckDB does."""
    return told_apart(names, alike=str.lower)


def _column_aliases(names: Sequence[str], unique: Sequence[str]) -> str:
    """Aliases for all columns by position, if some had to be renamed."""
    return "" if list(names) == list(unique) else f"({', '.join(map(_quoted_name, unique))})"


def reader_of(origin: Origin, names: Sequence[str]) -> str:
    """The DuckDB table function that reads a file like lakejoin; empty if there is none.

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
    """A cell as text: as written, or trimmed and in lower case."""
    cell = f"{side}.{_quoted_name(column.name)}"
    if not column.is_text:
        # The shortest text of a number or timestamp, as in the index.
        cell = f"regexp_replace(CAST({cell} AS VARCHAR), '(\\.0| 00:00:00)$', '')"
    return f"lower(trim({cell}))" if normal else cell


def _conjunction(conditions: Sequence[str]) -> str:
    return "\n  AND ".join(conditions)


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text as a SQL string literal.

    >>> literal("O'Hara")
    "'O''Hara'"
    """
    return "'" + text.replace("'", "''") + "'"


def comment_lines(comments: Iterable[str]) -> str:
    """Format SQL comments; line breaks in them are replaced."""
    lines = ("".join(c if c.isprintable() else " " for c in text) for text in comments)
    return "".join(f"-- {line}\n" for line in lines)
