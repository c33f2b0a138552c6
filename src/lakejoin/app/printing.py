"""How answers look: tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_CELL = 40


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
    heads: Sequence[str], rows: Iterable[Sequence[object]], right: Iterable[str] = ()
) -> None:
    """A table on standard output; the columns named in `right` are set flush right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    aligned = set(right)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for head in heads:
        table.add_column(
            Text(clip(head)),
            justify="right" if head in aligned else "left",
            overflow="ellipsis",
            no_wrap=True,
        )
    for row in rows:
        # Text, and not markup: a cell of the lake must never be read as an instruction.
        table.add_row(*(Text(clip(cell, 120)) for cell in row))
    console().print(table)
