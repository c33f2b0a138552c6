"""Columns encoded against themselves: distinct values once, and a small number for every cell.

An encoder keeps each distinct original text once (with some 40 bytes beside it) and 1, 2 or 4 bytes
a cell; `finish` needs up to three times that for a moment, where every value is rewritten.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.lake.printing import is_text, printed
from lakejoin.lake.profile import profile_column
from lakejoin.lake.texts import TextTable, text_buffers
from lakejoin.lake.values import Canonical, canonicalise
from lakejoin.model import ColumnData, ValueRules, null_id

if TYPE_CHECKING:
    import pyarrow as pa

    Array = np.ndarray[Any, Any]

# Typed chunks that repeat their values are numbered before they are printed; a sample tells.
_SAMPLE = 1000
_REPEATS = 0.5


@dataclass(frozen=True, slots=True)
class ColumnPart:
    """Some rows of a column before its values are made canonical, which takes the whole column.

    `cells` number the distinct original texts in `dictionary`; `null_id(cells.dtype)` is a null.
    """

    dictionary: pa.LargeStringArray
    cells: Array


class ColumnEncoder:
    """Encodes one column from its chunks, which may be text or of any Arrow type.

    >>> import pyarrow as pa
    >>> encoder = ColumnEncoder("city")
    >>> encoder.append(pa.array(["Bern", "bern", "n/a"]))
    >>> encoder.append(pa.array(["Zug", "bern"]))
    >>> data = encoder.finish()
    >>> data.tokens.to_pylist(), data.spellings.to_pylist(), data.spelling_token.tolist()
    (['bern', 'zug'], ['Bern', 'Zug'], [0, 1])
    >>> data.cells.tolist()
    [2, 0, 255, 3, 0]
    """

    def __init__(self, name: str, rules: ValueRules | None = None) -> None:
        self.name = name
        self.rules = rules or ValueRules()
        self._table = TextTable()
        self._cells: list[Array] = []

    def append(self, array: pa.Array | pa.ChunkedArray) -> None:
        """Takes the next rows."""
        import pyarrow as pa

        chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
        for chunk in chunks:
            self._cells.append(self._narrow(self._number(chunk)))

    def append_part(self, part: ColumnPart) -> None:
        """Takes the rows of a part that was encoded elsewhere."""
        numbers = self._table.add(part.dictionary)
        self._cells.append(self._narrow(_look_up(part.cells, numbers)))

    def part(self) -> ColumnPart:
        """What has been taken so far, to be appended to another encoder."""
        return ColumnPart(self._table.texts(), self._all_cells())

    def finish(self) -> ColumnData:
        """The whole column: canonical values, spellings, cells, profile. Empties the encoder."""
        part = self.part()
        self._table = TextTable()
        self._cells = []
        return encode_part(self.name, part, self.rules)

    def _number(self, chunk: pa.Array) -> Array:
        import pyarrow as pa

        if is_text(chunk.type):
            return self._table.add(valid_text(chunk))
        if pa.types.is_dictionary(chunk.type):
            # Only what the cells use, by first appearance: a dictionary may hold more.
            encoded = chunk.indices.dictionary_encode()
            distinct = chunk.dictionary.take(encoded.dictionary)
        elif _repeats(chunk):
            encoded = chunk.dictionary_encode()
            distinct = encoded.dictionary
        else:
            return self._table.add(valid_text(printed(chunk)))
        numbers = self._table.add(valid_text(printed(distinct)))
        indices = encoded.indices.cast(pa.uint32()).fill_null(len(numbers)).to_numpy()
        return _look_up(indices, numbers)

    def _narrow(self, numbers: Array) -> Array:
        return narrowed(numbers, self._table.count)

    def _all_cells(self) -> Array:
        dtype = cell_type(self._table.count)
        cells = np.empty(sum(map(len, self._cells)), dtype)
        at = 0
        for chunk in self._cells:
            cells[at : at + len(chunk)] = _widened(chunk, dtype)
            at += len(chunk)
        return cells


def encode_column(
    name: str, array: pa.Array | pa.ChunkedArray, rules: ValueRules | None = None
) -> ColumnData:
    """One column that is at hand as a whole, such as a query's.

    >>> import pyarrow as pa
    >>> encode_column("n", pa.array([7.0, 7.5, None])).tokens.to_pylist()
    ['7', '7.5']
    """
    encoder = ColumnEncoder(name, rules)
    encoder.append(array)
    return encoder.finish()


def encode_query(array: pa.Array | pa.ChunkedArray, rules: ValueRules | None = None) -> ColumnData:
    """A query column, by the very rules of the index (`rules` are the index's)."""
    return encode_column("", array, rules)


def encode_table(
    names: Sequence[str], batches: Iterable[pa.RecordBatch], rules: ValueRules | None = None
) -> tuple[ColumnData, ...]:
    """The columns of a table that arrives in batches; the names may repeat.

    >>> import pyarrow as pa
    >>> batch = pa.record_batch({"a": ["x", "Y"], "b": [1, 2]})
    >>> [c.tokens.to_pylist() for c in encode_table(["a", "b"], [batch])]
    [['x', 'y'], ['1', '2']]
    """
    encoders = [ColumnEncoder(name, rules) for name in names]
    for batch in batches:
        for encoder, column in zip(encoders, batch.columns, strict=True):
            encoder.append(column)
    return tuple(encoder.finish() for encoder in encoders)


def encode_part(name: str, part: ColumnPart, rules: ValueRules) -> ColumnData:
    """The column that a part makes when it is the whole column."""
    import pyarrow as pa

    originals, cells = part.dictionary, part.cells
    counts = _counts(cells, len(originals))
    found = canonicalise(originals, counts, rules)
    tokens, token_of = _tokens(originals, found)
    changed = found.changed
    spellings = originals.filter(pa.array(changed)) if changed.any() else originals.slice(0, 0)
    spelling_token = token_of[changed] if len(spellings) else token_of[:0]
    token_counts = counts
    if len(spellings) or found.null.any():
        total = len(tokens) + len(spellings)
        ids = token_of.copy()
        ids[changed] = np.arange(len(tokens), total, dtype=np.uint32)
        cells = _look_up(cells, narrowed(ids, total))
        kept = np.where(found.null, len(tokens), token_of)
        token_counts = np.bincount(kept, counts, len(tokens) + 1)[:-1].astype(np.int64)
    profile = profile_column(
        tokens, token_counts, spellings, counts[changed], spelling_token, len(cells), found
    )
    return ColumnData(name, profile, tokens, spellings, spelling_token, cells)


def _tokens(originals: pa.LargeStringArray, found: Canonical) -> tuple[pa.LargeStringArray, Array]:
    """The distinct canonical values in order of appearance, and the number of each original's."""
    if found.changed.any():
        table = TextTable(len(originals), found.text.nbytes)
        numbers = table.add(found.text)
        return table.texts(), numbers
    # Nothing was rewritten, so what is distinct stays so: no second table is needed.
    if not found.null.any():
        return originals, np.arange(len(originals), dtype=np.uint32)
    numbers = np.cumsum(~found.null, dtype=np.uint32) - np.uint32(1)
    numbers[found.null] = null_id(numbers.dtype)
    return found.text.drop_null(), numbers


def cell_type(distinct: int) -> np.dtype[Any]:
    """The narrowest unsigned type for so many distinct values and a null.

    >>> cell_type(255), cell_type(256)
    (dtype('uint8'), dtype('uint16'))
    """
    return np.dtype(
        np.uint8 if distinct <= 0xFF else np.uint16 if distinct <= 0xFFFF else np.uint32
    )


def narrowed(numbers: Array, distinct: int) -> Array:
    """The numbers (nulls all bits set) in the narrowest type: dropping bits keeps a null a null."""
    return numbers.astype(cell_type(distinct), copy=False)


def _widened(cells: Array, dtype: np.dtype[Any]) -> Array:
    if cells.dtype == dtype:
        return cells
    wide = cells.astype(dtype)
    wide[cells == null_id(cells.dtype)] = null_id(dtype)
    return wide


def _look_up(cells: Array, ids: Array) -> Array:
    """`ids[cells]`, with nulls kept."""
    null = np.array([null_id(ids.dtype)], ids.dtype)
    return np.append(ids, null)[np.minimum(cells, len(ids))]


def _counts(cells: Array, distinct: int) -> Array:
    return np.bincount(np.minimum(cells, distinct), minlength=distinct + 1)[:distinct]


def _repeats(chunk: pa.Array) -> bool:
    import pyarrow as pa

    if pa.types.is_nested(chunk.type) or pa.types.is_null(chunk.type) or len(chunk) < _SAMPLE:
        return False
    if not (pa.types.is_primitive(chunk.type) or pa.types.is_decimal(chunk.type)):
        return False
    return len(chunk.slice(0, _SAMPLE).unique()) < _REPEATS * _SAMPLE


def valid_text(text: pa.Array) -> pa.Array:
    """The texts with bytes that are not UTF-8 replaced: Parquet files may well hold some."""
    import pyarrow as pa

    offsets, data, _, _ = text_buffers(text)
    if not len(data) or not (data[offsets[0] : offsets[-1]] >= 128).any():
        return text
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        raw = text.view(pa.large_binary() if pa.types.is_large_string(text.type) else pa.binary())
        repaired = [v if v is None else v.decode("utf-8", "replace") for v in raw.to_pylist()]
        return pa.array(repaired, pa.large_string())
    return text
