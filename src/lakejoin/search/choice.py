"""Which column of my table is meant?"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING

from lakejoin.errors import InputError
from lakejoin.lake.names import find_column
from lakejoin.model import ColumnType
from lakejoin.search.mine import searched

if TYPE_CHECKING:
    from lakejoin.model import ColumnProfile
    from lakejoin.search.mine import MyTable

ALL = "*"


def choose(table: MyTable, on: str | int | None, all_columns: bool) -> tuple[list[int], str]:
    """The places of the columns to search for, and a sentence where it was not said which.

    `on` is a name, a zero-based place, `"*"` for every column that an index searches, or None for
    the most key-like text column.
    """
    if on is None:
        return _most_key_like(table, all_columns)
    if on == ALL and ALL not in table.names:
        return _all(table, all_columns), ""
    if isinstance(on, bool) or not isinstance(on, str | Integral):
        raise InputError(f"a column is named, or given by its place, and not by {on!r}")
    place = find_column(table.names, on if isinstance(on, str) else int(on), table.name)
    if table.profile(place).type is ColumnType.EMPTY:
        name = table.names[place]
        raise InputError(f"column {name!r} of {table.name} has no values to search for")
    return [place], ""


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
