"""Place the tables of a picture on rings, each beyond the table that leads to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_RING = 236.0  # least distance between rings, so that labels end before the next one
_NARROW = 70.0  # the same where there are no labels
_APART = 26.0  # between two tables with labels on a ring
_NAMED = 160  # tables on a ring up to which they have labels; larger rings only have tooltips
_CLOSE = 15.0  # between two tables without labels, which stand in several rows


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
        least = outer + (_RING if named_before else _NARROW)
        ring.sort(key=lambda index: angles[index])
        named = len(ring) <= _NAMED
        rows = 1 if named else max(1, math.ceil(len(ring) * _CLOSE / (math.tau * least)))
        radius = max(least, len(ring) * _APART / math.tau) if named else least
        apart = (_APART if named else _CLOSE / rows) / radius
        spread = _spread([angles[index] for index in ring], apart)
        for rank, (index, angle) in enumerate(zip(ring, spread, strict=True)):
            own = radius + _CLOSE * (rank % rows)
            at = own * math.cos(angle), own * math.sin(angle)
            spots[index] = TableSpot(at, angle, hop, named, bool(children[index]))
        outer, named_before = radius + _CLOSE * (rows - 1), named
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


def _spread(angles: Sequence[float], apart: float) -> list[float]:
    """Ascending angles, moved as little as needed to be `apart` from each other on the circle.

    >>> [round(angle, 2) for angle in _spread([0.0, 0.0, 3.0], 0.2)]
    [-0.1, 0.1, 3.0]
    """
    blocks: list[tuple[float, int]] = []  # (first angle, how many angles follow at that distance)
    for angle in angles:
        begin, count = angle, 1
        while blocks and blocks[-1][0] + blocks[-1][1] * apart > begin:
            before, many = blocks.pop()
            begin = (many * before + count * (begin - many * apart)) / (many + count)
            count += many
        blocks.append((begin, count))
    found = [begin + n * apart for begin, count in blocks for n in range(count)]
    if found and found[-1] + apart > found[0] + math.tau + 1e-9:  # it wraps around
        return [found[0] + math.tau * n / len(found) for n in range(len(found))]
    return found
