"""Is a statement what sqlglot took it for? By DuckDB's own parser, which is what will run it.

Two parsers may read one text differently, and the difference is where a check is evaded. DuckDB
gives its parse tree as JSON for a SELECT; in it, tables and functions are looked at once more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import duckdb

from lakejoin.app.server.sql.allowed import TABLE, TABLE_FUNCTIONS, may_call, may_name, plain
from lakejoin.app.server.sql.checking import Checked
from lakejoin.app.server.sql.problem import Place, SqlProblem, place_at, told_by_engine

_NO_SUCH = f"the table is called {TABLE}"


def parse_errors(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raises `SqlProblem` where DuckDB cannot parse the text: its words for that are the best."""
    try:
        connection.extract_statements(sql)
    except duckdb.Error as error:
        raise told_by_engine(error, sql) from None


def agree(connection: duckdb.DuckDBPyConnection, checked: Checked) -> None:
    """Raises `SqlProblem` unless DuckDB reads the same in the statement as the check did."""
    try:
        _agree(connection, checked)
    except duckdb.Error as error:  # the text without what sqlglot takes for a comment is no SQL
        raise told_by_engine(error, checked.sql) from None


def _agree(connection: duckdb.DuckDBPyConnection, checked: Checked) -> None:
    statements = connection.extract_statements(checked.sql)
    kinds = [one.type.name for one in statements]
    # DuckDB rewrites a PIVOT as the making of a type, and a SELECT: it has no tree of that.
    made = kinds[:-1] if checked.pivots else []
    if kinds != [*made, "SELECT"] or any(kind != "CREATE" for kind in made):
        raise SqlProblem("only one SELECT-like statement can be run here")
    if made:
        return
    told = connection.execute("select json_serialize_sql(?)", [checked.sql]).fetchone()
    tree: dict[str, Any] = json.loads(told[0]) if told else {"error": True}
    if tree["error"] or len(tree["statements"]) != 1:
        raise SqlProblem("this statement cannot be checked")
    _check_tree(checked.sql, tree)


def _check_tree(sql: str, tree: dict[str, Any]) -> None:
    nodes = list(_nodes(tree))
    given = {plain(key) for node in nodes for key in _with_names(node)}
    for name in given:
        if not may_name(name):
            raise SqlProblem(f"WITH may not call something {name}")
    known = {TABLE, *given}
    for node in nodes:
        match node.get("type"):
            case "BASE_TABLE":
                qualified = node.get("schema_name") or node.get("catalog_name")
                if qualified or plain(node["table_name"]) not in known:
                    name = node["table_name"]
                    raise SqlProblem(f"there is no table {name} here: {_NO_SUCH}", _at(sql, node))
            case "TABLE_FUNCTION":
                if plain(node["function"].get("function_name", "")) not in TABLE_FUNCTIONS:
                    raise SqlProblem("this table function cannot be used here", _at(sql, node))
            case "SHOW_REF":
                if not node.get("query"):
                    raise SqlProblem("only the table can be described here", _at(sql, node))
        if node.get("class") == "FUNCTION" and not may_call(node["function_name"]):
            name = node["function_name"]
            raise SqlProblem(f"the function {name} cannot be used here", _at(sql, node))
        if node.get("class") == "PARAMETER":
            raise SqlProblem("a statement has no parameters here: write the value")


def _with_names(node: dict[str, Any]) -> Iterator[str]:
    given = node.get("cte_map")
    if isinstance(given, dict):
        yield from (str(one["key"]) for one in given.get("map", []))


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """All objects of a JSON tree. Without recursion: the tree is as deep as its author likes."""
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


def _at(sql: str, node: dict[str, Any]) -> Place | None:
    location = node.get("query_location")
    data = sql.encode()
    if not isinstance(location, int) or location > len(data):
        return None
    return place_at(sql, len(data[:location].decode(errors="ignore")))
