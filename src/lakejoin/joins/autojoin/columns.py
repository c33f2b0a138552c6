"""Which columns can be rewritten, and which can be met? Texts, and keys that are no counters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakejoin.joins.autojoin.keytable import KeyTable, hashes_of
from lakejoin.joins.autojoin.sampling import sampled_rows
from lakejoin.lake.columns import encode_query
from lakejoin.model import ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

UNIQUE = 0.8  # the share of distinct values from which on a column is a key, some cells aside
_MOST_COLUMNS = 12
_LONGEST = 200.0  # characters of most texts: what is longer is a description
_TYPED = 5000  # rows that tell a column's type
_TOLD = 500  # rows that tell how promising one of many columns is


def text_columns(table: pa.Table) -> pa.Table:
    """The columns that programs take text from, as text: with a name of their own, not too long.

    Whole numbers, dates and times are written out; other types are left out.

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
            # The median: one endless cell does not make a column of names one of descriptions.
            sizes = pc.utf8_length(text)
            usual = pc.approximate_median(sizes).as_py()
            if usual is not None and usual <= _LONGEST and pc.max(sizes).as_py():
                chosen[name] = text.combine_chunks()
    return pa.table({name: chosen[name] for name in _likeliest(chosen)})


def _likeliest(columns: dict[str, pa.LargeStringArray]) -> list[str]:
    """Of many columns those that tell most rows apart, in their order."""
    if len(columns) <= _MOST_COLUMNS:
        return list(columns)
    telling = {
        name: uniqueness(texts.take(sampled_rows(len(texts), _TOLD, 0)))
        for name, texts in columns.items()
    }
    best = set(sorted(columns, key=lambda name: -telling[name])[:_MOST_COLUMNS])
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
    """Whether a column of text holds keys.

    A column of counting numbers (1, 2, 3 …) does not: it meets every other one, which says nothing.

    >>> import pyarrow as pa
    >>> [is_key(pa.array(c, pa.large_string())) for c in (["1", "2"], ["Bern", "Ulm"], ["x", "x"])]
    [False, True, False]
    """
    return holds_keys(texts, KeyTable(hashes_of(texts)))


def holds_keys(texts: pa.LargeStringArray, keys: KeyTable) -> bool:
    """The same, of a column whose keys are at hand."""
    if share_of_keys(keys) < UNIQUE:
        return False
    rows = sampled_rows(len(texts), _TYPED, 0)
    kind = encode_query(texts.take(rows)).profile.type
    if kind in (ColumnType.BOOLEAN, ColumnType.EMPTY, ColumnType.DECIMAL):
        return False
    return kind is not ColumnType.INTEGER or not _counts_up(texts)


def uniqueness(texts: pa.LargeStringArray) -> float:
    """The distinct texts for each row that has one; 0 where all are the same."""
    return share_of_keys(KeyTable(hashes_of(texts)))


def share_of_keys(keys: KeyTable) -> float:
    """The distinct keys for each row that has one; 0 where all are the same."""
    return len(keys) / int(keys.counts.sum()) if len(keys) > 1 else 0.0


def _counts_up(texts: pa.LargeStringArray) -> bool:
    """Whether the whole numbers lie close together."""
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
