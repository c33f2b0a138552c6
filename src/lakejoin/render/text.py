"""Render a report as plain text for `repr`."""

from __future__ import annotations

import textwrap

from lakejoin.render.layout import clip_spans, clip_width, lay_out_row, lay_out_rows
from lakejoin.render.report import Line, Report, Row, line
from lakejoin.text_format import to_one_line

WIDTH = 100


def render_text(report: Report, width: int = WIDTH) -> str:
    """The report in lines of at most `width` characters."""
    shown = [report.title]
    if report.plot is not None:
        shown += [line(), *map(line, report.plot.lines)]
    if report.rows and report.as_table:
        shown.append(line())
    shown += lay_out_rows(report, width, report.as_table)
    if report.left_out:
        shown.append(line(f"… and {report.left_out:,} more"))
    shown += report.after
    shown += [line(f"note: {note}") for note in report.notes]
    return "\n".join(text for part in shown for text in _fit(part, width)).rstrip()


def render_row(report: Report, row: Row, width: int = WIDTH) -> str:
    """One row of a report in lines of at most `width` characters."""
    return "\n".join(text for part in lay_out_row(report, row) for text in _fit(part, width))


def _fit(shown: Line, width: int) -> list[str]:
    if shown.cut:
        return ["".join(span.text for span in clip_spans(shown.spans, width)).rstrip()]
    text = to_one_line(shown.text.rstrip())
    indent = text[: len(text) - len(text.lstrip())]
    parts = textwrap.wrap(text, max(width, 20), subsequent_indent=indent, break_on_hyphens=False)
    return [clip_width(part, width) for part in parts or [""]]
