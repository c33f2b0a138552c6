"""Open the tables of a file, whatever its format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from lakejoin.errors import InputError, LakejoinError, UnreadableFile
from lakejoin.formats.blob import Blob, first_line_of, wrap_library_errors
from lakejoin.formats.file_kinds import compression_of, unpack_blob, zip_members, zip_names
from lakejoin.formats.formats import is_workbook, recognise_format
from lakejoin.formats.isolate import open_blob_isolated
from lakejoin.formats.table_stream import DEFAULT_LIMITS, Table, TableStream
from lakejoin.model import ReadLimits, Skipped, SourceFile
from lakejoin.locations import Location

__all__ = ["Table", "TableStream", "split_part", "open_table", "open_tables", "read"]

_HEAD = 1 << 12
_DEPTH = 3
_LISTED = 20  # parts of a container that an error lists
_RISKY = ("excel",)
_Opener = Callable[[Blob, ReadLimits], Iterator[TableStream | Skipped]]


def open_tables(
    source: SourceFile, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[TableStream | Skipped]:
    """Open the tables of a file one by one; a part that cannot be read is `Skipped`.

    Raises `UnreadableFile` if the file contains no table. Formats whose reader may crash are read
    in a child process.
    """
    yield from _tables(Blob.of_file(source.name, source.uri, source.size), limits, _Context())


def open_tables_in_process(blob: Blob, limits: ReadLimits) -> Iterator[TableStream | Skipped]:
    """Open the tables of a blob without a child process; the child process itself runs this."""
    yield from _tables(blob, limits, _Context(shielded=True))


@dataclass(frozen=True, slots=True)
class _Context:
    """How deep inside archives we are, and whether a crash of this process is acceptable."""

    depth: int = 0
    shielded: bool = False

    def inside(self, blob: Blob) -> _Context:
        if self.depth >= _DEPTH:
            raise UnreadableFile(blob.name, "archives nested too deeply")
        return replace(self, depth=self.depth + 1)


def _tables(blob: Blob, limits: ReadLimits, context: _Context) -> Iterator[TableStream | Skipped]:
    with wrap_library_errors(blob, "cannot be opened"):
        head = blob.head(_HEAD)
    kind = compression_of(head)
    if kind is not None:
        yield from _tables(unpack_blob(blob, kind, limits), limits, context.inside(blob))
        return
    form = recognise_format(head, blob.label)
    if form == "zip":
        with wrap_library_errors(blob, "damaged zip archive"):
            names = zip_names(blob)
        form = "excel" if is_workbook(names) else form
    if form == "zip":
        yield from _zip(blob, limits, context.inside(blob))
    elif form == "empty":
        raise UnreadableFile(blob.name, "empty file")
    elif form.startswith("not a table"):
        raise UnreadableFile(blob.name, "not a table", form.partition(": ")[2])
    elif form in _RISKY and not context.shielded:
        yield from open_blob_isolated(blob, limits)
    else:
        yield from _opener(form)(blob, limits)


def _zip(blob: Blob, limits: ReadLimits, context: _Context) -> Iterator[TableStream | Skipped]:
    any_table = False
    for member in zip_members(blob, limits):
        try:
            for table in _tables(member, limits, context):
                any_table = True
                yield table
        except UnreadableFile as problem:
            any_table = True
            yield Skipped(problem.path, problem.reason, problem.detail)
    if not any_table:
        raise UnreadableFile(blob.name, "empty archive")


def _opener(form: str) -> _Opener:
    """The reader of a format; readers are imported on first use."""
    from lakejoin.formats.avro import open_avro
    from lakejoin.formats.typed_files import open_arrow, open_arrow_stream, open_orc, open_parquet
    from lakejoin.formats.delimited.delimited import open_delimited
    from lakejoin.formats.excel import open_excel
    from lakejoin.formats.json_files import open_json
    from lakejoin.formats.table_containers import open_sqlite

    def single(opener: Callable[[Blob, ReadLimits], TableStream]) -> _Opener:
        return lambda blob, limits: iter((opener(blob, limits),))

    return {
        "csv": single(open_delimited),
        "json": single(open_json),
        "parquet": single(open_parquet),
        "arrow": single(open_arrow),
        "arrow stream": single(open_arrow_stream),
        "orc": single(open_orc),
        "avro": single(open_avro),
        "excel": open_excel,
        "sqlite": open_sqlite,
    }[form]


def read(path: str | os.PathLike[str], limits: ReadLimits = DEFAULT_LIMITS) -> Table | list[Table]:
    """Read a file as a `Table`, or as a list of tables if it contains several.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "towns.csv"
    ...     _ = file.write_text("town;people\\nUlm;126000\\nBonn;331000\\n")
    ...     table = read(file)
    >>> table
    Table('towns.csv', csv, 2 rows x 2 columns)
    >>> table.dialect.delimiter
    ';'
    """
    file = Location.of(path)
    if file.kind() != "file":
        raise InputError(f"there is no file {path}")
    entry = file.entry()
    source = SourceFile(file.name, file.uri, entry.size, entry.mtime_ns)
    tables: list[Table] = []
    skipped: list[Skipped] = []
    with wrap_reader_errors(source.name):
        for stream in open_tables(source, limits):
            if isinstance(stream, Skipped):
                skipped.append(stream)
            else:
                tables.append(Table.of(stream))
    if not tables:
        raise UnreadableFile(source.name, "nothing to read inside", "; ".join(map(str, skipped)))
    if len(tables) == 1 and ("#" not in tables[0].name or tables[0].format == "excel"):
        return tables[0]
    return tables


@contextmanager
def wrap_reader_errors(name: str) -> Iterator[None]:
    """Report any failure of a reader as `UnreadableFile`."""
    try:
        yield
    except LakejoinError:
        raise
    except Exception as problem:
        detail = f"{type(problem).__name__}: {first_line_of(problem)}"
        raise UnreadableFile(name, "reader failed", detail) from problem


def split_part(path: str) -> tuple[str, str]:
    """Split `file#part` into an existing file and its part; two empty texts if there is none."""
    if location_kind(path) == "file":
        return path, ""
    front, mark, part = path.rpartition("#")
    while mark:
        if front and location_kind(front) == "file":
            return front, part
        front, mark, more = front.rpartition("#")
        part = f"{more}#{part}"
    return "", ""


def location_kind(path: str) -> str:
    """Like `Location.kind`; `"missing"` for a text that cannot be a file name."""
    location = Location.of(path)
    try:
        return location.kind()
    except OSError:
        if location.local:
            return "missing"
        raise


def open_table(path: str, limits: ReadLimits = DEFAULT_LIMITS) -> TableStream:
    """Open the only table of a file, or the table that `file#part` names."""
    front, part = split_part(path)
    if not front:
        raise InputError(f"there is no file {path}")
    file = Location.of(front)
    entry = file.entry()
    source = SourceFile(file.name, file.uri, entry.size, entry.mtime_ns)
    streams: list[TableStream] = []
    skipped: list[Skipped] = []
    with wrap_reader_errors(source.name):
        for stream in open_tables(source, limits):
            if isinstance(stream, Skipped):
                skipped.append(stream)
            elif part and stream.name.partition("#")[2] == part:
                return stream
            else:
                streams.append(stream)
    if not part and len(streams) == 1:
        return streams[0]
    parts = ", ".join(stream.name.partition("#")[2] for stream in streams[:_LISTED])
    parts += f" and {len(streams) - _LISTED:,} more" if len(streams) > _LISTED else ""
    if not streams:
        raise UnreadableFile(source.name, "nothing to read inside", "; ".join(map(str, skipped)))
    if part:
        raise InputError(f"{file.name} has no part {part!r}; its parts are: {parts}")
    raise InputError(
        f"{file.name} contains several tables; name one as {file.name}#PART: its parts are {parts}"
    )
