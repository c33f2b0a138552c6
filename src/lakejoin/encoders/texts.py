"""Texts as one Arrow array, in batches of bounded size, folded for encoding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.encoders.protocol import Array, Texts
from lakejoin.errors import InputError

# The size of a batch, which bounds the memory needed beside the result.
MOST_TEXTS = 1 << 15
MOST_BYTES = 1 << 22


def to_text_array(texts: Texts) -> Any:
    """Convert texts to one LargeStringArray.

    >>> to_text_array(["a", None]).type
    DataType(large_string)
    """
    if isinstance(texts, str):
        raise InputError("encode takes a list of texts: put a single text in a list")
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    if isinstance(texts, pa.Array):
        if pa.types.is_dictionary(texts.type):
            texts = texts.dictionary_decode()
        try:
            return texts if texts.type == pa.large_string() else texts.cast(pa.large_string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(f"encode takes texts, not {texts.type}") from None
    values = list(texts)
    try:
        return pa.array(values, type=pa.large_string())
    except UnicodeEncodeError:  # lone surrogates
        valid = [None if t is None else t.encode("utf-8", "replace").decode() for t in values]
        return pa.array(valid, type=pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
        other = next(type(t).__name__ for t in values if not isinstance(t, str | None))
        raise InputError(f"encode takes texts, not {other}") from None


def buffers(texts: Any) -> tuple[Array, Array]:
    """The (offsets, bytes) of a LargeStringArray, without a copy.

    >>> offsets, data = buffers(pa.array(["ab", "c"], type=pa.large_string()).slice(1))
    >>> offsets.tolist(), bytes(data[offsets[0]:])
    ([2, 3], b'c')
    """
    _, offsets, data = texts.buffers()
    if len(texts) == 0 or offsets is None:
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    at = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    empty = data is None or data.size == 0
    return at, np.zeros(0, np.uint8) if empty else np.frombuffer(data, np.uint8)


def text_batches(texts: Any) -> Iterator[tuple[int, Any]]:
    """Yield (first row, slice) of at most `MOST_TEXTS` texts or `MOST_BYTES` bytes."""
    offsets, _ = buffers(texts)
    row = 0
    while row < len(texts):
        by_bytes = int(np.searchsorted(offsets, offsets[row] + MOST_BYTES, side="right")) - 1
        stop = max(row + 1, min(by_bytes, row + MOST_TEXTS, len(texts)))
        yield row, texts.slice(row, stop - row)
        row = stop


def fold_for_encoding(texts: Any) -> Any:
    """Fold case and compatibility forms, so that spelling variants are encoded alike.

    Canonical values change only by their compatibility forms (`ﬁ`, full-width letters).

    >>> fold_for_encoding(pa.array(["ZÜRICH", "Straße", None], type=pa.large_string())).to_pylist()
    ['zürich', 'strasse', '']
    """
    texts = pc.fill_null(texts, "")
    offsets, data = buffers(texts)
    used = data[offsets[0] : offsets[-1]]
    if len(used) == 0 or used.max() < 0x80:
        return pc.ascii_lower(texts)
    lower = pc.utf8_lower(pc.utf8_normalize(texts, form="NFKC"))
    for letter, plain in (("ß", "ss"), ("ς", "σ")):  # as canonical values are folded
        lower = pc.replace_substring(lower, letter, plain)
    return lower
