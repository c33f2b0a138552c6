"""A query made from an Arrow column."""

from __future__ import annotations

import pyarrow as pa

from lakejoin.engines.query import Query, make_query
from lakejoin.model import ValueRules
from lakejoin.values.column_encoder import encode_query


def query_of_array(
    table: str, column: str, array: pa.Array | pa.ChunkedArray, rules: ValueRules
) -> Query:
    """The query of an Arrow column; `rules` are those of the index."""
    return make_query(table, column, encode_query(array, rules))
