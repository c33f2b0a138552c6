"""Choose the columns to search for if none is named: those that may be keys or refer to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakejoin.engines.query import is_searched
from lakejoin.errors import InputError
from lakejoin.model import ColumnType
from lakejoin.signals.name_similarity import is_identifier_name, specific_words

if TYPE_CHECKING:
    from lakejoin.engines.query import QueryTable
    from lakejoin.search.searcher import Searcher

_MAX_COLUMNS = 10  # columns
_IDENTIFIERS = 4  # of these, for columns that are only named as keys
_NO_KEY = (ColumnType.BOOLEAN, ColumnType.EMPTY, ColumnType.DECIMAL)


def find_plausible_keys(query_table: QueryTable, searcher: Searcher) -> tuple[int, ...]:
    """The indexes of the columns that may be keys, most key-like first, texts before others."""
    every = searcher.snapshot.manifest.options.all_columns
    profiles = query_table.profiles()
    usable = [
        column_index
        for column_index, profile in enumerate(profiles)
        if is_searched(profile.type, every) and profile.type not in _NO_KEY
    ]
    if not usable:
        raise InputError(
            f"{query_table.name} has no column that looks like a key; name the column to search for"
        )
    # Texts say most, but foreign keys are often numbers and must not all come last.
    usable.sort(key=lambda column_index: -profiles[column_index].key_likeness)
    texts = [
        column_index for column_index in usable if profiles[column_index].type is ColumnType.TEXT
    ]
    others = [
        column_index
        for column_index in usable
        if profiles[column_index].type is not ColumnType.TEXT
    ]
    few = max(_MAX_COLUMNS // 2, _MAX_COLUMNS - len(others))
    return _keep_identifiers([*texts[:few], *others, *texts[few:]], query_table.column_names)


def _keep_identifiers(column_indexes: list[int], names: Sequence[str]) -> tuple[int, ...]:
    """The first columns; the last of them make way for later ones that are named as identifiers, as
    references to a small table repeat and do not look like keys."""
    first, rest = column_indexes[:_MAX_COLUMNS], column_indexes[_MAX_COLUMNS:]
    identifiers = [index for index in rest if is_identifier_name(names[index])]
    others = [index for index in first if not is_identifier_name(names[index])]
    # One of each kind before a second: the tournament before the code of another team.
    known = {
        word for index in first if index not in others for word in specific_words(names[index])
    }
    fresh = []
    for index in identifiers:
        if not known & specific_words(names[index]):
            fresh.append(index)
            known |= specific_words(names[index])
    added = list(dict.fromkeys([*fresh, *identifiers]))[: min(_IDENTIFIERS, len(others))]
    dropped = others[len(others) - len(added) :]
    return (*(index for index in first if index not in dropped), *added)
