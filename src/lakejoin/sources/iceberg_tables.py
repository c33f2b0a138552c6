"""Iceberg tables, read with pyiceberg: the files and the rows of one snapshot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lakejoin.errors import MissingDependency, UnreadableFile
from lakejoin.formats.nested_arrow import open_nested, pick_columns, renamed_schema
from lakejoin.formats.table_stream import TableStream, first_line_of
from lakejoin.locations import Location
from lakejoin.model import Composition, LogicalTable, ReadLimits, SourceFile, TableFile
from lakejoin.sources.delta_tables import NO_VERSION
from lakejoin.sources.partitioned_folders import stamp_text
from lakejoin.values.column_names import unique_names
from lakejoin.values.plain_columns import Losses

if TYPE_CHECKING:
    import pyarrow as pa

DAMAGED_ICEBERG = "cannot be read as an Iceberg table"
_METADATA = re.compile(r"v?(\d+)(?:-[^/]*)?(?:\.gz)?\.metadata\.json(?:\.gz)?")
_HINT = "version-hint.text"


def newest_metadata(folder: Location) -> Location | None:
    """The metadata file of the newest version of the Iceberg table in a folder; None if there is
    no such table. The hint of a catalog in the file system counts, else the highest number."""
    inside = folder / "metadata"
    numbered = [
        (int(match[1]), name)
        for name in inside.children()
        if (match := _METADATA.fullmatch(name)) is not None
    ]
    if not numbered:
        return None
    hint = inside / _HINT
    if hint.kind() == "file":
        text = hint.read_bytes().decode("ascii", "replace").strip()
        named = [name for number, name in numbered if text in (str(number), name)]
        if len(named) == 1:
            return inside / named[0]
    return inside / max(numbered)[1]


def list_iceberg_table(
    name: str, folder: Location, metadata: Location, as_of: datetime | None = None
) -> LogicalTable:
    """The current snapshot of an Iceberg table, or that of a moment."""
    opened = _open(name, metadata.uri, "")
    if as_of is not None:
        then = opened.table.snapshot_as_of_timestamp(int(as_of.timestamp() * 1000))
        if then is None:
            raise UnreadableFile(name, NO_VERSION)
        opened = _open(name, metadata.uri, str(then.snapshot_id))
    table, schema = opened.table, opened.scan.projection()
    fields = {field.source_id: field.name for field in table.spec().fields}
    keys = tuple(schema.find_column_name(source) or key for source, key in fields.items())
    files = [
        TableFile(SourceFile(f"{name}/{_below(path)}", path, task.file.file_size_in_bytes, 0))
        for path, task in sorted(opened.tasks.items())
    ]
    version = opened.snapshot or str(table.metadata.current_snapshot_id or "none")
    return LogicalTable(
        name,
        folder.uri,
        sum(f.file.size for f in files),
        stamp_text(f"iceberg {table.metadata.table_uuid} {metadata.name} {opened.snapshot}"),
        Composition("iceberg", len(files), keys, version),
        tuple(files),
        tuple(field.name for field in schema.fields),
        metadata.uri,
        opened.snapshot,
        tuple(field.name for field in schema.fields if not field.field_type.is_primitive),
    )


def open_iceberg_file(table: LogicalTable, file: SourceFile, limits: ReadLimits) -> TableStream:
    """The live rows of a data file, under the names and types that its table has now."""
    names, notes = unique_names(list(table.columns))
    opened = _open(table.name, table.metadata, table.snapshot)

    def read(_: Losses, needed: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        from pyiceberg.io.pyarrow import ArrowScan

        try:
            scan = opened.scan
            rows = ArrowScan(
                opened.table.metadata, opened.table.io, scan.projection(), scan.row_filter
            ).to_record_batches([opened.tasks[file.uri]])
            for batch in rows:
                yield pick_columns(batch, names, needed)
        except Exception as problem:  # the library raises errors of many kinds
            raise UnreadableFile(file.name, DAMAGED_ICEBERG, first_line_of(problem)) from problem

    schema = renamed_schema(opened.scan.projection().as_arrow(), names)
    return open_nested(file.name, "iceberg", schema, read, limits, notes)


def _below(path: str) -> str:
    return path.rpartition("/data/")[2]


@dataclass(frozen=True, slots=True)
class _OpenedTable:
    table: Any
    snapshot: str  # empty for the current one
    scan: Any
    tasks: dict[str, Any]  # what to read of each data file, by its path


@lru_cache(maxsize=4)
def _open(name: str, metadata: str, snapshot: str) -> _OpenedTable:
    try:
        from pyiceberg.table import StaticTable
    except ImportError:
        raise MissingDependency(
            "reading Iceberg tables needs pyiceberg: pip install 'lakejoin[lakes]'"
        ) from None
    try:
        table = StaticTable.from_metadata(metadata)
        scan = table.scan(snapshot_id=int(snapshot) if snapshot else None)
        tasks = {task.file.file_path: task for task in scan.plan_files()}
    except Exception as problem:
        raise UnreadableFile(name, DAMAGED_ICEBERG, first_line_of(problem)) from problem
    return _OpenedTable(table, snapshot, scan, tasks)
