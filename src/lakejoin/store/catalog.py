"""The catalog of a segment: its tables and columns, as two Arrow tables in an array file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from lakejoin.model import (
    ColumnData,
    ColumnProfile,
    ColumnType,
    Composition,
    DeclaredKeys,
    Dialect,
    ForeignKey,
    Loss,
    TableData,
)
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, Limits

if TYPE_CHECKING:
    import pyarrow as pa


T = TypeVar("T")

_PROFILE = [f.name for f in fields(ColumnProfile)]


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A table of a segment: its `table_id` there, and its columns [first, first + width)."""

    table_id: int
    name: str
    source: str
    rows: int
    first: int
    width: int
    format: str
    dialect: Dialect | None
    losses: tuple[Loss, ...]
    notes: tuple[str, ...] = ()
    composition: Composition | None = None
    declared: DeclaredKeys | None = None


@dataclass(frozen=True, slots=True)
class ColumnEntry:
    """A column of a segment: its `column_id` there, name, profile, and whether it is searched."""

    column_id: int
    name: str
    indexed: bool
    profile: ColumnProfile


def _read_keys(stored: Any) -> DeclaredKeys | None:
    if stored is None:
        return None
    foreign = (
        ForeignKey(tuple(key["columns"]), str(key["table"]), tuple(key["key_columns"]))
        for key in stored["foreign"]
    )
    return DeclaredKeys(tuple(stored["primary"]), tuple(foreign))


class CatalogWriter:
    def __init__(self) -> None:
        self._tables: list[dict[str, Any]] = []
        self._columns: list[dict[str, Any]] = []

    def add_table(self, table: TableData, width: int) -> None:
        """Add a table; its `width` columns were added just before."""
        self._tables.append(
            {
                "name": table.name,
                "source": table.source,
                "rows": table.rows,
                "first": len(self._columns) - width,
                "width": width,
                "format": table.format,
                "dialect": json.dumps(asdict(table.dialect)) if table.dialect else None,
                "losses": json.dumps([asdict(loss) for loss in table.losses]),
                "notes": json.dumps(table.notes),
            }
        )
        if table.composition is not None:
            self._tables[-1]["composition"] = json.dumps(asdict(table.composition))
        if table.declared is not None:
            self._tables[-1]["declared"] = json.dumps(asdict(table.declared))

    def add_column(self, column: ColumnData, indexed: bool) -> None:
        profile = {name: getattr(column.profile, name) for name in _PROFILE}
        self._columns.append({"name": column.name, "indexed": indexed, **profile})

    def write(self, out: ArrayFileWriter) -> None:
        import pyarrow as pa

        schema = _table_schema()
        for optional in ("composition", "declared"):
            if any(optional in table for table in self._tables):
                schema = schema.append(pa.field(optional, pa.string()))
        out.add("tables", table_to_bytes(pa.Table.from_pylist(self._tables, schema)))
        out.add("columns", table_to_bytes(pa.Table.from_pylist(self._columns, _column_schema())))


_TABLE_NUMBERS = ("rows", "first", "width")
_COLUMN_NUMBERS = ("indexed", "type", "rows", "nulls", "distinct")


def _table_schema() -> pa.Schema:
    import pyarrow as pa

    names = ("name", "source", *_TABLE_NUMBERS, "format", "dialect", "losses", "notes")
    return pa.schema([(n, pa.int64() if n in _TABLE_NUMBERS else pa.string()) for n in names])


def _column_schema() -> pa.Schema:
    import pyarrow as pa

    kinds = {
        "name": pa.string(),
        "indexed": pa.bool_(),
        "type": pa.dictionary(pa.int8(), pa.string()),
        "rows": pa.int64(),
        "nulls": pa.int64(),
        "distinct": pa.int64(),
        "uniqueness": pa.float64(),
        "min_length": pa.int32(),
        "max_length": pa.int32(),
        "mean_length": pa.float64(),
        "key_likeness": pa.float64(),
        "examples": pa.list_(pa.string()),
        "date_format": pa.string(),
    }
    return pa.schema(list(kinds.items()))


def table_to_bytes(table: pa.Table) -> np.ndarray[Any, Any]:
    """Serialize an Arrow table to the bytes of an IPC stream, for an array file."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table.combine_chunks())
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def read_table(file: ArrayFile, name: str, schema: pa.Schema) -> pa.Table:
    """Read what `table_to_bytes` made: a table with the columns of `schema`, or more or fewer, as
    other versions write. Raises `DamagedIndex` if it is not such a table."""
    import pyarrow as pa

    data = np.ascontiguousarray(file.array(name, None, "u1").all())
    try:
        table = pa.ipc.open_stream(pa.py_buffer(data)).read_all()
    except (pa.ArrowException, OSError, ValueError):
        raise file.inconsistency() from None
    file.require_valid(table)  # or forged offsets would be followed
    known = {field.name: field.type for field in schema}
    file.require(all(known.get(field.name, field.type) == field.type for field in table.schema))
    return table


_KEPT = 8192  # tables whose parsed entries are kept: a search asks for the same ones many times


class Catalog:
    """The opened catalog of a segment with this many tables and columns; None: not known."""

    def __init__(
        self, file: ArrayFile, tables: int | None = None, columns: int | None = None
    ) -> None:
        self._file = file
        self.tables = read_table(file, "tables", _table_schema())
        self.columns = read_table(file, "columns", _column_schema())
        self._entries: dict[int, TableEntry] = {}
        self._columns: dict[int, tuple[ColumnEntry, ...]] = {}
        file.require(tables is None or self.tables.num_rows == tables)
        file.require(columns is None or self.columns.num_rows == columns)
        self._check()

    def _check(self) -> None:
        """The columns of the tables follow each other, with the rows of their tables."""
        file, tables, columns = self._file, self.tables, self.columns
        for table, names in ((tables, _TABLE_NUMBERS), (columns, _COLUMN_NUMBERS)):
            file.require({"name", *names} <= set(table.column_names))
            file.require(not any(table[name].null_count for name in ("name", *names)))
        rows, first, width = (tables[name].to_numpy() for name in _TABLE_NUMBERS)
        limits = Limits(columns.num_rows + 1)
        file.require(limits.hold(first) and limits.hold(width) and Limits(1 << 48).hold(rows))
        ends = np.cumsum(width)
        file.require(np.array_equal(first, ends - width))
        file.require((int(ends[-1]) if len(ends) else 0) == columns.num_rows)
        file.require(np.array_equal(columns["rows"].to_numpy(), np.repeat(rows, width)))

    def table(self, table_id: int) -> TableEntry:
        entry = self._entries.get(table_id)
        if entry is None:
            entry = _keep(self._entries, table_id, self._read_table(table_id))
        return entry

    def columns_of(self, table: TableEntry) -> tuple[ColumnEntry, ...]:
        columns = self._columns.get(table.table_id)
        if columns is None:
            columns = _keep(self._columns, table.table_id, tuple(self._read_columns(table)))
        return columns

    def column_names(self, table: TableEntry) -> tuple[str, ...]:
        """The names alone, which cost much less than the profiles."""
        return tuple(self.columns["name"].slice(table.first, table.width).to_pylist())

    def _read_table(self, table_id: int) -> TableEntry:
        row = self.tables.slice(table_id, 1).to_pylist()[0]
        try:
            dialect = json.loads(row["dialect"]) if row["dialect"] else None
            if dialect is not None:
                dialect = Dialect(**{**dialect, "opinions": tuple(dialect["opinions"])})
            losses = tuple(Loss(**loss) for loss in json.loads(row["losses"]))
            notes = tuple(json.loads(row.get("notes") or "[]"))  # missing in older catalogs
            composed = json.loads(row.get("composition") or "null")  # only where a table has one
            if composed is not None:
                lists = {key: tuple(composed[key]) for key in ("keys", "members")}
                composed = Composition(**{**composed, **lists})
            declared = _read_keys(json.loads(row.get("declared") or "null"))
            parsed = {
                "dialect": dialect,
                "losses": losses,
                "notes": notes,
                "composition": composed,
                "declared": declared,
            }
            return TableEntry(table_id, **{**row, **parsed})
        except (ValueError, TypeError, KeyError, RecursionError):
            raise self._file.inconsistency() from None

    def _read_columns(self, table: TableEntry) -> Iterator[ColumnEntry]:
        for i, row in enumerate(self.columns.slice(table.first, table.width).to_pylist()):
            name, indexed = row.pop("name"), row.pop("indexed")
            try:
                row["type"] = ColumnType(row["type"])
                row["examples"] = tuple(row["examples"])
                profile = ColumnProfile(**row)
            except (ValueError, TypeError, KeyError):
                raise self._file.inconsistency() from None
            yield ColumnEntry(table.first + i, name, indexed, profile)


def _keep(kept: dict[int, T], key: int, entry: T) -> T:
    if len(kept) >= _KEPT:
        kept.clear()
    kept[key] = entry
    return entry
