"""A picture of what lies around a table: rings of tables, as SVG."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from lakejoin.errors import InputError
from lakejoin.search.display import percent

if TYPE_CHECKING:
    from lakejoin.discovery.graph.around import Around

_RING = 190.0  # from one ring to the next, at the least
_APART = 26.0  # two tables on a ring
_MARGIN = 190.0  # for names beside the outermost ring
_NAMED = 160  # tables on a ring whose names are written; the others tell them when pointed at
_LONGEST = 26  # letters, which end before the next ring
_MOST_LINKS = 1_500
_INK = 25.0  # what all lines beside those that lead from ring to ring may have together
_COLOURS = ("#f2c037", "#2e8b57", "#5aa978", "#8dc4a3", "#bcdccb")  # the table, then by joins

Point = tuple[float, float]


def draw(around: Around, path: str | os.PathLike[str]) -> None:
    """Writes the picture."""
    try:
        Path(path).write_text(as_svg(around), encoding="utf-8")
    except OSError as problem:
        raise InputError(f"cannot write {path}: {problem.strerror or problem}") from None


def as_svg(around: Around) -> str:
    """The table in the middle; on each ring what is a join further, near what leads there."""
    rings = _rings(around)
    places, radii = _places(rings)
    half = (radii[-1] if radii else 0.0) + _MARGIN
    names = [around.table, *(step.other_table for step in around.steps)]
    hops = [0, *(step.hop for step in around.steps)]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-half:.0f} {-half:.0f} {2 * half:.0f} '
        f'{2 * half:.0f}" font-family="sans-serif" font-size="12">',
        f"<title>tables that join with {escape(around.table)}</title>",
        f'<rect x="{-half:.0f}" y="{-half:.0f}" width="{2 * half:.0f}" height="{2 * half:.0f}" '
        'fill="white"/>',
    ]
    leading, others = _drawn_links(around)
    faint = min(0.25, max(0.02, _INK / max(1, len(others))))
    for ends, opacity in [(others, faint), (leading, 0.6)]:
        for one, other in ends:
            (x, y), (to_x, to_y) = places[one], places[other]
            lines.append(
                f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="#456" '
                f'stroke-opacity="{opacity:.2f}"/>'
            )
    for place, (name, hop) in enumerate(zip(names, hops, strict=True)):
        lines += _node(name, hop, places[place], _told(around, place), len(rings[hop]) <= _NAMED)
    return "\n".join([*lines, "</svg>", ""])


def _rings(around: Around) -> list[list[int]]:
    """The places of tables by ring, in the order of those that lead there."""
    rings = [[0]]
    number = {around.table: 0}
    for place, step in enumerate(around.steps, start=1):
        number[step.other_table] = place
        while len(rings) <= step.hop:
            rings.append([])
        rings[step.hop].append(place)
    for before, ring in pairwise(rings):
        turn = {place: at for at, place in enumerate(before)}
        ring.sort(key=lambda place: turn[number[around.steps[place - 1].table]])
    return rings


def _places(rings: Sequence[Sequence[int]]) -> tuple[dict[int, Point], list[float]]:
    """Where each table stands: evenly on its ring, which is as large as that needs."""
    places: dict[int, Point] = {0: (0.0, 0.0)}
    radii: list[float] = []
    for ring in rings[1:]:
        least = (radii[-1] if radii else 0.0) + _RING
        radii.append(max(least, len(ring) * _APART / math.tau))
        for at, place in enumerate(ring):
            angle = math.tau * at / len(ring) - math.pi / 2
            places[place] = (radii[-1] * math.cos(angle), radii[-1] * math.sin(angle))
    return places, radii


def _drawn_links(around: Around) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The joins that lead from ring to ring, and others, each once for both directions; of very
    many others the strongest."""
    number = {step.other_table: place for place, step in enumerate(around.steps, start=1)}
    number[around.table] = 0
    leading = [(number[step.table], place) for place, step in enumerate(around.steps, start=1)]
    best: dict[tuple[int, int], float] = {}
    for one, other, share in around.links:
        key = (min(one, other), max(one, other))
        best[key] = max(share, best.get(key, 0.0))
    for one, other in leading:
        best.pop((min(one, other), max(one, other)), None)
    strongest = sorted(best.items(), key=lambda link: (-link[1], link[0]))[:_MOST_LINKS]
    return leading, sorted(ends for ends, _ in strongest)


def _told(around: Around, place: int) -> str:
    if place == 0:
        return around.table
    step = around.steps[place - 1]
    joined = f"{step.table} · {step.column} = {step.other_column}"
    return f"{step.other_table}\n{joined} ({percent(step.share)}, {step.shared:,} values)"


def _node(name: str, hop: int, at: Point, told: str, named: bool) -> list[str]:
    x, y = at
    radius = 10 if hop == 0 else 7 if hop == 1 else 5
    colour = _COLOURS[min(hop, len(_COLOURS) - 1)]
    lines = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}" stroke="#345">'
        f"<title>{_text(told)}</title></circle>"
    ]
    if not named:
        return lines
    short = name if len(name) <= _LONGEST else "…" + name[-_LONGEST + 1 :]
    halo = 'stroke="white" stroke-width="4" paint-order="stroke"'
    if hop == 0:
        where = f'x="{x:.1f}" y="{y - 16:.1f}" text-anchor="middle" font-weight="bold" {halo}'
    else:  # along the radius, and never upside down
        turn = math.degrees(math.atan2(y, x))
        side, anchor = radius + 4, "start"
        if abs(turn) > 90:
            turn, side, anchor = turn - 180, -side, "end"
        where = (
            f'x="{side}" y="4" text-anchor="{anchor}" '
            f'transform="translate({x:.1f} {y:.1f}) rotate({turn:.1f})" {halo}'
        )
    lines.append(f"<text {where}>{_text(short)}</text>")
    return lines


def _text(text: str) -> str:
    return escape("".join(c if c >= " " or c == "\n" else "�" for c in text))
