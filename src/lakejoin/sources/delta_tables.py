"""Delta tables, read with delta-rs: the files and the rows of one version."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from lakejoin.errors import MissingDependency, UnreadableFile
from lakejoin.formats.nested_arrow import open_nested, renamed_schema
from lakejoin.formats.table_stream import TableStream, first_line_of
from lakejoin.locations import Location, split_query
from lakejoin.model import Composition, LogicalTable, ReadLimits, SourceFile, TableFile
from lakejoin.sources.partitioned_folders import stamp_text
from lakejoin.values.column_names import unique_names
from lakejoin.values.plain_columns import Losses, print_array

if TYPE_CHECKING:
    import pyarrow as pa

DAMAGED_DELTA = "cannot be read as a Delta table"
NO_VERSION = "no version as old as that"
_SHOWN = "%Y-%m-%d %H:%M:%S UTC"
# Features of a table that leave its files plain Parquet, with all rows and the names of the table.
_PLAIN_FEATURES = {"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"}


def list_delta_table(name: str, folder: Location, as_of: datetime | None = None) -> LogicalTable:
    """The newest version of the Delta table in a folder, or that of a moment."""
    table = _open(name, folder.uri, None)
    from deltalake.schema import PrimitiveType

    if as_of is not None:
        first = _first_commit(name, table)
        if as_of < first:
            raise UnreadableFile(name, NO_VERSION, f"the oldest in its log is of {first:{_SHOWN}}")
        table.load_as_version(as_of)
    version, schema = table.version(), table.schema()
    columns = tuple(field.name for field in schema.fields)
    nested = tuple(f.name for f in schema.fields if not isinstance(f.type, PrimitiveType))
    keys = tuple(table.metadata().partition_columns)
    files, size = _files(name, folder, table, keys)
    stamp = stamp_text(f"delta {table.metadata().id} {version}")
    composition = Composition("delta", len(files), keys, str(version))
    if not _has_plain_files(table.protocol()):
        # Read by delta-rs as a whole, since rows of its files may be deleted or columns renamed.
        whole = SourceFile(name, folder.uri, size, stamp)
        return LogicalTable(
            name,
            folder.uri,
            size,
            stamp,
            composition,
            (TableFile(whole),),
            columns,
            nested=nested,
        )
    return LogicalTable(
        name, folder.uri, size, stamp, composition, tuple(files), columns, nested=nested
    )


def _first_commit(name: str, table: Any) -> datetime:
    """When the oldest version that the log still has was written."""
    try:
        times = [commit["timestamp"] for commit in table.history() if "timestamp" in commit]
    except Exception as problem:
        raise UnreadableFile(name, DAMAGED_DELTA, first_line_of(problem)) from problem
    oldest = min(times, default=0)
    return datetime.fromtimestamp(oldest / 1000, UTC)


def _has_plain_files(protocol: Any) -> bool:
    """Whether the files of a table are as they look: version 2 may have renamed columns, and
    version 3 names its features."""
    if protocol.min_reader_version < 3:
        return bool(protocol.min_reader_version == 1)
    return set(protocol.reader_features or ()) <= _PLAIN_FEATURES


def _files(
    name: str, folder: Location, table: Any, keys: tuple[str, ...]
) -> tuple[list[TableFile], int]:
    import pyarrow as pa

    actions = pa.table(table.get_add_actions(flatten=True))
    paths, sizes = actions["path"].to_pylist(), actions["size_bytes"].to_pylist()
    times = actions["modification_time"].to_pylist()
    values = [
        print_array(actions[f"partition.{key}"].combine_chunks()).to_pylist()
        if f"partition.{key}" in actions.column_names
        else [None] * len(paths)
        for key in keys
    ]
    files = []
    for row, path in enumerate(paths):
        absolute = "://" in path or path.startswith("/")
        where = Location.of(path) if absolute else folder / unquote(path)
        file = SourceFile(f"{name}/{path}", where.uri, sizes[row], times[row])
        files.append(TableFile(file, tuple(column[row] for column in values)))
    return sorted(files, key=lambda f: f.file.name), sum(sizes)


def open_delta_table(table: LogicalTable, limits: ReadLimits) -> TableStream:
    """All rows of a Delta table, in no fixed order, without deleted ones and under the names that
    columns have now. Lists stay text: a table of them needs rows that come in the same order twice.
    """
    import pyarrow as pa

    names, notes = unique_names(list(table.columns))
    opened = _open(table.name, table.uri, int(table.composition.version))

    def read(_: Losses, needed: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        stored = [table.columns[names.index(name)] for name in needed] or list(table.columns)
        try:
            for batch in pa.RecordBatchReader.from_stream(opened.scan(stored)):
                yield batch.rename_columns(list(needed or names))
        except Exception as problem:  # the library raises errors of many kinds
            raise UnreadableFile(table.name, DAMAGED_DELTA, first_line_of(problem)) from problem

    schema = renamed_schema(pa.schema(opened.schema().to_arrow()), names)
    return open_nested(table.name, "delta", schema, read, limits, notes, lists=False)


def _open(name: str, uri: str, version: int | None) -> Any:
    try:
        from deltalake import DeltaTable
    except ImportError:
        raise MissingDependency(
            "reading Delta tables needs deltalake: pip install 'lakejoin[lakes]'"
        ) from None
    try:
        return DeltaTable(split_query(uri)[0], version=version)
    except Exception as problem:
        raise UnreadableFile(name, DAMAGED_DELTA, first_line_of(problem)) from problem
