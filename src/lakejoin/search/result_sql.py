"""Plan the SQL of a search result: the query table and the result's table, joined on equal texts or
through their matching pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from lakejoin.codegen.file_join import (
    ColumnPair,
    EqualColumns,
    FileTable,
    write_equality_joins,
    write_pairs_join,
)
from lakejoin.engines.query import (
    ColumnSpellings,
    Query,
    find_origin,
    is_stored_as_text,
    read_spellings,
)
from lakejoin.errors import InputError
from lakejoin.model import FRAME_NAME

if TYPE_CHECKING:
    from lakejoin.search.evidence import MatchingPairs
    from lakejoin.search.result import ResultLocation

LAKE_TABLE_NAME = "lake_table"
MAX_SQL_PAIRS = 10_000  # pairs in a query


def write_join_sql(found: ResultLocation) -> str:
    """DuckDB SQL for the inner join of the query table with the table of a result.

    If DuckDB cannot read a side directly, the query has a name for it and a comment says how to
    register it. Texts are compared as in `write_equality_joins`.
    """
    found.query_table.read(found.query_columns)
    tables = _tables(found)
    columns = [
        EqualColumns(left, found.column_index(key_part), _spellings(found, key_part))
        for key_part, left in enumerate(found.query_columns)
    ]
    rules = found.manifest.options.rules
    sql = write_equality_joins(tables, [columns], rules, _comments(*tables))
    found.query_table.release()
    return sql


def _tables(found: ResultLocation) -> tuple[FileTable, FileTable]:
    """The query table, which was read before, and the lake table."""
    entry, columns = found.entry, found.segment.catalog.columns_of(found.entry)
    origin = find_origin(found.manifest.lakes, entry)
    theirs = FileTable(
        "theirs",
        LAKE_TABLE_NAME,
        entry.name,
        [column.name for column in columns],
        origin,
        in_index=True,
        is_text=lambda index: is_stored_as_text(origin, columns[index].profile.type),
    )
    return FileTable.of("mine", FRAME_NAME, found.query_table), theirs


def _comments(mine: FileTable, theirs: FileTable) -> list[str]:
    comments = [f"first: {table.register}" for table in (mine, theirs) if table.register]
    if mine.reader or mine.in_index or mine.origin.format:
        return comments
    comment = f"{FRAME_NAME} is your table"
    names = list(mine.column_names)
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        comment += (
            f", which has several columns called {', '.join(map(repr, repeated))}: here they are "
            f"renamed by position; if it is an Arrow table, rename them first"
        )
    return [comment, *comments[1:]]


def _spellings(found: ResultLocation, key_part: int) -> ColumnPair:
    """A pair of joined columns, as spelled in both tables."""
    return ColumnPair(
        found.query_table.spellings(found.query_columns[key_part]),
        read_spellings(found.segment, found.segment_columns[key_part]),
    )


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
    texts = _text_pairs(query, partners, _spellings(found, 0))
    pairs = list(dict.fromkeys(islice(texts, MAX_SQL_PAIRS + 1)))
    if len(pairs) > MAX_SQL_PAIRS:
        raise _too_many(f"the matching pairs have more than {MAX_SQL_PAIRS:,} spellings")
    mine, theirs = _tables(found)
    left, right = (mine, found.query_columns[0]), (theirs, found.column_index())
    sql = write_pairs_join(left, right, pairs, _comments(mine, theirs))
    found.query_table.release()
    return sql


def _too_many(what: str) -> InputError:
    return InputError(f"{what}, too many for a SQL query: use matches() to list them")


def _texts_by_token(column: ColumnSpellings) -> dict[str, list[str]]:
    """The spellings of each canonical value."""
    texts = defaultdict(list)
    for token, text in zip(column.tokens.to_pylist(), column.texts.to_pylist(), strict=True):
        texts[token].append(text)
    return texts


def _text_pairs(
    query: Query, partners: MatchingPairs, spellings: ColumnPair
) -> Iterator[tuple[str, str]]:
    own, other = _texts_by_token(spellings.left), _texts_by_token(spellings.right)
    mine = query.tokens.take(partners.position).to_pylist()
    theirs = partners.values(partners.partner).to_pylist()
    for a, b in zip(mine, theirs, strict=True):
        for text in own[a]:
            yield from ((text, partner) for partner in other[b])
