"""Accepts the frames and arrays of scikit-learn users, and returns them with more columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.sources.frames import to_table

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]


def is_frame(thing: Any) -> bool:
    """Whether it is a frame of pandas, polars or Arrow, not an array or a list."""
    return hasattr(thing, "columns") or hasattr(thing, "column_names")


def normalize_input(thing: Any) -> Any:
    """Return frames and arrays unchanged; convert other tables, such as a mapping of columns, a
    polars LazyFrame or a DuckDB relation, to an Arrow table."""
    if hasattr(thing, "collect"):  # lazy, not read yet
        return to_table(thing)
    # A sparse matrix may be a mapping too, from positions to numbers.
    columns = isinstance(thing, Mapping) and not hasattr(thing, "shape")
    if not (is_frame(thing) or columns):
        return thing
    kinds = ("iloc", "append_column", "get_columns")  # pandas, Arrow, polars
    return thing if any(hasattr(thing, kind) for kind in kinds) else to_table(thing)


def frame_columns(thing: Any) -> list[Any]:
    """The column names of a frame; empty for an array."""
    if not is_frame(thing):
        return []
    return list(thing.column_names if hasattr(thing, "column_names") else thing.columns)


def drop_column(thing: Any, place: int) -> Any:
    """Drop one column.

    >>> drop_column(np.array([[1, 2, 3]]), 1).tolist()
    [[1, 3]]
    """
    if not is_frame(thing):
        return np.delete(thing, place, axis=1)
    if hasattr(thing, "iloc"):
        return thing.iloc[:, [i for i in range(thing.shape[1]) if i != place]]
    return thing.select([name for i, name in enumerate(frame_columns(thing)) if i != place])


def arrow_rows(thing: Any) -> pa.Table:
    """A frame or array as an Arrow table; the columns of an array are called x0, x1, …

    >>> arrow_rows(np.array([[1.5, 2.0], [2.5, 4.0]])).column_names
    ['x0', 'x1']
    """
    import pyarrow as pa

    from lakejoin.joins.given import plain_columns

    if is_frame(thing):
        return plain_columns(to_table(thing))
    columns = {f"x{i}": thing[:, i] for i in range(thing.shape[1])}
    return pa.table({name: _column(values) for name, values in columns.items()})


def _column(values: Array) -> pa.Array:
    import pyarrow as pa

    if values.dtype.kind in "biuf":
        return pa.array(values, from_pandas=True)
    texts = [None if _is_missing(value) else str(value) for value in values.tolist()]
    return pa.array(texts, pa.large_string())


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def add_columns(thing: Any, names: Sequence[str], columns: Sequence[pa.Array]) -> Any:
    """Add columns to a frame or array, keeping its type."""
    if not is_frame(thing):
        return _beside_array(thing, columns)
    if hasattr(thing, "with_columns"):  # polars
        return _beside_polars(thing, names, columns)
    if hasattr(thing, "append_column"):  # Arrow
        for name, column in zip(names, columns, strict=True):
            thing = thing.append_column(name, column)
        return thing
    copy = thing.copy()
    for name, column in zip(names, columns, strict=True):
        copy[name] = _as_array(column)
    return copy


def _beside_array(thing: Array, columns: Sequence[pa.Array]) -> Array:
    if not columns:
        return thing
    added = [_as_array(column)[:, None] for column in columns]
    if any(column.dtype == object for column in added):
        added, thing = [column.astype(object) for column in added], thing.astype(object)
    return np.concatenate([thing, *added], axis=1)


def _beside_polars(thing: Any, names: Sequence[str], columns: Sequence[pa.Array]) -> Any:
    from lakejoin.errors import import_optional

    polars = import_optional("polars")
    series = [
        polars.Series(name, polars.from_arrow(column))
        for name, column in zip(names, columns, strict=True)
    ]
    return thing.with_columns(series)


def _as_array(column: pa.Array) -> Array:
    return np.asarray(column.to_numpy(zero_copy_only=False))
