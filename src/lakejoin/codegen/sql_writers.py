"""Write the compared cells of a table in SQL: short in DuckDB, or in standard SQL, with SUBSTRING,
POSITION, CHAR_LENGTH, TRIM and CASE.

Standard SQL cannot split a text. But the rest after its first separator is a SUBSTRING, the rest
after the second one is the rest of that, and so on: each rest becomes a column of a subquery over
the one before, so that no expression is written twice. Substrings counted from the end are chosen
among as many rests as the table's texts have at most; a text with more gives null.

What cannot be expressed, above all regular expressions, becomes a list of the column's texts with
their results, and a comment names the part.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.codegen.join_plan import MOST_LISTED, ComparedSide, NumberType, PlanPart
from lakejoin.codegen.program_code import duckdb_expression
from lakejoin.codegen.programs import (
    LOOKUPS,
    Constant,
    Extract,
    Form,
    Program,
    by_first_letters,
    takes_all,
)
from lakejoin.codegen.sql_query import SqlTable, replace_texts
from lakejoin.errors import InputError
from lakejoin.quoting import quote_identifier, quote_literal

_MOST_RESTS = 12  # separators to follow one by one
_WRITTEN = {Form.SAME, Form.NO_ZEROS, Form.NO_FIRST_WORD, Form.NO_LAST_WORD, *LOOKUPS}
_ROWS = "t"  # alias of the table in subqueries


DIALECTS = ("duckdb", "standard")


def make_writers(
    dialect: str, tables: Sequence[tuple[str, pa.Table]], unused_name: Callable[[str], str]
) -> list[TableWriter]:
    """The writers of the cells of tables, given by their names and rows."""
    if dialect not in DIALECTS:
        raise InputError(f"dialect must be one of {', '.join(DIALECTS)}, not {dialect!r}")
    if dialect == "duckdb":
        return [DuckDBWriter(name) for name, _ in tables]
    return [StandardWriter(name, rows, unused_name) for name, rows in tables]


class TableWriter(ABC):
    """Writes the compared cells of one table."""

    text_type: str
    trimmed: str  # an expression without surrounding blanks

    def __init__(self, name: str) -> None:
        self.name = quote_identifier(name)
        self.comments: list[str] = []

    def joined(self, alias: str, on: Sequence[str] = (), how: str = "inner") -> SqlTable:
        """The table in a query, with all columns that the cells written so far need."""
        return SqlTable(self.source(), alias, on, how)

    def cell(self, side: ComparedSide, part: PlanPart, alias: str) -> str:
        """The result of a program for a row, in the form in which it is compared."""
        if part.typed:
            cell = f"{alias}.{quote_identifier(side.program.columns[0])}"
            return self.number(cell) if part.number is NumberType.FLOATING else cell
        text = self.program(side.program, side.cast, alias)
        text = self.trimmed.format(text) if part.normal.trim else text
        return f"lower({text})" if part.normal.lower else text

    @abstractmethod
    def source(self) -> str:
        """What stands for the table in a FROM clause."""

    @abstractmethod
    def number(self, cell: str) -> str:
        """A floating-point cell; NaN equals itself in SQL, but here it is a missing value."""

    @abstractmethod
    def program(self, program: Program, cast: Collection[str], alias: str) -> str:
        """The result of a program for a row of `alias`, which is `source()`."""


class DuckDBWriter(TableWriter):
    """Short SQL for DuckDB."""

    text_type = "VARCHAR"
    trimmed = "trim({}, ' ')"

    def source(self) -> str:
        return self.name

    def number(self, cell: str) -> str:
        return f"nullif(CAST({cell} AS DOUBLE), 'NaN'::DOUBLE)"

    def program(self, program: Program, cast: Collection[str], alias: str) -> str:
        return duckdb_expression(program, cast, alias)


class StandardWriter(TableWriter):
    """SQL that runs nearly everywhere: the results of programs, and the helper columns that they
    need.

    >>> names = StandardWriter("people", pa.table({"name": ["Lovelace, Ada"]}), lambda name: name)
    >>> names.program(Program((Extract("name", ((", ", 1),), 0, 1),)), (), "l")
    'l."lakejoin_made_3"'
    >>> print(names.source())  # doctest: +ELLIPSIS
    (SELECT t.*, ...
    """

    text_type = "VARCHAR(100)"
    trimmed = "TRIM(BOTH ' ' FROM {})"

    def __init__(self, name: str, rows: pa.Table, unused_name: Callable[[str], str]) -> None:
        super().__init__(name)
        self._rows = rows
        self._unused_name = unused_name
        self._layers: list[list[str]] = []  # expressions with names; each over the layers before
        self._depth: dict[str, int] = {}
        self._made: dict[str, str] = {}

    def source(self) -> str:
        """The table with all columns that the cells written so far use."""
        name = self.name
        for layer in self._layers:
            name = f"(SELECT {_ROWS}.*, {', '.join(layer)} FROM {name} AS {_ROWS})"
        return name

    def number(self, cell: str) -> str:
        number = f"CAST({cell} AS DOUBLE PRECISION)"
        return f"CASE WHEN UPPER(CAST({number} AS {self.text_type})) <> 'NAN' THEN {number} END"

    def program(self, program: Program, cast: Collection[str], alias: str) -> str:
        return " || ".join(
            quote_literal(o.text) if isinstance(o, Constant) else f"{alias}.{self._part(o, cast)}"
            for o in program.operators
        )

    # -- columns -------------------------------------------------------------------------------

    def _let(self, expression: str, *over: str) -> str:
        """A column for an expression over these columns, added once."""
        if expression not in self._made:
            depth = 1 + max(self._depth.get(name, 0) for name in over)
            while len(self._layers) < depth:
                self._layers.append([])
            name = quote_identifier(self._unused_name(f"lakejoin_made_{len(self._made) + 1}"))
            self._layers[depth - 1].append(f"{expression} AS {name}")
            self._depth[name] = depth
            self._made[expression] = name
        return self._made[expression]

    # -- programs ------------------------------------------------------------------------------

    def _part(self, o: Extract, cast: Collection[str]) -> str:
        """The column with the result of an operator."""
        text = quote_identifier(o.column)
        if o.column in cast:
            text = self._let(f"CAST({_at(text)} AS VARCHAR(100))", text)
        if not self._can_be_written(o):
            return self._listed(o, text)
        for depth, (separator, index) in enumerate(o.splits):
            assert isinstance(separator, str), "runs are listed"
            most = self._separators(Extract(o.column, o.splits[:depth]), separator)
            text = self._split(text, separator, index, most)
        text = text if takes_all(o) else self._let(_cut(o, _at(text)), text)
        text = self._formed(o, text)
        if o.width:
            zeros = f"SUBSTRING({quote_literal('0' * o.width)} FROM CHAR_LENGTH({_at(text)}) + 1)"
            text = self._let(f"{zeros} || {_at(text)}", text)
        if o.casing:
            text = self._let(f"{o.casing.upper()}({_at(text)})", text)
        return text

    def _split(self, text: str, separator: str, index: int, most: int) -> str:
        rests = self._rests(text, separator, index if index >= 0 else most)
        if index >= 0:
            return self._let(_before(_at(rests[-1]), separator), rests[-1])
        return self._let(_from_the_end(rests, separator, -index), rests[-1])

    def _rests(self, text: str, separator: str, count: int) -> list[str]:
        """The text, and the rest after each of `count` separators; null if there is none."""
        rests = [text]
        for _ in range(count):
            rest, sign = _at(rests[-1]), quote_literal(separator)
            position = f"POSITION({sign} IN {rest})"
            after = f"SUBSTRING({rest} FROM {position} + {len(separator)})"
            rests.append(self._let(f"CASE WHEN {position} > 0 THEN {after} END", rests[-1]))
        return rests

    def _formed(self, o: Extract, name: str) -> str:
        text = _at(name)
        if o.form in LOOKUPS:
            key = f"LOWER(SUBSTRING({text} FROM 1 FOR 3))" if by_first_letters(o.form) else text
            return self._let(replace_texts(key, LOOKUPS[o.form]), name)
        if o.form is Form.NO_ZEROS:
            return self._let(_without_zeros(text), name)
        if o.form is Form.NO_FIRST_WORD:
            position = f"POSITION(' ' IN {text})"
            rest = f"TRIM(LEADING ' ' FROM SUBSTRING({text} FROM {position}))"
            return self._let(f"CASE WHEN {position} > 0 THEN {rest} ELSE {text} END", name)
        if o.form is Form.NO_LAST_WORD:
            most = self._separators(replace(o, form=Form.SAME, width=0), " ")
            rests = self._rests(name, " ", most)
            return self._let(_without_last_word(rests), rests[-1])
        return name

    # -- what cannot be expressed --------------------------------------------------------------

    def _can_be_written(self, o: Extract) -> bool:
        if o.form not in _WRITTEN:
            return False
        for depth, (separator, index) in enumerate(o.splits):
            if not isinstance(separator, str):
                return False
            before = Extract(o.column, o.splits[:depth])
            rests = index if index >= 0 else self._separators(before, separator)
            if rests > _MOST_RESTS:
                return False
        if o.form is Form.NO_LAST_WORD:
            return self._separators(replace(o, form=Form.SAME, width=0), " ") <= _MOST_RESTS
        return True

    def _separators(self, part: Extract, separator: str) -> int:
        """The most separators in a text of the table."""
        texts = apply_program(Program((part,)), self._rows)
        return int(pc.max(pc.count_substring(texts, separator)).as_py() or 0)

    def _listed(self, o: Extract, text: str) -> str:
        words = str(Program((o,)))
        plain = apply_program(Program((Extract(o.column),)), self._rows)
        made = apply_program(Program((o,)), self._rows)
        distinct = pa.table([plain, made], names=["text", "made"]).group_by(["text", "made"])
        pairs = [row for row in distinct.aggregate([]).to_pylist() if row["made"] is not None]
        if len(pairs) > MOST_LISTED:
            raise InputError(
                f"standard SQL cannot express {words}, and {len(pairs):,} texts are too many to "
                "list: use the duckdb dialect"
            )
        comment = f"standard SQL cannot express {words}: its result is listed for each text"
        if comment not in self.comments:
            self.comments.append(comment)
        if not pairs:
            return self._let("CAST(NULL AS VARCHAR(100))", text)
        return self._let(replace_texts(_at(text), {p["text"]: p["made"] for p in pairs}), text)


def _at(column: str) -> str:
    return f"{_ROWS}.{column}"


def _before(text: str, separator: str) -> str:
    """The text before the first separator, or the whole text."""
    position = f"POSITION({quote_literal(separator)} IN {text})"
    return (
        f"CASE WHEN {position} > 0 THEN SUBSTRING({text} FROM 1 FOR {position} - 1) ELSE {text} END"
    )


def _from_the_end(rests: list[str], separator: str, back: int) -> str:
    """The `back`-th substring from the end, if the last rest is the last substring."""
    whens = [f"WHEN POSITION({quote_literal(separator)} IN {_at(rests[-1])}) > 0 THEN NULL"]
    for last in range(len(rests) - 1, back - 2, -1):
        piece = _at(rests[last]) if back == 1 else _before(_at(rests[last - back + 1]), separator)
        whens.append(f"WHEN {_at(rests[last])} IS NOT NULL THEN {piece}")
    # A text with too few substrings has none of these rests and gives null.
    return f"CASE {' '.join(whens)} END" if len(whens) > 1 else "CAST(NULL AS VARCHAR(100))"


def _cut(o: Extract, text: str) -> str:
    """A part of a text; positions outside it are ignored."""
    length = f"CHAR_LENGTH({text})"
    nothing = f"SUBSTRING({text} FROM 1 FOR 0)"  # of a null, null
    if o.drop:
        off = o.start + o.drop
        part = f"SUBSTRING({text} FROM {o.start + 1} FOR {length} - {off})"
        return f"CASE WHEN {length} > {off} THEN {part} ELSE {nothing} END"
    size = "" if o.length is None else f" FOR {o.length}"
    if o.start >= 0:
        return f"SUBSTRING({text} FROM {o.start + 1}{size})"
    part = f"SUBSTRING({text} FROM {length} - {-o.start - 1}{size})"
    if o.length is None or o.length >= -o.start:
        return f"CASE WHEN {length} > {-o.start} THEN {part} ELSE {text} END"
    left = -o.start - o.length
    short = f"SUBSTRING({text} FROM 1 FOR {length} - {left})"
    return (
        f"CASE WHEN {length} >= {-o.start} THEN {part} "
        f"WHEN {length} > {left} THEN {short} ELSE {nothing} END"
    )


def _without_zeros(text: str) -> str:
    """Remove leading zeros, but keep the last one before a non-digit."""
    rest = f"TRIM(LEADING '0' FROM {text})"
    digits = ", ".join(f"'{n}'" for n in range(1, 10))
    return (
        f"CASE WHEN SUBSTRING({text} FROM 1 FOR 1) <> '0' THEN {text} "
        f"WHEN SUBSTRING({rest} FROM 1 FOR 1) IN ({digits}) THEN {rest} ELSE '0' || {rest} END"
    )


def _without_last_word(rests: list[str]) -> str:
    text = _at(rests[0])
    whens = [f"WHEN POSITION(' ' IN {_at(rests[-1])}) > 0 THEN NULL"]
    for rest in rests[:0:-1]:
        kept = f"CHAR_LENGTH({text}) - CHAR_LENGTH({_at(rest)})"
        whens.append(
            f"WHEN {_at(rest)} IS NOT NULL "
            f"THEN TRIM(TRAILING ' ' FROM SUBSTRING({text} FROM 1 FOR {kept}))"
        )
    return f"CASE {' '.join(whens)} ELSE {text} END"
