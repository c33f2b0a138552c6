"""Brute force for logical tables: the rows of all files, one by one, united by name."""

from __future__ import annotations

from collections.abc import Sequence

Row = dict[str, str | None]


def unite_rows(
    files: Sequence[tuple[Sequence[str], Sequence[Sequence[str | None]], dict[str, str | None]]],
) -> list[Row]:
    """Every row of every file (its column names, its rows, its partition) as a dictionary with all
    columns of all files; a partition replaces a column of the same name."""
    names: dict[str, None] = {}
    for header, _, partition in files:
        names.update(dict.fromkeys([*header, *partition]))
    united = []
    for header, rows, partition in files:
        for row in rows:
            found: Row = dict.fromkeys(names)
            for name, cell in zip(header, row, strict=True):
                found[name] = cell
            found.update(partition)
            united.append(found)
    return united
