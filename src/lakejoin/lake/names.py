"""Column names that can be told apart, and found."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from lakejoin.errors import InputError

_LONGEST = 200
_LISTED = 8


def unique_names(raw: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names made unique and non-empty, and a note for each that was changed.

    An empty name becomes `column_` and its place counted from one; a name seen before gets the
    first free number. Blanks around a name and line ends inside it go, and so does what is beyond
    200 characters.

    >>> unique_names(["a", "", "a", "b "])[0]
    ('a', 'column_2', 'a_2', 'b')
    """
    clean = [_clean(name) if name else "" for name in raw]
    taken = {name for name in clean if name}
    used: set[str] = set()
    names: list[str] = []
    notes: list[str] = []
    next_number: dict[str, int] = {}
    for place, name in enumerate(clean, start=1):
        if name and name not in used:
            chosen = name
        else:
            base = name or f"column_{place}"
            number = next_number.get(base, 2)
            chosen = base
            while chosen in used or chosen in taken:
                chosen = f"{base}_{number}"
                number += 1
            next_number[base] = number
            if name:
                notes.append(f"column {place} repeats the name {name!r} and is called {chosen!r}")
            else:
                notes.append(f"column {place} had no name and is called {chosen!r}")
        used.add(chosen)
        names.append(chosen)
    return tuple(names), tuple(notes)


def _clean(name: str) -> str:
    plain = " ".join(name[:_LONGEST].replace("\0", "").split())
    return plain.encode("utf-8", "replace").decode()  # JSON can spell half characters


def numbered_names(count: int) -> tuple[str, ...]:
    """Names for the columns of a table without a header, told apart from `column_2`, which stands
    for a name that a header left out.

    >>> numbered_names(2)
    ('col_0', 'col_1')
    """
    return tuple(f"col_{place}" for place in range(count))


def find_column(names: Sequence[str], wanted: str | int, table: str) -> int:
    """The place of a column that is named, or given by its place counted from zero.

    A name goes before a place: a column called `0` is found by its name. Case and blanks around
    it are forgiven where that leaves one column. The error lists the nearest names.

    >>> find_column(["code", "Name"], "name", "towns.csv"), find_column(["code", "Name"], 1, "t")
    (1, 1)
    >>> find_column(["iso", "name"], "nome", "towns.csv")
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: towns.csv has no column 'nome'; did you mean 'name'?
    """
    text = str(wanted)
    if isinstance(wanted, str) and text in names:
        return names.index(text)
    if text.isascii() and text.isdigit() and int(text) < len(names):
        return int(text)
    plain = [place for place, name in enumerate(names) if _plain(name) == _plain(text)]
    if isinstance(wanted, str) and len(plain) == 1:
        return plain[0]
    raise InputError(f"{table} has no column {text!r}; {_nearest(names, text)}")


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())


def _nearest(names: Sequence[str], wanted: str) -> str:
    by_plain = {_plain(name): name for name in names}
    near = difflib.get_close_matches(_plain(wanted), list(by_plain), n=3, cutoff=0.5)
    near += [p for p in by_plain if _plain(wanted) in p and p not in near][: 3 - len(near)]
    if near:
        return "did you mean " + " or ".join(repr(by_plain[name]) for name in near) + "?"
    shown = ", ".join(map(repr, names[:_LISTED]))
    return f"it has {shown}" + (" …" if len(names) > _LISTED else "")
