"""The brute force for equal columns: every pair of cells compared, values as texts in sets."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lakejoin.model import ValueRules, null_id
from lakejoin.values.column_encoder import encode_query

RULES = ValueRules()


def canonical_cells(column: pa.ChunkedArray) -> list[str | None]:
    """The canonical value of every row, None for nulls."""
    data = encode_query(column, RULES)
    tokens = data.tokens.to_pylist()
    texts = tokens + [tokens[i] for i in data.spelling_token.tolist()]
    null = null_id(data.cells.dtype)
    return [None if cell == null else texts[cell] for cell in data.cells.tolist()]


def shared_counts(left: pa.Table, right: pa.Table) -> list[list[int]]:
    """How many distinct values each pair of columns shares."""
    mine, theirs = (
        [set(canonical_cells(column)) - {None} for column in table.columns]
        for table in (left, right)
    )
    return [[len(a & b) for b in theirs] for a in mine]


def met(
    left: pa.Table, right: pa.Table, on: Sequence[tuple[str, str]]
) -> tuple[int, int, int, int]:
    """(left rows that join, right rows that join, pairs of rows, distinct keys)."""
    mine = list(zip(*(canonical_cells(left[name]) for name, _ in on), strict=True))
    theirs = list(zip(*(canonical_cells(right[name]) for _, name in on), strict=True))
    pairs = [
        (i, j) for i, a in enumerate(mine) for j, b in enumerate(theirs) if a == b and None not in a
    ]
    lefts, rights = {i for i, _ in pairs}, {j for _, j in pairs}
    return len(lefts), len(rights), len(pairs), len({mine[i] for i in lefts})
