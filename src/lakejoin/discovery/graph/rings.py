"""Where the tables of a picture stand: on rings, each beyond the one that leads to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_RING = 236.0  # from one ring to the next, at the least: the names of one end before the next
_NARROW = 70.0  # where no names stand between them
_APART = 26.0  # two tables with names on a ring
_NAMED = 160  # tables on a ring whose names are written; the others tell them when pointed at
_CLOSE = 15.0  # two tables without names, which stand in several rows


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a table stands, seen from the middle; it may have a name, and lead to others."""

    at: tuple[float, float]
    angle: float
    hop: int
    named: bool
    leads: bool


def arranged(parents: Sequence[int], hops: Sequence[int]) -> list[Spot]:
    """Spots for tables on ring `hops`, each reached from that of its parent, a place before it.

    Every table has a part of the circle, as wide as what lies beyond it needs: so lines that lead
    outwards do not cross.

    >>> [(round(s.at[0]), round(s.at[1])) for s in arranged([-1, 0, 0], [0, 1, 1])]
    [(0, 0), (236, 0), (-236, 0)]
    """
    children: list[list[int]] = [[] for _ in parents]
    for place, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(place)
    leaves = [1] * len(parents)
    for place in reversed(range(len(parents))):
        if children[place]:
            leaves[place] = sum(leaves[child] for child in children[place])
    angles = _angles(children, leaves)
    rings: list[list[int]] = [[] for _ in range(max(hops) + 1)]
    for place, hop in enumerate(hops):
        rings[hop].append(place)
    spots = [Spot((0.0, 0.0), 0.0, 0, True, bool(children[0]))] * len(parents)
    outer, named_before = 0.0, True
    for hop, ring in enumerate(rings[1:], start=1):
        least = outer + (_RING if named_before else _NARROW)
        ring.sort(key=lambda place: angles[place])
        named = len(ring) <= _NAMED
        rows = 1 if named else max(1, math.ceil(len(ring) * _CLOSE / (math.tau * least)))
        radius = max(least, len(ring) * _APART / math.tau) if named else least
        apart = (_APART if named else _CLOSE / rows) / radius
        spread = _spread([angles[place] for place in ring], apart)
        for number, (place, angle) in enumerate(zip(ring, spread, strict=True)):
            own = radius + _CLOSE * (number % rows)
            at = own * math.cos(angle), own * math.sin(angle)
            spots[place] = Spot(at, angle, hop, named, bool(children[place]))
        outer, named_before = radius + _CLOSE * (rows - 1), named
    return spots


def _angles(children: Sequence[Sequence[int]], leaves: Sequence[int]) -> list[float]:
    """The direction of each table, in the middle of its part of the circle."""
    angles = [0.0] * len(children)
    parts = {0: (-math.pi / max(1, leaves[0]), math.tau)}  # the first leaf is on the right
    for place in range(len(children)):  # those that lead to others come before these
        begin, wide = parts.pop(place)
        angles[place] = begin + wide / 2
        for child in children[place]:
            share = wide * leaves[child] / leaves[place]
            parts[child] = begin, share
            begin += share
    return angles


def _spread(angles: Sequence[float], apart: float) -> list[float]:
    """Rising angles, moved as little as makes each so far from the next, around the circle.

    >>> [round(angle, 2) for angle in _spread([0.0, 0.0, 3.0], 0.2)]
    [-0.1, 0.1, 3.0]
    """
    blocks: list[tuple[float, int]] = []  # (the first angle, how many follow at that distance)
    for angle in angles:
        begin, count = angle, 1
        while blocks and blocks[-1][0] + blocks[-1][1] * apart > begin:
            before, many = blocks.pop()
            begin = (many * before + count * (begin - many * apart)) / (many + count)
            count += many
        blocks.append((begin, count))
    found = [begin + n * apart for begin, count in blocks for n in range(count)]
    if found and found[-1] + apart > found[0] + math.tau + 1e-9:  # the first is in the way
        return [found[0] + math.tau * n / len(found) for n in range(len(found))]
    return found
