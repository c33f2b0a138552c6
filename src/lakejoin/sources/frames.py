"""Convert a caller's table of any library to a `pyarrow.Table`.

Frames are read through the Arrow PyCapsule interface, so none of their libraries is imported.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import pyarrow as pa

from lakejoin.errors import InputError

VALUE_COLUMN = "value"  # the column of a bare sequence of values
_INDEX = re.compile(r"__index_level_\d+__")  # Arrow's name for an unnamed pandas index


def to_table(frame: Any) -> pa.Table:
    """Convert a frame to an Arrow table: pandas, polars, Arrow, a DuckDB relation, a Spark
    DataFrame, a mapping of columns, a sequence of mappings, or a plain sequence of values.

    Names are kept, even repeated ones. A column of mixed Python objects becomes text.

    >>> to_table({"city": ["Bern", "Oslo"], "n": [1, "many"]}).to_pylist()
    [{'city': 'Bern', 'n': '1'}, {'city': 'Oslo', 'n': 'many'}]
    >>> to_table(["Bern", "Oslo"]).column_names
    ['value']
    """
    if isinstance(frame, Mapping):
        return _plain(_convert_columns(frame))
    try:
        table = _convert_arrow(frame)
    except (pa.ArrowException, TypeError, ValueError) as problem:
        table = _convert_pandas(frame)  # a frame of objects, or with a repeated name
        if table is None:
            raise _not_a_table(frame, str(problem)) from problem
    if table is None:
        table = _convert_sequence(frame)
    return _plain(table)


def _convert_arrow(frame: Any) -> pa.Table | None:
    """What Arrow converts by itself; None for anything else."""
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if isinstance(frame, pa.Array | pa.ChunkedArray):
        return pa.table({VALUE_COLUMN: frame})
    if not hasattr(frame, "__arrow_c_stream__"):
        if hasattr(frame, "toArrow"):  # Spark; before `collect`, which would return rows of objects
            return frame.toArrow()
        if hasattr(frame, "_collect_as_arrow"):  # the same in PySpark 3.5
            batches = frame._collect_as_arrow()
            if batches:
                return pa.Table.from_batches(batches)
            return pa.Table.from_pandas(frame.toPandas(), preserve_index=False)
        if hasattr(frame, "collect"):  # a polars LazyFrame
            return _convert_arrow(frame.collect())
        if hasattr(frame, "__arrow_c_array__"):
            return _convert_struct(frame)
        return None
    if _is_series(frame):
        return pa.table({_name_of(frame): pa.chunked_array(frame)})
    return pa.table(frame)


def _convert_struct(frame: Any) -> pa.Table:
    array = pa.array(frame)
    if pa.types.is_struct(array.type):
        return pa.Table.from_batches([pa.RecordBatch.from_struct_array(array)])
    return pa.table({_name_of(frame): array})


def _is_series(frame: Any) -> bool:
    return hasattr(frame, "name") and not hasattr(frame, "columns")


def _name_of(series: Any) -> str:
    name = getattr(series, "name", None)
    return VALUE_COLUMN if name is None or name == "" else str(name)


def _convert_pandas(frame: Any) -> pa.Table | None:
    if not (hasattr(frame, "columns") and hasattr(frame, "iloc")):
        return None
    names = [str(name) for name in frame.columns]
    arrays = [_column(frame.iloc[:, index], name) for index, name in enumerate(names)]
    return pa.Table.from_arrays(arrays, names=names)


def _convert_columns(columns: Mapping[Any, Any]) -> pa.Table:
    if not columns:
        raise InputError("the table has no columns")
    names = [str(name) for name in columns]
    arrays = [_column(cells, name) for cells, name in zip(columns.values(), names, strict=True)]
    lengths = {len(array) for array in arrays}
    if len(lengths) > 1:
        sizes = ", ".join(
            f"{name} has {len(array):,}" for name, array in zip(names, arrays, strict=True)
        )
        raise InputError(f"the columns differ in length: {sizes}")
    return pa.Table.from_arrays(arrays, names=names)


def _convert_sequence(frame: Any) -> pa.Table:
    if isinstance(frame, str | bytes) or not isinstance(frame, Iterable):
        raise _not_a_table(frame, "")
    if getattr(frame, "ndim", 1) == 2:
        columns = getattr(frame, "T")  # noqa: B009 (an array of two dimensions)
        return _convert_columns({f"col_{i}": columns[i] for i in range(len(columns))})
    if isinstance(frame, AbstractSet):
        frame = sorted(frame, key=str)  # the order of a set changes from run to run
    cells = frame if isinstance(frame, Sequence) or hasattr(frame, "dtype") else list(frame)
    first = next((cell for cell in cells if cell is not None), None)
    if isinstance(first, Mapping):
        # All keys count, in order of appearance; Arrow alone would use those of the first row.
        names = dict.fromkeys(key for row in cells for key in row)
        return _convert_columns({name: [row.get(name) for row in cells] for name in names})
    if isinstance(first, Sequence) and not isinstance(first, str | bytes):
        raise _not_a_table(frame, "rows without column names; use a mapping of columns")
    return pa.table({_name_of(frame): _column(cells, VALUE_COLUMN)})


def _column(cells: Any, name: str) -> pa.Array | pa.ChunkedArray:
    if isinstance(cells, pa.Array | pa.ChunkedArray):
        return cells
    if isinstance(cells, str | bytes) or not isinstance(cells, Iterable):
        raise InputError(f"column {name!r} is a single value; give a sequence of values")
    try:
        if hasattr(cells, "__arrow_c_stream__"):
            return pa.chunked_array(cells)
        sized = hasattr(cells, "__len__")
        return pa.array(cells if sized else list(cells), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        # Objects of several types have only their text in common.
        return pa.array([_text(cell) for cell in cells], pa.large_string())


def _text(cell: Any) -> str | None:
    missing = cell is None or (isinstance(cell, float) and math.isnan(cell))
    if missing or type(cell).__name__ in ("NAType", "NaTType"):  # pandas
        return None
    return str(cell).encode("utf-8", "replace").decode()  # Python can contain lone surrogates


def _plain(table: pa.Table) -> pa.Table:
    """The table without unnamed pandas indices, with texts in a form that the kernels read."""
    columns = [i for i, name in enumerate(table.column_names) if not _INDEX.fullmatch(name)]
    names = [table.column_names[i] for i in columns]
    arrays = []
    for i in columns:
        array = table.column(i)
        if array.type == pa.string_view():
            array = array.cast(pa.large_string())
        arrays.append(array)
    return pa.Table.from_arrays(arrays, names=names)


def _not_a_table(frame: Any, why: str) -> InputError:
    reason = f" ({why})" if why else ""
    return InputError(
        f"{type(frame).__name__} is not a table{reason}; give a path, a lake table, a pandas, "
        "polars, Arrow or DuckDB frame, or a mapping of columns"
    )
