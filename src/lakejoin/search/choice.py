"""Which column of my table is meant?"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakejoin.errors import InputError
from lakejoin.model import ColumnType
from lakejoin.search.mine import searched

if TYPE_CHECKING:
    from lakejoin.model import ColumnProfile
    from lakejoin.search.mine import MyTable

ALL = "*"
_NEAR = 3


def choose(table: MyTable, on: str | int | None, all_columns: bool) -> tuple[list[int], str]:
    """The places of the columns to search for, and a sentence where it was not said which.

    `on` is a name, a zero-based place, `"*"` for every column that an index searches, or None for
    the most key-like text column.
    """
    if on is None:
        return _most_key_like(table, all_columns)
    if on == ALL and ALL not in table.names:
        return _all(table, all_columns), ""
    place = place_of(table.names, on, table.name)
    if table.profile(place).type is ColumnType.EMPTY:
        name = table.names[place]
        raise InputError(f"column {name!r} of {table.name} has no values to search for")
    return [place], ""


def place_of(names: Sequence[str], on: str | int, table: str) -> int:
    """The place of the column that is named or numbered so.

    >>> place_of(["Code", "city name"], "code", "t"), place_of(["a", "b"], "1", "t")
    (0, 1)
    >>> place_of(["Code", "city"], "citys", "t.csv")
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: t.csv has no column 'citys'; did you mean 'city'? (2 columns)
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
    raise InputError(
        f"{table} has no column {place}; its {_columns(len(names))} are numbered from 0 to "
        f"{len(names) - 1}"
    )


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


def _all(table: MyTable, all_columns: bool) -> list[int]:
    profiles = table.profiles()
    places = [i for i, profile in enumerate(profiles) if searched(profile.type, all_columns)]
    if not places:
        raise _nothing(table, profiles)
    return places


def _most_key_like(table: MyTable, all_columns: bool) -> tuple[list[int], str]:
    profiles = table.profiles()
    usable = [i for i, profile in enumerate(profiles) if searched(profile.type, all_columns)]
    if not usable:
        raise _nothing(table, profiles)
    texts = [i for i in usable if profiles[i].type is ColumnType.TEXT]
    best = max(texts or usable, key=lambda i: profiles[i].key_likeness)
    if len(profiles) == 1:
        return [best], ""
    kind = "text column" if texts else "column (none holds text)"
    return [best], f"no column was named: {table.names[best]!r} is taken, the most key-like {kind}"


def _nothing(table: MyTable, profiles: Sequence[ColumnProfile]) -> InputError:
    kinds = sorted({str(profile.type) for profile in profiles} - {"empty"})
    if not kinds:
        return InputError(f"{table.name} has no values to search for")
    return InputError(
        f"{table.name} has only columns of type {' and '.join(kinds)}, which this index does not "
        "search; name a column to search for it nevertheless"
    )
