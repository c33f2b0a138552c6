"""The join as one SQL query, in DuckDB's dialect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakejoin.errors import InputError
from lakejoin.joins.autojoin.code import code_sql
from lakejoin.joins.written.lines import comments
from lakejoin.joins.written.plan import Compared, Number, Part, Plan, plan_of
from lakejoin.joins.written.spelling import Normal, Respelt

if TYPE_CHECKING:
    from lakejoin.joins.join import Join

_JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN"}


def sql_of(join: Join, left: str, right: str) -> str:
    """The query over two tables of these names."""
    plan = plan_of(join)
    _check_names("left", plan.left)
    _check_names("right", plan.right)
    tables = _identifier(left), _identifier(right)
    body = _simple(plan, tables) if _is_simple(plan) else _with_lists(plan, tables)
    return "\n".join([*comments(plan.comments, "--"), body])


def _check_names(side: str, names: Sequence[str]) -> None:
    """SQL would take one column for another without a word."""
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


def _simple(plan: Plan, tables: tuple[str, str]) -> str:
    """An equality for each part."""
    source, target = ("l", "r") if plan.source_side == "left" else ("r", "l")
    equal = []
    for part in plan.parts:
        mine, theirs = _cell(part.ways[0], part, source), _cell(part.key, part, target)
        equal.append(f"{mine} = {theirs}" if source == "l" else f"{theirs} = {mine}")
    return _select(plan, f"{tables[0]} AS l", f"{tables[1]} AS r", "\n  AND ".join(equal))


def _with_lists(plan: Plan, tables: tuple[str, str]) -> str:
    """First the key of every row of both tables, then the join on it."""
    source, target = tables if plan.source_side == "left" else tables[::-1]
    named = []
    keys = [plan.free(f"lakejoin_key_{n}") for n in range(1, len(plan.parts) + 1)]
    named += _key_tables(plan, keys, target)
    named += _source_tables(plan, keys, source)
    mine, theirs = "lakejoin_source AS l", "lakejoin_target AS r"
    if plan.source_side == "right":
        mine, theirs = "lakejoin_target AS l", "lakejoin_source AS r"
    equal = "\n  AND ".join(f"l.{key} = r.{key}" for key in keys)
    return "WITH\n" + ",\n".join(named) + "\n" + _select(plan, mine, theirs, equal)


def _key_tables(plan: Plan, keys: list[str], table: str) -> list[str]:
    """The table that has the key, with the key."""
    named, made, joins, texts = [], [], [], []
    for place, (part, key) in enumerate(zip(plan.parts, keys, strict=True), start=1):
        text, list_name = plan.free(f"lakejoin_text_{place}"), f"lakejoin_spelt_{place}"
        texts.append(f"{_cell(part.key, part)} AS {text}")
        made.append(f"{_looked_up(part.key, 't.' + text, list_name)} AS {key}")
        if part.key.respelt:
            named.append(_values(list_name, part.key.respelt))
            joins.append(f"  LEFT JOIN {list_name} ON {list_name}.written = t.{text}\n")
    inner = f"(SELECT *, {', '.join(texts)} FROM {table}) AS t"
    body = f"  SELECT t.*, {', '.join(made)}\n  FROM {inner}\n{''.join(joins)}"
    return [*named, f"lakejoin_target AS (\n{body})"]


def _source_tables(plan: Plan, keys: list[str], table: str) -> list[str]:
    """The other table, with the first key that exists of those that the ways give."""
    named, made, joins, texts = [], [], [], []
    for place, (part, key) in enumerate(zip(plan.parts, keys, strict=True), start=1):
        held, several = f"lakejoin_keys_{place}", len(part.ways) > 1
        if several:
            named.append(f"{held} AS (SELECT DISTINCT {key} AS key FROM lakejoin_target)")
        found = []
        for number, way in enumerate(part.ways, start=1):
            name = f"{place}_{number}"
            text, list_name = plan.free(f"lakejoin_way_{name}"), f"lakejoin_list_{name}"
            texts.append(f"{_cell(way, part)} AS {text}")
            if way.respelt or way.listed:
                named.append(_values(list_name, way.respelt))
                joins.append(f"  LEFT JOIN {list_name} ON {list_name}.written = s.{text}\n")
            given = _looked_up(way, f"s.{text}", list_name)
            if several:
                joins.append(f"  LEFT JOIN {held} AS found_{name} ON found_{name}.key = {given}\n")
            found.append(f"found_{name}.key" if several else given)
        first = f"coalesce({', '.join(found)})" if several else found[0]
        made.append(f"{first} AS {key}")
    inner = f"(SELECT *, {', '.join(texts)} FROM {table}) AS s"
    body = f"  SELECT s.*, {', '.join(made)}\n  FROM {inner}\n{''.join(joins)}"
    return [*named, f"lakejoin_source AS (\n{body})"]


def _looked_up(side: Compared, text: str, list_name: str) -> str:
    """The key of a text, where a list may know better."""
    if side.listed:
        return f"{list_name}.key"
    if not side.respelt:
        return text
    return f"CASE WHEN {list_name}.written IS NULL THEN {text} ELSE {list_name}.key END"


def _values(name: str, respelt: Respelt) -> str:
    rows = [f"({_literal(text)}, {_literal(key)})" for text, key in respelt.items()]
    if not rows:
        nothing = "SELECT CAST(NULL AS VARCHAR), CAST(NULL AS VARCHAR) WHERE false"
        return f"{name}(written, key) AS ({nothing})"
    listed = ",\n    ".join(rows)
    return f"{name}(written, key) AS (\n  VALUES\n    {listed}\n)"


def _select(plan: Plan, left: str, right: str, on: str) -> str:
    width = len(plan.left)
    cells = [f"l.{_identifier(name)}" for name in plan.left]
    cells += [
        f"r.{_identifier(name)}" + ("" if name == shown else f" AS {_identifier(shown)}")
        for name, shown in zip(plan.right, plan.names[width:], strict=True)
    ]
    return f"SELECT {', '.join(cells)}\nFROM {left}\n{_JOINS[plan.how]} {right}\n  ON {on};"


def _cell(side: Compared, part: Part, table: str = "") -> str:
    """What is compared, in the form in which it is."""
    if part.typed:
        name = _identifier(side.program.columns[0])
        cell = f"{table}.{name}" if table else name
        if part.number is not Number.FLOATING:
            return cell
        # Not a number is equal to itself in SQL, and here it is a missing value.
        return f"nullif(CAST({cell} AS DOUBLE), 'NaN'::DOUBLE)"
    return _formed(code_sql(side.program, side.cast, table), part.normal)


def _formed(text: str, normal: Normal) -> str:
    text = f"trim({text}, ' ')" if normal.trim else text
    return f"lower({text})" if normal.lower else text


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str | None) -> str:
    return "CAST(NULL AS VARCHAR)" if text is None else "'" + text.replace("'", "''") + "'"
