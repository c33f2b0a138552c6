"""Print tables, lists and JSON on a terminal, and show what a slow command is doing."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, NoReturn, TypeVar

from lakejoin.errors import InputError, NoJoin
from lakejoin.render.layout import WIDE, clip_spans, fitted_widths, lay_out_row, lay_out_rows
from lakejoin.render.report import Line, Report, Row, Span, Style, line
from lakejoin.text_format import clip, counted

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console
    from rich.text import Text

    from lakejoin.joins.options import Progress


Item = TypeVar("Item")

_LEAST_WIDTH = 8  # of a column that is cut
_STYLES: dict[Style, str] = {
    "good": "green",
    "bad": "red",
    "warn": "yellow",
    "alarm": "bold red",
    "accent": "cyan",
}


def print_json(value: Any) -> None:
    """Print one JSON document on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")


def stop_without_join(why: str, report: Any, as_json: bool) -> NoReturn:
    """End a command that found no join: print the report as JSON, or fail with the reason."""
    if not as_json:
        raise NoJoin(why)
    print_json(report)
    raise SystemExit(NoJoin.exit_code)


def pick_result(results: Sequence[Item], number: int) -> Item:
    if number > len(results):
        raise InputError(f"there is no result {number}: the search found {len(results):,}")
    return results[number - 1]


def console(stderr: bool = False, file: IO[str] | None = None) -> Console:
    """A console to print on; plain and 200 characters wide if it is not a terminal."""
    from rich.console import Console

    target = Console(stderr=stderr, file=file, highlight=False)
    if not target.is_terminal:
        target = Console(stderr=stderr, file=file, highlight=False, width=200)
    return target


def print_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    right: Iterable[str] = (),
    least: int = _LEAST_WIDTH,
) -> None:
    """Print a table on standard output; columns named in `right` are aligned right and never cut.

    If the table is too wide, other columns are cut, down to `least` characters. Columns that still
    do not fit are left out from the end, and a line says how many.
    """
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    screen, aligned = console(), set(right)
    names = [clip(head) for head in heads]
    cells = [[clip(cell, 120) for cell in row] for row in rows]
    natural = [max(map(cell_len, column)) for column in zip(names, *cells, strict=True)]
    fixed = [head in aligned for head in heads]
    widths = fitted_widths(natural, fixed, screen.width, least)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name, is_fixed, width in zip(names, fixed, widths, strict=False):
        table.add_column(
            Text(name),
            justify="right" if is_fixed else "left",
            overflow="ellipsis",
            no_wrap=True,
            width=width,
        )
    for row in cells:
        # Text, not markup: a cell in the lake must never be interpreted.
        table.add_row(*map(Text, row[: len(widths)]))
    screen.print(table)
    if len(widths) < len(heads):
        more = counted(len(heads) - len(widths), "more column")
        screen.print(f"… and {more}; --json shows all", soft_wrap=True)


def print_report(screen: Console, report: Report) -> None:
    """Print a report: its title, notes, rows and what follows them."""
    print_title(screen, report)
    if report.rows and report.as_table:
        screen.print()
    print_rows(screen, report)
    print_lines(screen, report.after)


def print_title(screen: Console, report: Report) -> None:
    """Print the title of a report, its plot and its notes."""
    print_lines(screen, [report.title])
    if report.plot is not None:
        shown = [line(f"  {text}") for text in report.plot.lines]
        print_lines(screen, [line(), *shown, line()])
    print_notes(screen, report.notes)


def print_rows(screen: Console, report: Report) -> None:
    """Print the rows of a report: as a table if the screen is wide enough."""
    print_lines(
        screen, lay_out_rows(report, screen.width, report.as_table and screen.width >= WIDE)
    )
    print_more(screen, report.left_out)


def print_row(screen: Console, report: Report, row: Row) -> None:
    print_lines(screen, lay_out_row(report, row))


def print_notes(screen: Console, notes: Iterable[str]) -> None:
    """Print the notes of an answer, one per line."""
    print_lines(screen, (line(f"note: {clip(note, 400)}", style="warn") for note in notes))


def print_lines(screen: Console, lines: Iterable[Line]) -> None:
    """Print lines with their styles; what the lake contains is never interpreted."""
    for shown in lines:
        screen.print(to_rich(shown, screen.width), soft_wrap=True)


def to_rich(shown: Line, width: int) -> Text:
    """A line for the terminal; a line that may be cut fits the width."""
    from rich.text import Text

    spans = clip_spans(shown.spans, width) if shown.cut else shown.spans
    return Text.assemble(*((span.text, _STYLES.get(span.style, span.style)) for span in spans))


def print_value_table(values: pa.Table) -> None:
    """Print values, one per row, with the number of rows that have them."""
    if not len(values):
        return
    row_counts = {"mine": "your rows", "theirs": "lake rows"}
    heads = [row_counts.get(name, name) for name in values.column_names]
    columns = [
        [f"{cell:,}" for cell in column.to_pylist()] if name in row_counts else column.to_pylist()
        for name, column in zip(values.column_names, values.columns, strict=True)
    ]
    print_table(heads, list(zip(*columns, strict=True)), right=[*row_counts.values(), "distance"])


def print_values(screen: Console, head: str, values: pa.Table, total: int) -> None:
    """Print some of `total` values under a heading."""
    print_lines(screen, [line(), line(Span(head, "bold"), "" if len(values) else " none")])
    print_value_table(values)
    print_more(screen, total - len(values))


def print_more(screen: Console, more: int) -> None:
    """Print how many more there are, if any."""
    if more > 0:
        print_lines(screen, [line(f"… and {more:,} more; --json shows all", style="dim")])


@contextlib.contextmanager
def count_files(
    screen: Console, doing: str, redirect_stdout: bool = True
) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal; yields what shows how many files of how many are done."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn(doing),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("files"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=screen, transient=True, redirect_stdout=redirect_stdout) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


LONG_WAIT_SECONDS = 4.0  # seconds
STILL_SEARCHING = "still searching …"


@contextlib.contextmanager
def explain_long_wait(after: float = LONG_WAIT_SECONDS) -> Iterator[None]:
    """Explain the wait on standard error if it takes longer than `after` seconds."""
    screen = console(stderr=True)

    def explain() -> None:
        screen.print(STILL_SEARCHING, style="dim", soft_wrap=True)

    timer = threading.Timer(after, explain)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextlib.contextmanager
def status() -> Iterator[Progress]:
    """On a terminal, a status line on standard error that says what is being done."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield lambda doing: None
        return
    with screen.status("reading …") as status:
        yield lambda doing: status.update(f"{doing} …")


@contextlib.contextmanager
def status_or_explanation() -> Iterator[Progress]:
    """The status line on a terminal; elsewhere one sentence if it takes long."""
    if console(stderr=True).is_terminal:
        with status() as progress:
            yield progress
    else:
        with explain_long_wait():
            yield lambda doing: None
