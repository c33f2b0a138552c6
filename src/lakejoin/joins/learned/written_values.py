"""Constants of a program that are really data: values of another column, or other texts of its own.

Examples that happen to be of one city teach a program that writes this city into every row. Reading
the column instead is right for these rows and for all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.codegen.programs import Constant, Extract, Operator, Program, merge_constants
from lakejoin.joins.learned.row_samples import sample_rows

_LOOKED_AT = 500  # rows
_WORDS = re.compile(r"\w+")
_MOST_WORDS = 4  # of a value
# A column that gives so many of the constant's matches carries it, unless the value is usual.
_CARRIED, _USUAL = 0.8, 0.5


@dataclass(eq=False)
class ColumnValues:
    """How often each value occurs in each column of some rows, in lower case.

    >>> towns = pa.table({"town": ["Denver", "Boulder"], "state": ["Colorado", "Colorado"]})
    >>> values = ColumnValues(towns)
    >>> list(values.columns_with("denver")), list(values.columns_with("colorado"))
    ([('town', 0.5)], [])
    """

    rows: pa.Table

    def columns_with(self, text: str) -> Iterator[tuple[str, float]]:
        """The columns of several values of which this is one, and its share of their rows."""
        for name, shares in self._shares.items():
            if text in shares and shares[text] < 1:
                yield name, shares[text]

    @cached_property
    def _shares(self) -> dict[str, dict[str, float]]:
        some = self.rows.take(sample_rows(len(self.rows), _LOOKED_AT, 2))
        return {name: _value_shares(some[name]) for name in some.column_names}


def _value_shares(column: pa.ChunkedArray) -> dict[str, float]:
    texts = pc.utf8_trim_whitespace(pc.utf8_lower(column.cast(pa.large_string()).drop_null()))
    counts = pc.value_counts(texts).to_pylist() if len(texts) else []
    return {each["values"]: each["counts"] / len(texts) for each in counts}


@dataclass(frozen=True, slots=True)
class WrittenValue:
    """A value of `column` that a program writes as a constant, and the program that reads it."""

    text: str
    column: str
    share: float  # of the column's rows
    reading: Program

    def is_carried(self, written: int, read: int) -> bool:
        """Whether the column gives the constant, if the programs match so many keys."""
        return read >= written or (read >= _CARRIED * written and self.share <= _USUAL)


def written_values(program: Program, values: ColumnValues) -> Iterator[WrittenValue]:
    """The values of columns that the program does not read, longest first.

    >>> towns = pa.table({"town": ["Denver", "Boulder"], "zip": ["80201", "80302"]})
    >>> program = Program((Constant("Denver, CO "), Extract("zip")))
    >>> for value in written_values(program, ColumnValues(towns)):
    ...     print(value.text, value.column, "|", value.reading)
    Denver town | town + ", CO " + zip
    """
    for place, operator in enumerate(program.operators):
        if not isinstance(operator, Constant):
            continue
        for begin, end in _phrases(operator.text):
            text = operator.text[begin:end]
            for column, share in values.columns_with(text.lower()):
                if column not in program.columns:
                    parts: list[Operator] = [Extract(column)]
                    parts = [Constant(operator.text[:begin]), *parts] if begin else parts
                    rest = operator.text[end:]
                    parts += [Constant(rest)] if rest else []
                    before, after = program.operators[:place], program.operators[place + 1 :]
                    reading = merge_constants([*before, *parts, *after])
                    yield WrittenValue(text, column, share, reading)


def _phrases(text: str) -> Iterator[tuple[int, int]]:
    """Where consecutive words begin and end, more words first."""
    words = [match.span() for match in _WORDS.finditer(text)]
    for count in range(min(_MOST_WORDS, len(words)), 0, -1):
        for first in range(len(words) - count + 1):
            yield words[first][0], words[first + count - 1][1]


_LETTER_OR_DIGIT = r"[^\p{L}\p{N}]+"
_FEWEST_UNCHANGED = 2  # rows
_FALSE = 0.2  # largest share of matching rows in which other text is replaced


def replaces_text(program: Program, rows: pa.Table, matching: pa.Array) -> bool:
    """Whether a program of one column writes a text of some rows over another text of many.

    "Abell 2218" stays as it is, but "NGC 2218" becomes "Abell 2218", which is something else.

    >>> rows = pa.table({"name": ["Abell 12", "Abell 80", "NGC 7", "IC 31"]})
    >>> program = Program((Constant("Abell "), Extract("name", ((" ", 1),))))
    >>> replaces_text(program, rows, pa.array([False, False, True, True]))
    True
    """
    constants = [o.text for o in program.operators if isinstance(o, Constant)]
    written = "".join(_WORDS.findall("".join(constants)))
    if not written or len(program.columns) != 1:
        return False
    own, made = _bare(rows[program.columns[0]]), _bare(apply_program(program, rows))
    unchanged = pc.fill_null(pc.equal(own, made), False)
    if pc.sum(unchanged).as_py() < _FEWEST_UNCHANGED:
        return False
    kept = pc.subtract(pc.utf8_length(made), len(written))
    replaced = pc.and_(
        pc.invert(unchanged), pc.fill_null(pc.less(kept, pc.utf8_length(own)), False)
    )
    count = pc.sum(pc.and_(replaced, matching)).as_py() or 0
    return bool(count > _FALSE * (pc.sum(matching).as_py() or 0))


def _bare(texts: pa.ChunkedArray | pa.LargeStringArray) -> pa.LargeStringArray:
    """Letters and digits only, in lower case."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    return pc.replace_substring_regex(pc.utf8_lower(texts), _LETTER_OR_DIGIT, "")
