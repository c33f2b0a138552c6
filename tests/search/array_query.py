"""A query made from an Arrow column."""

from __future__ import annotations

import pyarrow as pa

from lakejoin.lake.columns import encode_query
from lakejoin.model import ValueRules
from lakejoin.search.query import Query, query_of_data


def query_of_array(
    table: str, column: str, array: pa.Array | pa.ChunkedArray, rules: ValueRules
) -> Query:
    """The query of an Arrow column; `rules` are those of the index."""
    return query_of_data(table, column, encode_query(array, rules))
