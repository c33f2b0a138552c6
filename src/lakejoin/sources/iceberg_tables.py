"""Iceberg tables, read with pyiceberg: the files and the rows of one snapshot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lakejoin.errors import MissingDependency, UnreadableFile
from lakejoin.formats.table_stream import TableStream, first_line_of
from lakejoin.locations import Location
from lakejoin.model import Composition, LogicalTable, ReadLimits, SourceFile, TableFile
from lakejoin.sources.partitioned_folders import stamp_text
from lakejoin.values.column_names import unique_names
from lakejoin.values.plain_columns import Losses, repair_batch

if TYPE_CHECKING:
    import pyarrow as pa

DAMAGED_ICEBERG = "damaged Iceberg table"
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


def list_iceberg_table(name: str, folder: Location, metadata: Location) -> LogicalTable:
    """The current snapshot of an Iceberg table."""
    opened = _open(name, metadata.uri)
    table = opened.table
    fields = {field.source_id: field.name for field in table.spec().fields}
    keys = tuple(table.schema().find_column_name(source) or key for source, key in fields.items())
    files = [
        TableFile(SourceFile(f"{name}/{_below(path)}", path, task.file.file_size_in_bytes, 0))
        for path, task in sorted(opened.tasks.items())
    ]
    snapshot = table.metadata.current_snapshot_id
    return LogicalTable(
        name,
        folder.uri,
        sum(f.file.size for f in files),
        stamp_text(f"iceberg {table.metadata.table_uuid} {metadata.name}"),
        Composition("iceberg", len(files), keys, "none" if snapshot is None else str(snapshot)),
        tuple(files),
        tuple(field.name for field in table.schema().fields),
        metadata.uri,
    )


def open_iceberg_file(table: LogicalTable, file: SourceFile, limits: ReadLimits) -> TableStream:
    """The live rows of a data file, under the names and types that its table has now."""
    names, notes = unique_names(list(table.columns))

    def reading(losses: Losses) -> Iterator[pa.RecordBatch]:
        from pyiceberg.io.pyarrow import ArrowScan

        try:
            opened = _open(table.name, table.metadata)
            scan = opened.table.scan()
            rows = ArrowScan(
                opened.table.metadata, opened.table.io, scan.projection(), scan.row_filter
            ).to_record_batches([opened.tasks[file.uri]])
            for batch in rows:
                yield repair_batch(batch.rename_columns(list(names)), losses)
        except UnreadableFile:
            raise
        except Exception as problem:  # the library raises errors of many kinds
            raise UnreadableFile(file.name, DAMAGED_ICEBERG, first_line_of(problem)) from problem

    return TableStream(file.name, "iceberg", names, reading, None, notes, limits)


def _below(path: str) -> str:
    return path.rpartition("/data/")[2]


@dataclass(frozen=True, slots=True)
class _OpenedTable:
    table: Any
    tasks: dict[str, Any]  # what to read of each data file, by its path


@lru_cache(maxsize=4)
def _open(name: str, metadata: str) -> _OpenedTable:
    try:
        from pyiceberg.table import StaticTable
    except ImportError:
        raise MissingDependency(
            "reading Iceberg tables needs pyiceberg: pip install 'lakejoin[lakes]'"
        ) from None
    try:
        table = StaticTable.from_metadata(metadata)
        tasks = {task.file.file_path: task for task in table.scan().plan_files()}
    except Exception as problem:
        raise UnreadableFile(name, DAMAGED_ICEBERG, first_line_of(problem)) from problem
    return _OpenedTable(table, tasks)
