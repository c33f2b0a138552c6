"""The list of an index's source files: their state when they were read, and what was skipped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin.locations import Location
from lakejoin.model import Skipped, Source
from lakejoin.quoting import lakejoin_command
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, FileRecord
from lakejoin.store.catalog import read_table, table_to_bytes
from lakejoin.store.index_records import NamedFile

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class SourceState:
    """The state of a file or logical table when it was indexed, to detect changes.

    `skipped` lists the file itself, or parts of it, that gave no table.
    """

    size: int
    mtime_ns: int
    skipped: tuple[Skipped, ...] = ()

    def same_as(self, file: Source) -> bool:
        return self.size == file.size and self.mtime_ns == file.mtime_ns


def write_sources(index: Location, name: str, sources: Mapping[str, SourceState]) -> NamedFile:
    import pyarrow as pa

    skipped = [(name, s) for name, state in sources.items() for s in state.skipped]
    states = sources.values()
    columns = [list(sources), [s.size for s in states], [s.mtime_ns for s in states]]
    files = pa.table(columns, schema=_file_schema())
    reasons = [[getattr(s, field) for _, s in skipped] for field in ("name", "reason", "detail")]
    losses = pa.table([[name for name, _ in skipped], *reasons], schema=_skipped_schema())
    with ArrayFileWriter(index / name) as out:
        out.add("files", table_to_bytes(files))
        out.add("skipped", table_to_bytes(losses))
    return NamedFile(name, out.record.bytes, out.record.checksum)


def read_sources(index: Location, file: NamedFile | None) -> dict[str, SourceState]:
    if file is None:
        return {}
    data = _open(index, file)
    skipped: dict[str, list[Skipped]] = {}
    for row in _read(data, "skipped", _skipped_schema()).to_pylist():
        skipped.setdefault(row.pop("source"), []).append(Skipped(**row))
    files = _read(data, "files", _file_schema())
    columns = (files[name].to_pylist() for name in ("name", "size", "mtime_ns"))
    return {
        name: SourceState(size, mtime, tuple(skipped.get(name, ())))
        for name, size, mtime in zip(*columns, strict=True)
    }


def read_skipped(index: Location, file: NamedFile | None) -> list[Skipped]:
    """Read everything that was skipped, sorted by name."""
    if file is None:
        return []
    rows = _read(_open(index, file), "skipped", _skipped_schema()).drop_columns("source")
    return sorted((Skipped(**row) for row in rows.to_pylist()), key=lambda s: s.name)


def _file_schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema([("name", pa.string()), ("size", pa.int64()), ("mtime_ns", pa.int64())])


def _skipped_schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema([(name, pa.string()) for name in ("source", "name", "reason", "detail")])


def _read(file: ArrayFile, name: str, schema: pa.Schema) -> pa.Table:
    """A table that has exactly these columns, with a value everywhere."""
    table = read_table(file, name, schema)
    file.require(table.schema.names == schema.names)
    file.require(not any(column.null_count for column in table.columns))
    return table


def _open(index: Location, file: NamedFile) -> ArrayFile:
    advice = f"rebuild it with: {lakejoin_command('index --full', index.uri)}"
    return ArrayFile(index / file.name, FileRecord(file.bytes, file.checksum), advice)
