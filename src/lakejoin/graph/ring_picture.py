"""Draw the neighborhood of a table as SVG: rings of tables around it."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from lakejoin.errors import InputError
from lakejoin.text_format import format_percent

if TYPE_CHECKING:
    from lakejoin.graph.neighborhood import Neighborhood, NeighborhoodStep


_LETTER, _SMALL = 7.2, 5.4  # rough width of a letter, in names and in join labels
_MAX_LABEL_LETTERS = 28  # so that a label ends before the next ring
_MAX_LABELLED_TABLES = 40  # up to which joins are labelled with their columns
_MOST_LINKS = 1_500
_TOTAL_OPACITY = 25.0  # of the lines that do not lead from ring to ring
_COLOURS = ("#f2c037", "#2e8b57", "#5aa978", "#8dc4a3", "#bcdccb")  # of the table, then by ring
_PAD, _HEAD, _WIDTH = 24.0, 64.0, 560.0  # margin; height of the heading; least width


def draw_picture(around: Neighborhood, path: str | os.PathLike[str]) -> None:
    try:
        Path(path).write_text(render_svg(around), encoding="utf-8")
    except OSError as problem:
        raise InputError(f"cannot write {path}: {problem.strerror or problem}") from None


def render_svg(around: Neighborhood) -> str:
    """Render the table in the middle, and on each ring the tables one join further out."""
    spots = arrange_rings(_parents(around), [0, *(step.hop for step in around.steps)])
    names = shorten_names(
        [around.table, *(step.other_table for step in around.steps)], _MAX_LABEL_LETTERS
    )
    labelled = len(around) <= _MAX_LABELLED_TABLES
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
    faint = min(0.25, max(0.02, _TOTAL_OPACITY / max(1, len(others))))
    dark = min(0.6, max(0.15, 4 * _TOTAL_OPACITY / max(1, len(leading))))
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
    columns = cut_middle(f"{step.column} = {step.other_column}", _MAX_LABEL_LETTERS)
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


_RING_DISTANCE = 236.0  # least distance between rings, so that labels end before the next one
_PLAIN_RING_DISTANCE = 70.0  # the same where there are no labels
_DISTANCE = 26.0  # between two tables with labels on a ring
_MAX_NAMED_TABLES = 160  # on a ring; tables on larger rings only have tooltips
_PLAIN_DISTANCE = 15.0  # between two tables without labels, which stand in several rows


@dataclass(frozen=True, slots=True)
class TableSpot:
    """Where a table is drawn, relative to the middle; `named` with a label, `leads` to others."""

    at: tuple[float, float]
    angle: float
    hop: int
    named: bool
    leads: bool


def arrange_rings(parents: Sequence[int], hops: Sequence[int]) -> list[TableSpot]:
    """The spots of tables on the rings `hops`; parents come before the tables they lead to.

    Every table gets a sector as wide as the tables beyond it need, so that lines outwards do not
    cross.

    >>> [(round(s.at[0]), round(s.at[1])) for s in arrange_rings([-1, 0, 0], [0, 1, 1])]
    [(0, 0), (236, 0), (-236, 0)]
    """
    children: list[list[int]] = [[] for _ in parents]
    for index, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(index)
    leaves = [1] * len(parents)
    for index in reversed(range(len(parents))):
        if children[index]:
            leaves[index] = sum(leaves[child] for child in children[index])
    angles = _angles(children, leaves)
    rings: list[list[int]] = [[] for _ in range(max(hops) + 1)]
    for index, hop in enumerate(hops):
        rings[hop].append(index)
    spots = [TableSpot((0.0, 0.0), 0.0, 0, True, bool(children[0]))] * len(parents)
    outer, named_before = 0.0, True
    for hop, ring in enumerate(rings[1:], start=1):
        least = outer + (_RING_DISTANCE if named_before else _PLAIN_RING_DISTANCE)
        ring.sort(key=lambda index: angles[index])
        named = len(ring) <= _MAX_NAMED_TABLES
        rows = 1 if named else max(1, math.ceil(len(ring) * _PLAIN_DISTANCE / (math.tau * least)))
        radius = max(least, len(ring) * _DISTANCE / math.tau) if named else least
        distance = (_DISTANCE if named else _PLAIN_DISTANCE / rows) / radius
        spread = _spread([angles[index] for index in ring], distance)
        for rank, (index, angle) in enumerate(zip(ring, spread, strict=True)):
            table_radius = radius + _PLAIN_DISTANCE * (rank % rows)
            at = table_radius * math.cos(angle), table_radius * math.sin(angle)
            spots[index] = TableSpot(at, angle, hop, named, bool(children[index]))
        outer, named_before = radius + _PLAIN_DISTANCE * (rows - 1), named
    return spots


def _angles(children: Sequence[Sequence[int]], leaves: Sequence[int]) -> list[float]:
    """The direction of each table, in the middle of its sector."""
    angles = [0.0] * len(children)
    sectors = {0: (-math.pi / max(1, leaves[0]), math.tau)}  # the first leaf is on the right
    for index in range(len(children)):  # parents come first
        begin, width = sectors.pop(index)
        angles[index] = begin + width / 2
        for child in children[index]:
            share = width * leaves[child] / leaves[index]
            sectors[child] = begin, share
            begin += share
    return angles


def _spread(angles: Sequence[float], distance: float) -> list[float]:
    """Ascending angles, moved as little as needed to be `distance` from each other on the circle.

    >>> [round(angle, 2) for angle in _spread([0.0, 0.0, 3.0], 0.2)]
    [-0.1, 0.1, 3.0]
    """
    blocks: list[tuple[float, int]] = []  # (first angle, how many angles follow at that distance)
    for angle in angles:
        begin, count = angle, 1
        while blocks and blocks[-1][0] + blocks[-1][1] * distance > begin:
            before, many = blocks.pop()
            begin = (many * before + count * (begin - many * distance)) / (many + count)
            count += many
        blocks.append((begin, count))
    spread = [begin + n * distance for begin, count in blocks for n in range(count)]
    if spread and spread[-1] + distance > spread[0] + math.tau + 1e-9:  # it wraps around
        return [spread[0] + math.tau * n / len(spread) for n in range(len(spread))]
    return spread


def shorten_names(names: Sequence[str], longest: int) -> list[str]:
    """The last parts of each path, as many as needed to be distinct; long names lose their middle.

    >>> shorten_names(["a/2005/eng.csv", "a/2006/eng.csv", "b/x.csv"], 20)
    ['2005/eng.csv', '2006/eng.csv', 'x.csv']
    >>> shorten_names(["a-very-long-name-indeed.csv"], 12)
    ['a-very…d.csv']
    >>> shorten_names(["all-of-them-begin-one-and-end", "all-of-them-begin-two-and-end"], 12)
    ['…one…', '…two…']
    """
    parts = [name.split("/") for name in names]
    short = [""] * len(names)
    left = list(range(len(names)))
    depth = 1
    while left:
        tails = {n: "/".join(parts[n][-depth:]) for n in left}
        count = Counter(tails.values())
        for n in left:
            short[n] = tails[n]
        left = [n for n in left if count[tails[n]] > 1 and depth < len(parts[n])]
        depth += 1
    return _distinct(short, [cut_middle(name, longest) for name in short], longest)


def _distinct(names: Sequence[str], cut: Sequence[str], longest: int) -> list[str]:
    """Names that became equal by being cut show where they differ instead."""
    alike: dict[str, list[int]] = {}
    for n, name in enumerate(cut):
        alike.setdefault(name, []).append(n)
    distinct = list(cut)
    for group in alike.values():
        whole = [names[n] for n in group]
        if len(set(whole)) > 1:
            begin = _common(whole)
            end = _common([name[begin:][::-1] for name in whole])
            for n in group:
                rest = names[n][begin : len(names[n]) - end]
                distinct[n] = f"…{cut_middle(rest, longest - 2)}…"
    return distinct


def _common(names: Sequence[str]) -> int:
    """How many letters all names start with."""
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return sum(1 for _ in same)


def cut_middle(name: str, longest: int) -> str:
    """Shorten a name to at most `longest` letters."""
    if len(name) <= longest:
        return name
    end = (longest - 1) // 2
    return f"{name[: longest - 1 - end]}…{name[-end:]}"
