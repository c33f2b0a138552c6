"""Write a join by meaning as DuckDB SQL, through a list of the matching pairs.

SQL cannot compare vectors, so the query spells out the pairs as both tables write them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from lakejoin.errors import InputError
from lakejoin.engines.mine import ColumnSpellings, read_spellings
from lakejoin.engines.query import Query
from lakejoin.codegen.result_sql import (
    cell_expression,
    format_comments,
    quote_literal,
    make_query_side,
    make_lake_side,
)

if TYPE_CHECKING:
    from lakejoin.search.near_evidence import MatchingPairs
    from lakejoin.search.result import ResultLocation

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
    found.mine.read(found.places)
    mine, theirs = make_query_side(found), make_lake_side(found)
    own = _spellings(found.mine.originals(found.places[0]))
    other = _spellings(read_spellings(found.segment, found.columns[0]))
    found.mine.forget()
    pairs = list(dict.fromkeys(islice(_text_pairs(query, partners, own, other), MAX_SQL_PAIRS + 1)))
    if len(pairs) > MAX_SQL_PAIRS:
        raise _too_many(f"the matching pairs have more than {MAX_SQL_PAIRS:,} spellings")
    listed = ",\n  ".join(f"({quote_literal(a)}, {quote_literal(b)})" for a, b in pairs)
    comments = [*filter(None, (mine.comment, theirs.comment)), f"{len(pairs):,} pairs of texts"]
    return (
        format_comments(comments)
        + f"WITH pairs(mine, theirs) AS (VALUES\n  {listed}\n)\n"
        + "SELECT mine.*, theirs.*\n"
        + f"FROM {mine.source} AS mine{mine.renamed}\n"
        + f"JOIN pairs ON pairs.mine = {cell_expression('mine', mine.columns[0])}\n"
        + f"JOIN {theirs.source} AS theirs{theirs.renamed}\n"
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
    mine = query.tokens.take(partners.place).to_pylist()
    theirs = partners.values(partners.partner).to_pylist()
    for a, b in zip(mine, theirs, strict=True):
        for text in own[a]:
            yield from ((text, partner) for partner in other[b])
