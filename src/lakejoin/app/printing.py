"""How answers look: tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_CELL = 40
_LEAST = 8  # what is left of a column that is cut
_GAP = 3  # between two columns


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")


def console(stderr: bool = False, file: IO[str] | None = None) -> Console:
    """Where people read: plain and wide when it is not a terminal."""
    from rich.console import Console

    target = Console(stderr=stderr, file=file, highlight=False)
    if not target.is_terminal:
        target = Console(stderr=stderr, file=file, highlight=False, width=200)
    return target


def size(number: float) -> str:
    """Bytes for people.

    >>> size(0), size(116_955_855)
    ('0 B', '117.0 MB')
    """
    for unit in _UNITS:
        if number < 1000 or unit == _UNITS[-1]:
            return f"{number:.0f} B" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return ""


def counted(number: int, noun: str) -> str:
    """A number and its noun.

    >>> counted(1, "segment"), counted(2000, "table")
    ('1 segment', '2,000 tables')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def seconds(number: float) -> str:
    """A duration for people.

    >>> seconds(0.0123), seconds(75.2)
    ('12 ms', '1 min 15 s')
    """
    if number < 1:
        return f"{number * 1000:.0f} ms"
    if number < 60:
        return f"{number:.1f} s"
    return f"{int(number) // 60} min {int(number) % 60} s"


def clip(text: object, width: int = _CELL) -> str:
    """A cell on one line, cut where it is long.

    >>> clip("a\\nb"), clip("x" * 50, 5), clip(None)
    ('a⏎b', 'xxxx…', '')
    """
    if text is None:
        return ""
    line = "".join(_SHOWN.get(c, c if c.isprintable() else "�") for c in str(text)[: width + 1])
    return line if len(line) <= width else line[: width - 1] + "…"


_SHOWN = {"\n": "⏎", "\r": "", "\t": "⇥"}


def print_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    right: Iterable[str] = (),
    least: int = _LEAST,
) -> None:
    """A table on standard output; the columns named in `right` are set flush right, never cut.

    Where it is too wide, other columns are cut to `least` characters at the least; the last columns
    that do not fit even so are left out, and a line says how many.
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
        # Text, and not markup: a cell of the lake must never be read as an instruction.
        table.add_row(*map(Text, line[: len(widths)]))
    screen.print(table)
    if len(widths) < len(heads):
        more = counted(len(heads) - len(widths), "more column")
        screen.print(f"… and {more}; --json shows all", soft_wrap=True)


def fitted_widths(
    natural: Sequence[int], fixed: Sequence[bool], room: int, least: int = _LEAST
) -> list[int]:
    """The widths of the first columns that fit into `room`, the widest cut most.

    >>> fitted_widths([30, 8, 60], [False, True, False], 80)
    [30, 8, 36]
    >>> fitted_widths([30] * 100, [False] * 100, 40)
    [11, 11, 11]
    """
    kept, used = 0, -_GAP
    for width, is_fixed in zip(natural, fixed, strict=True):
        used += _GAP + (width if is_fixed else min(width, least))
        if kept and used > room:
            break
        kept += 1
    budget = room - _GAP * (kept - 1)
    low, high = least, max(natural[:kept], default=0)

    def cut(limit: int) -> list[int]:
        shown = zip(natural[:kept], fixed[:kept], strict=True)
        return [width if is_fixed else min(width, limit) for width, is_fixed in shown]

    while low < high:  # the largest limit that fits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sum(cut(middle)) <= budget else (low, middle - 1)
    return cut(low)


def print_listed(values: pa.Table) -> None:
    """Values, one a row, with the numbers of rows behind them."""
    if not len(values):
        return
    numbers = {"mine": "my rows", "theirs": "their rows"}
    heads = [numbers.get(name, name) for name in values.column_names]
    columns = [
        [f"{cell:,}" for cell in column.to_pylist()] if name in numbers else column.to_pylist()
        for name, column in zip(values.column_names, values.columns, strict=True)
    ]
    print_table(heads, list(zip(*columns, strict=True)), right=[*numbers.values(), "distance"])


def say_more(screen: Console, more: int) -> None:
    """That there are some more, where there are."""
    if more > 0:
        from rich.text import Text

        screen.print(Text(f"… and {more:,} more; --json shows all", "dim"))
