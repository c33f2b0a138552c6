"""Convert Arrow cells to JSON values, cutting long texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

MAX_CELL_LENGTH = 300  # characters of a cell in a list of rows
_SAFE_INTEGER = 2**53  # JavaScript rounds larger ones


def rows_to_json(table: pa.Table, longest: int | None = MAX_CELL_LENGTH) -> list[list[Any]]:
    """Convert rows to lists of JSON values; long texts are cut and end in `…`.

    >>> import pyarrow as pa
    >>> rows_to_json(pa.table({"a": ["x", None], "b": [2**60, 1]}))
    [['x', '1152921504606846976'], [None, 1]]
    """
    columns = [column_to_json(column, longest) for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)] if columns else []


def column_to_json(column: pa.ChunkedArray, longest: int | None = MAX_CELL_LENGTH) -> list[Any]:
    """Convert a column to JSON values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        if longest is not None:
            column = pc.utf8_slice_codeunits(column, 0, longest + 1)
        return [_cut(cell, longest) for cell in column.to_pylist()]
    if pa.types.is_boolean(kind):
        return list(column.to_pylist())
    if pa.types.is_integer(kind):
        return [c if c is None or abs(c) < _SAFE_INTEGER else str(c) for c in column.to_pylist()]
    if pa.types.is_floating(kind):
        return [c if c is None or np.isfinite(c) else str(c) for c in column.to_pylist()]
    return [_cut(None if cell is None else str(cell), longest) for cell in column.to_pylist()]


def _cut(text: str | None, longest: int | None) -> str | None:
    if text is None or longest is None or len(text) <= longest:
        return text
    return text[: longest - 1] + "…"
