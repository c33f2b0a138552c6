"""What is made of many partners? One row of the result for every left row.

`first` for all right columns, or `price=mean` for some of them: `first` and `last` value that is
there, `count` of the values that are there, `list` of all, `min`, `max`, `mean`, `sum`. Where only
named columns are asked for, the other right columns are left out; a column that is asked for in
several ways gets each of them behind its name (`price_mean`, `price_count`). Text that holds
numbers counts as numbers for `mean` and `sum`, and for `min` and `max` where it holds nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.joins.joined import Joined
from lakejoin.joins.pairing import NO_ROW
from lakejoin.lake.names import find_column

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

_BATCH = 1 << 16
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


@dataclass(frozen=True, slots=True)
class _Column:
    """A right column by its place, what is made of it, and how that is called."""

    place: int
    function: str
    name: str


@dataclass(frozen=True, eq=False)
class Aggregated:
    """A join with one row for every left row.

    >>> import pyarrow as pa
    >>> from lakejoin.joins.equal import EqualJoin
    >>> towns = pa.table({"town": ["Bern", "Ulm"]})
    >>> sales = pa.table({"place": ["Ulm", "Ulm", "Bern"], "price": ["3", "5", "2"]})
    >>> joined = EqualJoin((("town", "place"),)).join(towns, sales)
    >>> Aggregated(joined, ("price=mean",)).table().to_pylist()
    [{'town': 'Bern', 'price': 2.0}, {'town': 'Ulm', 'price': 4.0}]
    """

    joined: Joined
    asked: tuple[str, ...]

    def __len__(self) -> int:
        rows = self.joined.left.num_rows
        return rows if self.joined.how == "left" else self.joined.left_joined

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the result: all left ones, then what is made of the right ones."""
        nobody = np.zeros(0, np.int64)
        return self._batch(nobody, nobody).schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, in batches."""
        ends = self.joined.pairing.ends
        begin, last = 0, len(ends) - 1
        while begin < last:
            # As many left rows as have so many partners together, and one at least.
            end = int(np.searchsorted(ends, ends[begin] + _BATCH, side="right")) - 1
            end = min(max(end, begin + 1), last)
            left, right = self.joined.rows(int(ends[begin]), int(ends[end]))
            if len(left):
                yield self._batch(left, right)
            begin = end

    def table(self, limit: int | None = None) -> pa.Table:
        """The rows, all or the first ones."""
        import pyarrow as pa

        parts, rows = [], 0
        for batch in self.batches():
            parts.append(batch)
            rows += batch.num_rows
            if limit is not None and rows >= limit:
                break
        return pa.Table.from_batches(parts, self.schema).slice(0, limit)

    def _batch(self, left: Array, right: Array) -> pa.RecordBatch:
        """The rows of pairs that come by left row."""
        import pyarrow as pa

        starts = np.flatnonzero(np.append(True, left[1:] != left[:-1])[: len(left)])
        ends = np.append(starts[1:], len(left))
        bounds = starts, ends[: len(starts)]
        mine = self.joined.left_at(left[starts])
        alone = right[starts] == NO_ROW
        made = []
        for column, values in zip(self._columns, self._values, strict=True):
            cells = values.take(pa.array(right, mask=right == NO_ROW))
            made.append(_FUNCTIONS[column.function](cells, *bounds, alone))
        names = [*self.joined.left.column_names, *(column.name for column in self._columns)]
        return pa.RecordBatch.from_arrays([*mine, *made], names=names)

    @cached_property
    def _columns(self) -> list[_Column]:
        names = self.joined.right.column_names
        shown = self.joined.schema.names[self.joined.left.num_columns :]
        rest, named = _parsed(self.asked, names)
        functions = {place: [rest] for place in range(len(names)) if rest} | named
        taken = {*self.joined.schema.names}
        columns = []
        for place, each in sorted(functions.items()):
            for function in each:
                name = shown[place] if len(each) == 1 else f"{shown[place]}_{function}"
                while len(each) > 1 and name in taken:
                    name += "_"
                taken.add(name)
                columns.append(_Column(place, function, name))
        return columns

    @cached_property
    def _values(self) -> list[pa.Array]:
        columns = [self.joined.right_column(column.place) for column in self._columns]
        return [
            _numbers(values, column) for values, column in zip(columns, self._columns, strict=True)
        ]


def _parsed(asked: Sequence[str], names: Sequence[str]) -> tuple[str, dict[int, list[str]]]:
    """What is made of all columns (nothing: an empty text), and of those that are named."""
    rest, named = "", dict[int, list[str]]()
    for text in asked:
        column, _, function = text.rpartition("=")
        if function not in _FUNCTIONS:
            known = ", ".join(_FUNCTIONS)
            raise InputError(f"{text!r} is none of {known}, nor COLUMN= with one of them")
        if not column:
            rest = function
        else:
            functions = named.setdefault(find_column(names, column, "the right table"), [])
            functions += [] if function in functions else [function]
    return rest, named


def check_aggregate(asked: Sequence[str], names: Sequence[str]) -> None:
    """Says at once what would otherwise fail only after the work is done."""
    _parsed(asked, names)


def _numbers(values: pa.Array, column: _Column) -> pa.Array:
    """Text as numbers, where numbers are asked for."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.function not in ("mean", "sum", "min", "max"):
        return values
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        is_number = pc.match_substring_regex(values, _NUMBER)
        some, every = pc.any(is_number).as_py(), pc.all(is_number).as_py()
        if column.function in ("min", "max") and not (some and every):
            return values
        if some:
            numbers = pc.if_else(is_number, values, pa.scalar(None, values.type))
            return pc.utf8_trim_whitespace(numbers).cast(pa.float64())
    elif column.function in ("min", "max") or _is_numeric(values.type):
        return values
    raise InputError(f"the column {column.name!r} holds no numbers for a {column.function}")


def _is_numeric(kind: pa.DataType) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


Made = Callable[["pa.Array", Array, Array, Array], "pa.Array"]


def _first(cells: pa.Array, starts: Array, ends: Array, alone: Array) -> pa.Array:
    import pyarrow as pa

    there = np.append(_there(cells), len(cells))
    at = there[np.searchsorted(there, starts)] if len(starts) else starts
    return cells.take(pa.array(at, pa.int64(), mask=at >= ends))


def _last(cells: pa.Array, starts: Array, ends: Array, alone: Array) -> pa.Array:
    import pyarrow as pa

    there = np.append(-1, _there(cells))
    at = there[np.searchsorted(there, ends) - 1] if len(starts) else starts
    return cells.take(pa.array(at, pa.int64(), mask=at < starts))


def _there(cells: pa.Array) -> Array:
    """The places of the cells that are no nulls."""
    return np.flatnonzero(cells.is_valid().to_numpy(zero_copy_only=False))


def _list(cells: pa.Array, starts: Array, ends: Array, alone: Array) -> pa.Array:
    import pyarrow as pa

    offsets = np.append(starts, len(cells))
    missing = pa.array(alone) if alone.any() else None
    return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), cells, mask=missing)


def _grouped(function: str) -> Made:
    def made(cells: pa.Array, starts: Array, ends: Array, alone: Array) -> pa.Array:
        import pyarrow as pa

        group = np.repeat(np.arange(len(starts)), ends - starts)
        grouped = pa.table({"group": group, "cell": cells}).group_by("group", use_threads=False)
        return grouped.aggregate([("cell", function)])[f"cell_{function}"].combine_chunks()

    return made


_FUNCTIONS: dict[str, Made] = {
    "first": _first,
    "last": _last,
    "list": _list,
    **{name: _grouped(name) for name in ("count", "min", "max", "mean", "sum")},
}
FUNCTIONS = tuple(_FUNCTIONS)
