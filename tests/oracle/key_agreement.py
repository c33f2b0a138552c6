"""Agreement of columns in matching rows, and matches of a key, by comparing every pair of rows."""

from __future__ import annotations

from collections.abc import Sequence

Row = Sequence[int]


def agreement(left: Sequence[Row], right: Sequence[Row], own: int, other: int) -> float:
    """The share of left rows with a value in `own` (counted after the key, which is first) that
    have a right row of the same key with that value in `other`; -1 is no value."""
    known = [row for row in left if row[1 + own] >= 0]
    held = [
        row for row in known if any(r[0] == row[0] and r[1 + other] == row[1 + own] for r in right)
    ]
    return len(held) / len(known) if known else 0.0


def matches(
    left: Sequence[Row], right: Sequence[Row], pairs: Sequence[tuple[int, int]]
) -> tuple[int, int, int]:
    """The left rows, the right rows and the pairs of rows that match by the key and some pairs."""

    def match(a: Row, b: Row) -> bool:
        return a[0] == b[0] and all(a[1 + i] == b[1 + j] >= 0 for i, j in pairs)

    both = [(i, j) for i, a in enumerate(left) for j, b in enumerate(right) if match(a, b)]
    return len({i for i, _ in both}), len({j for _, j in both}), len(both)
