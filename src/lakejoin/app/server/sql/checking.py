"""Is a text exactly one statement that only reads the table? By sqlglot, before anything runs.

This is the first of several fences: DuckDB's own parser is asked as well (`second_opinion.py`), and
whatever passes both runs in a process that can reach nothing (`confinement.py`).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokens import Token, TokenType

from lakejoin.app.server.sql.allowed import TABLE, TABLE_FUNCTIONS, may_call, may_name, plain
from lakejoin.app.server.sql.problem import Place, SqlProblem, place_at

LONGEST_SQL = 200_000  # characters

_SELECT_LIKE = (
    exp.Query, exp.Values, exp.Pivot, exp.Summarize, exp.Describe, exp.Paren, exp.Table,
)  # fmt: skip
# Whatever does something else than read, wherever it stands.
_NEVER = (
    exp.Command, exp.DDL, exp.DML, exp.Drop, exp.Alter, exp.Copy, exp.Attach, exp.Detach, exp.Set,
    exp.Pragma, exp.Use, exp.Into, exp.Transaction, exp.Commit, exp.Rollback, exp.Kill, exp.Cache,
    exp.Install, exp.Export, exp.Execute, exp.Show, exp.Analyze, exp.LoadData,
)  # fmt: skip
_TELLABLE = (exp.Query, exp.Table, exp.Values, exp.Pivot)  # by SUMMARIZE and DESCRIBE
_PARAMETERS = (exp.Parameter, exp.Placeholder, exp.SessionParameter)
_ONLY = "only one SELECT-like statement over the table `result` can be run here"

# What sqlglot cannot parse it would otherwise print to the log.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class Checked:
    """A statement that may be run: its text without a last semicolon, and what it names.

    `names` are all names in it, as DuckDB compares them, where nothing like `*` or a whole row
    stands for columns that it does not name; otherwise None.
    """

    sql: str
    pivots: bool
    names: frozenset[str] | None


def check(sql: str) -> Checked:
    """Raises `SqlProblem` unless the text is exactly one SELECT-like statement over the table.

    >>> check("select count(*) from result;  -- all").sql
    'select count(*) from result'
    >>> check("copy result to 'x.csv'")
    Traceback (most recent call last):
        ...
    lakejoin.app.server.sql.problem.SqlProblem: COPY is not possible: only one SELECT-like \
statement over the table `result` can be run here
    """
    if len(sql) > LONGEST_SQL:
        raise SqlProblem(f"a statement may have {LONGEST_SQL:,} characters, this has {len(sql):,}")
    if "\0" in sql:
        raise SqlProblem("a statement holds no null character", place_at(sql, sql.index("\0")))
    try:
        return _checked(sql)
    except RecursionError:
        raise SqlProblem("this statement is nested too deeply") from None


def _checked(sql: str) -> Checked:
    tokens = _tokens(sql)
    _refuse_functions(sql, tokens)
    statement = _one_statement(sql, tokens)
    if not isinstance(statement, _SELECT_LIKE):
        raise _refused(sql, tokens)
    nodes = list(statement.walk())
    for node in nodes:
        if isinstance(node, _NEVER) and not isinstance(node, exp.Query):
            raise _refused(sql, tokens, node)
        if isinstance(node, _PARAMETERS):
            raise SqlProblem("a statement has no parameters here: write the value", _at(sql, node))
        if isinstance(node, exp.CTE) and not may_name(node.alias):
            raise SqlProblem(f"WITH may not call something {node.alias}", _at(sql, node))
        if isinstance(node, exp.Summarize | exp.Describe) and not isinstance(node.this, _TELLABLE):
            raise SqlProblem(f"only the table {TABLE} can be told of here", _at(sql, node))
        if isinstance(node, exp.Table):
            _check_table(sql, node)
    pivots = any(isinstance(node, exp.Pivot) for node in nodes)
    names = None if pivots or _means_more(statement, nodes) else _names(tokens)
    return Checked(_without_semicolon(sql, tokens), pivots, names)


def _tokens(sql: str) -> list[Token]:
    try:
        return list(sqlglot.tokenize(sql, read="duckdb"))
    except SqlglotError:
        raise SqlProblem("this is not SQL: a quote or a comment is not closed") from None


def _one_statement(sql: str, tokens: list[Token]) -> exp.Expression:
    try:
        found = [one for one in sqlglot.parse(sql, read="duckdb") if one is not None]
    except ParseError as error:
        raise _not_parsed(sql, tokens, error) from None
    except (SqlglotError, ValueError, TypeError, AttributeError, KeyError, IndexError):
        raise SqlProblem("this is not SQL that can be checked") from None
    statements = [one for one in found if not isinstance(one, exp.Semicolon)]
    if not statements:
        raise SqlProblem("there is no statement: try select * from result")
    if len(statements) > 1:
        inner = [token for token in tokens if token.token_type == TokenType.SEMICOLON]
        place = place_at(sql, inner[0].start) if inner else None
        raise SqlProblem(f"these are {len(statements)} statements: {_ONLY}", place)
    return statements[0]


def _not_parsed(sql: str, tokens: list[Token], error: ParseError) -> SqlProblem:
    told = error.errors[0] if error.errors else {}
    near = told.get("highlight") or ""
    words = f"this is not SQL that can be checked, near {near[:60]!r}" if near else "this is no SQL"
    if tokens[0].token_type in (TokenType.PIVOT, TokenType.UNPIVOT):
        words += (
            f"; to go on after {tokens[0].text.upper()}, put it in brackets: FROM ({sql[:20]} …)"
        )
    return SqlProblem(words, _line_place(sql, told, len(near)))


def _line_place(sql: str, told: dict[str, object], length: int) -> Place | None:
    """sqlglot tells the line, and the column at which the token ends."""
    line, column = told.get("line"), told.get("col")
    if not isinstance(line, int) or not isinstance(column, int):
        return None
    starts = [0, *(place + 1 for place, c in enumerate(sql) if c == "\n")]
    return place_at(sql, starts[min(line, len(starts)) - 1] + max(column - length, 0))


def _refuse_functions(sql: str, tokens: list[Token]) -> None:
    """By the tokens, so that no rewriting of sqlglot's hides how a function was called."""
    for token, following in pairwise(tokens):
        if following.token_type != TokenType.L_PAREN or may_call(token.text):
            continue
        if token.token_type != TokenType.STRING:
            raise _no_function(token.text, place_at(sql, token.start))


def _no_function(name: str, place: Place | None) -> SqlProblem:
    return SqlProblem(f"the function {plain(name)} cannot be used here", place)


def _check_table(sql: str, table: exp.Table) -> None:
    of = table.this
    if isinstance(of, exp.Identifier):
        name = of.name
        if table.db or table.catalog or not (plain(name) == TABLE or _given_by_with(table, name)):
            whole = ".".join(part for part in (table.catalog, table.db, name) if part)
            place = _at(sql, of)
            raise SqlProblem(
                f"there is no table {whole[:100]} here: the table is called {TABLE}", place
            )
    elif isinstance(of, exp.Func):
        names = [of.name] if isinstance(of, exp.Anonymous) else of.sql_names()
        if not any(plain(name) in _table_functions() for name in names):
            raise _no_function(names[0], _at(sql, of))
    elif not isinstance(of, exp.Query | exp.Values | exp.Table | exp.Paren):
        raise SqlProblem(f"only the table {TABLE} can be read here", _at(sql, table))


@lru_cache(maxsize=1)
def _table_functions() -> frozenset[str]:
    """The names of table functions, and those that sqlglot has for the same."""
    return TABLE_FUNCTIONS | {"explode", "exploding_generate_series"}


def _given_by_with(table: exp.Table, name: str) -> bool:
    """Whether a WITH clause around the table gives the name."""
    node: exp.Expression | None = table
    while node is not None:
        given = node.args.get("with_") or node.args.get("with")
        if given is not None and any(plain(one.alias) == plain(name) for one in given.expressions):
            return True
        node = node.parent
    return False


def _refused(sql: str, tokens: list[Token], node: exp.Expression | None = None) -> SqlProblem:
    word = tokens[0].text.upper()
    if node is not None and node.parent is not None:
        word = type(node).__name__.upper()
    place = (_at(sql, node) if node is not None else None) or place_at(sql, tokens[0].start)
    return SqlProblem(f"{word[:40]} is not possible: {_ONLY}", place)


def _at(sql: str, node: exp.Expression) -> Place | None:
    for one in node.walk():
        if "start" in one.meta:
            return place_at(sql, int(one.meta["start"]))
    return None


def _without_semicolon(sql: str, tokens: list[Token]) -> str:
    """The text up to its last token: it is put into another statement, which goes on after it."""
    kept = list(tokens)
    while kept and kept[-1].token_type == TokenType.SEMICOLON:
        kept.pop()
    return sql[: kept[-1].end + 1]


def _means_more(statement: exp.Expression, nodes: list[exp.Expression]) -> bool:
    """Whether columns may be meant that the statement does not name."""
    if not isinstance(statement, exp.Query):
        return True
    tables = {plain(node.alias_or_name) for node in nodes if isinstance(node, exp.Table)}
    tables.add(TABLE)
    for node in nodes:
        if isinstance(node, exp.Star | exp.Columns | exp.Summarize | exp.Describe):
            if isinstance(node, exp.Star) and isinstance(node.parent, exp.Count):
                continue
            return True
        if isinstance(node, exp.Join) and node.args.get("method") == "NATURAL":
            return True
        if isinstance(node, exp.Column) and not node.table and plain(node.name) in tables:
            return True  # the name of a table is its whole row
        if isinstance(node, exp.Dot):
            return True
    return False


def _names(tokens: list[Token]) -> frozenset[str]:
    return frozenset(plain(token.text) for token in tokens)
