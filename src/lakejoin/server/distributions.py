"""Summarize a column: bins of numbers or dates, or its most frequent values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.model import ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

_BINS = 20
_VALUES = 10
_MAX_VALUE = 80  # characters of a value that is shown
_NUMBER_TYPES = (ColumnType.INTEGER, ColumnType.DECIMAL)


def summarize_column(values: pa.ChunkedArray, column: Mapping[str, Any]) -> dict[str, Any]:
    """Summarize the values of a column; `column` has its name, type and counts.

    >>> import pyarrow as pa
    >>> column = {"column": "n", "type": "integer", "distinct": 3, "nulls": 0, "rows": 4}
    >>> summarize_column(pa.chunked_array([["1", "2", "2", "9"]]), column)["bins"]
    [{'from': 1.0, 'to': 2.0, 'rows': 1}, {'from': 2.0, 'to': 3.0, 'rows': 2}, \
{'from': 8.0, 'to': 9.0, 'rows': 1}]
    """
    summary: dict[str, Any] = {
        "column": column["column"],
        "kind": "none",
        "bins": [],
        "values": [],
        "others": 0,
        **{key: column[key] for key in ("distinct", "nulls", "rows")},
    }
    kind = ColumnType(column["type"])
    if kind is ColumnType.EMPTY or not len(values):
        return summary
    if kind in _NUMBER_TYPES and (numbers := _numbers(values)) is not None:
        return {**summary, "kind": "numbers", "bins": _bins(numbers, kind is ColumnType.INTEGER)}
    if kind is ColumnType.DATE and (days := _days(values)) is not None:
        return {**summary, "kind": "dates", "bins": _day_bins(days)}
    return {**summary, "kind": "values", **_frequent(values)}


def _numbers(values: pa.ChunkedArray) -> np.ndarray[Any, Any] | None:
    """The cells that are numbers; None if they are less than half."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        try:
            numbers = values.cast(pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
    else:
        plain = pc.replace_substring(pc.utf8_trim_whitespace(values), ",", "")
        is_number = pc.match_substring_regex(plain, r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$")
        numbers = pc.cast(pc.filter(plain, is_number), pa.float64())
    parsed = np.asarray(numbers.drop_null().to_numpy())
    parsed = parsed[np.isfinite(parsed)]
    return parsed if len(parsed) * 2 > len(values) - values.null_count else None


def _bins(numbers: np.ndarray[Any, Any], whole: bool) -> list[dict[str, Any]]:
    """Bins of equal width from the smallest to the largest number, without empty ones. Integers get
    an integer width, so that no value straddles two bins."""
    low, high = float(numbers.min()), float(numbers.max())
    if low == high:
        return [{"from": low, "to": high, "rows": len(numbers)}]
    count, width = _BINS, (high - low) / _BINS
    if whole and high - low < 2**53:
        width = float(np.ceil((high - low) / _BINS))
        count = int(np.ceil((high - low) / width))
    if not np.isfinite(width) or width <= 0:
        return []
    edges = low + width * np.arange(count + 1)
    edges[-1] = max(edges[-1], high)
    rows, _ = np.histogram(numbers, edges)
    bins = zip(edges[:-1].tolist(), edges[1:].tolist(), rows.tolist(), strict=True)
    return [{"from": begin, "to": end, "rows": n} for begin, end, n in bins if n]


def _days(values: pa.ChunkedArray) -> np.ndarray[Any, Any] | None:
    """The cells as days since 1970; None if less than half are dates."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_temporal(values.type):
        try:
            days = values.cast(pa.timestamp("s"), safe=False).cast(pa.date32(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
    else:
        begin = pc.utf8_slice_codeunits(pc.utf8_trim_whitespace(values), 0, 10)
        day = r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$"
        iso = pc.filter(begin, pc.match_substring_regex(begin, day))
        days = pc.strptime(iso, format="%Y-%m-%d", unit="s", error_is_null=True).cast(pa.date32())
    parsed = np.asarray(days.drop_null().cast(pa.int32()).to_numpy())
    return parsed if len(parsed) * 2 > len(values) - values.null_count else None


def _day_bins(days: np.ndarray[Any, Any]) -> list[dict[str, Any]]:
    def iso(day: float) -> str:
        return str(np.datetime64(int(day), "D"))

    bins = _bins(days.astype(np.float64), whole=True)
    return [{"from": iso(b["from"]), "to": iso(b["to"]), "rows": b["rows"]} for b in bins]


def _frequent(values: pa.ChunkedArray) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    present = values.drop_null()
    if pa.types.is_nested(present.type):
        present = pa.chunked_array([[str(value) for value in present.to_pylist()]], pa.string())
    counted = pc.value_counts(present)
    rows = np.asarray(counted.field("counts"))
    if not len(rows):
        return {"values": [], "others": 0}
    top = np.argsort(-rows, kind="stable")[:_VALUES]
    texts = [_shorten(value) for value in counted.field("values").take(top).to_pylist()]
    counts = rows[top].tolist()
    frequent = [{"value": text, "rows": n} for text, n in zip(texts, counts, strict=True)]
    return {"values": frequent, "others": int(rows.sum()) - sum(counts)}


def _shorten(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _MAX_VALUE else text[: _MAX_VALUE - 1] + "…"
