"""What an answer shows: a title, rows of figures with lines beneath, and notes.

Every answer describes itself as a `Report`; the renderers turn it into text, HTML, terminal output
or text for agents.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Style = Literal["", "bold", "dim", "good", "bad", "warn", "alarm", "accent"]


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line in one style."""

    text: str
    style: Style = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text. A line that is too long is wrapped, or cut if `cut`."""

    spans: tuple[Span, ...]
    cut: bool = False

    @property
    def text(self) -> str:
        """The line without styles."""
        return "".join(span.text for span in self.spans)

    def indented(self, indent: str) -> Line:
        """The same line after an indent."""
        return Line((Span(indent), *self.spans), self.cut)


def line(*parts: str | Span, style: Style = "", cut: bool = False) -> Line:
    """A line of texts and spans; `style` is for the texts.

    >>> line("a ", Span("b", "bold")).text
    'a b'
    """
    spans = (part if isinstance(part, Span) else Span(part, style) for part in parts)
    return Line(tuple(spans), cut)


def lines(texts: Iterable[str], style: Style = "") -> tuple[Line, ...]:
    """A line for each text that is not empty."""
    return tuple(line(text, style=style) for text in texts if text)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of figures or names.

    `keep` is what stays of a name that is cut: its `start` or its `end`; figures are never cut. If
    the cells are listed in one line, a cell is shown as in `phrase`; an empty phrase leaves it out.
    """

    name: str
    right: bool = True
    keep: Literal["", "start", "end"] = ""
    phrase: str = "{}"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell; a `bar` for a share of 0 to 1 is drawn before its text."""

    text: str
    style: Style = ""
    bar: float | None = None
    suffix: Span | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one result, and the lines beneath them."""

    cells: tuple[Cell, ...]
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture above the rows, as lines of text and as HTML."""

    lines: tuple[str, ...]
    html: str


@dataclass(frozen=True, slots=True)
class Report:
    """What an answer shows, best result first.

    The first column is the rank. With `as_table`, cells are aligned in columns if the page is wide
    enough; otherwise each row is a line of names and a line of figures, listed as `1.`, `2.`, … if
    `is_numbered`. `left_out` counts results that are not shown; `after` are lines below the rows.
    """

    title: Line
    columns: tuple[Column, ...] = ()
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()
    after: tuple[Line, ...] = ()
    left_out: int = 0
    plot: Plot | None = None
    as_table: bool = False
    is_numbered: bool = False
