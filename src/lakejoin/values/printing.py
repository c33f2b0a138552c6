"""Print typed Arrow arrays as canonical text, so that Parquet and CSV values match."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakejoin.model import ValueRules

if TYPE_CHECKING:
    import pyarrow as pa


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is text that the kernels read directly."""
    import pyarrow.types as t

    return bool(t.is_string(kind) or t.is_large_string(kind))


def print_array(array: pa.Array) -> pa.Array:
    """Print an array as text; NaN becomes null.

    >>> import pyarrow as pa
    >>> print_array(pa.array([7.0, 1e20, 0.5, float("nan")])).to_pylist()
    ['7', '100000000000000000000', '0.5', None]
    >>> print_array(pa.array([0, 90], pa.timestamp("s", "UTC"))).to_pylist()
    ['1970-01-01', '1970-01-01 00:01:30Z']
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as t

    kind = array.type
    if is_text(kind):
        return array
    if isinstance(kind, pa.BaseExtensionType):
        return print_array(array.storage)
    if t.is_dictionary(kind):
        return print_array(array.dictionary).take(array.indices)
    if t.is_integer(kind) or t.is_boolean(kind) or t.is_date32(kind) or t.is_null(kind):
        return array.cast(pa.large_string())
    if t.is_floating(kind):
        if t.is_float16(kind):
            array = array.cast(pa.float32())
        text = array.cast(pa.large_string())
        return _rewritten(pc.if_else(pc.is_nan(array), pa.scalar(None, text.type), text))
    if t.is_timestamp(kind):
        if kind.tz is None:
            return _rewritten(array.cast(pa.large_string()))
        # The values are in UTC already, so no time-zone database is needed.
        wall = array.cast(pa.timestamp(kind.unit)).cast(pa.large_string())
        utc, nothing = (pa.scalar(text, pa.large_string()) for text in ("Z", ""))
        return _rewritten(pc.binary_join_element_wise(wall, utc, nothing))
    if t.is_date64(kind):
        return array.cast(pa.date32()).cast(pa.large_string())
    if t.is_time(kind):
        text = array.cast(pa.large_string())
        return text if kind.unit == "s" else pc.replace_substring_regex(text, r"\.?0+$", "")
    if t.is_decimal(kind):
        return _rewritten(array.cast(pa.large_string()))
    if t.is_duration(kind):
        return array.cast(pa.int64()).cast(pa.large_string())
    return _plain_text(array)


def _rewritten(text: pa.Array) -> pa.Array:
    """Rewrite numbers and dates to their canonical form; nulls stay."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from lakejoin.values.canonical_values import fold_column

    folded = fold_column(text.fill_null("") if text.null_count else text, ValueRules()).text
    if not text.null_count:
        return folded
    return pc.if_else(text.is_valid(), folded, pa.scalar(None, folded.type))


def _plain_text(array: pa.Array) -> pa.Array:
    """Nested values as compact JSON and bytes as text, as the readers write them."""
    import pyarrow as pa

    from lakejoin.values.plain_columns import plain_batch
    from lakejoin.values.losses import Losses
    from lakejoin.model import ReadLimits

    unbounded = ReadLimits(cell_bytes=1 << 62)
    batch = pa.RecordBatch.from_arrays([array], names=["value"])
    return plain_batch(batch, unbounded, Losses()).column(0)
