"""Quote names, texts and comments for the code that users paste: the only place that does it.

It is in the bottom layer because the readers of SQLite files quote names too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_LINE = 96


def quote_identifier(name: str) -> str:
    """Quote the name of a table or column for SQL.

    >>> print(quote_identifier('a "b" c'))
    "a ""b"" c"
    """
    return '"' + name.replace('"', '""') + '"'


def quote_backticks(name: str) -> str:
    """Quote the name of a column for Spark.

    >>> quote_backticks("a.b`c")
    '`a.b``c`'
    """
    return "`" + name.replace("`", "``") + "`"


def quote_literal(text: str) -> str:
    """Quote a text as a string literal for SQL.

    >>> quote_literal("O'Hara")
    "'O''Hara'"
    """
    return "'" + text.replace("'", "''") + "'"


def list_literals(texts: Iterable[str]) -> str:
    """Texts as string literals for SQL, separated by commas.

    >>> list_literals(["a", "b"])
    "'a', 'b'"
    """
    return ", ".join(map(quote_literal, texts))


def comment_lines(texts: Iterable[str], sign: str = "#") -> list[str]:
    """Comment lines; no text can end its own comment.

    >>> comment_lines(["a\\nb"])
    ['# a b']
    """
    lines = ("".join(c if c.isprintable() else " " for c in text) for text in texts)
    return [f"{sign} {line}" for line in lines]


def dict_literal(items: Mapping[Any, Any], indent: str = "") -> str:
    """A dictionary for Python code, on one line or several.

    >>> print(dict_literal({"a": "b", "c": None}))
    {'a': 'b', 'c': None}
    """
    line = repr(dict(items))
    if len(indent) + len(line) <= _LINE:
        return line
    pairs = "".join(f"{indent}    {key!r}: {value!r},\n" for key, value in items.items())
    return "{\n" + pairs + indent + "}"
