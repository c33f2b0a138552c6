"""Build SQL queries: the one place that lays out WITH, SELECT, FROM, JOIN and WHERE."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lakejoin.quoting import comment_lines, quote_identifier, quote_literal

_JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN"}
# Quoted texts, comments, and line breaks outside of them.
_TOKENS = re.compile(r"'[^']*'|\"[^\"]*\"|--.*|/\*[\s\S]*?\*/|\n")


@dataclass(frozen=True, slots=True)
class SqlTable:
    """A table of a query; `on` has the conditions that join it, `names` renames all its columns."""

    source: str
    alias: str = ""
    on: Sequence[str] = ()
    how: str = "inner"
    names: Sequence[str] = ()

    def clause(self) -> str:
        names = f"({', '.join(map(quote_identifier, self.names))})" if self.names else ""
        return f"{self.source} AS {self.alias}{names}" if self.alias else self.source


@dataclass(frozen=True, slots=True)
class SqlQuery:
    """A query; `named` are the clauses of its WITH, from `name_query` and `name_values`."""

    columns: Sequence[str]
    tables: Sequence[SqlTable]
    where: Sequence[str] = ()
    named: Sequence[str] = ()
    comments: Sequence[str] = ()

    def text(self, line_end: str = "\n") -> str:
        """The query without a semicolon, as it stands inside another one."""
        first, *others = self.tables
        lines = comment_lines(self.comments, "--")
        lines += ["WITH " + ",\n".join(self.named)] if self.named else []
        lines += [f"SELECT {', '.join(self.columns)}", f"FROM {first.clause()}"]
        for table in others:
            lines.append(f"{_JOINS[table.how]} {table.clause()}\n  ON {_conjunction(table.on)}")
        lines += [f"WHERE {_conjunction(self.where)}"] if self.where else []
        return line_end.join(lines)

    def statement(self) -> str:
        return self.text() + ";"


def name_query(name: str, text: str) -> str:
    """A clause of WITH that names a query."""
    return f"{name} AS (\n{indent(text)}\n)"


def name_values(name: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A clause of WITH that names a list of rows, whose cells are SQL.

    >>> print(name_values("pairs", ("a", "b"), [("'x'", "1"), ("'y'", "2")]))
    pairs(a, b) AS (
      VALUES
        ('x', 1),
        ('y', 2)
    )
    """
    listed = ",\n  ".join(f"({', '.join(row)})" for row in rows)
    return name_query(f"{name}({', '.join(columns)})", f"VALUES\n  {listed}")


def replace_texts(value: str, texts: Mapping[str, str | None], otherwise: str = "") -> str:
    """An expression that replaces the listed texts of another one.

    >>> print(replace_texts("t.a", {"x": "y", "z": None}, "t.a"))
    CASE t.a WHEN 'x' THEN 'y' WHEN 'z' THEN NULL ELSE t.a END
    """
    whens = (
        f"WHEN {quote_literal(text)} THEN {'NULL' if key is None else quote_literal(key)}"
        for text, key in texts.items()
    )
    return f"CASE {value} {' '.join(whens)}{f' ELSE {otherwise}' if otherwise else ''} END"


def indent(text: str) -> str:
    """Indent a query, except inside its quoted texts and comments.

    >>> print(indent("SELECT 'a\\nb'\\nFROM t"))
      SELECT 'a
    b'
      FROM t
    """
    return "  " + _TOKENS.sub(lambda token: "\n  " if token[0] == "\n" else token[0], text)


def _conjunction(conditions: Sequence[str]) -> str:
    return "\n  AND ".join(conditions)
