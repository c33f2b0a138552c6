"""The list of an index's source files: their state when they were read, and what was skipped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lakejoin.locations import Location
from lakejoin.model import Skipped, Source
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, FileRecord
from lakejoin.store.catalog import table_from_bytes, table_to_bytes
from lakejoin.store.index_records import NamedFile


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
    files = pa.table(
        {
            "name": pa.array(sources.keys(), pa.string()),
            "size": pa.array((s.size for s in sources.values()), pa.int64()),
            "mtime_ns": pa.array((s.mtime_ns for s in sources.values()), pa.int64()),
        }
    )
    losses = pa.table(
        {
            "source": pa.array((n for n, _ in skipped), pa.string()),
            "name": pa.array((s.name for _, s in skipped), pa.string()),
            "reason": pa.array((s.reason for _, s in skipped), pa.string()),
            "detail": pa.array((s.detail for _, s in skipped), pa.string()),
        }
    )
    with ArrayFileWriter(index / name) as out:
        out.add("files", table_to_bytes(files))
        out.add("skipped", table_to_bytes(losses))
    return NamedFile(name, out.record.bytes, out.record.checksum)


def read_sources(index: Location, file: NamedFile | None) -> dict[str, SourceState]:
    if file is None:
        return {}
    data = _open(index, file)
    skipped: dict[str, list[Skipped]] = {}
    for row in table_from_bytes(data.array("skipped").all()).to_pylist():
        skipped.setdefault(row.pop("source"), []).append(Skipped(**row))
    files = table_from_bytes(data.array("files").all())
    columns = (files[name].to_pylist() for name in ("name", "size", "mtime_ns"))
    return {
        name: SourceState(size, mtime, tuple(skipped.get(name, ())))
        for name, size, mtime in zip(*columns, strict=True)
    }


def read_skipped(index: Location, file: NamedFile | None) -> list[Skipped]:
    """Read everything that was skipped, sorted by name."""
    if file is None:
        return []
    rows = table_from_bytes(_open(index, file).array("skipped").all()).drop_columns("source")
    return sorted((Skipped(**row) for row in rows.to_pylist()), key=lambda s: s.name)


def _open(index: Location, file: NamedFile) -> ArrayFile:
    return ArrayFile(index / file.name, FileRecord(file.bytes, file.checksum))
