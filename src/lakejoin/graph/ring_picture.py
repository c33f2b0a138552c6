"""Draw the neighborhood of a table as SVG: rings of tables around it."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from lakejoin.graph.rings import TableSpot, arrange_rings
from lakejoin.graph.short_names import cut_middle, shorten_names
from lakejoin.errors import InputError
from lakejoin.search.answer_display import format_percent

if TYPE_CHECKING:
    from lakejoin.graph.neighborhood import Neighborhood, NeighborhoodStep

_LETTER, _SMALL = 7.2, 5.4  # rough width of a letter, in names and in join labels
_LONGEST = 28  # letters of a label, so that it ends before the next ring
_LABELLED = 40  # tables up to which joins are labelled with their columns
_MOST_LINKS = 1_500
_INK = 25.0  # total opacity of the lines that do not lead from ring to ring
_COLOURS = ("#f2c037", "#2e8b57", "#5aa978", "#8dc4a3", "#bcdccb")  # of the table, then by ring
_PAD, _HEAD, _WIDTH = 24.0, 64.0, 560.0  # margin; height of the heading; least width


def draw_picture(around: Neighborhood, path: str | os.PathLike[str]) -> None:
    """Write the picture to a file."""
    try:
        Path(path).write_text(render_svg(around), encoding="utf-8")
    except OSError as problem:
        raise InputError(f"cannot write {path}: {problem.strerror or problem}") from None


def render_svg(around: Neighborhood) -> str:
    """Render the table in the middle, and on each ring the tables one join further out."""
    spots = arrange_rings(_parents(around), [0, *(step.hop for step in around.steps)])
    names = shorten_names([around.table, *(step.other_table for step in around.steps)], _LONGEST)
    labelled = len(around) <= _LABELLED
    joins = ["", *(_join_label(step) if labelled else "" for step in around.steps)]
    left, top, right, bottom = _extent(spots, names, joins)
    box = f'"{left:.0f} {top:.0f} {right - left:.0f} {bottom - top:.0f}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox={box} width="{right - left:.0f}" '
        f'height="{bottom - top:.0f}" font-family="sans-serif" font-size="12">',
        f"<title>tables that join with {_text(around.table)}</title>",
        f'<rect x="{left:.0f}" y="{top:.0f}" width="{right - left:.0f}" '
        f'height="{bottom - top:.0f}" fill="white"/>',
    ]
    leading, others = _drawn_links(around)
    faint = min(0.25, max(0.02, _INK / max(1, len(others))))
    dark = min(0.6, max(0.15, 4 * _INK / max(1, len(leading))))
    for ends, opacity in [(others, faint), (leading, dark)]:
        for start, end in ends:
            (x, y), (to_x, to_y) = spots[start].at, spots[end].at
            lines.append(
                f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="#456" '
                f'stroke-opacity="{opacity:.2f}"/>'
            )
    for index, spot in enumerate(spots):
        lines += _node(names[index], joins[index], spot, _tooltip(around, index))
    lines += _heading(around, left + _PAD, top + _PAD)
    return "\n".join([*lines, "</svg>", ""])


def _parents(around: Neighborhood) -> list[int]:
    """The index of the table that leads to each; -1 for the table itself."""
    index_of = {around.table: 0}
    for index, step in enumerate(around.steps, start=1):
        index_of[step.other_table] = index
    return [-1, *(index_of[step.table] for step in around.steps)]


def _extent(
    spots: Sequence[TableSpot], names: Sequence[str], joins: Sequence[str]
) -> tuple[float, float, float, float]:
    """(left, top, right, bottom) of all nodes and their names, with room for the heading."""
    xs, ys = [0.0], [0.0]
    for spot, name, joined in zip(spots, names, joins, strict=True):
        x, y = spot.at
        wide = max(len(name) * _LETTER, len(joined) * _SMALL)
        if spot.hop == 0:
            xs += [x - wide / 2, x + wide / 2]
            ys += [y - 30, y + 10]
            continue
        reach = 12 + (wide if spot.named else 0)
        xs += [x, x + reach * math.cos(spot.angle)]
        ys += [y - 10, y + 10, y + reach * math.sin(spot.angle)]
    left, right = min(xs) - _PAD, max(xs) + _PAD
    if right - left < _WIDTH:
        middle = (left + right) / 2
        left, right = middle - _WIDTH / 2, middle + _WIDTH / 2
    return left, min(ys) - _PAD - _HEAD, right, max(ys) + _PAD


def _drawn_links(around: Neighborhood) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The joins that lead from ring to ring, and the strongest of the others, each drawn once."""
    leading = [(parent, index) for index, parent in enumerate(_parents(around)) if index]
    drawn = set(leading)
    others = [
        (start, end)
        for start, end, _ in around.links
        if (start, end) not in drawn and (end, start) not in drawn
    ]
    return leading, others[:_MOST_LINKS]


def _join_label(step: NeighborhoodStep) -> str:
    columns = cut_middle(f"{step.column} = {step.other_column}", _LONGEST)
    return f"{columns} ({format_percent(step.share)})"


def _tooltip(around: Neighborhood, index: int) -> str:
    if index == 0:
        return around.table
    step = around.steps[index - 1]
    joined = f"{step.table} · {step.column} = {step.other_column}"
    return f"{step.other_table}\n{joined} ({format_percent(step.share)}, {step.shared:,} values)"


def _heading(around: Neighborhood, x: float, y: float) -> list[str]:
    count = ", then ".join(f"{number:,}" for number in around.hops())
    name = cut_middle(around.table, 60)
    tables = "table" if len(around) == 1 else "tables"
    reached = f"{count} {tables}, one join at a time" if count else "joins with no table"
    legend = "one ring per join; dark lines: the join that leads there; faint lines: other joins"
    halo = 'stroke="white" stroke-width="4" paint-order="stroke"'
    return [
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="15" font-weight="bold" {halo}>'
        f"{_text(name)}</text>",
        f'<text x="{x:.0f}" y="{y + 18:.0f}" {halo}>{reached}</text>',
        f'<text x="{x:.0f}" y="{y + 34:.0f}" font-size="11" fill="#567" {halo}>{legend}</text>',
    ]


def _node(name: str, joined: str, spot: TableSpot, tooltip: str) -> list[str]:
    x, y = spot.at
    radius = 10 if spot.hop == 0 else 7 if spot.hop == 1 else 5
    colour = _COLOURS[min(spot.hop, len(_COLOURS) - 1)]
    lines = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}" stroke="#345">'
        f"<title>{_text(tooltip)}</title></circle>"
    ]
    if not spot.named:
        return lines
    halo = 'stroke="white" stroke-width="4" paint-order="stroke"'
    if spot.hop == 0:
        where = f'x="{x:.1f}" y="{y - 16:.1f}" text-anchor="middle" font-weight="bold" {halo}'
        return [*lines, f"<text {where}>{_text(name)}</text>"]
    turn = (math.degrees(spot.angle) + 180) % 360 - 180
    side, anchor = radius + 4, "start"
    if abs(turn) > 90.01:  # labels follow the radius, never upside down
        turn, side, anchor = turn - 180, -side, "end"
    moved = f'transform="translate({x:.1f} {y:.1f}) rotate({turn:.1f})" text-anchor="{anchor}"'
    above = -3 if spot.leads or joined else 4  # not on the line that leads outwards
    lines.append(f'<text x="{side}" y="{above}" {moved} {halo}>{_text(name)}</text>')
    if joined:
        small = f'font-size="9" fill="#567" {halo}'
        lines.append(f'<text x="{side}" y="9" {moved} {small}>{_text(joined)}</text>')
    return lines


def _text(text: str) -> str:
    return escape("".join(c if c >= " " or c == "\n" else "�" for c in text))
