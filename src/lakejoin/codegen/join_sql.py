"""Write a join as one SQL query, in DuckDB or standard SQL."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lakejoin.codegen.join_plan import ComparedSide, JoinPlan, PlanPart, Spellings
from lakejoin.codegen.sql_query import SqlQuery, SqlTable, name_query, name_values
from lakejoin.codegen.sql_writers import TableWriter, make_writers
from lakejoin.errors import InputError
from lakejoin.quoting import list_literals, quote_identifier, quote_literal


def build_join_query(
    plan: JoinPlan, left: tuple[str, pa.Table], right: tuple[str, pa.Table], dialect: str = "duckdb"
) -> SqlQuery:
    """The query over two tables, given by their names and rows."""
    check_names("left", plan.left)
    check_names("right", plan.right)
    writers = make_writers(dialect, (left, right), plan.unused_name)
    build = _compare_cells if all(part.is_simple for part in plan.parts) else _compare_keys
    named, tables = build(plan, *writers)
    width = len(plan.left)
    columns = select_columns("l", plan.left, plan.left)
    columns += select_columns("r", plan.right, plan.names[width:])
    comments = [*plan.comments, *(text for writer in writers for text in writer.comments)]
    return SqlQuery(columns, tables, named=named, comments=comments)


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


def select_columns(alias: str, names: Sequence[str], shown: Sequence[str]) -> list[str]:
    """The columns of a table in a SELECT clause, under the names to show."""
    return [
        f"{alias}.{quote_identifier(name)}"
        + ("" if name == shown_name else f" AS {quote_identifier(shown_name)}")
        for name, shown_name in zip(names, shown, strict=True)
    ]


def _compare_cells(
    plan: JoinPlan, left: TableWriter, right: TableWriter
) -> tuple[list[str], list[SqlTable]]:
    """Join on one equality per part."""
    equal = []
    for part in plan.parts:
        left_side, right_side = part.sources[0], part.key
        if plan.source_side == "right":
            left_side, right_side = right_side, left_side
        equal.append(f"{left.cell(left_side, part, 'l')} = {right.cell(right_side, part, 'r')}")
    return [], [left.joined("l"), right.joined("r", equal, plan.how)]


def _compare_keys(
    plan: JoinPlan, left: TableWriter, right: TableWriter
) -> tuple[list[str], list[SqlTable]]:
    """Compute the key of every row first, then join on it."""
    source, target = (left, right) if plan.source_side == "left" else (right, left)
    keys = [plan.unused_name(f"lakejoin_key_{n}") for n in range(1, len(plan.parts) + 1)]
    named = [*_key_target(plan, keys, target), *_key_source(plan, keys, source)]
    tables = ["lakejoin_source", "lakejoin_target"]
    if plan.source_side == "right":
        tables.reverse()
    equal = [f"l.{key} = r.{key}" for key in keys]
    return named, [SqlTable(tables[0], "l"), SqlTable(tables[1], "r", equal, plan.how)]


def _key_target(plan: JoinPlan, keys: list[str], writer: TableWriter) -> list[str]:
    table = _KeyedTable(plan, writer, "t")
    for index, (part, key) in enumerate(zip(plan.parts, keys, strict=True), start=1):
        names = f"lakejoin_text_{index}", f"lakejoin_spelt_{index}"
        table.add_key(key, part, table.look_up(part.key, part, *names))
    return [*table.named, name_query("lakejoin_target", table.query().text())]


def _key_source(plan: JoinPlan, keys: list[str], writer: TableWriter) -> list[str]:
    """The source table with its key: the first existing key that the rules give."""
    table = _KeyedTable(plan, writer, "s")
    for index, (part, key) in enumerate(zip(plan.parts, keys, strict=True), start=1):
        held, several = f"lakejoin_keys_{index}", len(part.sources) > 1
        if several:
            table.named.append(f"{held} AS (SELECT DISTINCT {key} AS meant FROM lakejoin_target)")
        found = []
        for number, rule in enumerate(part.sources, start=1):
            name = f"{index}_{number}"
            text = table.look_up(rule, part, f"lakejoin_way_{name}", f"lakejoin_list_{name}")
            if several:
                table.join(held, f"found_{name}", f"found_{name}.meant = {text}")
                text = f"found_{name}.meant"
            found.append(text)
        table.add_key(key, part, f"coalesce({', '.join(found)})" if several else found[0])
    return [*table.named, name_query("lakejoin_source", table.query().text())]


class _KeyedTable:
    """A table with keys for the parts of a plan, and the named lists that these need."""

    def __init__(self, plan: JoinPlan, writer: TableWriter, alias: str) -> None:
        self.named: list[str] = []
        self._plan, self._writer, self._alias = plan, writer, alias
        self._texts: list[str] = []
        self._lists: list[SqlTable] = []
        self._keys: dict[str, str] = {}

    def look_up(self, side: ComparedSide, part: PlanPart, text_name: str, list_name: str) -> str:
        """The key of a side's text, replaced if it is listed."""
        name = self._plan.unused_name(text_name)
        self._texts.append(f"{self._writer.cell(side, part, self._alias)} AS {name}")
        text = f"{self._alias}.{name}"
        if not (side.respelt or side.listed):
            return text
        self.named.append(_list_spellings(list_name, side.respelt, part, self._writer.text_type))
        self.join(list_name, "", f"{list_name}.written = {text}")
        if side.listed:
            return f"{list_name}.meant"
        return f"CASE WHEN {list_name}.written IS NULL THEN {text} ELSE {list_name}.meant END"

    def join(self, source: str, alias: str, on: str) -> None:
        """Keep all rows, with those of another table where the condition holds."""
        self._lists.append(SqlTable(source, alias, [on], "left"))

    def add_key(self, key: str, part: PlanPart, text: str) -> None:
        """Add the key of a part; some parts only apply to some keys of the first part."""
        if part.only:
            first = next(iter(self._keys.values()))
            text = f"CASE WHEN {first} IN ({list_literals(part.only)}) THEN {text} ELSE '' END"
        self._keys[key] = text

    def query(self) -> SqlQuery:
        rows = f"{self._alias}.*"
        texts = SqlQuery([rows, *self._texts], [self._writer.joined(self._alias)]).text(" ")
        keys = [f"{text} AS {key}" for key, text in self._keys.items()]
        return SqlQuery([rows, *keys], [SqlTable(f"({texts})", self._alias), *self._lists])


def _list_spellings(name: str, spellings: Spellings, part: PlanPart, text_type: str) -> str:
    """A named list of texts or numbers with their keys."""
    nothing = f"CAST(NULL AS {'DOUBLE PRECISION' if part.typed else text_type})"
    quote = _number_literal if part.typed else quote_literal
    rows = [
        (quote(text), nothing if key is None else quote(key)) for text, key in spellings.items()
    ]
    return name_values(name, ("written", "meant"), rows or [(nothing, nothing)])


def _number_literal(number: float) -> str:
    """A floating-point literal, not a decimal one."""
    text = repr(number)
    return text if "e" in text else f"{text}e0"
