"""Check a statement again with DuckDB's own parser, which is what will run it.

Two parsers may read the same text differently, and an attacker would use the difference. DuckDB
gives its parse tree of a SELECT as JSON; tables and functions are checked in it once more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import duckdb

from lakejoin.server.sql.allowed_names import TABLE, TABLE_FUNCTIONS, may_call, may_name, fold_name
from lakejoin.server.sql.statement_checks import CheckedStatement
from lakejoin.server.api_problems import TextPosition, SqlProblem, position_at, problem_from_duckdb


def check_syntax(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raise `SqlProblem` if DuckDB cannot parse the text; its messages are the clearest."""
    try:
        connection.extract_statements(sql)
    except duckdb.Error as error:
        raise problem_from_duckdb(error, sql) from None


def check_parse_tree(connection: duckdb.DuckDBPyConnection, checked: CheckedStatement) -> None:
    """Raise `SqlProblem` unless DuckDB's parse tree passes the same checks."""
    try:
        _check_parse(connection, checked)
    except duckdb.Error as error:  # without what sqlglot takes for a comment, not valid SQL
        raise problem_from_duckdb(error, checked.sql) from None


def _check_parse(connection: duckdb.DuckDBPyConnection, checked: CheckedStatement) -> None:
    statements = connection.extract_statements(checked.sql)
    kinds = [statement.type.name for statement in statements]
    # DuckDB rewrites a PIVOT as CREATE TYPE and SELECT, and has no parse tree of that.
    created = kinds[:-1] if checked.pivots else []
    if kinds != [*created, "SELECT"] or any(kind != "CREATE" for kind in created):
        raise SqlProblem("only a single SELECT-like statement can run here")
    if created:
        return
    row = connection.execute("select json_serialize_sql(?)", [checked.sql]).fetchone()
    tree: dict[str, Any] = json.loads(row[0]) if row else {"error": True}
    if tree["error"] or len(tree["statements"]) != 1:
        raise SqlProblem("this SQL cannot be checked")
    _check_tree(checked.sql, tree)


def _check_tree(sql: str, tree: dict[str, Any]) -> None:
    nodes = list(_nodes(tree))
    defined = {fold_name(name) for node in nodes for name in _cte_names(node)}
    for name in defined:
        if not may_name(name):
            raise SqlProblem(f"WITH may not define the name {name}")
    readable = {TABLE, *defined}
    for node in nodes:
        match node.get("type"):
            case "BASE_TABLE":
                qualified = node.get("schema_name") or node.get("catalog_name")
                if qualified or fold_name(node["table_name"]) not in readable:
                    message = f"table {node['table_name']} not found: the table is called {TABLE}"
                    raise SqlProblem(message, _node_position(sql, node))
            case "TABLE_FUNCTION":
                if fold_name(node["function"].get("function_name", "")) not in TABLE_FUNCTIONS:
                    raise SqlProblem(
                        "this table function is not allowed here", _node_position(sql, node)
                    )
            case "SHOW_REF":
                if not node.get("query"):
                    raise SqlProblem(
                        f"only the table {TABLE} can be described here", _node_position(sql, node)
                    )
        if node.get("class") == "FUNCTION" and not may_call(node["function_name"]):
            name = node["function_name"]
            raise SqlProblem(f"the function {name} is not allowed here", _node_position(sql, node))
        if node.get("class") == "PARAMETER":
            raise SqlProblem("parameters are not supported here: write the value itself")


def _cte_names(node: dict[str, Any]) -> Iterator[str]:
    ctes = node.get("cte_map")
    if isinstance(ctes, dict):
        yield from (str(cte["key"]) for cte in ctes.get("map", []))


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """All objects of a JSON tree, without recursion: the author decides how deep it is."""
    stack = [tree]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            yield item
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def _node_position(sql: str, node: dict[str, Any]) -> TextPosition | None:
    location = node.get("query_location")
    data = sql.encode()
    if not isinstance(location, int) or location > len(data):
        return None
    return position_at(sql, len(data[:location].decode(errors="ignore")))
