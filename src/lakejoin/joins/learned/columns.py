"""Choose the columns that programs read, and those that are keys to match."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakejoin.joins.learned.keytable import KeyTable, hashes_of
from lakejoin.joins.learned.sampling import sample_rows
from lakejoin.values.column_encoder import encode_query
from lakejoin.model import ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

UNIQUE = 0.8  # least share of distinct values of a key column
_MOST_COLUMNS = 12
_LONGEST = 200.0  # median characters: longer texts are descriptions
_TYPED = 5000  # rows to detect a column's type from
_RANKED = 500  # rows to rank columns by


def text_columns(table: pa.Table) -> pa.Table:
    """The columns that programs read, as text: those with a unique name and not too long.

    Integers, dates and times are converted to text; other types are skipped.

    >>> import pyarrow as pa
    >>> text_columns(pa.table({"no": [7], "name": ["Bern"], "share": [0.5]})).to_pylist()
    [{'no': '7', 'name': 'Bern'}]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    chosen = {}
    for name in _named_once(table):
        if _is_writable(table[name].type):
            text = table[name].cast(pa.large_string())
            # The median, as one very long cell does not make a column of descriptions.
            sizes = pc.utf8_length(text)
            usual = pc.approximate_median(sizes).as_py()
            if usual is not None and usual <= _LONGEST and pc.max(sizes).as_py():
                chosen[name] = text.combine_chunks()
    return pa.table({name: chosen[name] for name in _likeliest(chosen)})


def _likeliest(columns: dict[str, pa.LargeStringArray]) -> list[str]:
    """The most distinct of many columns, in their order."""
    if len(columns) <= _MOST_COLUMNS:
        return list(columns)
    distinctness = {
        name: uniqueness(texts.take(sample_rows(len(texts), _RANKED, 0)))
        for name, texts in columns.items()
    }
    best = set(sorted(columns, key=lambda name: -distinctness[name])[:_MOST_COLUMNS])
    return [name for name in columns if name in best]


def _is_writable(kind: pa.DataType) -> bool:
    import pyarrow as pa

    t = pa.types
    return bool(
        t.is_string(kind)
        or t.is_large_string(kind)
        or t.is_integer(kind)
        or t.is_date(kind)
        or t.is_timestamp(kind)
    )


def is_key(texts: pa.LargeStringArray) -> bool:
    """Whether a text column is a key.

    A column of consecutive numbers (1, 2, 3 …) is not: it matches any other such column.

    >>> import pyarrow as pa
    >>> [is_key(pa.array(c, pa.large_string())) for c in (["1", "2"], ["Bern", "Ulm"], ["x", "x"])]
    [False, True, False]
    """
    return is_key_table(texts, KeyTable(hashes_of(texts)))


def is_key_table(texts: pa.LargeStringArray, keys: KeyTable) -> bool:
    """Whether a text column with these keys is a key."""
    if key_share(keys) < UNIQUE:
        return False
    rows = sample_rows(len(texts), _TYPED, 0)
    kind = encode_query(texts.take(rows)).profile.type
    if kind in (ColumnType.BOOLEAN, ColumnType.EMPTY, ColumnType.DECIMAL):
        return False
    return kind is not ColumnType.INTEGER or not _is_consecutive(texts)


def uniqueness(texts: pa.LargeStringArray) -> float:
    """The distinct texts per non-null row; 0 if all are the same."""
    return key_share(KeyTable(hashes_of(texts)))


def key_share(keys: KeyTable) -> float:
    """The distinct keys per row with a key; 0 if all are the same."""
    return len(keys) / int(keys.counts.sum()) if len(keys) > 1 else 0.0


def _is_consecutive(texts: pa.LargeStringArray) -> bool:
    """Whether the integers are nearly consecutive."""
    import pyarrow as pa
    import pyarrow.compute as pc

    digits = texts.filter(pc.match_substring_regex(texts, r"^-?\d{1,18}$"))
    numbers = pc.unique(digits.cast(pa.int64()))
    if not len(numbers):
        return False
    ends = pc.min_max(numbers).as_py()
    return bool(ends["max"] - ends["min"] < 3 * len(numbers) + 10)


def _named_once(table: pa.Table) -> list[str]:
    names = table.column_names
    return [name for name in names if names.count(name) == 1]
