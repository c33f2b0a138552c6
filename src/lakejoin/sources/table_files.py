"""Opens the files of a logical table, each by the reader of its kind of table."""

from __future__ import annotations

from collections.abc import Iterator

from lakejoin.formats.file_reader import open_tables
from lakejoin.formats.table_stream import TableStream
from lakejoin.model import LogicalTable, ReadLimits, Skipped, TableFile
from lakejoin.sources.databases import DATABASE_KINDS, open_database_table
from lakejoin.sources.delta_tables import open_delta_table
from lakejoin.sources.iceberg_tables import open_iceberg_file


def open_table_file(
    table: LogicalTable, member: TableFile, limits: ReadLimits
) -> Iterator[TableStream | Skipped]:
    """Open a file of a logical table; a file that is no plain file is read by a library."""
    if is_plain_file(table, member):
        yield from open_tables(member.file, limits)
    elif table.composition.kind == "delta":
        yield open_delta_table(table, limits)
    elif table.composition.kind in DATABASE_KINDS:
        yield open_database_table(table, limits)
    else:
        yield open_iceberg_file(table, member.file, limits)


def is_plain_file(table: LogicalTable, member: TableFile) -> bool:
    """Whether all that a file contains is in its table, under the same names."""
    if table.composition.kind == "delta":
        return member.file.uri != table.uri  # else the folder, read as a whole
    return table.composition.kind not in ("iceberg", *DATABASE_KINDS)


def is_one_stream(table: LogicalTable, member: TableFile) -> bool:
    """Whether a table is read as a whole by its library, in one go."""
    kind = table.composition.kind
    return kind in DATABASE_KINDS or (kind == "delta" and not is_plain_file(table, member))
