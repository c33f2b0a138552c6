"""Write a join as one SQL query, in DuckDB or standard SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lakejoin.codegen.join_plan import (
    ComparedSide,
    JoinPlan,
    NumberType,
    PlanPart,
    Spellings,
    TextForm,
    comment_lines,
)
from lakejoin.codegen.program_code import duckdb_expression
from lakejoin.codegen.standard_sql import StandardTexts, identifier, literal
from lakejoin.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


_JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN"}


def write_sql(
    plan: JoinPlan, left: tuple[str, pa.Table], right: tuple[str, pa.Table], dialect: str = "duckdb"
) -> str:
    """The query over two tables, given by their names and rows."""
    if dialect not in DIALECTS:
        raise InputError(f"dialect must be one of {', '.join(DIALECTS)}, not {dialect!r}")
    check_names("left", plan.left)
    check_names("right", plan.right)
    sides = [
        _Side(
            identifier(name),
            DuckDBDialect() if dialect == "duckdb" else StandardDialect(plan.unused_name, rows),
        )
        for name, rows in (left, right)
    ]
    body = (_simple if _is_simple(plan) else _with_lists)(plan, sides[0], sides[1])
    remarks = [*plan.comments, *(text for side in sides for text in side.dialect.comments)]
    return "\n".join([*comment_lines(remarks, "--"), body])


@dataclass(frozen=True, eq=False)
class _Side:
    """One of the two tables, and the dialect that writes its cells."""

    name: str
    dialect: Dialect

    @property
    def table(self) -> str:
        """The table with all columns that the cells written so far need."""
        return self.dialect.table(self.name)


def check_names(side: str, names: Sequence[str]) -> None:
    """Reject names that differ only in case, which SQL would silently confuse."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise InputError(
                f"columns {other!r} and {name!r} of the {side} table differ only in case, which "
                "SQL ignores: rename one of them"
            )


def _is_simple(plan: JoinPlan) -> bool:
    return all(part.is_simple for part in plan.parts)


def _simple(plan: JoinPlan, left: _Side, right: _Side) -> str:
    """A query with one equality per part."""
    equal = []
    for part in plan.parts:
        left_side, right_side = part.sources[0], part.key
        if plan.source_side == "right":
            left_side, right_side = right_side, left_side
        cells = left.dialect.cell(left_side, part, "l"), right.dialect.cell(right_side, part, "r")
        equal.append(" = ".join(cells))
    return _select(plan, f"{left.table} AS l", f"{right.table} AS r", "\n  AND ".join(equal))


def _with_lists(plan: JoinPlan, left: _Side, right: _Side) -> str:
    """A query that computes the key of every row first, then joins on it."""
    source, target = (left, right) if plan.source_side == "left" else (right, left)
    named = []
    keys = [plan.unused_name(f"lakejoin_key_{n}") for n in range(1, len(plan.parts) + 1)]
    named += _key_tables(plan, keys, target)
    named += _source_tables(plan, keys, source)
    left_table, right_table = "lakejoin_source AS l", "lakejoin_target AS r"
    if plan.source_side == "right":
        left_table, right_table = "lakejoin_target AS l", "lakejoin_source AS r"
    equal = "\n  AND ".join(f"l.{key} = r.{key}" for key in keys)
    return "WITH\n" + ",\n".join(named) + "\n" + _select(plan, left_table, right_table, equal)


def _key_tables(plan: JoinPlan, keys: list[str], side: _Side) -> list[str]:
    """The target table with its key."""
    named: list[str] = []
    made: list[str] = []
    joins, texts = [], []
    for index, (part, key) in enumerate(zip(plan.parts, keys, strict=True), start=1):
        text, list_name = plan.unused_name(f"lakejoin_text_{index}"), f"lakejoin_spelt_{index}"
        texts.append(f"{side.dialect.cell(part.key, part, 't')} AS {text}")
        found = _where(part, _looked_up(part.key, "t." + text, list_name), made)
        made.append(f"{found} AS {key}")
        if part.key.respelt:
            named.append(_values(list_name, part.key.respelt, part, side.dialect))
            joins.append(f"  LEFT JOIN {list_name} ON {list_name}.written = t.{text}\n")
    inner = f"(SELECT t.*, {', '.join(texts)} FROM {side.table} AS t) AS t"
    body = f"  SELECT t.*, {', '.join(made)}\n  FROM {inner}\n{''.join(joins)}"
    return [*named, f"lakejoin_target AS (\n{body})"]


def _source_tables(plan: JoinPlan, keys: list[str], side: _Side) -> list[str]:
    """The source table with its key: the first existing key that the rules give."""
    named: list[str] = []
    made: list[str] = []
    joins, texts = [], []
    for index, (part, key) in enumerate(zip(plan.parts, keys, strict=True), start=1):
        held, several = f"lakejoin_keys_{index}", len(part.sources) > 1
        if several:
            named.append(f"{held} AS (SELECT DISTINCT {key} AS meant FROM lakejoin_target)")
        found = []
        for number, way in enumerate(part.sources, start=1):
            name = f"{index}_{number}"
            text, list_name = plan.unused_name(f"lakejoin_way_{name}"), f"lakejoin_list_{name}"
            texts.append(f"{side.dialect.cell(way, part, 's')} AS {text}")
            if way.respelt or way.listed:
                named.append(_values(list_name, way.respelt, part, side.dialect))
                joins.append(f"  LEFT JOIN {list_name} ON {list_name}.written = s.{text}\n")
            given = _looked_up(way, f"s.{text}", list_name)
            if several:
                joins.append(
                    f"  LEFT JOIN {held} AS found_{name} ON found_{name}.meant = {given}\n"
                )
            found.append(f"found_{name}.meant" if several else given)
        first = f"coalesce({', '.join(found)})" if several else found[0]
        made.append(f"{_where(part, first, made)} AS {key}")
    inner = f"(SELECT s.*, {', '.join(texts)} FROM {side.table} AS s) AS s"
    body = f"  SELECT s.*, {', '.join(made)}\n  FROM {inner}\n{''.join(joins)}"
    return [*named, f"lakejoin_source AS (\n{body})"]


def _where(part: PlanPart, text: str, made: list[str]) -> str:
    """What a part compares, if it only applies to some keys of the first part."""
    if not part.only:
        return text
    key = made[0].rpartition(" AS ")[0]
    return f"CASE WHEN {key} IN ({', '.join(map(literal, part.only))}) THEN {text} ELSE '' END"


def _looked_up(side: ComparedSide, text: str, list_name: str) -> str:
    """The key of a text, replaced if it is listed."""
    if side.listed:
        return f"{list_name}.meant"
    if not side.respelt:
        return text
    return f"CASE WHEN {list_name}.written IS NULL THEN {text} ELSE {list_name}.meant END"


def _values(name: str, respelt: Spellings, part: PlanPart, dialect: Dialect) -> str:
    nothing = f"CAST(NULL AS {'DOUBLE PRECISION' if part.typed else dialect.text})"
    quote = _number if part.typed else literal
    rows = [
        f"({quote(text)}, {nothing if key is None else quote(key)})"
        for text, key in respelt.items()
    ]
    listed = ",\n    ".join(rows or [f"({nothing}, {nothing})"])
    return f"{name}(written, meant) AS (\n  VALUES\n    {listed}\n)"


def _number(number: float) -> str:
    """A floating-point literal, not a decimal one."""
    text = repr(number)
    return text if "e" in text else f"{text}e0"


def _select(plan: JoinPlan, left: str, right: str, on: str) -> str:
    width = len(plan.left)
    cells = [f"l.{identifier(name)}" for name in plan.left]
    cells += [
        f"r.{identifier(name)}" + ("" if name == shown else f" AS {identifier(shown)}")
        for name, shown in zip(plan.right, plan.names[width:], strict=True)
    ]
    return f"SELECT {', '.join(cells)}\nFROM {left}\n{_JOINS[plan.how]} {right}\n  ON {on};"


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
        return _formed(
            duckdb_expression(side.program, side.cast, alias), part.normal, "trim({}, ' ')"
        )

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
