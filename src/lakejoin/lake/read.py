"""Any supported file as a table: the public face of reading."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from lakejoin.errors import InputError, LakejoinError, UnreadableFile
from lakejoin.lake import isolate
from lakejoin.lake.blob import Blob, first_line_of, problems_of
from lakejoin.lake.compression import packed_as, unpacked, zip_members, zip_names
from lakejoin.lake.formats import is_workbook, recognise
from lakejoin.lake.tables import DEFAULT_LIMITS, Table, TableStream
from lakejoin.model import ReadLimits, Skipped, SourceFile
from lakejoin.storage import Place

__all__ = ["Table", "TableStream", "file_and_part", "open_one", "open_tables", "read"]

_HEAD = 1 << 12
_DEPTH = 3
_LISTED = 20  # parts of a container that an error names
_RISKY = ("excel",)
_Opener = Callable[[Blob, ReadLimits], Iterator[TableStream | Skipped]]


def open_tables(
    source: SourceFile, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[TableStream | Skipped]:
    """The tables of a file, one after the other; a part that cannot be read is `Skipped`.

    Raises `UnreadableFile` where the file gives no table at all. Formats whose reader may take the
    process down with it are read in a child process.
    """
    yield from _tables(Blob.of_file(source.name, source.uri, source.size), limits, _Way())


def tables_in_process(blob: Blob, limits: ReadLimits) -> Iterator[TableStream | Skipped]:
    """The tables of these bytes without any child process: what the child process itself runs."""
    yield from _tables(blob, limits, _Way(shielded=True))


@dataclass(frozen=True, slots=True)
class _Way:
    """How deep inside packed files we are, and whether this process may be put at risk."""

    depth: int = 0
    shielded: bool = False

    def inside(self, blob: Blob) -> _Way:
        if self.depth >= _DEPTH:
            raise UnreadableFile(blob.name, "packed too deeply")
        return replace(self, depth=self.depth + 1)


def _tables(blob: Blob, limits: ReadLimits, way: _Way) -> Iterator[TableStream | Skipped]:
    with problems_of(blob, "cannot be opened"):
        head = blob.head(_HEAD)
    kind = packed_as(head)
    if kind is not None:
        yield from _tables(unpacked(blob, kind, limits), limits, way.inside(blob))
        return
    form = recognise(head, blob.label)
    if form == "zip":
        with problems_of(blob, "damaged zip archive"):
            names = zip_names(blob)
        form = "excel" if is_workbook(names) else form
    if form == "zip":
        yield from _zip(blob, limits, way.inside(blob))
    elif form == "empty":
        raise UnreadableFile(blob.name, "empty file")
    elif form.startswith("not a table"):
        raise UnreadableFile(blob.name, "not a table", form.partition(": ")[2])
    elif form in _RISKY and not way.shielded:
        yield from isolate.open_blob_isolated(blob, limits)
    else:
        yield from _opener(form)(blob, limits)


def _zip(blob: Blob, limits: ReadLimits, way: _Way) -> Iterator[TableStream | Skipped]:
    any_table = False
    for member in zip_members(blob, limits):
        try:
            for found in _tables(member, limits, way):
                any_table = True
                yield found
        except UnreadableFile as problem:
            any_table = True
            yield Skipped(problem.path, problem.reason, problem.detail)
    if not any_table:
        raise UnreadableFile(blob.name, "empty archive")


def _opener(form: str) -> _Opener:
    """The reader of a format; each is imported only once it is needed."""
    from lakejoin.lake import avro, columnar, delimited, excel, json_text, sqlite

    def one(opener: Callable[[Blob, ReadLimits], TableStream]) -> _Opener:
        return lambda blob, limits: iter((opener(blob, limits),))

    return {
        "csv": one(delimited.open_delimited),
        "json": one(json_text.open_json),
        "parquet": one(columnar.open_parquet),
        "arrow": one(columnar.open_arrow),
        "arrow stream": one(columnar.open_arrow_stream),
        "orc": one(columnar.open_orc),
        "avro": one(avro.open_avro),
        "excel": excel.open_excel,
        "sqlite": sqlite.open_sqlite,
    }[form]


def read(path: str | os.PathLike[str], limits: ReadLimits = DEFAULT_LIMITS) -> Table | list[Table]:
    """A file as a `Table`, or the list of its tables where it is a container of several.

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
    place = Place.of(path)
    if place.kind() != "file":
        raise InputError(f"there is no file {path}")
    entry = place.entry()
    source = SourceFile(place.name, place.uri, entry.size, entry.mtime_ns)
    tables: list[Table] = []
    skipped: list[Skipped] = []
    with readable(source.name):
        for found in open_tables(source, limits):
            if isinstance(found, Skipped):
                skipped.append(found)
            else:
                tables.append(Table.of(found))
    if not tables:
        raise UnreadableFile(source.name, "nothing to read inside", "; ".join(map(str, skipped)))
    if len(tables) == 1 and ("#" not in tables[0].name or tables[0].format == "excel"):
        return tables[0]
    return tables


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Whatever fails in a reader is told as a file that cannot be read."""
    try:
        yield
    except LakejoinError:
        raise
    except Exception as problem:
        detail = f"{type(problem).__name__}: {first_line_of(problem)}"
        raise UnreadableFile(name, "reader failed", detail) from problem


def file_and_part(path: str) -> tuple[str, str]:
    """The file that a text names, and the part after a `#`; no file where there is none."""
    if kind_of(path) == "file":
        return path, ""
    front, mark, part = path.rpartition("#")
    while mark:
        if front and kind_of(front) == "file":
            return front, part
        front, mark, more = front.rpartition("#")
        part = f"{more}#{part}"
    return "", ""


def kind_of(path: str) -> str:
    """As `Place.kind`; a text that can be no name of a file is `"missing"`."""
    place = Place.of(path)
    try:
        return place.kind()
    except OSError:
        if place.local:
            return "missing"
        raise


def open_one(path: str, limits: ReadLimits = DEFAULT_LIMITS) -> TableStream:
    """The one table of a file, or, as `file#part`, a part of a container of several; unread yet."""
    front, part = file_and_part(path)
    if not front:
        raise InputError(f"there is no file {path}")
    place = Place.of(front)
    entry = place.entry()
    source = SourceFile(place.name, place.uri, entry.size, entry.mtime_ns)
    found: list[TableStream] = []
    skipped: list[Skipped] = []
    with readable(source.name):
        for one in open_tables(source, limits):
            if isinstance(one, Skipped):
                skipped.append(one)
            elif part and one.name.partition("#")[2] == part:
                return one
            else:
                found.append(one)
    if not part and len(found) == 1:
        return found[0]
    parts = ", ".join(one.name.partition("#")[2] for one in found[:_LISTED])
    parts += f" and {len(found) - _LISTED:,} more" if len(found) > _LISTED else ""
    if not found:
        raise UnreadableFile(source.name, "nothing to read inside", "; ".join(map(str, skipped)))
    if part:
        raise InputError(f"{place.name} has no part {part!r}; its parts are: {parts}")
    raise InputError(
        f"{place.name} holds several tables; name one as {place.name}#PART: its parts are {parts}"
    )
