"""Format counts, shares, sizes, durations and cells as text for people."""

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


def to_one_line(text: str) -> str:
    """Replace line breaks and control characters, so that a text stays on its line.

    >>> to_one_line("a\\nb\\x1b[31m")
    'a⏎b�[31m'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _CONTROL_CHARACTERS.get(c, "�") for c in text)


def format_percent(share: float | None) -> str:
    """Format a share; 0% and 100% are shown only if exact.

    >>> format_percent(0.4213), format_percent(0.9999), format_percent(0.0001), format_percent(None)
    ('42%', '>99%', '<1%', '-')
    """
    if share is None:
        return "-"
    text = f"{share:.0%}"
    if text == "100%" and share < 1:
        return ">99%"
    return "<1%" if text == "0%" and share > 0 else text


def format_fan_out(value: float | None) -> str:
    """Format the rows of the join per query row.

    >>> format_fan_out(0.5), format_fan_out(1234.5), format_fan_out(0.0004)
    ('0.50', '1,234', '<0.01')
    """
    if value is None:
        return "-"
    if 0 < value < 0.005:
        return "<0.01"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def format_tau(tau: float) -> str:
    """Format a tau.

    >>> format_tau(0.3), format_tau(0.065), format_tau(0.0)
    ('30%', '6.5%', '0%')
    """
    return f"{100 * tau:.4g}%"
