"""Check with sqlglot and again with DuckDB's own parser that a text is exactly one statement that
only reads the table, and only calls functions that compute.

Tables and table functions are an allow list, since nearly all others read something: files, the
network, settings, memory. Scalar functions and aggregates are a deny list: hundreds of them only
compute, and the few others reveal something about the process or wait. None can reach out of the
process (`system_calls.py`), so a function that a newer DuckDB adds can at worst reveal something
about DuckDB.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokens import Token, TokenType

from lakejoin.server.api_problems import (
    SqlProblem,
    TextPosition,
    position_at,
    position_at_byte,
    problem_from_duckdb,
)

TABLE = "result"

TABLE_FUNCTIONS = frozenset(
    {"unnest", "range", "generate_series", "json_each", "json_tree", "generate_subscripts"}
)
# The same, also under sqlglot's names for them.
_PARSED_TABLE_FUNCTIONS = TABLE_FUNCTIONS | {"explode", "exploding_generate_series"}

# They reveal the process, its settings or other statements, or wait, or reinterpret bytes.
_DENIED = frozenset((
    "getenv", "current_setting", "set_config", "getvariable", "current_database",
    "current_schema", "current_schemas", "current_catalog", "current_user", "current_role",
    "session_user", "current_connection_id", "current_query", "current_query_id",
    "current_transaction_id", "txid_current", "in_search_path", "version", "get_block_size",
    "nextval", "currval", "write_log", "parse_duckdb_log_message", "stats", "vector_type",
    "sleep_ms", "setseed", "json_execute_serialized_sql", "json_serialize_sql",
    "json_serialize_plan", "json_deserialize_sql", "query", "query_table", "finalize",
    "combine", "variant_bytes_to_variant", "obj_description", "col_description",
    "shobj_description", "format_pg_type", "map_to_pg_oid", "which_secret", "add_parquet_key",
))  # fmt: skip
_DENIED_PREFIXES = (
    "__internal", "pg_", "has_", "inet_", "duckdb_", "pragma_", "read_", "parquet_", "sniff_",
    "arrow_scan", "pandas_scan", "python_", "sqlite_", "postgres_", "mysql_", "iceberg_", "delta_",
    "http_", "copy_", "import_", "export_", "force_", "enable_", "disable_",
)  # fmt: skip
_ALLOWED_ANYWAY = frozenset({"pg_typeof", "pg_size_pretty"})
# Names of DuckDB's catalog; a WITH clause may not shadow them.
_CATALOG_PREFIXES = ("duckdb_", "pg_", "sqlite_", "pragma_", "information_schema")

MAX_SQL_LENGTH = 200_000  # characters

_SELECT_LIKE = (
    exp.Query, exp.Values, exp.Pivot, exp.Summarize, exp.Describe, exp.Paren, exp.Table,
)  # fmt: skip
# Nodes that do something other than read; refused wherever they are.
_FORBIDDEN = (
    exp.Command, exp.DDL, exp.DML, exp.Drop, exp.Alter, exp.Copy, exp.Attach, exp.Detach, exp.Set,
    exp.Pragma, exp.Use, exp.Into, exp.Transaction, exp.Commit, exp.Rollback, exp.Kill, exp.Cache,
    exp.Install, exp.Export, exp.Execute, exp.Show, exp.Analyze, exp.LoadData,
)  # fmt: skip
_DESCRIBABLE = (exp.Query, exp.Table, exp.Values, exp.Pivot)  # by SUMMARIZE and DESCRIBE
_PARAMETERS = (exp.Parameter, exp.Placeholder, exp.SessionParameter)
_ONLY = "only a single SELECT-like statement over the table `result` can run here"

# sqlglot logs what it cannot parse.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


def fold_name(name: str) -> str:
    """Fold a name as DuckDB compares names: only A to Z ignore case.

    >>> fold_name("Read_CSV"), fold_name("É")
    ('read_csv', 'É')
    """
    return "".join(c.lower() if c.isascii() else c for c in name)


def may_call(function: str) -> bool:
    """Whether a scalar function or aggregate may be called.

    >>> may_call("sum"), may_call("GETENV"), may_call("pg_sleep"), may_call("pg_typeof")
    (True, False, False, True)
    """
    name = fold_name(function)
    if name in _ALLOWED_ANYWAY:
        return True
    return name not in _DENIED and not name.startswith(_DENIED_PREFIXES)


def may_name(name: str) -> bool:
    """Whether a WITH clause may define this name: not a file, not a name of the catalog.

    >>> may_name("totals"), may_name("x.csv"), may_name("duckdb_settings")
    (True, False, False)
    """
    return not any(c in "./\\:*?" for c in name) and not fold_name(name).startswith(
        _CATALOG_PREFIXES
    )


@dataclass(frozen=True, slots=True)
class CheckedStatement:
    """A statement that may run: its text without the last semicolon, and the names in it.

    `names` is None if the statement may use columns that it does not name, through `*` or a whole
    row. Names are folded as DuckDB compares them.
    """

    sql: str
    pivots: bool
    names: frozenset[str] | None


def check_statement(sql: str) -> CheckedStatement:
    """Raises `SqlProblem` unless the text is exactly one SELECT-like statement over the table.

    >>> check_statement("select count(*) from result;  -- all").sql
    'select count(*) from result'
    >>> check_statement("copy result to 'x.csv'")
    Traceback (most recent call last):
        ...
    lakejoin.server.api_problems.SqlProblem: COPY is not allowed: only a single \
SELECT-like statement over the table `result` can run here
    """
    if len(sql) > MAX_SQL_LENGTH:
        raise SqlProblem(
            f"the statement has {len(sql):,} characters; at most {MAX_SQL_LENGTH:,} are allowed"
        )
    if "\0" in sql:
        raise SqlProblem(
            "the statement contains a null character", position_at(sql, sql.index("\0"))
        )
    try:
        return _check(sql)
    except RecursionError:
        raise SqlProblem("the statement is nested too deeply") from None


def _check(sql: str) -> CheckedStatement:
    tokens = _tokens(sql)
    _refuse_functions(sql, tokens)
    statement = _one_statement(sql, tokens)
    if not isinstance(statement, _SELECT_LIKE):
        raise _statement_problem(sql, tokens)
    nodes = list(statement.walk())
    for node in nodes:
        if isinstance(node, _FORBIDDEN) and not isinstance(node, exp.Query):
            raise _statement_problem(sql, tokens, node)
        if isinstance(node, _PARAMETERS):
            raise SqlProblem(
                "parameters are not supported here: write the value itself", _position_of(sql, node)
            )
        if isinstance(node, exp.CTE) and not may_name(node.alias):
            raise SqlProblem(f"WITH may not define the name {node.alias}", _position_of(sql, node))
        if isinstance(node, exp.Summarize | exp.Describe) and not isinstance(
            node.this, _DESCRIBABLE
        ):
            raise SqlProblem(
                f"only the table {TABLE} can be described here", _position_of(sql, node)
            )
        if isinstance(node, exp.Table):
            _check_table(sql, node)
    pivots = any(isinstance(node, exp.Pivot) for node in nodes)
    names = None
    if not pivots and not _uses_unnamed_columns(statement, nodes):
        names = frozenset(fold_name(token.text) for token in tokens)
    return CheckedStatement(_without_semicolon(sql, tokens), pivots, names)


def _tokens(sql: str) -> list[Token]:
    try:
        return list(sqlglot.tokenize(sql, read="duckdb"))
    except SqlglotError:
        raise SqlProblem("not valid SQL: a quote or a comment is not closed") from None


def _one_statement(sql: str, tokens: list[Token]) -> exp.Expression:
    try:
        parsed = [node for node in sqlglot.parse(sql, read="duckdb") if node is not None]
    except ParseError as error:
        raise _syntax_problem(sql, tokens, error) from None
    except (SqlglotError, ValueError, TypeError, AttributeError, KeyError, IndexError):
        raise SqlProblem("this SQL cannot be checked") from None
    statements = [node for node in parsed if not isinstance(node, exp.Semicolon)]
    if not statements:
        raise SqlProblem("no statement: try select * from result")
    if len(statements) > 1:
        inner = [token for token in tokens if token.token_type == TokenType.SEMICOLON]
        position = position_at(sql, inner[0].start) if inner else None
        raise SqlProblem(f"got {len(statements)} statements: {_ONLY}", position)
    return statements[0]


def _syntax_problem(sql: str, tokens: list[Token], error: ParseError) -> SqlProblem:
    details = error.errors[0] if error.errors else {}
    near = details.get("highlight") or ""
    message = f"this SQL cannot be checked, near {near[:60]!r}" if near else "not valid SQL"
    if tokens[0].token_type in (TokenType.PIVOT, TokenType.UNPIVOT):
        word = tokens[0].text.upper()
        message += f"; to add clauses after {word}, put it in brackets: FROM ({sql[:20]} …)"
    return SqlProblem(message, _error_position(sql, details, len(near)))


def _error_position(sql: str, details: dict[str, object], length: int) -> TextPosition | None:
    """sqlglot reports the line, and the column at which the token ends."""
    line, column = details.get("line"), details.get("col")
    if not isinstance(line, int) or not isinstance(column, int):
        return None
    starts = [0, *(offset + 1 for offset, c in enumerate(sql) if c == "\n")]
    return position_at(sql, starts[min(line, len(starts)) - 1] + max(column - length, 0))


def _refuse_functions(sql: str, tokens: list[Token]) -> None:
    """Check functions by token, since sqlglot may rewrite calls in its tree."""
    for token, following in pairwise(tokens):
        if following.token_type != TokenType.L_PAREN or may_call(token.text):
            continue
        if token.token_type != TokenType.STRING:
            raise _function_problem(token.text, position_at(sql, token.start))


def _function_problem(name: str, position: TextPosition | None) -> SqlProblem:
    return SqlProblem(f"the function {fold_name(name)} is not allowed here", position)


def _check_table(sql: str, table: exp.Table) -> None:
    source = table.this
    if isinstance(source, exp.Identifier):
        name = source.name
        if table.db or table.catalog or not (fold_name(name) == TABLE or _is_cte(table, name)):
            full_name = ".".join(part for part in (table.catalog, table.db, name) if part)
            message = f"table {full_name[:100]} not found: the table is called {TABLE}"
            raise SqlProblem(message, _position_of(sql, source))
    elif isinstance(source, exp.Func):
        names = [source.name] if isinstance(source, exp.Anonymous) else source.sql_names()
        if not any(fold_name(name) in _PARSED_TABLE_FUNCTIONS for name in names):
            raise _function_problem(names[0], _position_of(sql, source))
    elif not isinstance(source, exp.Query | exp.Values | exp.Table | exp.Paren):
        raise SqlProblem(f"only the table {TABLE} can be read here", _position_of(sql, table))


def _is_cte(table: exp.Table, name: str) -> bool:
    """Whether a WITH clause around the table defines the name."""
    node: exp.Expression | None = table
    while node is not None:
        clause = node.args.get("with_") or node.args.get("with")
        if clause is not None and any(
            fold_name(c.alias) == fold_name(name) for c in clause.expressions
        ):
            return True
        node = node.parent
    return False


def _statement_problem(
    sql: str, tokens: list[Token], node: exp.Expression | None = None
) -> SqlProblem:
    word = tokens[0].text.upper()
    if node is not None and node.parent is not None:
        word = type(node).__name__.upper()
    position = _position_of(sql, node) if node is not None else None
    position = position or position_at(sql, tokens[0].start)
    return SqlProblem(f"{word[:40]} is not allowed: {_ONLY}", position)


def _position_of(sql: str, node: exp.Expression) -> TextPosition | None:
    for descendant in node.walk():
        if "start" in descendant.meta:
            return position_at(sql, int(descendant.meta["start"]))
    return None


def _without_semicolon(sql: str, tokens: list[Token]) -> str:
    """The text up to its last token, without comments: it is embedded into another statement."""
    rest = list(tokens)
    while rest and rest[-1].token_type == TokenType.SEMICOLON:
        rest.pop()
    return sql[: rest[-1].end + 1]


def _uses_unnamed_columns(statement: exp.Expression, nodes: list[exp.Expression]) -> bool:
    """Whether the statement may use columns that it does not name."""
    if not isinstance(statement, exp.Query):
        return True
    tables = {fold_name(node.alias_or_name) for node in nodes if isinstance(node, exp.Table)}
    tables.add(TABLE)
    for node in nodes:
        if isinstance(node, exp.Star | exp.Columns | exp.Summarize | exp.Describe):
            if isinstance(node, exp.Star) and isinstance(node.parent, exp.Count):
                continue
            return True
        if isinstance(node, exp.Join) and node.args.get("method") == "NATURAL":
            return True
        if isinstance(node, exp.Column) and not node.table and fold_name(node.name) in tables:
            return True  # the name of a table is its whole row
        if isinstance(node, exp.Dot):
            return True
    return False


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
    if not isinstance(location, int) or location > len(sql.encode()):
        return None
    return position_at_byte(sql, location)
