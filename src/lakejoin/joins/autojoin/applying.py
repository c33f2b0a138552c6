"""What does a program give? Its result for every row of a table, by Arrow's own functions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.joins.autojoin.forms import (
    LOOK_UPS,
    REPLACEMENTS,
    Casing,
    Form,
    Runs,
    by_first_letters,
    replacing,
)
from lakejoin.joins.autojoin.programs import (
    Constant,
    Extract,
    Operator,
    Program,
    Separator,
    Split,
    takes_all,
    window,
)

if TYPE_CHECKING:
    import pyarrow as pa

# A column, the splits before, and what it is split by then.
_Splitting = tuple[str, tuple[Split, ...], Separator]
_REMEMBERED = 2000  # rows of a table whose parts are kept
_MARK = "\x1f"  # never inside a stretch of letters or digits


def apply(program: Program, table: pa.Table) -> pa.LargeStringArray:
    """The program's text for every row; its columns must hold text.

    >>> import pyarrow as pa
    >>> names = pa.table({"name": ["Obama, Barack", "Cher", None]})
    >>> last, first = Extract("name", ((", ", 0),)), Extract("name", ((", ", 1),))
    >>> apply(Program((first, Constant(" "), last)), names).to_pylist()
    ['Barack Obama', None, None]
    """
    return Applier(table).apply(program)


@dataclass(eq=False)
class Applier:
    """Applies many programs to the same rows; parts that several have are made once.

    Tables of many rows are not worth the memory.
    """

    table: pa.Table
    _columns: dict[str, pa.LargeStringArray] = field(default_factory=dict)
    _pieces: dict[_Splitting, pa.LargeListArray] = field(default_factory=dict)
    _parts: dict[Extract, pa.LargeStringArray] = field(default_factory=dict)

    def apply(self, program: Program) -> pa.LargeStringArray:
        """See `apply`."""
        import pyarrow as pa
        import pyarrow.compute as pc

        parts = [self._part(operator) for operator in program.operators]
        if len(parts) == 1:
            return parts[0]
        nothing = pa.scalar("", pa.large_string())
        return pc.binary_join_element_wise(*parts, nothing, null_handling="emit_null")

    def _part(self, operator: Operator) -> pa.Array | pa.Scalar:
        import pyarrow as pa

        if isinstance(operator, Constant):
            return pa.scalar(operator.text, pa.large_string())
        known = self._parts.get(operator)
        if known is None:
            known = self._made(operator)
            if self.table.num_rows <= _REMEMBERED:
                self._parts[operator] = known
        return known

    def _made(self, part: Extract) -> pa.LargeStringArray:
        if part.casing:
            return _cased(self._part(replace(part, casing=Casing.SAME)), part.casing)
        texts = self._text(part.column) if not part.splits else self._piece(part)
        return _padded(_formed(_cut(texts, part), part.form), part.width)

    def _text(self, column: str) -> pa.LargeStringArray:
        if column not in self._columns:
            self._columns[column] = _text(self.table[column])
        return self._columns[column]

    def _piece(self, part: Extract) -> pa.LargeStringArray:
        """The piece after all splits."""
        key = part.column, part.splits[:-1], part.splits[-1][0]
        pieces = self._pieces.get(key)
        if pieces is None:
            before = part.splits[:-1]
            texts = self._piece(Extract(part.column, before)) if before else self._text(part.column)
            pieces = _split(texts, part.splits[-1][0])
            if self.table.num_rows <= _REMEMBERED:
                self._pieces[key] = pieces
        return _nth(pieces, part.splits[-1][1])


def _text(column: pa.ChunkedArray) -> pa.LargeStringArray:
    import pyarrow as pa

    one = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(one, pa.ChunkedArray):  # of no chunk, or too large for one
        one = pa.concat_arrays(one.cast(pa.large_string()).chunks or [pa.array([], one.type)])
    return one.cast(pa.large_string())


def _split(texts: pa.LargeStringArray, separator: Separator) -> pa.LargeListArray:
    import pyarrow.compute as pc

    if isinstance(separator, Runs):
        texts = _parted(texts, separator)
        separator = _MARK
    return pc.split_pattern(texts, separator)


def _nth(pieces: pa.LargeListArray, piece: int) -> pa.LargeStringArray:
    import pyarrow as pa

    ends = pieces.offsets.to_numpy().astype(np.int64)
    place = (ends[:-1] if piece >= 0 else ends[1:]) + piece
    exists = (place >= ends[:-1]) & (place < ends[1:])
    if pieces.null_count:
        exists &= pieces.is_valid().to_numpy(zero_copy_only=False)
    return pieces.values.take(pa.array(place, mask=~exists))


def _parted(texts: pa.LargeStringArray, runs: Runs) -> pa.LargeStringArray:
    """The stretches of a kind with a mark between them; null where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    marked = pc.utf8_trim(pc.replace_substring_regex(texts, runs.between, _MARK), _MARK)
    nothing = pa.scalar(None, pa.large_string())
    return pc.if_else(pc.equal(marked, ""), nothing, marked)


def _cut(texts: pa.LargeStringArray, part: Extract) -> pa.LargeStringArray:
    import pyarrow.compute as pc

    if takes_all(part):
        return texts
    start, stop = window(part)
    return pc.utf8_slice_codeunits(texts, start, stop)


def _formed(texts: pa.LargeStringArray, form: Form) -> pa.LargeStringArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    if form in LOOK_UPS:
        if by_first_letters(form):
            texts = pc.utf8_lower(pc.utf8_slice_codeunits(texts, 0, 3))
        keys = pa.array(LOOK_UPS[form].keys(), pa.large_string())
        values = pa.array(LOOK_UPS[form].values(), pa.large_string())
        return values.take(pc.index_in(texts, value_set=keys))
    for pattern, by in REPLACEMENTS.get(form, ()):
        texts = pc.replace_substring_regex(texts, pattern, replacing(by, "\\{}"))
    return texts


def _padded(texts: pa.LargeStringArray, width: int) -> pa.LargeStringArray:
    import pyarrow.compute as pc

    return pc.utf8_lpad(texts, width, "0") if width else texts


def _cased(texts: pa.LargeStringArray, casing: Casing) -> pa.LargeStringArray:
    import pyarrow.compute as pc

    if casing is Casing.LOWER:
        return pc.utf8_lower(texts)
    return pc.utf8_upper(texts) if casing is Casing.UPPER else texts
