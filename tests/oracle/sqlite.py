"""Standard SQL run by SQLite, which knows the functions but not how the standard writes them."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

import pyarrow as pa

_CALL = re.compile(
    r"--[^\n]*|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\b(SUBSTRING|POSITION|TRIM)\(|[()]"
)


def for_sqlite(query: str) -> str:
    """The query with SUBSTRING(x FROM a FOR b), POSITION(x IN y) and TRIM(BOTH x FROM y) as calls.

    >>> for_sqlite("SUBSTRING(a FROM POSITION(' ' IN a) FOR 2), TRIM(BOTH ' ' FROM '(')")
    "substr(a, instr(a, ' '), 2), trim('(', ' ')"
    """
    made, _ = _until_closed(query, 0)
    return made


def _until_closed(text: str, begin: int) -> tuple[str, int]:
    """What stands up to the parenthesis that closes, rewritten, and where it ends."""
    made, place = "", begin
    while found := _CALL.search(text, place):
        made += text[place : found.start()]
        place = found.end()
        sign = found.group()
        if sign == ")":
            return made, place
        if sign == "(" or found.group(1):
            inner, place = _until_closed(text, place)
            made += _call(found.group(1), inner) if found.group(1) else f"({inner})"
        else:
            made += sign
    return made + text[place:], len(text)


def _call(name: str, inner: str) -> str:
    if name == "POSITION":
        sign, text = _parted(inner, " IN ")
        return f"instr({text}, {sign})"
    if name == "SUBSTRING":
        text, place = _parted(inner, " FROM ")
        return f"substr({text}, {', '.join(_parted(place, ' FOR '))})"
    (where, rest), calls = inner.split(" ", 1), {"BOTH": "trim", "LEADING": "ltrim"}
    sign, text = _parted(rest, " FROM ")
    return f"{calls.get(where, 'rtrim')}({text}, {sign})"


def _parted(text: str, word: str) -> list[str]:
    """The two sides of a word outside of quotes and parentheses."""
    depth, quote = 0, ""
    for place, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif not depth and text.startswith(word, place):
            return [text[:place], text[place + len(word) :]]
        depth += 0 if quote else {"(": 1, ")": -1}.get(sign, 0)
    return [text]


def rows_by_sqlite(query: str, **tables: pa.Table) -> list[tuple[Any, ...]]:
    """What a standard query gives."""
    con = sqlite3.connect(":memory:")
    try:
        for name, change in (("UPPER", str.upper), ("LOWER", str.lower), ("CHAR_LENGTH", len)):
            con.create_function(
                name, 1, lambda text, change=change: None if text is None else change(text)
            )
        for name, table in tables.items():
            columns = ", ".join('"' + n.replace('"', '""') + '"' for n in table.column_names)
            con.execute(f"create table {name} ({columns})")
            marks = ", ".join("?" * table.num_columns)
            rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
            con.executemany(f"insert into {name} values ({marks})", rows)
        return con.execute(for_sqlite(query)).fetchall()
    finally:
        con.close()
