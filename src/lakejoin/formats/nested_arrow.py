"""Nested Arrow columns, as Parquet, Arrow, ORC, Delta and Iceberg have them: what they contain by
their types, and how to take values out of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as t

from lakejoin.formats.nested_shapes import MOST_KEYS, NestedColumn, NestedTable, Shape, plan_tables
from lakejoin.formats.nested_tables import NestedRecords, RecordReader
from lakejoin.formats.table_stream import TableStream
from lakejoin.model import Array, ReadLimits
from lakejoin.values.plain_columns import Losses, repair_batch

_MAP_COLUMNS = 100  # a map with more keys is a table of its own
_Keys = dict[tuple[str, ...], tuple[str, ...] | None]


def plan_arrow(
    name: str,
    schema: pa.Schema,
    read: RecordReader,
    limits: ReadLimits,
    lists: bool = True,
    maps: bool = True,
) -> NestedTable:
    """The tables that columns of these types become; maps are read once for their keys, or become
    tables without `maps`. Without `lists`, lists and large maps stay text."""
    keys = _map_keys(schema, read) if maps else {}
    return plan_tables(name, _record_shape(schema, keys, limits, lists), limits)


def open_nested(
    name: str,
    form: str,
    schema: pa.Schema,
    read: RecordReader,
    limits: ReadLimits,
    notes: tuple[str, ...] = (),
    lists: bool = True,
) -> TableStream:
    """Open batches of these columns, whose names are unique."""
    plan = plan_arrow(name, schema, read, limits, lists)
    return NestedRecords(name, form, plan, ArrowValues(), read, limits).stream(notes)


def renamed_schema(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    """The columns of a schema under these names."""
    return pa.schema([field.with_name(name) for field, name in zip(schema, names, strict=True)])


def _record_shape(schema: pa.Schema, keys: _Keys, limits: ReadLimits, lists: bool) -> Shape:
    shape = Shape(1, objects=1)
    for field in schema:
        shape.keys[field.name] = _shape(field.type, (field.name,), keys, limits.nesting - 1, lists)
    return shape


def _shape(kind: pa.DataType, path: tuple[str, ...], keys: _Keys, depth: int, lists: bool) -> Shape:
    shape = Shape(1)
    nested = t.is_struct(kind) or t.is_map(kind) or _is_list(kind)
    if not nested or not depth:
        shape.deep = nested
        shape.scalars = not nested
        shape.decimals = t.is_floating(kind) or t.is_decimal(kind)
    elif t.is_struct(kind):
        shape.objects = 1
        names = [field.name for field in kind]
        if len(set(names)) < len(names) or len(names) > MOST_KEYS:
            shape.scalars = True  # stays text
        else:
            for field in kind:
                shape.keys[field.name] = _shape(
                    field.type, (*path, field.name), keys, depth - 1, lists
                )
    elif t.is_map(kind):
        known = keys.get(path)
        if known is not None:
            shape.objects = 1
            for key in known:
                shape.keys[key] = _shape(kind.item_type, (), {}, depth - 1, lists)
        elif lists and _is_text(kind.key_type):
            shape.objects = 1
            shape.values = _shape(kind.item_type, (), {}, depth - 1, lists)
        else:
            shape.scalars = True
    elif lists:
        shape.items = _shape(kind.value_type, (), {}, depth - 1, lists)
    else:
        shape.scalars = True
    return shape


def _is_list(kind: pa.DataType) -> bool:
    return bool(
        t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind)
        or t.is_list_view(kind) or t.is_large_list_view(kind)
    )  # fmt: skip


def _is_text(kind: pa.DataType) -> bool:
    return bool(t.is_string(kind) or t.is_large_string(kind))


def _map_paths(
    kind: pa.DataType, path: tuple[str, ...], depth: int = 8
) -> Iterator[tuple[str, ...]]:
    """Where maps with texts as keys are, but for those inside lists and maps."""
    if t.is_map(kind) and _is_text(kind.key_type):
        yield path
    elif t.is_struct(kind) and depth:
        for field in kind:
            yield from _map_paths(field.type, (*path, field.name), depth - 1)


def _map_keys(schema: pa.Schema, read: RecordReader) -> _Keys:
    """The keys of maps, sorted; None if there are too many to be columns."""
    paths = [p for field in schema for p in _map_paths(field.type, (field.name,))]
    if not paths:
        return {}
    found: dict[tuple[str, ...], set[str] | None] = {path: set() for path in paths}
    values = ArrowValues()
    columns = tuple(dict.fromkeys(path[0] for path in paths))
    for batch in read(Losses(), columns):
        for path in paths:
            known = found[path]
            if known is None:
                continue
            column: Any = batch
            for key in path:
                column = values.step(column, key)
            known.update(pc.unique(_map_pairs(column)[0].field(0)).to_pylist())
            if len(known) > _MAP_COLUMNS:
                found[path] = None
    return {path: None if known is None else tuple(sorted(known)) for path, known in found.items()}


def _map_pairs(values: pa.Array) -> tuple[pa.StructArray, Array]:
    """The pairs of all maps, and the position of the map that each is in."""
    offsets = np.asarray(values.offsets).astype(np.int64)
    lengths = np.where(np.asarray(values.is_valid()), np.diff(offsets), 0)
    positions = np.repeat(np.arange(len(values)), lengths)
    ends = np.cumsum(lengths)
    index = np.arange(len(positions)) + np.repeat(offsets[:-1] - (ends - lengths), lengths)
    pairs = pa.StructArray.from_arrays([values.keys, values.items], ["key", "value"])
    return pairs.take(pa.array(index)), positions


class ArrowValues:
    """Takes values out of Arrow arrays."""

    def step(self, values: Any, key: str) -> pa.Array:
        if isinstance(values, pa.RecordBatch):
            return values.column(values.schema.get_field_index(key))
        if t.is_map(values.type):
            return pc.map_lookup(values, pa.scalar(key, values.type.key_type), "last")
        return pc.struct_field(values, [values.type.get_field_index(key)])

    def explode(self, values: pa.Array, is_map: bool) -> tuple[pa.Array, Array]:
        if is_map:
            return _map_pairs(values)
        lengths = np.asarray(pc.list_value_length(values).fill_null(0))  # a null may hide elements
        return pc.list_flatten(values), np.repeat(np.arange(len(values)), lengths)

    def column(self, values: pa.Array, column: NestedColumn, losses: Losses) -> pa.Array:
        if column.kept:
            losses.add(column.kept, len(values) - values.null_count, f"in column {column.name!r}")
        return values

    def finish(self, batch: pa.RecordBatch, losses: Losses) -> pa.RecordBatch:
        return repair_batch(batch, losses)


def pick_columns(batch: pa.RecordBatch, names: Sequence[str], needed: Sequence[str]) -> Any:
    """A batch under these names, or only the columns that are needed."""
    renamed = batch.rename_columns(list(names))
    return renamed.select(list(needed)) if needed else renamed
