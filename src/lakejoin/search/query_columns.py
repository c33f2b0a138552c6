"""Choose the columns of the query table to search for: one, several, or a composite key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from lakejoin.engines.query import QueryTable, is_searched
from lakejoin.errors import InputError
from lakejoin.model import ColumnType
from lakejoin.values.column_names import find_column

ALL_COLUMNS = "*"
_FIXES = "fixes the lake column, which needs a key of two or more columns"

ColumnSelection = str | int | None | Iterable[str | int] | Mapping[str | int, str | None]


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """The indexes of the columns to search for: each by itself, or together as a key.

    `fixed[j]` is the name of the only lake column that key column j may map to, or None for any.
    `note` is a note if the caller named no column; `is_every_column` says that all were asked for.
    """

    column_indexes: tuple[int, ...]
    fixed_partners: tuple[str | None, ...] = ()
    note: str = ""
    is_every_column: bool = False

    @property
    def is_key(self) -> bool:
        return bool(self.fixed_partners)


def split_searches(choice: ColumnChoice, by: str) -> list[ColumnChoice]:
    """Split a choice into searches: one per column, or one for all columns together."""
    if choice.is_key or by == "distance":
        return [choice]
    return [ColumnChoice((column_index,)) for column_index in choice.column_indexes]


def choose_columns(
    table: QueryTable, on: ColumnSelection, all_columns: bool, by: str = "overlap"
) -> ColumnChoice:
    """Choose the columns to search for.

    `on` is a name, a zero-based index, `"*"` for every column that the index searches, or None for
    the most key-like text column. An ordered collection of names or indexes is a composite key;
    `"mine=theirs"` in it, or a mapping from own to lake columns (or None), fixes the lake column of
    a column. By meaning, `"*"` is every text column; by distance, two columns are latitude and
    longitude, and None is the coordinates of the table.
    """
    selection: Any = to_column_list(on)
    if by == "distance":
        return _choose_points(table, selection)
    if selection is None:
        return _most_key_like(table, all_columns)
    if isinstance(selection, Mapping):
        return _choose_key(
            table, [(_find_index(table, name), fixed) for name, fixed in selection.items()]
        )
    if isinstance(selection, list):
        if len(selection) == 1 and isinstance(selection[0], str | Integral):
            one: Any = selection[0]
            return choose_columns(table, one, all_columns, by)
        return _choose_key(table, [_parse_key_column(table, one) for one in selection])
    if selection == ALL_COLUMNS and ALL_COLUMNS not in table.column_names:
        every = _all_texts(table) if by == "meaning" else _all_searched(table, all_columns)
        return ColumnChoice(every, is_every_column=True)
    column_index, fixed = _parse_key_column(table, selection)
    if fixed is not None:
        raise InputError(f"{selection!r} {_FIXES}")
    _check_not_empty(table, column_index)
    return ColumnChoice((column_index,))


def to_column_list(on: Any) -> Any:
    """Convert a collection of columns to a list of plain Python values; leave anything else alone.

    >>> import numpy as np
    >>> to_column_list(("a", "b")), to_column_list("ab"), to_column_list(np.array(["a", "b"]))
    (['a', 'b'], 'ab', ['a', 'b'])
    >>> to_column_list({"a", "b"})
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: a set has no order: pass the columns of a key as a list
    """
    if isinstance(on, set | frozenset):
        raise InputError("a set has no order: pass the columns of a key as a list")
    if isinstance(on, bytes | bytearray | memoryview):
        raise InputError(f"name a column with a string, not bytes ({bytes(on)!r})")
    if isinstance(on, str | Integral | Mapping) or not isinstance(on, Iterable):
        return on
    for name in ("tolist", "to_pylist", "to_list"):  # of arrays and series
        if callable(convert := getattr(on, name, None)):
            return convert()
    return list(on)


def _choose_key(table: QueryTable, pairs: Sequence[tuple[int, str | None]]) -> ColumnChoice:
    if not pairs:
        raise InputError("a key needs at least one column")
    column_indexes, fixed = zip(*pairs, strict=True)
    for column_index in column_indexes:
        if column_indexes.count(column_index) > 1:
            name = table.column_names[column_index]
            raise InputError(f"column {name!r} of {table.name} is named twice")
    for column_index, name in zip(column_indexes, fixed, strict=True):
        if isinstance(name, str) and not name.strip():
            column = table.column_names[column_index]
            raise InputError(
                f"the lake column for {column!r} is empty ({name!r}): give a name, or None for "
                "any column"
            )
        if name is not None and not isinstance(name, str):
            raise InputError(f"the lake column for a key column must be a name, not {name!r}")
        if name is not None and fixed.count(name) > 1:
            raise InputError(f"two key columns cannot match the same lake column {name!r}")
    if len(column_indexes) == 1:
        if fixed[0] is not None:
            raise InputError(f"'{table.column_names[column_indexes[0]]}={fixed[0]}' {_FIXES}")
        fixed = ()
    table.read(column_indexes)
    for column_index in column_indexes:
        _check_not_empty(table, column_index)
    return ColumnChoice(column_indexes, fixed)


def _parse_key_column(table: QueryTable, on: str | int) -> tuple[int, str | None]:
    """Parse `column` or `own=theirs`; the names may contain `=` themselves."""
    if isinstance(on, str) and on == ALL_COLUMNS and ALL_COLUMNS not in table.column_names:
        raise InputError("'*' searches for every column by itself and cannot be part of a key")
    if not isinstance(on, str) or "=" not in on or _is_column(table, on):
        return _find_index(table, on), None
    splits = [(on[:i], on[i + 1 :]) for i, letter in enumerate(on) if letter == "="]
    exact = [split for split in splits if split[0] in table.column_names]
    matching = exact or [split for split in splits if _is_column(table, split[0])]
    if len(matching) > 1:
        raise InputError(
            f"{on!r} is ambiguous: your column may be "
            f"{' or '.join(repr(own) for own, _ in matching)}; put its index, counted from 0, "
            "before the ="
        )
    own, partner = matching[0] if matching else splits[0]
    column_index = _find_index(table, own)
    if not partner.strip():
        raise InputError(f"{on!r} has no column name after the =")
    return column_index, partner


def _is_column(table: QueryTable, on: str) -> bool:
    try:
        find_column(table.column_names, on, table.name)
    except InputError:
        return False
    return True


def _find_index(table: QueryTable, on: str | int) -> int:
    if isinstance(on, bool) or not isinstance(on, str | Integral):
        raise InputError(f"give a column by its name or its index, not {on!r}")
    return find_column(table.column_names, on if isinstance(on, str) else int(on), table.name)


def _check_not_empty(table: QueryTable, column_index: int) -> None:
    if table.profile(column_index).type is ColumnType.EMPTY:
        name = table.column_names[column_index]
        raise InputError(f"column {name!r} of {table.name} has no values to search for")


def _all_searched(table: QueryTable, all_columns: bool) -> tuple[int, ...]:
    types = [profile.type for profile in table.profiles()]
    searched = tuple(i for i, kind in enumerate(types) if is_searched(kind, all_columns))
    if searched:
        return searched
    kinds = sorted({str(kind) for kind in types} - {"empty"})
    if not kinds:
        raise InputError(f"{table.name} has no values to search for")
    raise InputError(
        f"{table.name} has only columns of type {' and '.join(kinds)}, which this index does not "
        "search; name a column to search for it anyway"
    )


def _choose_points(table: QueryTable, selection: Any) -> ColumnChoice:
    """The columns to compare by distance: one, or latitude and longitude."""
    from lakejoin.search.distance_search import find_coordinates

    if selection is None and len(table.column_names) == 1:
        selection = 0
    if selection is None:
        column_indexes, note = find_coordinates(table)
        return ColumnChoice(column_indexes, note=note)
    if selection == ALL_COLUMNS and ALL_COLUMNS not in table.column_names:
        raise InputError("distance search takes one column, or latitude and longitude; not '*'")
    if isinstance(selection, Mapping):
        raise InputError("distance search cannot fix lake columns: name your columns in a list")
    pairs = [
        _parse_key_column(table, item)
        for item in (selection if isinstance(selection, list) else [selection])
    ]
    if any(fixed is not None for _, fixed in pairs):
        raise InputError("distance search cannot fix lake columns: name only your own")
    if len(pairs) > 2:
        raise InputError(
            f"distance search takes one column, or latitude and longitude; got {len(pairs)} columns"
        )
    return ColumnChoice(_choose_key(table, pairs).column_indexes)


def _all_texts(table: QueryTable) -> tuple[int, ...]:
    profiles = table.profiles()
    texts = (ColumnType.TEXT, ColumnType.MIXED)
    column_indexes = tuple(i for i, profile in enumerate(profiles) if profile.type in texts)
    if not column_indexes:
        raise InputError(f"{table.name} has no text column, and search by meaning needs text")
    return column_indexes


def _most_key_like(table: QueryTable, all_columns: bool) -> ColumnChoice:
    usable, profiles = _all_searched(table, all_columns), table.profiles()
    texts = [i for i in usable if profiles[i].type is ColumnType.TEXT]
    best = max(texts or usable, key=lambda i: profiles[i].key_likeness)
    if len(profiles) == 1:
        return ColumnChoice((best,))
    kind = "text column" if texts else "column (there is no text column)"
    note = f"no column was named; using {table.column_names[best]!r}, the most key-like {kind}"
    return ColumnChoice((best,), note=note)
