"""Plot how many columns qualify at each tau, in block characters or SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakejoin.search.reach import format_tau

if TYPE_CHECKING:
    from lakejoin.search.tau_choice import TauCounts

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_HEIGHT = 6  # lines of the plot
_TICK = 10  # bars from one label below to the next


def plot_text(taus: TauCounts) -> list[str]:
    """Plot in lines of text: a title, bars, and the axis with a mark at the chosen tau.

    A bar with a positive count is never empty.
    """
    most = max(taus.columns, default=0)
    gauge = max(len(f"{most:,}"), 2)
    eighths = [_height(count, most, _HEIGHT * 8) for count in taus.columns]
    lines = [f"columns with matches for {taus.least:,} of {_values(taus)}, by tau"]
    for line in range(_HEIGHT - 1, -1, -1):
        label = f"{most:,}" if line == _HEIGHT - 1 else "0" if line == 0 else ""
        bars = "".join(_EIGHTHS[min(8, max(0, height - 8 * line))] for height in eighths)
        lines.append(f"{label:>{gauge}} │{bars}".rstrip())
    taken = _taken(taus)
    lines.append(" " * gauge + " └" + "".join("▲" if i == taken else "─" for i in range(len(taus))))
    lines.append(" " * (gauge + 2) + _labels(taus))
    return lines


def _values(taus: TauCounts) -> str:
    sampled = f" (a sample of {taus.of:,})" if taus.of > taus.values else ""
    return f"{taus.values:,} values{sampled}"


def _height(count: int, most: int, room: int) -> int:
    return max(1, round(room * count / most)) if count else 0


def _taken(taus: TauCounts) -> int:
    """The index of the bar of the chosen tau; -1 if it is not on the axis."""
    return taus.tau.index(taus.taken) if taus.taken in taus.tau else -1


def _labels(taus: TauCounts) -> str:
    line = ""
    for i in range(_TICK - 1, len(taus), _TICK):
        label = format_tau(taus.tau[i])
        line = line.ljust(i + 1 - len(label)) + label
    return line


# -- notebooks -----------------------------------------------------------------------------------

_BAR = 8  # pixels per bar
_TALL = 120  # pixels of the tallest bar
_LEFT, _BELOW, _ABOVE = 60, 34, 22
# Half-transparent colours suit light and dark pages.
_COLOUR, _TAKEN, _INK = "rgba(56,132,255,.55)", "rgba(230,120,30,.9)", "currentColor"


def plot_svg(taus: TauCounts) -> str:
    """Plot as a self-contained SVG; its title gives the same explanation."""
    most = max(taus.columns, default=0)
    width, height = _LEFT + _BAR * len(taus) + 10, _ABOVE + _TALL + _BELOW
    ground, taken = _ABOVE + _TALL, _taken(taus)
    parts = [
        f"<title>{taus.why}</title>",
        _words(_LEFT, 12, f"columns by tau ({taus.least:,} of {_values(taus)})", "start"),
        _words(_LEFT - 6, _ABOVE + 8, f"{most:,}", "end"),
        _words(_LEFT - 6, ground, "0", "end"),
        f'<line x1="{_LEFT}" y1="{ground}" x2="{width - 10}" y2="{ground}" stroke="{_INK}"/>',
    ]
    for i, count in enumerate(taus.columns):
        tall = _height(count, most, _TALL)
        parts.append(
            f'<rect x="{_LEFT + _BAR * i + 1}" y="{ground - tall}" width="{_BAR - 2}" '
            f'height="{tall}" fill="{_TAKEN if i == taken else _COLOUR}">'
            f"<title>tau {format_tau(taus.tau[i])}: {count:,}</title></rect>"
        )
        if (i + 1) % _TICK == 0:
            parts.append(_words(_LEFT + _BAR * i + 4, ground + 14, format_tau(taus.tau[i]), "middle"))
    parts.append(_words(_LEFT, ground + 30, taus.why, "start"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{max(width, 640)}" '
        f'height="{height}" font-size="11" font-family="sans-serif">{"".join(parts)}</svg>'
    )


def _words(x: int, y: int, text: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{_INK}">{text}</text>'
