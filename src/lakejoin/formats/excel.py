"""Read Excel and OpenDocument workbooks: every sheet is a table of text columns.

The library can abort the whole process on a damaged file, so this runs in a child process only.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lakejoin.errors import MissingDependency, UnreadableFile
from lakejoin.formats.blob import Blob, first_line_of, wrap_library_errors
from lakejoin.formats.delimited.header import find_start, join_header_rows
from lakejoin.values.losses import Losses
from lakejoin.values.column_names import numbered_names, unique_names
from lakejoin.formats.table_stream import TableStream
from lakejoin.model import ReadLimits, Skipped

if TYPE_CHECKING:
    import pyarrow as pa

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
        names, notes = unique_names(header[0] if len(header) == 1 else join_header_rows(header, width))
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
    import pyarrow as pa

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
