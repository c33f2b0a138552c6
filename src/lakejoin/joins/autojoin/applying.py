"""What does a program give? Its result for every row of a table, by Arrow's own functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lakejoin.joins.autojoin.programs import (
    Casing,
    Constant,
    Extract,
    Operator,
    Program,
    takes_all,
    window,
)

if TYPE_CHECKING:
    import pyarrow as pa


def apply(program: Program, table: pa.Table) -> pa.LargeStringArray:
    """The program's text for every row; its columns must hold text.

    >>> import pyarrow as pa
    >>> from lakejoin.joins.autojoin.programs import SplitSubstr
    >>> names = pa.table({"name": ["Obama, Barack", "Cher", None]})
    >>> last, first = SplitSubstr("name", ", ", 0), SplitSubstr("name", ", ", 1)
    >>> apply(Program((first, Constant(" "), last)), names).to_pylist()
    ['Barack Obama', None, None]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = {name: _text(table[name]) for name in program.columns}
    parts = [_part(operator, columns) for operator in program.operators]
    if len(parts) == 1:
        return parts[0]
    nothing = pa.scalar("", pa.large_string())
    return pc.binary_join_element_wise(*parts, nothing, null_handling="emit_null")


def _text(column: pa.ChunkedArray) -> pa.LargeStringArray:
    import pyarrow as pa

    one = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(one, pa.ChunkedArray):  # of no chunk, or too large for one
        one = pa.concat_arrays(one.cast(pa.large_string()).chunks or [pa.array([], one.type)])
    return one.cast(pa.large_string())


def _part(operator: Operator, columns: dict[str, pa.LargeStringArray]) -> pa.Array | pa.Scalar:
    import pyarrow as pa

    if isinstance(operator, Constant):
        return pa.scalar(operator.text, pa.large_string())
    return _cased(_cut(_piece(columns[operator.column], operator), operator), operator.casing)


def _piece(texts: pa.LargeStringArray, part: Extract) -> pa.LargeStringArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    for separator, piece in part.splits:
        pieces = pc.split_pattern(texts, separator)
        ends = pieces.offsets.to_numpy().astype(np.int64)
        place = (ends[:-1] if piece >= 0 else ends[1:]) + piece
        exists = (place >= ends[:-1]) & (place < ends[1:])
        if pieces.null_count:
            exists &= pieces.is_valid().to_numpy(zero_copy_only=False)
        texts = pieces.values.take(pa.array(place, mask=~exists))
    return texts


def _cut(texts: pa.LargeStringArray, part: Extract) -> pa.LargeStringArray:
    import pyarrow.compute as pc

    if takes_all(part):
        return texts
    start, stop = window(part)
    return pc.utf8_slice_codeunits(texts, start, stop)


def _cased(texts: pa.LargeStringArray, casing: Casing) -> pa.LargeStringArray:
    import pyarrow.compute as pc

    if casing is Casing.LOWER:
        return pc.utf8_lower(texts)
    return pc.utf8_upper(texts) if casing is Casing.UPPER else texts
