"""Lay a report out in lines of a given width: as a table, or one result below the other."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from lakejoin.render.report import Cell, Column, Line, Report, Row, Span, line

WIDE = 110  # a table needs this many characters on a terminal
INDENT = "     "
_BAR = 10
_EIGHTHS = " ▏▎▍▌▋▊▉"
_LEAST_WIDTH = 8  # of a column that is cut
_GAP = 3  # between two columns


def lay_out_rows(report: Report, width: int, as_table: bool) -> Iterator[Line]:
    """The rows of a report: as a table, or one below the other."""
    if as_table and report.rows:
        yield from _table(report, width)
        return
    for row in report.rows:
        if not report.as_table and not report.is_numbered:  # space between blocks of lines
            yield line()
        yield from lay_out_row(report, row)


def lay_out_row(report: Report, row: Row) -> Iterator[Line]:
    """One result: its rank and names, its figures, and the lines beneath."""
    rank, *cells = row.cells
    number, indent = Span(f"{rank.text:>2}   ", "dim"), INDENT
    if report.is_numbered:
        number, indent = Span(f"{rank.text}. "), "   "
    pairs = list(zip(report.columns[1:], cells, strict=True))
    names = [_spans(cell) for column, cell in pairs if column.keep and cell.text]
    yield Line((number, *_joined(names, " · ")))
    figures = [
        _phrase(column.phrase, cell)
        for column, cell in pairs
        if not column.keep and column.phrase and cell.text not in ("", "–")
    ]
    if figures:
        yield Line((Span(indent), *_joined(figures, "   ")))
    yield from (beneath.indented(indent) for beneath in row.lines)


def _table(report: Report, width: int) -> Iterator[Line]:
    gap = " " * (_GAP if width >= WIDE else _GAP - 1)
    columns = report.columns
    rows = [[_spans(cell) for cell in row.cells] for row in report.rows]
    heads: list[tuple[Span, ...]] = [(Span(column.name, "bold"),) for column in columns]
    lines = [heads, *rows]
    natural = [max(map(_spans_width, cells)) for cells in zip(*lines, strict=True)]
    fixed = [not column.keep for column in columns]
    widths = fitted_widths(natural, fixed, width, gap=len(gap))

    def aligned(cells: Sequence[tuple[Span, ...]]) -> Line:
        parts = zip(columns, cells, widths, strict=False)
        spans = _joined([_fitted(cell, column, room) for column, cell, room in parts], gap)
        return Line(_stripped(spans))

    yield aligned(lines[0])
    yield line("─" * min(width, sum(widths) + len(gap) * (len(widths) - 1)))
    for row, cells in zip(report.rows, rows, strict=True):
        yield aligned(cells)
        yield from (beneath.indented(" " * widths[0] + gap) for beneath in row.lines)


def fitted_widths(
    natural: Sequence[int],
    fixed: Sequence[bool],
    room: int,
    least: int = _LEAST_WIDTH,
    gap: int = _GAP,
) -> list[int]:
    """The widths of the first columns that fit into `room`; the widest are cut most.

    >>> fitted_widths([30, 8, 60], [False, True, False], 80)
    [30, 8, 36]
    >>> fitted_widths([30] * 100, [False] * 100, 40)
    [11, 11, 11]
    """
    shown, used = 0, -gap
    for width, is_fixed in zip(natural, fixed, strict=True):
        used += gap + (width if is_fixed else min(width, least))
        if shown and used > room:
            break
        shown += 1
    budget = room - gap * (shown - 1)
    low, high = least, max(natural[:shown], default=0)

    def cut(limit: int) -> list[int]:
        columns = zip(natural[:shown], fixed[:shown], strict=True)
        return [width if is_fixed else min(width, limit) for width, is_fixed in columns]

    while low < high:  # the largest limit that fits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sum(cut(middle)) <= budget else (low, middle - 1)
    return cut(low)


def format_bar(share: float, width: int = _BAR) -> str:
    """A share as a bar of block characters.

    >>> format_bar(0.5, 4), format_bar(1.0, 4), format_bar(0.03, 4)
    ('██  ', '████', '▏   ')
    """
    eighths = round(max(0.0, min(share, 1.0)) * width * 8)
    if share > 0:
        eighths = max(1, eighths)  # never show a positive share as an empty bar
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


def text_width(text: str) -> int:
    """How many terminal columns a text takes.

    >>> text_width("abc"), text_width("漢字")
    (3, 4)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def clip_width(text: str, width: int, keep_end: bool = False) -> str:
    """Shorten a text to some terminal columns; the end of a path says more than its start.

    >>> clip_width("lake/towns.csv", 8), clip_width("lake/towns.csv", 8, keep_end=True)
    ('lake/to…', '…wns.csv')
    """
    if text_width(text) <= width:
        return text
    room = max(0, width - 1)
    cut = text[len(text) - room :] if keep_end else text[:room]
    while cut and text_width(cut) > room:
        cut = cut[1:] if keep_end else cut[:-1]
    return f"…{cut}" if keep_end else f"{cut}…"


def clip_spans(spans: Sequence[Span], width: int) -> tuple[Span, ...]:
    """The spans that fit into some terminal columns."""
    if _spans_width(spans) <= width:
        return tuple(spans)
    shown: list[Span] = []
    for span in spans:
        room = width - _spans_width(shown)
        if text_width(span.text) >= room:  # more follows
            text = f"{span.text}…" if text_width(span.text) == room else span.text
            return (*shown, Span(clip_width(text, room), span.style))
        shown.append(span)
    return tuple(shown)


def _spans(cell: Cell) -> tuple[Span, ...]:
    bar = () if cell.bar is None else (Span(format_bar(cell.bar), "good"), Span(" "))
    return (*bar, Span(cell.text, cell.style), *((cell.suffix,) if cell.suffix else ()))


def _phrase(phrase: str, cell: Cell) -> tuple[Span, ...]:
    before, _, after = phrase.partition("{}")
    return tuple(span for span in (Span(before), *_spans(cell), Span(after)) if span.text)


def _joined(groups: Sequence[Sequence[Span]], gap: str) -> tuple[Span, ...]:
    return tuple(
        span for i, group in enumerate(groups) for span in ((Span(gap), *group) if i else group)
    )


def _fitted(cell: Sequence[Span], column: Column, width: int) -> tuple[Span, ...]:
    """A cell cut or filled to a width."""
    room = width - _spans_width(cell)
    if room < 0:
        text = "".join(span.text for span in cell)
        clipped = clip_width(text, width, column.keep == "end")
        return (Span(clipped + " " * (width - text_width(clipped)), cell[0].style),)
    fill = (Span(" " * room),) if room else ()
    return (*fill, *cell) if column.right else (*cell, *fill)


def _stripped(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """Without spaces at the end."""
    while spans and not spans[-1].text.strip():
        spans = spans[:-1]
    return spans


def _spans_width(spans: Sequence[Span]) -> int:
    return sum(text_width(span.text) for span in spans)
