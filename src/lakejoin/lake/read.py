"""Any supported file as a table: the public face of reading."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from lakejoin.errors import InputError, UnreadableFile
from lakejoin.lake.blob import Blob, problems_of
from lakejoin.lake.compression import packed_as, unpacked, zip_members
from lakejoin.lake.formats import recognise
from lakejoin.lake.tables import DEFAULT_LIMITS, Table, TableStream
from lakejoin.model import ReadLimits, Skipped, SourceFile
from lakejoin.storage import Place

__all__ = ["Table", "TableStream", "open_tables", "read"]

_HEAD = 1 << 12
_DEPTH = 3
_Opener = Callable[[Blob, ReadLimits], Iterator[TableStream | Skipped]]


def open_tables(
    source: SourceFile, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[TableStream | Skipped]:
    """The tables of a file, one after the other; what cannot be read inside a container is skipped.

    Raises `UnreadableFile` where the file gives no table at all.
    """
    blob = Blob.of_file(source.name, source.uri, source.size)
    yield from _tables(blob, limits, 0)


def _tables(blob: Blob, limits: ReadLimits, depth: int) -> Iterator[TableStream | Skipped]:
    with problems_of(blob, "cannot be opened"):
        head = blob.head(_HEAD)
    kind = packed_as(head)
    if kind is not None:
        if depth >= _DEPTH:
            raise UnreadableFile(blob.name, "packed too deeply")
        yield from _tables(unpacked(blob, kind, limits), limits, depth + 1)
        return
    form = recognise(head, blob.label)
    if form == "zip":
        yield from _zip(blob, limits, depth)
        return
    if form == "empty":
        raise UnreadableFile(blob.name, "empty file")
    if form.startswith("not a table"):
        raise UnreadableFile(blob.name, "not a table", form.partition(": ")[2])
    yield from _opener(form)(blob, limits)


def _opener(form: str) -> _Opener:
    def one(opener: Callable[[Blob, ReadLimits], TableStream]) -> _Opener:
        return lambda blob, limits: iter((opener(blob, limits),))

    from lakejoin.lake import columnar, delimited, json_text

    return {
        "csv": one(delimited.open_delimited),
        "json": one(json_text.open_json),
        "parquet": one(columnar.open_parquet),
        "arrow": one(columnar.open_arrow),
        "arrow stream": one(columnar.open_arrow_stream),
        "orc": one(columnar.open_orc),
    }[form]


def _zip(blob: Blob, limits: ReadLimits, depth: int) -> Iterator[TableStream | Skipped]:
    for member in zip_members(blob, limits):
        try:
            yield from _tables(member, limits, depth + 1)
        except UnreadableFile as problem:
            yield Skipped(problem.path, problem.reason, problem.detail)


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
    tables = [Table.of(t) for t in open_tables(source, limits) if isinstance(t, TableStream)]
    return tables[0] if len(tables) == 1 and "#" not in tables[0].name else tables
