"""The joined table, made on demand: rows of two tables side by side, or one for each left row.

To have one row per left row, right columns are aggregated: `first` takes all right columns,
`price=mean` only some of them. The functions are `first` and `last` non-null value, `count` of non-
null values, `list`, `min`, `max`, `mean` and `sum`. If only columns are named, the other right
columns are dropped; a column with several functions gets one output column for each (`price_mean`,
`price_count`). Numeric text is read as numbers for `mean` and `sum`, and for `min` and `max` if all
of it is numeric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.errors import InputError
from lakejoin.joins.options import SUFFIX
from lakejoin.joins.row_keys import NO_ROW, Keys, ListedPairing, Pairing, RowLists
from lakejoin.model import Array
from lakejoin.values.column_names import find_column
from lakejoin.values.plain_columns import is_text

_BATCH = 1 << 16


@dataclass(frozen=True, eq=False)
class JoinedTable:
    """The join of two tables by the keys of their rows, made on demand.

    `how` keeps unmatched rows of the `left`, the `right`, both (`full`) or neither (`inner`) side.
    It has all columns of both; a right column whose name is taken gets `suffix`. Rows are ordered
    by left row (for `right`: by right row), then by the other side's row; for `full`, unmatched
    right rows come last.
    """

    left: pa.Table
    right: pa.Table
    keys: Keys
    how: str = "inner"
    suffix: str = SUFFIX
    lists: RowLists | None = None  # of matching rows, if a right row can match several keys

    def __len__(self) -> int:
        return len(self.pairing)

    @property
    def left_joined(self) -> int:
        """The number of left rows with a match."""
        return int(np.count_nonzero(self.partners_of_left))

    @property
    def right_joined(self) -> int:
        """The number of right rows with a match."""
        return int(np.count_nonzero(self.partners_of_right))

    @property
    def pairs(self) -> int:
        """The number of matching pairs of rows: the rows of the inner join."""
        return int(self.partners_of_left.sum())

    @property
    def fan_out(self) -> float:
        """The rows of the inner join per left row, as in a search result."""
        return self.pairs / self.left.num_rows if self.left.num_rows else 0.0

    @property
    def multiplies(self) -> bool:
        """Whether a key repeats on both sides, so that the join has more rows than either."""
        pairing = self.pairing
        return bool(((pairing.left_counts > 1) & (pairing.right_counts > 1)).any())

    def busiest_key(self) -> tuple[int, int, int] | None:
        """(a left row, left rows, right rows) of the key with the most rows in the result."""
        pairing, keys = self.pairing, self.keys
        pairs = pairing.left_counts * pairing.right_counts
        if not len(pairs) or not pairs.any():
            return None
        key = int(pairs.argmax())
        left_rows, right_rows = np.flatnonzero(keys.left == key), np.flatnonzero(keys.right == key)
        return int(left_rows[0]), len(left_rows), len(right_rows)

    @cached_property
    def schema(self) -> pa.Schema:
        names = result_names(self.left.column_names, self.right.column_names, self.suffix)
        kinds = [*_takeable_schema(self.left).types, *_takeable_schema(self.right).types]
        return pa.schema(list(zip(names, kinds, strict=True)))

    def batches(self, rows: int = _BATCH) -> Iterator[pa.RecordBatch]:
        for begin in range(0, len(self), rows):
            yield self._batch(begin, begin + rows)

    def table(self, limit: int | None = None) -> pa.Table:
        """All rows, or the first `limit`."""
        end = len(self) if limit is None else max(0, min(limit, len(self)))
        batches = [self._batch(b, min(b + _BATCH, end)) for b in range(0, end, _BATCH)]
        return pa.Table.from_batches(batches, self.schema)

    def rows(self, begin: int, end: int) -> tuple[Array, Array]:
        """The left and right row of the result's rows [begin, end); `NO_ROW` for unmatched."""
        first, second = self.pairing.rows(begin, end)
        return (second, first) if self._mirrored else (first, second)

    def _batch(self, begin: int, end: int) -> pa.RecordBatch:
        left, right = self.rows(begin, end)
        columns = [*_take_rows(self._left, left), *_take_rows(self._right, right)]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def left_at(self, rows: Array) -> list[pa.Array]:
        """The left columns at these rows."""
        return _take_rows(self._left, rows)

    def right_column(self, index: int) -> pa.Array:
        return _single_chunk(self._right.column(index))

    @cached_property
    def _left(self) -> pa.Table:
        return _takeable(self.left)

    @cached_property
    def _right(self) -> pa.Table:
        return _takeable(self.right)

    @property
    def _mirrored(self) -> bool:
        return self.how == "right"

    @cached_property
    def pairing(self) -> Pairing:
        """Which rows match; seen from the right for `right`."""
        keys = self.keys
        if self.lists is not None:
            return ListedPairing(keys, keep_left=self.how == "left", lists=self.lists)
        if self._mirrored:
            return Pairing(Keys(keys.right, keys.left, keys.count), keep_left=True)
        return Pairing(keys, keep_left=self.how in ("left", "full"), keep_right=self.how == "full")

    @property
    def partners_of_left(self) -> Array:
        """The number of matches of each left row."""
        pairing = self.pairing
        return pairing.partners_of_right if self._mirrored else pairing.partners_of_left

    @property
    def partners_of_right(self) -> Array:
        """The number of matches of each right row."""
        pairing = self.pairing
        return pairing.partners_of_left if self._mirrored else pairing.partners_of_right


def result_names(
    left: Sequence[str],
    right: Sequence[str],
    suffix: str = SUFFIX,
    normalise: Callable[[str], str] = str,
) -> list[str]:
    """The column names of a join: a right name that is taken gets the suffix, then a number.

    Names that `normalise` makes equal count as the same: `str.lower` for case-insensitive systems.

    >>> result_names(["id", "name", "id_right"], ["id", "code"])
    ['id', 'name', 'id_right', 'id_right_2', 'code']
    >>> result_names(["Name"], ["name"]), result_names(["Name"], ["name"], "_r", str.lower)
    (['Name', 'name'], ['Name', 'name_r'])
    """
    names = list(left)
    taken = {normalise(name) for name in (*left, *right)}
    used = {normalise(name) for name in left}
    for name in right:
        chosen, number = name, 2
        if normalise(name) in used:
            chosen = name + suffix
            while normalise(chosen) in taken:
                chosen = f"{name}{suffix}_{number}"
                number += 1
        taken.add(normalise(chosen))
        used.add(normalise(chosen))
        names.append(chosen)
    return names


def _take_rows(table: pa.Table, rows: Array) -> list[pa.Array]:
    """The columns of a single-chunk table at these rows; nulls for `NO_ROW`."""
    positions = pa.array(rows, mask=rows == NO_ROW)
    return [_single_chunk(column).take(positions) for column in table.columns]


def _takeable(table: pa.Table) -> pa.Table:
    """The table as single chunks with offsets that cannot overflow, to take any rows."""
    return table.cast(_takeable_schema(table)).combine_chunks()


def _takeable_schema(table: pa.Table) -> pa.Schema:
    return pa.schema(
        [f.with_type(pa.large_string()) if pa.types.is_string(f.type) else f for f in table.schema]
    )


def _single_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


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
