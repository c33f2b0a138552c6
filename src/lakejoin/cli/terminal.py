"""Print tables, lists and JSON on a terminal, and show what a slow command is doing."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from lakejoin.text_format import clip, counted

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from lakejoin.joins.options import Progress


_LEAST_WIDTH = 8  # of a column that is cut
_GAP = 3  # between two columns


def print_json(value: Any) -> None:
    """Print one JSON document on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")


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
    lines = [[clip(cell, 120) for cell in row] for row in rows]
    natural = [max(map(cell_len, cells)) for cells in zip(names, *lines, strict=True)]
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
    for line in lines:
        # Text, not markup: a cell of the lake must never be interpreted.
        table.add_row(*map(Text, line[: len(widths)]))
    screen.print(table)
    if len(widths) < len(heads):
        more = counted(len(heads) - len(widths), "more column")
        screen.print(f"… and {more}; --json shows all", soft_wrap=True)


def fitted_widths(
    natural: Sequence[int], fixed: Sequence[bool], room: int, least: int = _LEAST_WIDTH
) -> list[int]:
    """The widths of the first columns that fit into `room`; the widest are cut most.

    >>> fitted_widths([30, 8, 60], [False, True, False], 80)
    [30, 8, 36]
    >>> fitted_widths([30] * 100, [False] * 100, 40)
    [11, 11, 11]
    """
    shown, used = 0, -_GAP
    for width, is_fixed in zip(natural, fixed, strict=True):
        used += _GAP + (width if is_fixed else min(width, least))
        if shown and used > room:
            break
        shown += 1
    budget = room - _GAP * (shown - 1)
    low, high = least, max(natural[:shown], default=0)

    def cut(limit: int) -> list[int]:
        columns = zip(natural[:shown], fixed[:shown], strict=True)
        return [width if is_fixed else min(width, limit) for width, is_fixed in columns]

    while low < high:  # the largest limit that fits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sum(cut(middle)) <= budget else (low, middle - 1)
    return cut(low)


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


def print_more(screen: Console, more: int) -> None:
    """Print how many more there are, if any."""
    if more > 0:
        from rich.text import Text

        screen.print(Text(f"… and {more:,} more; --json shows all", "dim"))


LONG_WAIT_SECONDS = 4.0  # seconds
STILL_SEARCHING = "still searching; the first searches after installation also compile code, once …"


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
