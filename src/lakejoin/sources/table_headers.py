"""The column names of files, to see which files belong to one table."""

from __future__ import annotations

from collections.abc import Iterable

from lakejoin.errors import LakejoinError
from lakejoin.formats.file_reader import open_tables
from lakejoin.formats.table_stream import TableStream
from lakejoin.model import SourceFile

# Formats of one table a file, by their ending; `_PACKED` may follow.
_ENDINGS = (
    *("csv", "tsv", "psv", "txt", "dat", "tab"),
    *("json", "jsonl", "ndjson"),
    *("parquet", "pq", "orc", "avro", "arrow", "feather", "ipc"),
)
_PACKED = ("gz", "gzip", "bz2", "xz", "zst", "zstd", "lz4")
_ALIKE = 0.8  # of the columns of the narrower header


def split_ending(name: str) -> tuple[str, str]:
    """A file's name without the ending of its format, and that ending, without a packed one.

    >>> split_ending("part-0.c000.csv.gz"), split_ending("book.xlsx"), split_ending("part-00000")
    (('part-0.c000', 'csv'), ('book.xlsx', ''), ('part-00000', ''))
    """
    parts = name.split(".")
    last = len(parts) - 1
    if last > 0 and parts[last].lower() in _PACKED:
        last -= 1
    if last > 0 and parts[last].lower() in _ENDINGS:
        return ".".join(parts[:last]), parts[last].lower()
    return name, ""


def read_header(file: SourceFile) -> tuple[str, ...] | None:
    """The names of a file's columns; None if it is not exactly one table with a header."""
    try:
        streams = [stream for stream in open_tables(file) if isinstance(stream, TableStream)]
    except (LakejoinError, OSError, ValueError):
        return None  # reading the file tells what is wrong with it
    if len(streams) != 1 or (streams[0].dialect is not None and not streams[0].dialect.header):
        return None
    return streams[0].column_names


def are_alike(headers: Iterable[tuple[str, ...] | None]) -> bool:
    """Whether all headers are nearly that of the first: most columns of the narrower one are in
    the wider one, however they are ordered. A file without a header does not count.

    >>> are_alike([("id", "name"), None, ("Name", "id", "age")]), are_alike([("id",), ("code",)])
    (True, False)
    """
    sets = [{name.strip().casefold() for name in h} for h in headers if h is not None]
    return all(
        len(sets[0] & other) >= _ALIKE * max(1, min(len(sets[0]), len(other))) for other in sets[1:]
    )
