"""Run programs on every row of a table, with Arrow functions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.codegen.programs import (
    LOOKUPS,
    REPLACEMENTS,
    Casing,
    Constant,
    Extract,
    Form,
    Operator,
    Program,
    Runs,
    Separator,
    Split,
    by_first_letters,
    replacement_text,
    slice_bounds,
    takes_all,
)

# A column, the earlier splits, and the next separator.
_Splitting = tuple[str, tuple[Split, ...], Separator]
_MAX_CACHED_ROWS = 2000  # rows up to which parts are cached
_MARK = "\x1f"  # never inside a run of letters or digits


def apply_program(program: Program, table: pa.Table) -> pa.LargeStringArray:
    """The program's result for every row; its columns must be text.

    >>> names = pa.table({"name": ["Obama, Barack", "Cher", None]})
    >>> last, first = Extract("name", ((", ", 0),)), Extract("name", ((", ", 1),))
    >>> apply_program(Program((first, Constant(" "), last)), names).to_pylist()
    ['Barack Obama', None, None]
    """
    return Applier(table).apply(program)


@dataclass(eq=False)
class Applier:
    """Applies many programs to the same rows; parts that they share are computed once.

    Large tables are not cached.
    """

    table: pa.Table
    _columns: dict[str, pa.LargeStringArray] = field(default_factory=dict)
    _substrings: dict[_Splitting, pa.LargeListArray] = field(default_factory=dict)
    _parts: dict[Extract, pa.LargeStringArray] = field(default_factory=dict)

    def apply(self, program: Program) -> pa.LargeStringArray:
        parts = [self._part(operator) for operator in program.operators]
        if len(parts) == 1:
            return parts[0]
        nothing = pa.scalar("", pa.large_string())
        return pc.binary_join_element_wise(*parts, nothing, null_handling="emit_null")

    def _part(self, operator: Operator) -> pa.Array | pa.Scalar:
        if isinstance(operator, Constant):
            return pa.scalar(operator.text, pa.large_string())
        cached = self._parts.get(operator)
        if cached is None:
            cached = self._compute(operator)
            if self.table.num_rows <= _MAX_CACHED_ROWS:
                self._parts[operator] = cached
        return cached

    def _compute(self, part: Extract) -> pa.LargeStringArray:
        if part.casing:
            return _change_case(self._part(replace(part, casing=Casing.SAME)), part.casing)
        texts = self._text(part.column) if not part.splits else self._substring(part)
        if not takes_all(part):
            texts = pc.utf8_slice_codeunits(texts, *slice_bounds(part))
        texts = _apply_form(texts, part.form)
        return pc.utf8_lpad(texts, part.width, "0") if part.width else texts

    def _text(self, column: str) -> pa.LargeStringArray:
        if column not in self._columns:
            self._columns[column] = _text(self.table[column])
        return self._columns[column]

    def _substring(self, part: Extract) -> pa.LargeStringArray:
        """The substring after all splits."""
        key = part.column, part.splits[:-1], part.splits[-1][0]
        substrings = self._substrings.get(key)
        if substrings is None:
            before = part.splits[:-1]
            texts = (
                self._substring(Extract(part.column, before)) if before else self._text(part.column)
            )
            substrings = _split(texts, part.splits[-1][0])
            if self.table.num_rows <= _MAX_CACHED_ROWS:
                self._substrings[key] = substrings
        return _nth(substrings, part.splits[-1][1])


def _text(column: pa.ChunkedArray) -> pa.LargeStringArray:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # without chunks, or too large for one
        array = pa.concat_arrays(array.cast(pa.large_string()).chunks or [pa.array([], array.type)])
    return array.cast(pa.large_string())


def _split(texts: pa.LargeStringArray, separator: Separator) -> pa.LargeListArray:
    if isinstance(separator, Runs):
        texts = _mark_runs(texts, separator)
        separator = _MARK
    return pc.split_pattern(texts, separator)


def _nth(substrings: pa.LargeListArray, index: int) -> pa.LargeStringArray:
    ends = substrings.offsets.to_numpy().astype(np.int64)
    position = (ends[:-1] if index >= 0 else ends[1:]) + index
    exists = (position >= ends[:-1]) & (position < ends[1:])
    if substrings.null_count:
        exists &= substrings.is_valid().to_numpy(zero_copy_only=False)
    return substrings.values.take(pa.array(position, mask=~exists))


def _mark_runs(texts: pa.LargeStringArray, runs: Runs) -> pa.LargeStringArray:
    """The runs of a kind, separated by `_MARK`; null if there is none."""
    marked = pc.utf8_trim(pc.replace_substring_regex(texts, runs.between, _MARK), _MARK)
    nothing = pa.scalar(None, pa.large_string())
    return pc.if_else(pc.equal(marked, ""), nothing, marked)


def _apply_form(texts: pa.LargeStringArray, form: Form) -> pa.LargeStringArray:
    if form in LOOKUPS:
        if by_first_letters(form):
            texts = pc.utf8_lower(pc.utf8_slice_codeunits(texts, 0, 3))
        keys = pa.array(LOOKUPS[form].keys(), pa.large_string())
        values = pa.array(LOOKUPS[form].values(), pa.large_string())
        return values.take(pc.index_in(texts, value_set=keys))
    for pattern, by in REPLACEMENTS.get(form, ()):
        texts = pc.replace_substring_regex(texts, pattern, replacement_text(by, "\\{}"))
    return texts


def _change_case(texts: pa.LargeStringArray, casing: Casing) -> pa.LargeStringArray:
    if casing is Casing.LOWER:
        return pc.utf8_lower(texts)
    return pc.utf8_upper(texts) if casing is Casing.UPPER else texts


# Found by comparing all systems for every character, as tests/joins/learned/test_code.py does.
CONTESTED = (
    "[ßİıŉƛǄ-ǌǰǱ-ǳɤɷɼͅΐΰΣςև\u10d0-\u10ff\u13a0-\u13ff\u1c80-\u1cbf\u1e96-\u1e9e\u1f50-\u1fff"
    "\u2c2f\u2c5f\ua7ae-\ua7ff\uab53-\uabbf\ufb00-\ufb17\U00010570-\U000105bf"
    "\U00010d50-\U00010d8f\U00016ea0-\U00016eff\U0001df00-\U0001dfff]"
)


def has_agreed_case(column: pa.Array | pa.ChunkedArray) -> bool:
    """Whether all systems give this column's texts the same lower and upper case.

    >>> has_agreed_case(pa.array(["Zürich", None, "ΑΒΓ"])), has_agreed_case(pa.array(["Straße"]))
    (True, False)
    """
    return not pc.any(pc.match_substring_regex(column, CONTESTED)).as_py()
