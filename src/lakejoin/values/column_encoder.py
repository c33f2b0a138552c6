"""Encode columns: distinct values once, and a small id for every cell.

An encoder stores each distinct original text once (plus about 40 bytes) and 1, 2 or 4 bytes per
cell; `finish` briefly needs up to three times that if every value is rewritten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.model import ColumnData, ColumnProfile, ColumnType, ValueRules, null_id
from lakejoin.values.canonical_values import CanonicalColumn, canonicalise
from lakejoin.values.plain_columns import is_text, print_array, repair_text
from lakejoin.values.text_arrays import TextTable

if TYPE_CHECKING:
    from lakejoin.model import Array


# Typed chunks with repeated values are deduplicated before printing; a sample decides.
_SAMPLE = 1000
_REPEATS = 0.5


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """Some rows of a column, before its values are made canonical (which takes the whole column).

    `cells` are ids of the distinct original texts in `dictionary`; `null_id(cells.dtype)` is null.
    """

    dictionary: pa.LargeStringArray
    cells: Array


class ColumnEncoder:
    """Encode a column from its chunks, which may be of any Arrow type.

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
        chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
        for chunk in chunks:
            ids = self._ids(chunk)  # first, as it adds to the table
            self._cells.append(narrow_ids(ids, self._table.count))

    def append_chunk(self, part: ColumnChunk) -> None:
        """Add rows that were encoded elsewhere."""
        ids = self._table.add(part.dictionary)
        self._cells.append(narrow_ids(_look_up(part.cells, ids), self._table.count))

    def to_chunk(self) -> ColumnChunk:
        """The rows added so far, to be appended to another encoder."""
        return ColumnChunk(self._table.texts(), self._all_cells())

    def finish(self) -> ColumnData:
        """Encode the whole column (values, spellings, cells, profile), and empty the encoder."""
        part = self.to_chunk()
        self._table = TextTable()
        self._cells = []
        return encode_chunk(self.name, part, self.rules)

    def _ids(self, chunk: pa.Array) -> Array:
        if is_text(chunk.type):
            return self._table.add(repair_text(chunk))
        if pa.types.is_dictionary(chunk.type):
            # Only the values in use, by first appearance: a dictionary may contain more.
            encoded = chunk.indices.dictionary_encode()
            distinct = chunk.dictionary.take(encoded.dictionary)
        elif _repeats(chunk):
            encoded = chunk.dictionary_encode()
            distinct = encoded.dictionary
        else:
            return self._table.add(repair_text(print_array(chunk)))
        ids = self._table.add(repair_text(print_array(distinct)))
        indices = encoded.indices.cast(pa.uint32()).fill_null(len(ids)).to_numpy()
        return _look_up(indices, ids)

    def _all_cells(self) -> Array:
        dtype = cell_type(self._table.count)
        cells = np.empty(sum(map(len, self._cells)), dtype)
        at = 0
        for chunk in self._cells:
            cells[at : at + len(chunk)] = _widened(chunk, dtype)
            at += len(chunk)
        return cells


def encode_query(array: pa.Array | pa.ChunkedArray, rules: ValueRules | None = None) -> ColumnData:
    """Encode a query column, which needs no name, by the rules of the index.

    >>> import pyarrow as pa
    >>> encode_query(pa.array([7.0, 7.5, None])).tokens.to_pylist()
    ['7', '7.5']
    """
    encoder = ColumnEncoder("", rules)
    encoder.append(array)
    return encoder.finish()


def encode_chunk(name: str, part: ColumnChunk, rules: ValueRules) -> ColumnData:
    """Encode a column of which `part` has all rows."""
    originals, cells = part.dictionary, part.cells
    counts = _counts(cells, len(originals))
    canonical = canonicalise(originals, counts, rules)
    tokens, token_of = _tokens(originals, canonical)
    changed = canonical.changed
    spellings = originals.filter(pa.array(changed)) if changed.any() else originals.slice(0, 0)
    spelling_token = token_of[changed] if len(spellings) else token_of[:0]
    token_counts = counts
    if len(spellings) or canonical.null.any():
        total = len(tokens) + len(spellings)
        ids = token_of.copy()
        ids[changed] = np.arange(len(tokens), total, dtype=np.uint32)
        cells = _look_up(cells, narrow_ids(ids, total))
        token_or_null = np.where(canonical.null, len(tokens), token_of)
        token_counts = np.bincount(token_or_null, counts, len(tokens) + 1)[:-1].astype(np.int64)
    profile = profile_column(
        tokens, token_counts, spellings, counts[changed], spelling_token, len(cells), canonical
    )
    return ColumnData(name, profile, tokens, spellings, spelling_token, cells)


def _tokens(
    originals: pa.LargeStringArray, canonical: CanonicalColumn
) -> tuple[pa.LargeStringArray, Array]:
    """The distinct canonical values in order of appearance, and the id of each original's value."""
    if canonical.changed.any():
        table = TextTable(len(originals), canonical.text.nbytes)
        ids = table.add(canonical.text)
        return table.texts(), ids
    # Nothing was rewritten, so distinct texts stay distinct: no second table is needed.
    if not canonical.null.any():
        return originals, np.arange(len(originals), dtype=np.uint32)
    ids = np.cumsum(~canonical.null, dtype=np.uint32) - np.uint32(1)
    ids[canonical.null] = null_id(ids.dtype)
    return canonical.text.drop_null(), ids


def cell_type(distinct: int) -> np.dtype[Any]:
    """The narrowest unsigned type for this many distinct values and a null.

    >>> cell_type(255), cell_type(256)
    (dtype('uint8'), dtype('uint16'))
    """
    return np.dtype(
        np.uint8 if distinct <= 0xFF else np.uint16 if distinct <= 0xFFFF else np.uint32
    )


def narrow_ids(ids: Array, distinct: int) -> Array:
    """The ids in the narrowest type; a null, all bits set, stays a null."""
    return ids.astype(cell_type(distinct), copy=False)


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
    if pa.types.is_nested(chunk.type) or pa.types.is_null(chunk.type) or len(chunk) < _SAMPLE:
        return False
    if not (pa.types.is_primitive(chunk.type) or pa.types.is_decimal(chunk.type)):
        return False
    return len(chunk.slice(0, _SAMPLE).unique()) < _REPEATS * _SAMPLE


EXAMPLES = 5
LONGEST_EXAMPLE = 60

# How suitable each type is as a join key.
_TYPE_WEIGHT = {
    ColumnType.TEXT: 1.0,
    ColumnType.INTEGER: 0.9,
    ColumnType.DATE: 0.6,
    ColumnType.MIXED: 0.5,
    ColumnType.DECIMAL: 0.2,
    ColumnType.BOOLEAN: 0.0,
    ColumnType.EMPTY: 0.0,
}
_SHORT = 40.0


def profile_column(
    tokens: pa.LargeStringArray,
    counts: Array,
    spellings: pa.LargeStringArray,
    spelling_counts: Array,
    spelling_token: Array,
    rows: int,
    canonical: CanonicalColumn,
) -> ColumnProfile:
    """Profile a column of `rows` rows, `counts[i]` of which have the value `tokens[i]`."""
    distinct = len(tokens)
    filled = int(counts.sum())
    lengths = pc.utf8_length(tokens).to_numpy()
    mean = float((lengths * counts).sum() / filled) if filled else 0.0
    uniqueness = distinct / filled if filled else 0.0
    return ColumnProfile(
        type=canonical.type,
        rows=rows,
        nulls=rows - filled,
        distinct=distinct,
        uniqueness=uniqueness,
        min_length=int(lengths.min()) if distinct else 0,
        max_length=int(lengths.max()) if distinct else 0,
        mean_length=mean,
        key_likeness=key_likeness(canonical.type, uniqueness, filled / rows if rows else 0.0, mean),
        examples=_examples(tokens, counts, spellings, spelling_counts, spelling_token),
        date_format=canonical.date_format,
    )


def key_likeness(kind: ColumnType, uniqueness: float, filled: float, mean_length: float) -> float:
    """How much a column looks like a key, 0..1: the product of four shares.

    The type's weight (text 1, integer 0.9, date 0.6, mixed 0.5, decimal 0.2, boolean and empty 0),
    the uniqueness, the share of rows that are not null, and min(1, 40 / mean length), as long texts
    are descriptions.

    >>> key_likeness(ColumnType.TEXT, 1.0, 1.0, 8.0)
    1.0
    >>> round(key_likeness(ColumnType.INTEGER, 0.5, 0.9, 3.0), 3)
    0.405
    """
    return _TYPE_WEIGHT[kind] * uniqueness * filled * min(1.0, _SHORT / max(mean_length, 1.0))


def _examples(
    tokens: pa.LargeStringArray,
    counts: Array,
    spellings: pa.LargeStringArray,
    spelling_counts: Array,
    spelling_token: Array,
) -> tuple[str, ...]:
    """Up to five values as written: the most frequent, or evenly spread ones of a key."""
    if not len(tokens):
        return ()
    if len(tokens) <= EXAMPLES or counts.max() > 1:
        chosen = _most_frequent(counts)
    else:
        chosen = np.linspace(0, len(tokens) - 1, EXAMPLES).astype(np.int64)

    def as_written(token: int) -> str:
        """The most frequent spelling of a token in the column."""
        variants = np.flatnonzero(spelling_token == token)
        if not len(variants):
            return str(tokens[token].as_py())
        best = variants[int(spelling_counts[variants].argmax())]
        plain = counts[token] - spelling_counts[variants].sum()
        most = tokens[token] if plain >= spelling_counts[best] else spellings[int(best)]
        return str(most.as_py())

    texts = [as_written(token) for token in chosen.tolist()]
    longest = LONGEST_EXAMPLE
    return tuple(t if len(t) <= longest else t[: longest - 1] + "…" for t in texts)


def _most_frequent(counts: Array) -> Array:
    """The most frequent tokens, most frequent first; ties in order of appearance."""
    repeated = np.flatnonzero(counts > 1)
    if len(repeated) < EXAMPLES:
        # The first few that occur once are enough to fill up, and quick to sort.
        once = np.flatnonzero(counts[: 2 * EXAMPLES] == 1)
        repeated = np.sort(np.concatenate([repeated, once]))
    return repeated[np.argsort(-counts[repeated], kind="stable")][:EXAMPLES]
