"""Profile a column from its distinct values and how often each occurs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.model import ColumnProfile, ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.values.canonical_values import CanonicalColumn

    Array = np.ndarray[Any, Any]

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
    found: CanonicalColumn,
) -> ColumnProfile:
    """Profile a column of `rows` rows, `counts[i]` of which have the value `tokens[i]`."""
    import pyarrow.compute as pc

    distinct = len(tokens)
    filled = int(counts.sum())
    lengths = pc.utf8_length(tokens).to_numpy()
    mean = float((lengths * counts).sum() / filled) if filled else 0.0
    uniqueness = distinct / filled if filled else 0.0
    return ColumnProfile(
        type=found.type,
        rows=rows,
        nulls=rows - filled,
        distinct=distinct,
        uniqueness=uniqueness,
        min_length=int(lengths.min()) if distinct else 0,
        max_length=int(lengths.max()) if distinct else 0,
        mean_length=mean,
        key_likeness=key_likeness(found.type, uniqueness, filled / rows if rows else 0.0, mean),
        examples=_examples(tokens, counts, spellings, spelling_counts, spelling_token),
        date_format=found.date_format,
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
    shown = []
    for token in chosen.tolist():
        text = _as_written(token, tokens, counts, spellings, spelling_counts, spelling_token)
        shown.append(text if len(text) <= LONGEST_EXAMPLE else text[: LONGEST_EXAMPLE - 1] + "…")
    return tuple(shown)


def _most_frequent(counts: Array) -> Array:
    """The most frequent tokens, most frequent first; ties in order of appearance."""
    repeated = np.flatnonzero(counts > 1)
    if len(repeated) < EXAMPLES:
        # The first few that occur once are enough to fill up, and quick to sort.
        once = np.flatnonzero(counts[: 2 * EXAMPLES] == 1)
        repeated = np.sort(np.concatenate([repeated, once]))
    return repeated[np.argsort(-counts[repeated], kind="stable")][:EXAMPLES]


def _as_written(
    token: int,
    tokens: pa.LargeStringArray,
    counts: Array,
    spellings: pa.LargeStringArray,
    spelling_counts: Array,
    spelling_token: Array,
) -> str:
    """The most frequent spelling of a token in the column."""
    variants = np.flatnonzero(spelling_token == token)
    if not len(variants):
        return str(tokens[token].as_py())
    best = variants[int(spelling_counts[variants].argmax())]
    plain = counts[token] - spelling_counts[variants].sum()
    return str((tokens[token] if plain >= spelling_counts[best] else spellings[int(best)]).as_py())
