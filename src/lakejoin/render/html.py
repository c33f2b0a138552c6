"""Render a report as HTML for notebooks; all text is escaped here."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from lakejoin.render.report import Cell, Column, Report, Row
from lakejoin.text_format import clip

if TYPE_CHECKING:
    import pyarrow as pa

_LONGEST = 300
# Half-transparent colours suit light and dark pages.
_BAR_STYLE = (
    "background:linear-gradient(to right,rgba(56,132,255,.45) {share:.1f}%,"
    "rgba(128,128,128,.15) {share:.1f}%);padding:1px 6px;min-width:7em;text-align:right"
)


def render_html(report: Report, rows: pa.Table | None = None) -> str:
    """The report as a table with bars, and then some `rows` of data."""
    shown = [f"<div><b>{_escaped(report.title.text)}</b></div>"]
    if report.plot is not None:
        shown.append(f"<div>{report.plot.html}</div>")
    if report.rows:
        details = any(row.lines for row in report.rows)
        heads = "".join(
            f'<th style="{_align(column)}">{_escaped(column.name)}</th>'
            for column in report.columns
        )
        body = "".join(_row(row, report.columns, details) for row in report.rows)
        heads += "<th></th>" if details else ""
        shown.append(f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>")
    more = [f"… and {report.left_out:,} more"] if report.left_out else []
    notes = (f"note: {note}" for note in report.notes)
    below = [*more, *(line.text for line in report.after), *notes]
    shown += [f"<div>{_escaped(text)}</div>" for text in below if text.strip()]
    shown += [_data(rows)] if rows is not None else []
    return f'<div class="lakejoin-answer">{"".join(shown)}</div>'


def _row(row: Row, columns: tuple[Column, ...], details: bool) -> str:
    cells = "".join(
        f'<td style="{_align(column)}">{_cell(cell)}</td>'
        for column, cell in zip(columns, row.cells, strict=True)
    )
    if details:
        lines = "<br>".join(_escaped(line.text) for line in row.lines)
        cells += f'<td style="text-align:left">{lines}</td>'
    return f"<tr>{cells}</tr>"


def _cell(cell: Cell) -> str:
    text = _escaped(cell.text + (cell.suffix.text if cell.suffix else ""))
    if cell.bar is None:
        return text
    style = _BAR_STYLE.format(share=100 * max(0.0, min(cell.bar, 1.0)))
    return f'<div style="{style}">{text}</div>'


def _data(rows: pa.Table) -> str:
    heads = "".join(f"<th>{_escaped(name)}</th>" for name in rows.column_names)
    body = "".join(
        "<tr>" + "".join(f"<td>{_escaped(clip(cell))}</td>" for cell in cells) + "</tr>"
        for cells in zip(*(column.to_pylist() for column in rows.columns), strict=True)
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _align(column: Column) -> str:
    return f"text-align:{'right' if column.right else 'left'}"


def _escaped(text: str) -> str:
    return html.escape(clip(text.strip(), _LONGEST))
