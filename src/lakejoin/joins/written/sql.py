"""The join as one SQL query, in one of the `dialects`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin.errors import InputError
from lakejoin.joins.written.dialects import DIALECTS, Dialect, DuckDB, Standard
from lakejoin.joins.written.lines import comments
from lakejoin.joins.written.plan import Compared, Part, Plan, plan_of
from lakejoin.joins.written.spelling import Respelt
from lakejoin.joins.written.standard import identifier, literal

if TYPE_CHECKING:
    from lakejoin.joins.join import Join

_JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN"}


def sql_of(join: Join, left: str, right: str, dialect: str = "duckdb") -> str:
    """The query over two tables of these names."""
    if dialect not in DIALECTS:
        raise InputError(f"SQL is written in one of {', '.join(DIALECTS)}, not {dialect!r}")
    plan = plan_of(join)
    check_names("left", plan.left)
    check_names("right", plan.right)
    sides = [
        _Side(identifier(name), DuckDB() if dialect == "duckdb" else Standard(plan.free, rows))
        for name, rows in ((left, join.left), (right, join.right))
    ]
    body = (_simple if _is_simple(plan) else _with_lists)(plan, sides[0], sides[1])
    told = [*plan.comments, *(text for side in sides for text in side.dialect.comments)]
    return "\n".join([*comments(told, "--"), body])


@dataclass(frozen=True, eq=False)
class _Side:
    """One of the two tables, and who writes what is compared of it."""

    name: str
    dialect: Dialect

    @property
    def table(self) -> str:
        """The table with all that the cells written so far need."""
        return self.dialect.table(self.name)


def check_names(side: str, names: Sequence[str]) -> None:
    """Refuses names that differ in case only: SQL would take one for the other without a word."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise InputError(
                f"the columns {other!r} and {name!r} of the {side} table are one in SQL, which "
                "does not tell upper from lower case: rename one of them"
            )


def _is_simple(plan: Plan) -> bool:
    return all(part.is_simple for part in plan.parts)


def _simple(plan: Plan, left: _Side, right: _Side) -> str:
    """An equality for each part."""
    equal = []
    for part in plan.parts:
        mine, theirs = part.ways[0], part.key
        if plan.source_side == "right":
            mine, theirs = theirs, mine
        cells = left.dialect.cell(mine, part, "l"), right.dialect.cell(theirs, part, "r")
        equal.append(" = ".join(cells))
    return _select(plan, f"{left.table} AS l", f"{right.table} AS r", "\n  AND ".join(equal))


def _with_lists(plan: Plan, left: _Side, right: _Side) -> str:
    """First the key of every row of both tables, then the join on it."""
    source, target = (left, right) if plan.source_side == "left" else (right, left)
    named = []
    keys = [plan.free(f"lakejoin_key_{n}") for n in range(1, len(plan.parts) + 1)]
    named += _key_tables(plan, keys, target)
    named += _source_tables(plan, keys, source)
    mine, theirs = "lakejoin_source AS l", "lakejoin_target AS r"
    if plan.source_side == "right":
        mine, theirs = "lakejoin_target AS l", "lakejoin_source AS r"
    equal = "\n  AND ".join(f"l.{key} = r.{key}" for key in keys)
    return "WITH\n" + ",\n".join(named) + "\n" + _select(plan, mine, theirs, equal)


def _key_tables(plan: Plan, keys: list[str], side: _Side) -> list[str]:
    """The table that has the key, with the key."""
    named: list[str] = []
    made: list[str] = []
    joins, texts = [], []
    for place, (part, key) in enumerate(zip(plan.parts, keys, strict=True), start=1):
        text, list_name = plan.free(f"lakejoin_text_{place}"), f"lakejoin_spelt_{place}"
        texts.append(f"{side.dialect.cell(part.key, part, 't')} AS {text}")
        found = _where(part, _looked_up(part.key, "t." + text, list_name), made)
        made.append(f"{found} AS {key}")
        if part.key.respelt:
            named.append(_values(list_name, part.key.respelt, part, side.dialect))
            joins.append(f"  LEFT JOIN {list_name} ON {list_name}.written = t.{text}\n")
    inner = f"(SELECT t.*, {', '.join(texts)} FROM {side.table} AS t) AS t"
    body = f"  SELECT t.*, {', '.join(made)}\n  FROM {inner}\n{''.join(joins)}"
    return [*named, f"lakejoin_target AS (\n{body})"]


def _source_tables(plan: Plan, keys: list[str], side: _Side) -> list[str]:
    """The other table, with the first key that exists of those that the ways give."""
    named: list[str] = []
    made: list[str] = []
    joins, texts = [], []
    for place, (part, key) in enumerate(zip(plan.parts, keys, strict=True), start=1):
        held, several = f"lakejoin_keys_{place}", len(part.ways) > 1
        if several:
            named.append(f"{held} AS (SELECT DISTINCT {key} AS meant FROM lakejoin_target)")
        found = []
        for number, way in enumerate(part.ways, start=1):
            name = f"{place}_{number}"
            text, list_name = plan.free(f"lakejoin_way_{name}"), f"lakejoin_list_{name}"
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


def _where(part: Part, text: str, made: list[str]) -> str:
    """What a part compares, where it counts only in rows of some keys; the first part made them."""
    if not part.only:
        return text
    key = made[0].rpartition(" AS ")[0]
    return f"CASE WHEN {key} IN ({', '.join(map(literal, part.only))}) THEN {text} ELSE '' END"


def _looked_up(side: Compared, text: str, list_name: str) -> str:
    """The key of a text, where a list may know better."""
    if side.listed:
        return f"{list_name}.meant"
    if not side.respelt:
        return text
    return f"CASE WHEN {list_name}.written IS NULL THEN {text} ELSE {list_name}.meant END"


def _values(name: str, respelt: Respelt, part: Part, dialect: Dialect) -> str:
    nothing = f"CAST(NULL AS {'DOUBLE PRECISION' if part.typed else dialect.text})"
    said = _number if part.typed else literal
    rows = [
        f"({said(text)}, {nothing if key is None else said(key)})" for text, key in respelt.items()
    ]
    listed = ",\n    ".join(rows or [f"({nothing}, {nothing})"])
    return f"{name}(written, meant) AS (\n  VALUES\n    {listed}\n)"


def _number(number: float) -> str:
    """A floating number, not a decimal one."""
    text = repr(number)
    return text if "e" in text else f"{text}e0"


def _select(plan: Plan, left: str, right: str, on: str) -> str:
    width = len(plan.left)
    cells = [f"l.{identifier(name)}" for name in plan.left]
    cells += [
        f"r.{identifier(name)}" + ("" if name == shown else f" AS {identifier(shown)}")
        for name, shown in zip(plan.right, plan.names[width:], strict=True)
    ]
    return f"SELECT {', '.join(cells)}\nFROM {left}\n{_JOINS[plan.how]} {right}\n  ON {on};"
