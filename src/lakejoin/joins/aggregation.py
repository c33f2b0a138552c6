"""Aggregate a join to one row per left row.

`first` aggregates all right columns, `price=mean` only some of them. The functions are `first` and
`last` non-null value, `count` of non-null values, `list`, `min`, `max`, `mean` and `sum`. If only
columns are named, the other right columns are dropped; a column with several functions gets one
output column for each (`price_mean`, `price_count`). Numeric text is read as numbers for `mean` and
`sum`, and for `min` and `max` if all of it is numeric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.errors import InputError
from lakejoin.joins.joined_table import JoinedTable
from lakejoin.joins.row_keys import NO_ROW
from lakejoin.model import Array
from lakejoin.values.column_names import find_column
from lakejoin.values.plain_columns import is_text

_BATCH = 1 << 16
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


@dataclass(frozen=True, slots=True)
class _Column:
    """A right column, the function to apply, and the name of the output column."""

    index: int
    function: str
    name: str


@dataclass(frozen=True, eq=False)
class AggregatedTable:
    """A join with one row per left row.

    >>> from lakejoin.joins.row_keys import encode_keys
    >>> from lakejoin.model import ValueRules
    >>> towns = pa.table({"town": ["Bern", "Ulm"]})
    >>> sales = pa.table({"shop": ["Ulm", "Ulm", "Bern"], "price": ["3", "5", "2"]})
    >>> keys = encode_keys([towns["town"]], [sales["shop"]], ValueRules())
    >>> AggregatedTable(JoinedTable(towns, sales, keys), ("price=mean",)).table().to_pylist()
    [{'town': 'Bern', 'price': 2.0}, {'town': 'Ulm', 'price': 4.0}]
    """

    joined: JoinedTable
    functions: tuple[str, ...]

    def __len__(self) -> int:
        rows = self.joined.left.num_rows
        return rows if self.joined.how == "left" else self.joined.left_joined

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the result: all left columns, then the aggregated right ones."""
        no_rows = np.zeros(0, np.int64)
        return self._batch(no_rows, no_rows).schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        ends = self.joined.pairing.ends
        begin, last = 0, len(ends) - 1
        while begin < last:
            # Left rows with at most `_BATCH` matches together, but at least one left row.
            end = int(np.searchsorted(ends, ends[begin] + _BATCH, side="right")) - 1
            end = min(max(end, begin + 1), last)
            left, right = self.joined.rows(int(ends[begin]), int(ends[end]))
            if len(left):
                yield self._batch(left, right)
            begin = end

    def table(self, limit: int | None = None) -> pa.Table:
        """All rows, or the first `limit`."""
        batches, rows = [], 0
        for batch in self.batches():
            batches.append(batch)
            rows += batch.num_rows
            if limit is not None and rows >= limit:
                break
        return pa.Table.from_batches(batches, self.schema).slice(0, limit)

    def _batch(self, left: Array, right: Array) -> pa.RecordBatch:
        """Aggregate pairs that are sorted by left row."""
        starts = np.flatnonzero(np.append(True, left[1:] != left[:-1])[: len(left)])
        ends = np.append(starts[1:], len(left))
        bounds = starts, ends[: len(starts)]
        left_columns = self.joined.left_at(left[starts])
        alone = right[starts] == NO_ROW
        aggregated = []
        for column, values in zip(self._columns, self._values, strict=True):
            cells = values.take(pa.array(right, mask=right == NO_ROW))
            aggregated.append(_FUNCTIONS[column.function](cells, *bounds, alone))
        names = [*self.joined.left.column_names, *(column.name for column in self._columns)]
        return pa.RecordBatch.from_arrays([*left_columns, *aggregated], names=names)

    @cached_property
    def _columns(self) -> list[_Column]:
        names = self.joined.right.column_names
        shown = self.joined.schema.names[self.joined.left.num_columns :]
        rest, named = parse_aggregates(self.functions, names)
        functions = {index: [rest] for index in range(len(names)) if rest} | named
        taken = {*self.joined.schema.names}
        columns = []
        for index, applied in sorted(functions.items()):
            for function in applied:
                name = shown[index] if len(applied) == 1 else f"{shown[index]}_{function}"
                while len(applied) > 1 and name in taken:
                    name += "_"
                taken.add(name)
                columns.append(_Column(index, function, name))
        return columns

    @cached_property
    def _values(self) -> list[pa.Array]:
        columns = [self.joined.right_column(column.index) for column in self._columns]
        return [
            _as_numbers(values, column)
            for values, column in zip(columns, self._columns, strict=True)
        ]


def parse_aggregates(
    specs: Sequence[str], names: Sequence[str]
) -> tuple[str, dict[int, list[str]]]:
    """The function for all columns ("" for none), and those of named columns by index."""
    rest, named = "", dict[int, list[str]]()
    for text in specs:
        column, _, function = text.rpartition("=")
        if function not in _FUNCTIONS:
            known = ", ".join(_FUNCTIONS)
            raise InputError(
                f"{text!r} is not an aggregate: use FUNCTION or COLUMN=FUNCTION with one of {known}"
            )
        if not column:
            rest = function
        else:
            functions = named.setdefault(find_column(names, column, "the right table"), [])
            functions += [] if function in functions else [function]
    return rest, named


def _as_numbers(values: pa.Array, column: _Column) -> pa.Array:
    """Convert text to numbers if the function needs numbers."""
    if column.function not in ("mean", "sum", "min", "max"):
        return values
    if is_text(values.type):
        is_number = pc.match_substring_regex(values, _NUMBER)
        some, every = pc.any(is_number).as_py(), pc.all(is_number).as_py()
        if column.function in ("min", "max") and not (some and every):
            return values
        if some:
            numbers = pc.if_else(is_number, values, pa.scalar(None, values.type))
            return pc.utf8_trim_whitespace(numbers).cast(pa.float64())
    elif column.function in ("min", "max") or _is_numeric(values.type):
        return values
    raise InputError(f"column {column.name!r} has no numbers to take the {column.function} of")


def _is_numeric(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


Aggregate = Callable[["pa.Array", Array, Array, Array], "pa.Array"]


def _first(cells: pa.Array, starts: Array, ends: Array, alone: Array) -> pa.Array:
    valid = np.append(_valid_positions(cells), len(cells))
    at = valid[np.searchsorted(valid, starts)] if len(starts) else starts
    return cells.take(pa.array(at, pa.int64(), mask=at >= ends))


def _last(cells: pa.Array, starts: Array, ends: Array, alone: Array) -> pa.Array:
    valid = np.append(-1, _valid_positions(cells))
    at = valid[np.searchsorted(valid, ends) - 1] if len(starts) else starts
    return cells.take(pa.array(at, pa.int64(), mask=at < starts))


def _valid_positions(cells: pa.Array) -> Array:
    return np.flatnonzero(cells.is_valid().to_numpy(zero_copy_only=False))


def _list(cells: pa.Array, starts: Array, ends: Array, alone: Array) -> pa.Array:
    offsets = np.append(starts, len(cells))
    missing = pa.array(alone) if alone.any() else None
    return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), cells, mask=missing)


def _aggregate_by(function: str) -> Aggregate:
    def aggregate(cells: pa.Array, starts: Array, ends: Array, alone: Array) -> pa.Array:
        group = np.repeat(np.arange(len(starts)), ends - starts)
        grouped = pa.table({"group": group, "cell": cells}).group_by("group", use_threads=False)
        return grouped.aggregate([("cell", function)])[f"cell_{function}"].combine_chunks()

    return aggregate


_FUNCTIONS: dict[str, Aggregate] = {
    "first": _first,
    "last": _last,
    "list": _list,
    **{name: _aggregate_by(name) for name in ("count", "min", "max", "mean", "sum")},
}
FUNCTIONS = tuple(_FUNCTIONS)
