"""How the values of a column are spread: bins of numbers or dates, or the most frequent values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.model import ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

_BINS = 20
_VALUES = 10
_LONGEST = 80  # letters of a value that is shown
_NUMBERS = (ColumnType.INTEGER, ColumnType.DECIMAL)

Told = dict[str, Any]


def distribution(values: pa.ChunkedArray, column: Mapping[str, Any]) -> Told:
    """What is drawn above a column, of which `column` tells name, type and numbers.

    >>> import pyarrow as pa
    >>> told = {"column": "n", "type": "integer", "distinct": 3, "nulls": 0, "rows": 4}
    >>> distribution(pa.chunked_array([["1", "2", "2", "9"]]), told)["bins"]
    [{'from': 1.0, 'to': 2.0, 'rows': 1}, {'from': 2.0, 'to': 3.0, 'rows': 2}, \
{'from': 8.0, 'to': 9.0, 'rows': 1}]
    """
    told: Told = {
        "column": column["column"],
        "kind": "none",
        "bins": [],
        "values": [],
        "others": 0,
        **{key: column[key] for key in ("distinct", "nulls", "rows")},
    }
    kind = ColumnType(column["type"])
    if kind is ColumnType.EMPTY or not len(values):
        return told
    if kind in _NUMBERS and (numbers := _numbers(values)) is not None:
        return {**told, "kind": "numbers", "bins": _bins(numbers, kind is ColumnType.INTEGER)}
    if kind is ColumnType.DATE and (days := _days(values)) is not None:
        return {**told, "kind": "dates", "bins": _day_bins(days)}
    return {**told, "kind": "values", **_frequent(values)}


def _numbers(values: pa.ChunkedArray) -> np.ndarray[Any, Any] | None:
    """The cells as numbers, without those that are none; None where few are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        try:
            numbers = values.cast(pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
    else:
        plain = pc.replace_substring(pc.utf8_trim_whitespace(values), ",", "")
        is_one = pc.match_substring_regex(plain, r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$")
        numbers = pc.cast(pc.filter(plain, is_one), pa.float64())
    found = np.asarray(numbers.drop_null().to_numpy())
    found = found[np.isfinite(found)]
    return found if len(found) * 2 > len(values) - values.null_count else None


def _bins(numbers: np.ndarray[Any, Any], whole: bool) -> list[Told]:
    """Bins of one width from the smallest to the largest; empty ones are left out. Whole numbers
    get bins of a whole width, so that none is in two."""
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
    found = zip(edges[:-1].tolist(), edges[1:].tolist(), rows.tolist(), strict=True)
    return [{"from": begin, "to": end, "rows": n} for begin, end, n in found if n]


def _days(values: pa.ChunkedArray) -> np.ndarray[Any, Any] | None:
    """The cells as days since 1970; None where few are written as ISO dates, or are dates."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_temporal(values.type):
        try:
            days = values.cast(pa.timestamp("s"), safe=False).cast(pa.date32(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
    else:
        begin = pc.utf8_slice_codeunits(pc.utf8_trim_whitespace(values), 0, 10)
        real = r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$"
        iso = pc.filter(begin, pc.match_substring_regex(begin, real))
        days = pc.strptime(iso, format="%Y-%m-%d", unit="s", error_is_null=True).cast(pa.date32())
    found = np.asarray(days.drop_null().cast(pa.int32()).to_numpy())
    return found if len(found) * 2 > len(values) - values.null_count else None


def _day_bins(days: np.ndarray[Any, Any]) -> list[Told]:
    def iso(day: float) -> str:
        return str(np.datetime64(int(day), "D"))

    bins = _bins(days.astype(np.float64), whole=True)
    return [{"from": iso(b["from"]), "to": iso(b["to"]), "rows": b["rows"]} for b in bins]


def _frequent(values: pa.ChunkedArray) -> Told:
    import pyarrow as pa
    import pyarrow.compute as pc

    known = values.drop_null()
    if pa.types.is_nested(known.type):
        known = pa.chunked_array([[str(one) for one in known.to_pylist()]], pa.string())
    counted = pc.value_counts(known)
    rows = np.asarray(counted.field("counts"))
    if not len(rows):
        return {"values": [], "others": 0}
    best = np.argsort(-rows, kind="stable")[:_VALUES]
    texts = [_short(one) for one in counted.field("values").take(best).to_pylist()]
    numbers = rows[best].tolist()
    shown = [{"value": text, "rows": n} for text, n in zip(texts, numbers, strict=True)]
    return {"values": shown, "others": int(rows.sum()) - sum(numbers)}


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
