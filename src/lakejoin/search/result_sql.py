"""Write the join of a search result as DuckDB SQL, on equal texts or through a list of matching
pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from lakejoin.codegen.text_equality import ColumnPair, count_equality_join, find_null_words
from lakejoin.engines.query import (
    DELIMITED,
    FRAME_NAME,
    ColumnSpellings,
    Query,
    is_stored_as_text,
    read_spellings,
)
from lakejoin.errors import InputError
from lakejoin.search.evidence import make_names_unique

if TYPE_CHECKING:
    from lakejoin.engines.query import TableOrigin
    from lakejoin.search.evidence import MatchingPairs
    from lakejoin.search.result import ResultLocation


LAKE_TABLE_NAME = "lake_table"
_ENCODINGS = {"utf-8": "utf-8", "ascii": "utf-8", "utf-8-sig": "utf-8", "latin-1": "latin-1"}
_READABLE = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data", ".gz", ".zst")
_WIDEST = 500  # columns in a query


def write_join_sql(found: ResultLocation) -> str:
    """DuckDB SQL for the inner join of the query table with the table of a result.

    If DuckDB cannot read a side directly, the query has a name for it and a comment says how to
    register it. The join compares texts as written if all shared values are spelled the same on
    both sides, otherwise trimmed and in lower case; a comment says how many shared values that
    joins, if not all. Each column of a composite key is treated separately.
    """
    found.query_table.read(found.query_columns)
    mine, theirs = make_query_side(found), make_lake_side(found)
    rules, parts = found.manifest.options.rules, _parts(found)
    found.query_table.release()
    normal = [False] * len(parts)
    joined = count_equality_join(parts, normal)
    if rules.fold and not joined.exact:
        normal = [not count_equality_join([part], [False]).exact for part in parts]
        joined = count_equality_join(parts, normal)
    conditions = list(zip(mine.columns, theirs.columns, normal, strict=True))
    equal = [
        f"{cell_expression('mine', a, n)} = {cell_expression('theirs', b, n)}"
        for a, b, n in conditions
    ]
    not_null = [
        f"{cell_expression('mine', column, rules.fold)} NOT IN ({', '.join(map(quote_literal, words))})"
        for column, part in zip(mine.columns, parts, strict=True)
        if (words := find_null_words(rules, part))
    ]
    comments = [*filter(None, (mine.comment, theirs.comment)), *joined.notes()]
    return (
        format_comments(comments)
        + "SELECT mine.*, theirs.*\n"
        + f"FROM {mine.source} AS mine{mine.column_aliases}\n"
        + f"JOIN {theirs.source} AS theirs{theirs.column_aliases}\n"
        + f"  ON {_conjunction(equal)}"
        # Texts that stand for a missing value must not match each other.
        + (f"\nWHERE {_conjunction(not_null)}" if not_null else "")
        + ";"
    )


def _parts(found: ResultLocation) -> list[ColumnPair]:
    """The pairs of joined columns, as spelled in both tables."""
    own = [found.query_table.spellings(column_index) for column_index in found.query_columns]
    theirs = [read_spellings(found.segment, column) for column in found.segment_columns]
    return [ColumnPair(mine, other) for mine, other in zip(own, theirs, strict=True)]


@dataclass(frozen=True, slots=True)
class SqlColumn:
    """A column, and whether DuckDB reads it as text."""

    name: str
    is_text: bool


@dataclass(frozen=True, slots=True)
class JoinSide:
    """One side of the join: its source in the FROM clause, its columns, and a comment.

    `renamed` is the list of column aliases, if names are the same to DuckDB (it ignores case).
    """

    source: str
    columns: tuple[SqlColumn, ...]
    comment: str = ""
    column_aliases: str = ""


def make_query_side(found: ResultLocation) -> JoinSide:
    """The query table and its joined columns."""
    mine = found.query_table
    unique_names, origin = _unique_names(mine.column_names), mine.origin
    names, texts = (
        [unique_names[column_index] for column_index in found.query_columns],
        map(mine.is_text, found.query_columns),
    )
    reader, renamed = (
        reader_call(origin, unique_names),
        _column_aliases(mine.column_names, unique_names),
    )
    if not reader and mine.home is not None:
        return _registered(FRAME_NAME, mine.name, names, renamed)
    columns = tuple(map(SqlColumn, names, texts))
    if reader:
        return JoinSide(reader, columns, column_aliases=renamed)
    comment = f"{FRAME_NAME} is your table"
    if origin.format:
        comment = f"first: con.register({FRAME_NAME!r}, lakejoin.read({mine.name!r}).to_arrow())"
    elif repeated := sorted(
        {name for name in mine.column_names if mine.column_names.count(name) > 1}
    ):
        comment += (
            f", which has several columns called {', '.join(map(repr, repeated))}: here they are "
            f"renamed by position; if it is an Arrow table, rename them first"
        )
    return JoinSide(FRAME_NAME, columns, comment, renamed)


def make_lake_side(found: ResultLocation) -> JoinSide:
    """The lake table and its joined columns."""
    from lakejoin.engines.query import find_origin

    all_columns = found.segment.catalog.columns_of(found.entry)
    raw = [column.name for column in all_columns]
    unique_names, column_indexes = (
        _unique_names(raw),
        [found.column_index(key_part) for key_part in range(len(found.segment_columns))],
    )
    names, renamed = (
        [unique_names[column_index] for column_index in column_indexes],
        _column_aliases(raw, unique_names),
    )
    origin = find_origin(found.manifest.lakes, found.entry)
    reader = reader_call(origin, unique_names)
    if not reader:
        return _registered(LAKE_TABLE_NAME, found.entry.name, names, renamed)
    kinds = [
        is_stored_as_text(origin, all_columns[column_index].profile.type)
        for column_index in column_indexes
    ]
    return JoinSide(reader, tuple(map(SqlColumn, names, kinds)), column_aliases=renamed)


def _registered(alias: str, table: str, columns: Sequence[str], renamed: str) -> JoinSide:
    register = f"con.register({alias!r}, lake.table({table!r}).to_arrow())"
    return JoinSide(
        alias, tuple(SqlColumn(name, True) for name in columns), f"first: {register}", renamed
    )


def _unique_names(names: Sequence[str]) -> list[str]:
    """Make names unique ignoring case, as DuckDB does."""
    return make_names_unique(names, alike=str.lower)


def _column_aliases(names: Sequence[str], unique: Sequence[str]) -> str:
    """Aliases for all columns by position, if some had to be renamed."""
    return "" if list(names) == list(unique) else f"({', '.join(map(_quoted_name, unique))})"


def reader_call(origin: TableOrigin, names: Sequence[str]) -> str:
    """The DuckDB table function that reads a file like lakejoin; empty if there is none.

    >>> from lakejoin.engines.query import TableOrigin
    >>> reader_call(TableOrigin("a/b.parquet", "parquet"), ["x"])
    "read_parquet('a/b.parquet')"
    """
    if not origin.path or not origin.plain:
        return ""
    if origin.format == "parquet":
        return f"read_parquet({quote_literal(origin.path)})"
    dialect = origin.dialect
    if dialect is None or origin.format not in DELIMITED or len(names) > _WIDEST:
        return ""
    encoding = _ENCODINGS.get(dialect.encoding.lower())
    usual = dialect.skip_footer == 0 and dialect.escape in ("", dialect.quote)
    if not encoding or not usual or not origin.path.lower().endswith(_READABLE):
        return ""
    columns = ", ".join(f"{quote_literal(name)}: 'VARCHAR'" for name in names)
    options = {
        "auto_detect": "false",
        "header": str(dialect.header).lower(),
        "skip": str(dialect.skip_rows),
        "delim": quote_literal(dialect.delimiter),
        "quote": quote_literal(dialect.quote),
        "escape": quote_literal(dialect.quote),
        "encoding": quote_literal(encoding),
        "null_padding": "true",
        "strict_mode": "false",
        "columns": f"{{{columns}}}",
    }
    listed = ", ".join(f"{key} = {value}" for key, value in options.items())
    return f"read_csv({quote_literal(origin.path)}, {listed})"


# -- writing -------------------------------------------------------------------------------------


def cell_expression(side: str, column: SqlColumn, normal: bool = False) -> str:
    """A cell as text: as written, or trimmed and in lower case."""
    cell = f"{side}.{_quoted_name(column.name)}"
    if not column.is_text:
        # The shortest text of a number or timestamp, as in the index.
        cell = f"regexp_replace(CAST({cell_expression} AS VARCHAR), '(\\.0| 00:00:00)$', '')"
    return f"lower(trim({cell_expression}))" if normal else cell


def _conjunction(conditions: Sequence[str]) -> str:
    return "\n  AND ".join(conditions)


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def quote_literal(text: str) -> str:
    """Quote a text as a SQL string literal.

    >>> quote_literal("O'Hara")
    "'O''Hara'"
    """
    return "'" + text.replace("'", "''") + "'"


def format_comments(comments: Iterable[str]) -> str:
    """Format SQL comments; line breaks in them are replaced."""
    lines = ("".join(c if c.isprintable() else " " for c in text) for text in comments)
    return "".join(f"-- {line}\n" for line in lines)


MAX_SQL_PAIRS = 10_000  # pairs in a query


def write_pairs_join_sql(found: ResultLocation, partners: MatchingPairs) -> str:
    """DuckDB SQL for the inner join of the query table with a result by meaning."""
    query = found.query
    if not isinstance(query, Query):
        raise InputError(
            "a join by distance cannot be written as SQL: use the pairs that matches() lists"
        )
    if len(partners) > MAX_SQL_PAIRS:
        raise _too_many(f"{len(partners):,} pairs match")
    found.query_table.read(found.query_columns)
    mine, theirs = make_query_side(found), make_lake_side(found)
    own = _spellings(found.query_table.spellings(found.query_columns[0]))
    other = _spellings(read_spellings(found.segment, found.segment_columns[0]))
    found.query_table.release()
    pairs = list(dict.fromkeys(islice(_text_pairs(query, partners, own, other), MAX_SQL_PAIRS + 1)))
    if len(pairs) > MAX_SQL_PAIRS:
        raise _too_many(f"the matching pairs have more than {MAX_SQL_PAIRS:,} spellings")
    listed = ",\n  ".join(f"({quote_literal(a)}, {quote_literal(b)})" for a, b in pairs)
    comments = [*filter(None, (mine.comment, theirs.comment)), f"{len(pairs):,} pairs of texts"]
    return (
        format_comments(comments)
        + f"WITH pairs(mine, theirs) AS (VALUES\n  {listed}\n)\n"
        + "SELECT mine.*, theirs.*\n"
        + f"FROM {mine.source} AS mine{mine.column_aliases}\n"
        + f"JOIN pairs ON pairs.mine = {cell_expression('mine', mine.columns[0])}\n"
        + f"JOIN {theirs.source} AS theirs{theirs.column_aliases}\n"
        + f"  ON {cell_expression('theirs', theirs.columns[0])} = pairs.theirs;"
    )


def _too_many(what: str) -> InputError:
    return InputError(f"{what}, too many for a SQL query: use matches() to list them")


def _spellings(originals: ColumnSpellings) -> dict[str, list[str]]:
    """The spellings of each canonical value."""
    texts_by_token = defaultdict(list)
    for token, text in zip(originals.tokens.to_pylist(), originals.texts.to_pylist(), strict=True):
        texts_by_token[token].append(text)
    return texts_by_token


def _text_pairs(
    query: Query, partners: MatchingPairs, own: dict[str, list[str]], other: dict[str, list[str]]
) -> Iterator[tuple[str, str]]:
    mine = query.tokens.take(partners.position).to_pylist()
    theirs = partners.values(partners.partner).to_pylist()
    for a, b in zip(mine, theirs, strict=True):
        for text in own[a]:
            yield from ((text, partner) for partner in other[b])
