"""How is a program written elsewhere? As pandas, polars, SQL and PySpark code to take away.

Each is one expression of the system's own functions, and gives what `applying.apply` gives: nulls
for missing pieces, cut texts where a text is too short. On lower and upper case, see `casing`.
"""

from __future__ import annotations

from collections.abc import Callable

from lakejoin.joins.autojoin.programs import (
    Casing,
    Constant,
    Extract,
    Program,
    takes_all,
    window,
)


def code_pandas(program: Program, frame: str = "df") -> str:
    """The program as an expression over a pandas DataFrame.

    >>> from lakejoin.joins.autojoin.programs import Substr
    >>> print(code_pandas(Program((Substr("name", 0, 1, Casing.LOWER), Constant("@x.org")))))
    df['name'].astype('string').str.slice(0, 1).str.lower() + '@x.org'
    """

    def part(o: Extract) -> str:
        text = f"{frame}[{o.column!r}].astype('string')"
        for separator, piece in o.splits:
            # A column without any such piece would become one of numbers: it stays text.
            text += f".str.split({separator!r}, regex=False).str[{piece}].astype('string')"
        if not takes_all(o):
            start, stop = window(o)
            text += f".str.slice({start})" if stop is None else f".str.slice({start}, {stop})"
        return text + _method(o.casing, ".str.lower()", ".str.upper()")

    return " + ".join(_each(program, repr, part))


def code_polars(program: Program) -> str:
    """The program as a polars expression.

    >>> from lakejoin.joins.autojoin.programs import SplitSubstr
    >>> print(code_polars(Program((SplitSubstr("name", ", ", -1),))))
    pl.col('name').str.split(', ').list.get(-1, null_on_oob=True)
    """

    def part(o: Extract) -> str:
        text = f"pl.col({o.column!r})"
        for separator, piece in o.splits:
            text += f".str.split({separator!r}).list.get({piece}, null_on_oob=True)"
        if not takes_all(o):
            length = "" if o.length is None else f", {o.length}"
            text += f".str.slice({o.start}{length})"
        return text + _method(o.casing, ".str.to_lowercase()", ".str.to_uppercase()")

    return " + ".join(_each(program, lambda text: f"pl.lit({text!r})", part))


def code_sql(program: Program) -> str:
    """The program as an SQL expression, in DuckDB's dialect.

    >>> from lakejoin.joins.autojoin.programs import SplitSubstr
    >>> print(code_sql(Program((SplitSubstr("name", "'", 1, 0, 3), Constant("!")))))
    substring(string_split("name", '''')[2], 1, 3) || '!'
    """

    def part(o: Extract) -> str:
        quoted = o.column.replace('"', '""')
        text = f'"{quoted}"'
        for separator, piece in o.splits:
            text = f"string_split({text}, {_sql_text(separator)})[{_from_one(piece)}]"
        if not takes_all(o):
            length = "" if o.length is None else f", {o.length}"
            text = f"substring({text}, {_from_one(o.start)}{length})"
        return f"{o.casing}({text})" if o.casing else text

    return " || ".join(_each(program, _sql_text, part))


def code_pyspark(program: Program) -> str:
    """The program as a PySpark column, with `pyspark.sql.functions` as `F`; no Python runs in it.

    >>> from lakejoin.joins.autojoin.programs import SplitSubstr
    >>> print(code_pyspark(Program((SplitSubstr("name", ". ", 1),))))
    F.try_element_at(F.split(F.col('`name`'), '\\\\.\\\\ '), F.lit(2))
    """

    def part(o: Extract) -> str:
        quoted = "`" + o.column.replace("`", "``") + "`"
        text = f"F.col({quoted!r})"
        for separator, piece in o.splits:
            pieces = f"F.split({text}, {_java_pattern(separator)!r})"
            text = f"F.try_element_at({pieces}, F.lit({_from_one(piece)}))"
        if not takes_all(o):
            length = "" if o.length is None else f", F.lit({o.length})"
            text = f"F.substr({text}, F.lit({_from_one(o.start)}){length})"
        return f"F.{o.casing}({text})" if o.casing else text

    parts = _each(program, lambda text: f"F.lit({text!r})", part)
    return parts[0] if len(parts) == 1 else f"F.concat({', '.join(parts)})"


def _each(
    program: Program, constant: Callable[[str], str], part: Callable[[Extract], str]
) -> list[str]:
    return [
        constant(operator.text) if isinstance(operator, Constant) else part(operator)
        for operator in program.operators
    ]


def _method(casing: Casing, lower: str, upper: str) -> str:
    return {Casing.SAME: "", Casing.LOWER: lower, Casing.UPPER: upper}[casing]


def _from_one(place: int) -> int:
    """A place counted from 0 as SQL counts it; from the end both count alike."""
    return place if place < 0 else place + 1


def _sql_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _java_pattern(text: str) -> str:
    """The text as a regular expression that finds just it."""
    return "".join(c if c.isalnum() or not c.isascii() else "\\" + c for c in text)
