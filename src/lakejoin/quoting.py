"""Quote names, texts and comments for the code and commands that users paste: the only place that
does it.

It is in the bottom layer because the readers of SQLite files quote names too.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_LINE = 96
DEFAULT_INDEX = ".lakejoin"  # in the working directory, unless $LAKEJOIN_INDEX names another


def lakejoin_command(arguments: str, index: str = "") -> str:
    """A command that a message prints; it names the index unless that is the default one.

    >>> lakejoin_command("index --full", "/my lake/index"), lakejoin_command("graph")
    ("lakejoin index --full --index '/my lake/index'", 'lakejoin graph')
    """
    default = os.environ.get("LAKEJOIN_INDEX") or DEFAULT_INDEX
    named = index and index not in (default, os.path.abspath(default))  # noqa: PTH100 (as given)
    return f"lakejoin {arguments}" + (f" --index {shlex.quote(index)}" if named else "")


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


def join_command_line(left: str, right: str, options: Sequence[str], index: str | None) -> str:
    """The command that joins two tables, quoted for a shell.

    >>> join_command_line("my table.csv", "b.csv", ["--on", "a=b c"], None)
    "lakejoin join 'my table.csv' b.csv --on 'a=b c'"
    >>> join_command_line("-x.csv", "b.csv", ["--on", "a"], "here")
    'lakejoin join --on a --index here -- -x.csv b.csv'
    """
    rest = [*options, *(["--index", index] if index else [])]
    dashed = left.startswith("-") or right.startswith("-")
    words = [*rest, "--", left, right] if dashed else [left, right, *rest]
    return "lakejoin join " + " ".join(map(shell_word, words))


def on_arguments(
    pairs: Sequence[tuple[str, str]], left: Sequence[str], right: Sequence[str]
) -> list[str]:
    """The `--on` options for pairs of columns; column indices where names would be ambiguous.

    >>> on_arguments([("a", "c"), ("a=b", "b=c")], ["a", "a=b"], ["b", "b=c", "c"])
    ['--on', 'a=c', '--on', '1=1']
    """
    words = []
    for left_name, right_name in pairs:
        text = f"{left_name}={right_name}"
        if text.count("=") > 1 or text in left or text in right:
            text = f"{left.index(left_name)}={right.index(right_name)}"
        words += ["--on", text]
    return words


def shell_word(text: str) -> str:
    r"""Quote a word for a shell; characters that are not printable are escaped.

    >>> print(shell_word("a b"), shell_word("a\tb"))
    'a b' $'a\x09b'
    """
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(map(_escaped, text)) + "'"


def _escaped(character: str) -> str:
    if character in "\\'":
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    return (
        f"\\x{code:02x}" if code < 128 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )
