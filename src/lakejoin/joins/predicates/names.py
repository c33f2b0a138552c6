"""Unique labels for tables, and names for the columns of their join."""

from __future__ import annotations

from collections.abc import Sequence

from lakejoin.joins.joined_table import result_names


def unique_labels(names: Sequence[str]) -> tuple[str, ...]:
    """Make table names unique by numbering repeated ones.

    >>> unique_labels(["a.csv", "b.csv", "a.csv"])
    ('a.csv', 'b.csv', 'a.csv (2)')
    """
    labels: list[str] = []
    for name in names:
        label, number = name, 2
        while label in labels:
            label, number = f"{name} ({number})", number + 1
        labels.append(label)
    return tuple(labels)


def joined_column_names(columns: Sequence[Sequence[str]]) -> list[str]:
    """The column names of the result; with more than two tables, a repeated name gets the number of
    its table as a suffix.

    >>> joined_column_names([["id", "a"], ["id", "b"], ["id", "a"]])
    ['id', 'a', 'id_2', 'b', 'id_3', 'a_3']
    >>> joined_column_names([["id"], ["id"]])
    ['id', 'id_right']
    """
    if len(columns) == 2:
        return result_names(columns[0], columns[1])
    names: list[str] = []
    for number, table_columns in enumerate(columns, start=1):
        names = result_names(names, table_columns, f"_{number}")
    return names
