"""Column names that can be told apart, and found."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from lakejoin.errors import InputError

_LONGEST = 200
_NEAR = 3


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


def find_column(names: Sequence[str], on: str | int, table: str) -> int:
    """The place of the column that is named or numbered so.

    >>> find_column(["Code", "city name"], "code", "t"), find_column(["a", "b"], "1", "t")
    (0, 1)
    >>> find_column(["Code", "city"], "citys", "t.csv")
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: t.csv has no column 'citys'; did you mean 'city'? (2 columns)
    >>> find_column(["Code"], 3, "t.csv")
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: t.csv has no column 3; its only one is 0
    """
    if isinstance(on, int):
        return _numbered(names, on, table)
    for fits in (lambda name: name == on, lambda name: _loose(name) == _loose(on)):
        places = [place for place, name in enumerate(names) if fits(name)]
        if len(places) == 1:
            return places[0]
        if places:
            raise InputError(
                f"{table} has {len(places)} columns called {on!r}; give one of their zero-based "
                f"places: {', '.join(map(str, places))}"
            )
    if on.strip().isdecimal():
        return _numbered(names, int(on), table)
    raise InputError(f"{table} has no column {on!r}; {_nearest(names, on)}")


def _numbered(names: Sequence[str], place: int, table: str) -> int:
    if 0 <= place < len(names):
        return place
    last = len(names) - 1
    numbers = f"{last + 1:,} columns are numbered from 0 to {last:,}" if last else "only one is 0"
    raise InputError(f"{table} has no column {place}; its {numbers}")


def _loose(name: str) -> str:
    return " ".join(name.split()).casefold()


def _nearest(names: Sequence[str], on: str) -> str:
    loose = {_loose(name): name for name in reversed(names)}
    near = difflib.get_close_matches(_loose(on), loose, n=_NEAR, cutoff=0.5)
    near += [key for key in loose if _loose(on) in key and key not in near][: _NEAR - len(near)]
    count = f"({_columns(len(names))})"
    if near:
        return "did you mean " + " or ".join(repr(loose[key]) for key in near) + f"? {count}"
    shown = ", ".join(map(repr, names[:_NEAR])) + (", …" if len(names) > _NEAR else "")
    return f"it has {shown} {count}"


def _columns(count: int) -> str:
    return f"{count:,} column" + ("" if count == 1 else "s")
