"""Format counts, sizes, durations and cells as text for people."""

from __future__ import annotations

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_CELL_WIDTH = 40
_CONTROL_CHARACTERS = {"\n": "⏎", "\r": "", "\t": "⇥"}


def size(number: float) -> str:
    """A number of bytes, in the largest unit that fits.

    >>> size(0), size(116_955_855)
    ('0 B', '117.0 MB')
    """
    for unit in _UNITS:
        if number < 1000 or unit == _UNITS[-1]:
            return f"{number:.0f} B" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return ""


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the singular or plural.

    >>> counted(1, "segment"), counted(2000, "table")
    ('1 segment', '2,000 tables')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def seconds(number: float) -> str:
    """A duration.

    >>> seconds(0.0123), seconds(75.2)
    ('12 ms', '1 min 15 s')
    """
    if number < 1:
        return f"{number * 1000:.0f} ms"
    if number < 60:
        return f"{number:.1f} s"
    return f"{int(number) // 60} min {int(number) % 60} s"


def clip(text: object, width: int = _CELL_WIDTH) -> str:
    """A cell on one line, shortened to `width` characters.

    >>> clip("a\\nb"), clip("x" * 50, 5), clip(None)
    ('a⏎b', 'xxxx…', '')
    """
    if text is None:
        return ""
    shown = (
        _CONTROL_CHARACTERS.get(c, c if c.isprintable() else "�") for c in str(text)[: width + 1]
    )
    line = "".join(shown)
    return line if len(line) <= width else line[: width - 1] + "…"
