"""Make column names unique, and find columns by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, count

from lakejoin.errors import InputError
from lakejoin.text_format import counted

_LONGEST = 200
_NEAR = 3


def unique_names(raw: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Make names unique and non-empty; returns them with a note for each changed one.

    An empty name becomes `column_` and its one-based index; a repeated name gets the first free
    number. Surrounding blanks, line ends and everything after 200 characters are removed.

    >>> unique_names(["a", "", "a", "b "])[0]
    ('a', 'column_2', 'a_2', 'b')
    """
    clean = [_clean(name) if name else "" for name in raw]
    taken = {name for name in clean if name}
    used: set[str] = set()
    names: list[str] = []
    notes: list[str] = []
    next_number: dict[str, int] = {}
    for index, name in enumerate(clean, start=1):
        if name and name not in used:
            chosen = name
        else:
            base = name or f"column_{index}"
            number = next_number.get(base, 2)
            chosen = base
            while chosen in used or chosen in taken:
                chosen = f"{base}_{number}"
                number += 1
            next_number[base] = number
            if name:
                notes.append(f"column {index} repeats the name {name!r}; renamed to {chosen!r}")
            else:
                notes.append(f"column {index} has no name; named {chosen!r}")
        used.add(chosen)
        names.append(chosen)
    return tuple(names), tuple(notes)


def _clean(name: str) -> str:
    plain = " ".join(name[:_LONGEST].replace("\0", "").split())
    return plain.encode("utf-8", "replace").decode()  # JSON can contain lone surrogates


def _underscored(name: str, number: int) -> str:
    return name + "_" * (number - 1)


def make_names_unique(
    names: Iterable[str],
    taken: Iterable[str] = (),
    alike: Callable[[str], str] = str,
    rename: Callable[[str, int], str] = _underscored,
) -> list[str]:
    """Make names unique: those that repeat or are taken get underscores, or are renamed with the
    first number from 2 that makes them unique.

    >>> make_names_unique(["n", "n", "mine"], taken=["mine"])
    ['n', 'n_', 'mine_']
    >>> make_names_unique(["N", "n"], alike=str.lower)
    ['N', 'n_']
    >>> make_names_unique(["a.csv", "b.csv", "a.csv"], rename="{} ({})".format)
    ['a.csv', 'b.csv', 'a.csv (2)']
    """
    used = set(map(alike, taken))
    unique: list[str] = []
    for original in names:
        renamed = (rename(original, number) for number in count(2))
        name = next(name for name in chain([original], renamed) if alike(name) not in used)
        used.add(alike(name))
        unique.append(name)
    return unique


def numbered_names(count: int) -> tuple[str, ...]:
    """Column names for a table without a header; unlike `column_2`, which replaces a name missing
    from a header.

    >>> numbered_names(2)
    ('col_0', 'col_1')
    """
    return tuple(f"col_{index}" for index in range(count))


def find_column(names: Sequence[str], column: str | int, table: str) -> int:
    """The index of the column with this name or index.

    >>> find_column(["Code", "city name"], "code", "t"), find_column(["a", "b"], "1", "t")
    (0, 1)
    >>> find_column(["Code", "city"], "citys", "t.csv")
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: t.csv has no column 'citys'; did you mean 'city'? (2 columns)
    >>> find_column(["Code"], 3, "t.csv")
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: t.csv has no column 3; its only column is 0
    """
    if isinstance(column, int):
        return _checked_index(names, column, table)
    for fits in (lambda name: name == column, lambda name: _loose(name) == _loose(column)):
        indices = [index for index, name in enumerate(names) if fits(name)]
        if len(indices) == 1:
            return indices[0]
        if indices:
            raise InputError(
                f"{table} has {len(indices)} columns called {column!r}; choose one by its "
                f"zero-based index: {', '.join(map(str, indices))}"
            )
    if column.strip().isdecimal():
        return _checked_index(names, int(column), table)
    raise InputError(f"{table} has no column {column!r}; {_nearest(names, column)}")


def _checked_index(names: Sequence[str], index: int, table: str) -> int:
    if 0 <= index < len(names):
        return index
    last = len(names) - 1
    known = f"{last + 1:,} columns are numbered from 0 to {last:,}" if last else "only column is 0"
    raise InputError(f"{table} has no column {index}; its {known}")


def _loose(name: str) -> str:
    return " ".join(name.split()).casefold()


def _nearest(names: Sequence[str], on: str) -> str:
    loose = {_loose(name): name for name in reversed(names)}
    near = difflib.get_close_matches(_loose(on), loose, n=_NEAR, cutoff=0.5)
    near += [key for key in loose if _loose(on) in key and key not in near][: _NEAR - len(near)]
    count = f"({counted(len(names), 'column')})"
    if near:
        return "did you mean " + " or ".join(repr(loose[key]) for key in near) + f"? {count}"
    shown = ", ".join(map(repr, names[:_NEAR])) + (", …" if len(names) > _NEAR else "")
    return f"it has {shown} {count}"
