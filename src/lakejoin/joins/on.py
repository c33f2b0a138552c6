"""What does `left=right` mean? The pair of columns that a person wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lakejoin.errors import InputError
from lakejoin.lake.names import find_column


def columns_of(
    text: str, left: Sequence[str], right: Sequence[str], left_table: str, right_table: str
) -> tuple[str, str]:
    """The columns that `left=right` names, or one name for both; places count from zero.

    A name may itself hold `=`: it is parted where both sides are columns.

    >>> columns_of("code=iso", ["name", "code"], ["iso"], "a.csv", "b.csv")
    ('code', 'iso')
    >>> columns_of("a=b=0", ["a=b", "c"], ["x"], "a.csv", "b.csv")
    ('a=b', 'x')
    """
    parts = text.split("=")
    splits = [("=".join(parts[:i]), "=".join(parts[i:])) for i in range(1, len(parts))]
    splits += [(text, text)]
    exact = [(a, b) for a, b in splits if a in left and b in right]
    found = _distinct(exact) or _distinct(_fitting(splits, left, right, left_table, right_table))
    if len(found) == 1:
        return found[0]
    if found:
        ways = " or ".join(f"{a!r} with {b!r}" for a, b in found)
        raise InputError(f"{text!r} may mean {ways}: give the places of the columns, such as 0=1")
    if len(parts) > 2:
        raise InputError(
            f"{text!r} names no column of {left_table} and one of {right_table}: part them by one "
            f"=, or give their places, such as 0=1"
        )
    mine, theirs = splits[0]
    find_column(left, mine, left_table)
    find_column(right, theirs, right_table)
    raise AssertionError(text)  # one of the two was not found


def _fitting(
    splits: Sequence[tuple[str, str]],
    left: Sequence[str],
    right: Sequence[str],
    left_table: str,
    right_table: str,
) -> list[tuple[str, str]]:
    """The ways to part the text where both parts are columns when places and case are forgiven."""
    found = []
    for mine, theirs in splits:
        try:
            place = find_column(left, mine, left_table), find_column(right, theirs, right_table)
        except InputError:
            continue
        found.append((left[place[0]], right[place[1]]))
    return found


def _distinct(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return list(dict.fromkeys(pairs))


def pairs_given(on: Any, left: Sequence[str], right: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The pairs of columns that a Python user gave: a text, a mapping, a list of texts and pairs.

    >>> pairs_given("code=iso", ["code"], ["iso"]), pairs_given({"code": 0}, ["code"], ["iso"])
    ((('code', 'iso'),), (('code', 'iso'),))
    >>> pairs_given(["year", ("code", "iso")], ["code", "year"], ["iso", "year"])
    (('year', 'year'), ('code', 'iso'))
    """
    if on is None:
        return ()
    if isinstance(on, Mapping):
        given: list[Any] = list(on.items())
    elif isinstance(on, str | int):
        given = [on]
    else:
        given = list(on)
    return tuple(_pair_given(one, left, right) for one in given)


def _pair_given(one: Any, left: Sequence[str], right: Sequence[str]) -> tuple[str, str]:
    tables = "the left table", "the right table"
    if isinstance(one, str):
        return columns_of(one, left, right, *tables)
    pair = (one, one) if isinstance(one, int) else tuple(one)
    if len(pair) != 2 or not all(isinstance(part, str | int) for part in pair):
        raise InputError(f"{one!r} is no pair of columns: give a name, or a left and a right one")
    mine, theirs = find_column(left, pair[0], tables[0]), find_column(right, pair[1], tables[1])
    return left[mine], right[theirs]
