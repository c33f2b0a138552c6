"""Which columns can be rewritten, and which can be met? Texts, and keys that are no counters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakejoin.lake.columns import encode_query
from lakejoin.model import ColumnData, ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

UNIQUE = 0.8  # the share of distinct values from which on a column is a key, some cells aside
_MOST_COLUMNS = 12
_LONGEST = 200.0  # characters on average: what is longer is a description


def text_columns(table: pa.Table) -> pa.Table:
    """The columns that programs take text from: of text, with a name of their own, not too long."""
    import pyarrow as pa
    import pyarrow.compute as pc

    chosen = {}
    for name in _named_once(table):
        column = table[name]
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            text = column.cast(pa.large_string())
            mean = pc.mean(pc.utf8_length(text)).as_py()
            if mean is not None and 0 < mean <= _LONGEST:
                chosen[name] = text
    return pa.table(dict(list(chosen.items())[:_MOST_COLUMNS]))


def key_columns(table: pa.Table) -> list[str]:
    """The text columns that hold keys.

    A column of counting numbers (1, 2, 3 …) is none: it meets every other one, which says nothing.

    >>> import pyarrow as pa
    >>> key_columns(pa.table({"no": ["1", "2"], "name": ["Bern", "Ulm"], "in": ["x", "x"]}))
    ['name']
    """
    texts = text_columns(table)
    return [name for name in texts.column_names if _is_key(encode_query(texts[name]))]


def _is_key(column: ColumnData) -> bool:
    profile = column.profile
    if profile.distinct < 2 or profile.uniqueness < UNIQUE:
        return False
    if profile.type in (ColumnType.BOOLEAN, ColumnType.EMPTY, ColumnType.DECIMAL):
        return False
    return profile.type is not ColumnType.INTEGER or not _counts_up(column)


def _counts_up(column: ColumnData) -> bool:
    """Whether the whole numbers lie close together."""
    import pyarrow as pa
    import pyarrow.compute as pc

    digits = column.tokens.filter(pc.match_substring_regex(column.tokens, r"^-?\d{1,18}$"))
    numbers = digits.cast(pa.int64())
    if not len(numbers):
        return False
    ends = pc.min_max(numbers).as_py()
    return bool(ends["max"] - ends["min"] < 3 * len(numbers) + 10)


def _named_once(table: pa.Table) -> list[str]:
    names = table.column_names
    return [name for name in names if names.count(name) == 1]
