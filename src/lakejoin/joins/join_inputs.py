"""Resolve the pairs of columns that a user wrote, such as `left=right`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lakejoin.errors import InputError
from lakejoin.values.column_names import find_column


def parse_column_pair(
    text: str, left: Sequence[str], right: Sequence[str], left_table: str, right_table: str
) -> tuple[str, str]:
    """Resolve `left=right`, or one name for both, to two columns; indexes count from zero.

    A name may contain `=` itself: the text is split where both sides are columns.

    >>> parse_column_pair("code=iso", ["name", "code"], ["iso"], "a.csv", "b.csv")
    ('code', 'iso')
    >>> parse_column_pair("a=b=0", ["a=b", "c"], ["x"], "a.csv", "b.csv")
    ('a=b', 'x')
    """
    parts = text.split("=")
    splits = [("=".join(parts[:i]), "=".join(parts[i:])) for i in range(1, len(parts))]
    splits += [(text, text)]
    exact = [(a, b) for a, b in splits if a in left and b in right]
    pairs = _distinct(exact) or _distinct(_fitting(splits, left, right, left_table, right_table))
    if len(pairs) == 1:
        return pairs[0]
    if pairs:
        options = " or ".join(f"{a!r} with {b!r}" for a, b in pairs)
        raise InputError(f"{text!r} is ambiguous ({options}): use column indexes, such as 0=1")
    if len(parts) > 2:
        raise InputError(
            f"{text!r} does not name a column of {left_table} and one of {right_table}: write "
            "LEFT=RIGHT, or use column indexes such as 0=1"
        )
    left_name, right_name = splits[0]
    find_column(left, left_name, left_table)
    find_column(right, right_name, right_table)
    raise AssertionError(text)  # one of the two raises


def _fitting(
    splits: Sequence[tuple[str, str]],
    left: Sequence[str],
    right: Sequence[str],
    left_table: str,
    right_table: str,
) -> list[tuple[str, str]]:
    """The splits whose sides are both columns, by index or ignoring case."""
    pairs = []
    for left_name, right_name in splits:
        try:
            left_index = find_column(left, left_name, left_table)
            right_index = find_column(right, right_name, right_table)
        except InputError:
            continue
        pairs.append((left[left_index], right[right_index]))
    return pairs


def _distinct(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return list(dict.fromkeys(pairs))


def parse_column_pairs(on: Any, left: Sequence[str], right: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Resolve `on` of the Python API: a text, a mapping, or a list of texts and pairs.

    >>> parse_column_pairs("code=iso", ["code"], ["iso"]), parse_column_pairs({"code": 0}, ["code"], ["iso"])
    ((('code', 'iso'),), (('code', 'iso'),))
    >>> parse_column_pairs(["year", ("code", "iso")], ["code", "year"], ["iso", "year"])
    (('year', 'year'), ('code', 'iso'))
    """
    if on is None:
        return ()
    if isinstance(on, Mapping):
        items: list[Any] = list(on.items())
    elif isinstance(on, str | int):
        items = [on]
    else:
        items = list(on)
    return tuple(_resolve_pair(item, left, right) for item in items)


def _resolve_pair(item: Any, left: Sequence[str], right: Sequence[str]) -> tuple[str, str]:
    tables = "the left table", "the right table"
    if isinstance(item, str):
        return parse_column_pair(item, left, right, *tables)
    pair = (item, item) if isinstance(item, int) else tuple(item)
    if len(pair) != 2 or not all(isinstance(name, str | int) for name in pair):
        raise InputError(
            f"{item!r} is not a pair of columns: pass one name, or a left and a right name"
        )
    left_index = find_column(left, pair[0], tables[0])
    right_index = find_column(right, pair[1], tables[1])
    return left[left_index], right[right_index]
