"""Brute force for join paths: a chain of joins, made row by row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

Column = Sequence[str | None]  # canonical values


def joined_rows(chain: Sequence[tuple[Column, Column]]) -> list[int]:
    """For every row of the first table, how many rows of the whole join it is in.

    Each link is (the column of a table, the column of the next one that must equal it).
    """
    rows = [[row] for row in range(len(chain[0][0]))]
    for mine, theirs in chain:
        partners: dict[str, list[int]] = defaultdict(list)
        for row, value in enumerate(theirs):
            if value is not None:
                partners[value].append(row)
        rows = [
            [other for row in reached for other in _of(partners, mine[row])] for reached in rows
        ]
    return [len(reached) for reached in rows]


def _of(partners: dict[str, list[int]], value: str | None) -> list[int]:
    return partners.get(value, []) if value is not None else []
