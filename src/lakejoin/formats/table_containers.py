"""Read files with several tables: Excel and OpenDocument workbooks (in a child process only, as
their library can abort) and SQLite."""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from lakejoin.errors import MissingDependency, UnreadableFile
from lakejoin.formats.delimited.text_layout import find_start, join_header_rows
from lakejoin.formats.table_stream import Blob, TableStream, first_line_of, wrap_library_errors
from lakejoin.model import ReadLimits, Skipped
from lakejoin.quoting import quote_identifier
from lakejoin.values.column_names import numbered_names, unique_names
from lakejoin.values.plain_columns import Losses

_TABLES = (
    "select name from sqlite_master where type = 'table' and name not like 'sqlite\\_%' "
    "escape '\\' order by name"
)


def open_sqlite(blob: Blob, limits: ReadLimits) -> Iterator[TableStream | Skipped]:
    """Open the tables of an SQLite file, named `file#table`."""
    with _connected(blob) as connection:
        tables = connection.execute(_TABLES).fetchall()
    if not tables:
        raise UnreadableFile(blob.name, "no tables inside")
    for (table,) in tables:
        try:
            yield _open_table(blob, table, limits)
        except UnreadableFile as problem:
            yield Skipped(f"{blob.name}#{table}", problem.reason, problem.detail)


def sqlite_tables(
    path: str,
) -> Iterator[tuple[str, list[str], tuple[str, ...], list[tuple[Names, str, Names]]]]:
    """The tables of a database that is in use: name, columns, primary key and foreign keys."""
    with closing(_connect(path, live=True)) as connection:
        found = connection.execute(_TABLES).fetchall()
        for (table,) in found:
            info = connection.execute(
                "select name, pk from pragma_table_xinfo(?) where hidden <> 1 order by cid",
                (table,),
            ).fetchall()
            primary = tuple(n for n, _ in sorted((r for r in info if r[1]), key=lambda r: r[1]))
            yield table, [name for name, _ in info], primary, _foreign_keys(connection, table)


Names = tuple[str, ...]


def _foreign_keys(connection: sqlite3.Connection, table: str) -> list[tuple[Names, str, Names]]:
    rows = connection.execute(
        'select id, "table", "from", "to" from pragma_foreign_key_list(?) order by id, seq',
        (table,),
    ).fetchall()
    keys = []
    for number in dict.fromkeys(row[0] for row in rows):
        mine = [row for row in rows if row[0] == number]
        others = tuple(row[3] for row in mine)
        if None in others:  # the primary key, without naming it
            others = tuple(
                name
                for (name,) in connection.execute(
                    "select name from pragma_table_info(?) where pk order by pk", (mine[0][1],)
                )
            )
        keys.append((tuple(row[2] for row in mine), mine[0][1], others))
    return keys


def open_live_table(path: str, table: str, name: str, limits: ReadLimits) -> TableStream:
    """Open a table of a database that is in use, with what is committed but only in its log."""
    blob = Blob(name, name, lambda: open(path, "rb"), path=path)  # noqa: SIM115, PTH123
    return _open_table(blob, table, limits, name, live=True)


def _open_table(
    blob: Blob, table: str, limits: ReadLimits, name: str = "", live: bool = False
) -> TableStream:
    name = name or f"{blob.name}#{table}"
    with _connected(blob, live) as connection:
        cursor = connection.execute(f"select * from {quote_identifier(table)} limit 0")
        raw = [column[0] for column in cursor.description]
        if len(raw) > limits.columns:
            raise UnreadableFile(name, "too many columns", f"the limit is {limits.columns}")
        kinds = [_kind(connection, table, column) for column in raw]
    names, notes = unique_names(raw)
    step = max(1, min(50_000, 1_000_000 // len(raw)))

    def reading(_: Losses) -> Iterator[pa.RecordBatch]:
        with _connected(blob, live) as connection:
            cursor = connection.execute(f"select * from {quote_identifier(table)}")
            while rows := cursor.fetchmany(step):
                yield _table_batch(rows, kinds, names)

    return TableStream(name, "sqlite", names, reading, None, notes, limits)


def _connect(path: str, live: bool) -> sqlite3.Connection:
    # immutable: files of a lake are only read, and a read-only folder allows no lock files.
    uri = f"file:{quote(path)}?mode=ro" + ("" if live else "&immutable=1")
    return sqlite3.connect(uri, uri=True)


@contextmanager
def _connected(blob: Blob, live: bool = False) -> Iterator[sqlite3.Connection]:
    try:
        with blob.as_path() as path, closing(_connect(path, live)) as connection:
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            yield connection
    except sqlite3.Error as problem:
        raise UnreadableFile(blob.name, "damaged SQLite file", first_line_of(problem)) from None


def _kind(connection: sqlite3.Connection, table: str, column: str) -> str:
    """The narrowest type that fits every cell; SQLite does not enforce declared types."""
    types = connection.execute(
        f"select distinct typeof({quote_identifier(column)}) from {quote_identifier(table)}"
    ).fetchall()
    kinds = {kind for (kind,) in types} - {"null"}
    if kinds == {"integer"}:
        return "integer"
    return "real" if kinds and kinds <= {"integer", "real"} else "text"


def _table_batch(
    rows: list[tuple[Any, ...]], kinds: list[str], names: tuple[str, ...]
) -> pa.RecordBatch:
    types = {"integer": pa.int64(), "real": pa.float64()}
    columns = []
    for values, kind in zip(zip(*rows, strict=True), kinds, strict=True):
        if kind == "text":
            columns.append(_text_array(values))
        else:
            columns.append(pa.array(values, types[kind]))
    return pa.RecordBatch.from_arrays(columns, names=list(names))


def _text_array(values: tuple[Any, ...]) -> pa.Array:
    if all(v is None or isinstance(v, bytes) for v in values):
        return pa.array(values, pa.binary())  # later becomes text or base64, like all bytes
    texts = [v if v is None or isinstance(v, str) else _text(v) for v in values]
    return pa.array(texts, pa.string())


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else repr(value)


_SAMPLE_ROWS = 200
_BATCH_CELLS = 1_000_000


def open_excel(blob: Blob, limits: ReadLimits) -> Iterator[TableStream | Skipped]:
    """Open the sheets of a workbook, named `file#sheet`; needs python-calamine."""
    try:
        import python_calamine
    except ImportError:
        raise MissingDependency(
            f"reading {blob.name} needs python-calamine: pip install 'lakejoin[formats]'"
        ) from None
    with blob.as_path() as path:
        try:
            book = python_calamine.CalamineWorkbook.from_path(path)
        except (python_calamine.CalamineError, OSError, ValueError) as problem:
            raise UnreadableFile(blob.name, "damaged workbook", first_line_of(problem)) from None
        for sheet in book.sheet_names:
            name = f"{blob.name}#{sheet}"
            try:
                with wrap_library_errors(blob, "damaged sheet"):
                    rows = book.get_sheet_by_name(sheet).to_python(skip_empty_area=True)
            except (UnreadableFile, python_calamine.CalamineError) as problem:
                yield Skipped(name, "damaged sheet", first_line_of(problem))
                continue
            yield _open_sheet(name, rows, limits)


def _open_sheet(name: str, rows: list[list[Any]], limits: ReadLimits) -> TableStream | Skipped:
    width = max((_filled_width(row) for row in rows), default=0)
    if width == 0:
        return Skipped(name, "empty sheet")
    if width > limits.columns:
        return Skipped(name, "too many columns", f"{width}, the limit is {limits.columns}")
    sample = [[cell_text(cell) for cell in row[:width]] for row in rows[:_SAMPLE_ROWS]]
    start = find_start(sample, width)
    header = sample[start.skip : start.skip + start.header]
    notes: tuple[str, ...] = ()
    if header:
        names, notes = unique_names(
            header[0] if len(header) == 1 else join_header_rows(header, width)
        )
    else:
        names = numbered_names(width)
    first = start.skip + start.header
    titles = [" ".join(filter(None, row)) for row in sample[: start.skip]]
    titles = [title for title in titles if title]

    def reading(losses: Losses) -> Iterator[pa.RecordBatch]:
        if titles:
            losses.add("line before the table", len(titles), titles[0][:100])
        step = max(1, _BATCH_CELLS // width)
        for begin in range(first, len(rows), step):
            yield _sheet_batch(rows[begin : begin + step], names)

    return TableStream(name, "excel", names, reading, None, notes, limits)


def _filled_width(row: list[Any]) -> int:
    return max((k + 1 for k, cell in enumerate(row) if cell != ""), default=0)


def _sheet_batch(rows: list[list[Any]], names: tuple[str, ...]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True))[: len(names)]
    arrays = [pa.array(list(map(cell_text, column)), pa.string()) for column in columns]
    return pa.RecordBatch.from_arrays(arrays, names=list(names))


def cell_text(value: Any) -> str:
    """A cell as text: whole numbers without decimals, ISO dates, booleans in lower case.

    >>> [cell_text(v) for v in (7.0, 2.5, True, datetime.date(2020, 1, 31), "x")]
    ['7', '2.5', 'true', '2020-01-31', 'x']
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime.datetime):
        if value.time() == datetime.time():
            return value.date().isoformat()
        return value.isoformat(sep=" ")
    return str(value)
