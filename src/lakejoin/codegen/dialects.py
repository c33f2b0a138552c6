"""The SQL dialects for the texts of a join: DuckDB and standard SQL.

Standard SQL uses only what nearly every system has: SUBSTRING, POSITION, CHAR_LENGTH, TRIM, UPPER,
LOWER, CAST, CASE and ||. See `standard` for programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from lakejoin.codegen.program_code import duckdb_expression
from lakejoin.codegen.join_plan import ComparedSide, TextForm, NumberType, PlanPart
from lakejoin.codegen.standard_sql import StandardTexts, identifier

if TYPE_CHECKING:
    import pyarrow as pa

DIALECTS = ("duckdb", "standard")


class Dialect(Protocol):
    """Writes the compared cells of one table."""

    comments: list[str]
    text: str  # the type of texts

    def cell(self, side: ComparedSide, part: PlanPart, alias: str) -> str:
        """The result of a program for a row, in the form in which it is compared."""

    def table(self, name: str) -> str:
        """The table with all columns that the cells need."""


class DuckDBDialect:
    """Short SQL for DuckDB."""

    text = "VARCHAR"

    def __init__(self) -> None:
        self.comments: list[str] = []

    def cell(self, side: ComparedSide, part: PlanPart, alias: str) -> str:
        if part.typed:
            cell = f"{alias}.{identifier(side.program.columns[0])}"
            if part.number is not NumberType.FLOATING:
                return cell
            # NaN equals itself in SQL; here it is a missing value.
            return f"nullif(CAST({cell} AS DOUBLE), 'NaN'::DOUBLE)"
        return _formed(duckdb_expression(side.program, side.cast, alias), part.normal, "trim({}, ' ')")

    def table(self, name: str) -> str:
        return name


class StandardDialect:
    """SQL that runs nearly everywhere."""

    text = "VARCHAR(100)"

    def __init__(self, free: Callable[[str], str], rows: pa.Table) -> None:
        self._texts = StandardTexts(rows, free)
        self.comments = self._texts.comments

    def cell(self, side: ComparedSide, part: PlanPart, alias: str) -> str:
        if part.typed:
            cell = f"{alias}.{identifier(side.program.columns[0])}"
            if part.number is not NumberType.FLOATING:
                return cell
            number = f"CAST({cell} AS DOUBLE PRECISION)"
            return f"CASE WHEN UPPER(CAST({number} AS {self.text})) <> 'NAN' THEN {number} END"
        text = self._texts.of(side.program, side.cast, alias)
        return _formed(text, part.normal, "TRIM(BOTH ' ' FROM {})")

    def table(self, name: str) -> str:
        return self._texts.table(name)


def _formed(text: str, normal: TextForm, trimmed: str) -> str:
    text = trimmed.format(text) if normal.trim else text
    return f"lower({text})" if normal.lower else text
