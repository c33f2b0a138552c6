"""Which column of my table is meant, or which columns as a composite key?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

from lakejoin.errors import InputError
from lakejoin.lake.names import find_column
from lakejoin.model import ColumnType
from lakejoin.search.mine import searched

if TYPE_CHECKING:
    from lakejoin.model import ColumnProfile
    from lakejoin.search.mine import MyTable

ALL = "*"
_FIXES = "fixes the partner of a key column, which needs two or more key columns"

On = str | int | None | Iterable[str | int] | Mapping[str | int, str | None]


@dataclass(frozen=True, slots=True)
class Choice:
    """The places of the columns to search for: one after the other, or together as a key.

    `fixed[j]` is the name of the only column that the j-th key column may be mapped to, or None.
    `said` is a sentence where it was not said which column is meant; `every` tells that all were.
    """

    places: tuple[int, ...]
    fixed: tuple[str | None, ...] = ()
    said: str = ""
    every: bool = False

    @property
    def is_key(self) -> bool:
        """Whether the columns are searched for together."""
        return bool(self.fixed)


def choose(table: MyTable, on: On, all_columns: bool, by: str = "overlap") -> Choice:
    """What to search for.

    `on` is a name, a zero-based place, `"*"` for every column that an index searches, or None for
    the most key-like text column. Several names or places, in anything that has an order, are a
    composite key; `"mine=theirs"` among them, or a mapping from mine to theirs (or None), fixes a
    column's partner. `by` meaning, every column is every one that holds text; `by` distance, two
    columns are a place, and None is the place that the table has.
    """
    asked: Any = in_order(on)
    if by == "distance":
        return _points(table, asked)
    if asked is None:
        return _most_key_like(table, all_columns)
    if isinstance(asked, Mapping):
        return _together(table, [(_place(table, mine), fixed) for mine, fixed in asked.items()])
    if isinstance(asked, list):
        if len(asked) == 1 and isinstance(asked[0], str | Integral):
            one: Any = asked[0]
            return choose(table, one, all_columns, by)
        return _together(table, [_part(table, one) for one in asked])
    if asked == ALL and ALL not in table.names:
        every = _all_texts(table) if by == "meaning" else _all(table, all_columns)
        return Choice(every, every=True)
    place, fixed = _part(table, asked)
    if fixed is not None:
        raise InputError(f"{asked!r} {_FIXES}")
    _check_values(table, place)
    return Choice((place,))


def in_order(on: Any) -> Any:
    """Several columns as a list of Python's own values, wherever they stand; else as they are.

    >>> import numpy as np
    >>> in_order(("a", "b")), in_order("ab"), in_order(np.array(["a", "b"]))
    (['a', 'b'], 'ab', ['a', 'b'])
    >>> in_order({"a", "b"})
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: a set has no order: give the columns of a key as a list
    """
    if isinstance(on, set | frozenset):
        raise InputError("a set has no order: give the columns of a key as a list")
    if isinstance(on, bytes | bytearray | memoryview):
        raise InputError(f"a column is named by a text, and not by bytes ({bytes(on)!r})")
    if isinstance(on, str | Integral | Mapping) or not isinstance(on, Iterable):
        return on
    for name in ("tolist", "to_pylist", "to_list"):  # of arrays and series
        if callable(convert := getattr(on, name, None)):
            return convert()
    return list(on)


def _together(table: MyTable, parts: Sequence[tuple[int, str | None]]) -> Choice:
    if not parts:
        raise InputError("a key needs a column: name one, or two or more")
    places, fixed = zip(*parts, strict=True)
    for place in places:
        if places.count(place) > 1:
            name = table.names[place]
            raise InputError(f"column {name!r} of {table.name} was named twice")
    for place, name in zip(places, fixed, strict=True):
        if isinstance(name, str) and not name.strip():
            raise InputError(
                f"{name!r} names no column as the partner of {table.names[place]!r}: give its "
                "name, or None for any column"
            )
        if name is not None and not isinstance(name, str):
            raise InputError(f"the partner of a key column is named, and not given by {name!r}")
        if name is not None and fixed.count(name) > 1:
            raise InputError(f"two key columns cannot have the same partner {name!r}")
    if len(places) == 1:
        if fixed[0] is not None:
            raise InputError(f"'{table.names[places[0]]}={fixed[0]}' {_FIXES}")
        fixed = ()
    table.read(places)
    for place in places:
        _check_values(table, place)
    return Choice(places, fixed)


def _part(table: MyTable, on: str | int) -> tuple[int, str | None]:
    """A column, and the partner that `mine=theirs` gives it; names may hold `=` themselves."""
    if isinstance(on, str) and on == ALL and ALL not in table.names:
        raise InputError("'*' searches for every column by itself: it cannot be part of a key")
    if not isinstance(on, str) or "=" not in on or _is_column(table, on):
        return _place(table, on), None
    splits = [(on[:i], on[i + 1 :]) for i, letter in enumerate(on) if letter == "="]
    exact = [split for split in splits if split[0] in table.names]
    found = exact or [split for split in splits if _is_column(table, split[0])]
    if len(found) > 1:
        raise InputError(
            f"{on!r} may mean {' or '.join(repr(mine) for mine, _ in found)}: give the place of "
            "your column, counted from zero, in front of the ="
        )
    mine, theirs = found[0] if found else splits[0]
    place = _place(table, mine)
    if not theirs.strip():
        raise InputError(f"{on!r} names no column behind the =")
    return place, theirs


def _is_column(table: MyTable, on: str) -> bool:
    try:
        find_column(table.names, on, table.name)
    except InputError:
        return False
    return True


def _place(table: MyTable, on: str | int) -> int:
    if isinstance(on, bool) or not isinstance(on, str | Integral):
        raise InputError(f"a column is named, or given by its place, and not by {on!r}")
    return find_column(table.names, on if isinstance(on, str) else int(on), table.name)


def _check_values(table: MyTable, place: int) -> None:
    if table.profile(place).type is ColumnType.EMPTY:
        name = table.names[place]
        raise InputError(f"column {name!r} of {table.name} has no values to search for")


def _all(table: MyTable, all_columns: bool) -> tuple[int, ...]:
    profiles = table.profiles()
    places = tuple(i for i, profile in enumerate(profiles) if searched(profile.type, all_columns))
    if not places:
        raise _nothing(table, profiles)
    return places


def _points(table: MyTable, asked: Any) -> Choice:
    """What is compared by distance: a column, or two that are a place."""
    from lakejoin.search.point_query import place_in

    if asked is None and len(table.names) == 1:
        asked = 0
    if asked is None:
        places, said = place_in(table)
        return Choice(places, said=said)
    if asked == ALL and ALL not in table.names:
        raise InputError("a search by distance is for one column, or for two that are a place")
    if isinstance(asked, Mapping):
        raise InputError("a search by distance fixes no partners: name your columns in a list")
    parts = [_part(table, one) for one in (asked if isinstance(asked, list) else [asked])]
    if any(fixed is not None for _, fixed in parts):
        raise InputError("a search by distance fixes no partners: name your columns alone")
    if len(parts) > 2:
        raise InputError(
            f"{len(parts)} columns are no place: a search by distance is for one column, or for a "
            "latitude and a longitude"
        )
    return Choice(_together(table, parts).places)


def _all_texts(table: MyTable) -> tuple[int, ...]:
    profiles = table.profiles()
    texts = (ColumnType.TEXT, ColumnType.MIXED)
    places = tuple(i for i, profile in enumerate(profiles) if profile.type in texts)
    if not places:
        raise InputError(
            f"{table.name} has no column that holds text, and only texts have a meaning"
        )
    return places


def _most_key_like(table: MyTable, all_columns: bool) -> Choice:
    profiles = table.profiles()
    usable = [i for i, profile in enumerate(profiles) if searched(profile.type, all_columns)]
    if not usable:
        raise _nothing(table, profiles)
    texts = [i for i in usable if profiles[i].type is ColumnType.TEXT]
    best = max(texts or usable, key=lambda i: profiles[i].key_likeness)
    if len(profiles) == 1:
        return Choice((best,))
    kind = "text column" if texts else "column (none holds text)"
    said = f"no column was named: {table.names[best]!r} is taken, the most key-like {kind}"
    return Choice((best,), said=said)


def _nothing(table: MyTable, profiles: Sequence[ColumnProfile]) -> InputError:
    kinds = sorted({str(profile.type) for profile in profiles} - {"empty"})
    if not kinds:
        return InputError(f"{table.name} has no values to search for")
    return InputError(
        f"{table.name} has only columns of type {' and '.join(kinds)}, which this index does not "
        "search; name a column to search for it nevertheless"
    )
