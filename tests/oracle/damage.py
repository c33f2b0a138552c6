"""Damages files of arrays, in every block and in several ways."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lakejoin.locations import Location
from lakejoin.store.arrayfile import BLOCK, ArrayFile


def damaged(file: Path, rng: np.random.Generator, most: int) -> Iterator[str]:
    """Damages each array in each block of a file in several ways, one at a time."""
    opened = ArrayFile(Location.of(str(file)))
    spans = []
    for name in opened.names():
        array = opened.array(name)
        begin, end = array.offset, array.offset + array.raw.nbytes
        for block in range(begin // BLOCK, -(-end // BLOCK)):
            low, high = max(begin, block * BLOCK), min(end, (block + 1) * BLOCK)
            ways = ["flip", "bit", "zero", "ones", "noise", "first", "last"]
            spans += [(name, low, high, way) for way in ways if high > low]
    chosen = rng.permutation(len(spans))[:most]
    for number in chosen.tolist():
        name, low, high, way = spans[number]
        if way == "first":
            high = min(high, low + 4)
        elif way == "last":
            low = max(low, high - 4)
        elif way in ("flip", "bit"):
            low = int(rng.integers(low, high))
            high = low + 1
        with file.open("r+b") as out:
            out.seek(low)
            good = out.read(high - low)
            old = np.frombuffer(good, dtype=np.uint8)
            bad = {
                "flip": old ^ 0xFF,
                "bit": old ^ 1,
                "zero": old * 0,
                "noise": rng.integers(0, 256, len(old)).astype(np.uint8),
            }.get(way, old | 0xFF)
            out.seek(low)
            out.write(bad.astype(np.uint8).tobytes())
        try:
            yield f"{way} of {name}, bytes {low} to {high}"
        finally:
            with file.open("r+b") as out:
                out.seek(low)
                out.write(good)
