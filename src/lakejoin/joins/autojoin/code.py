"""How is a program written elsewhere? As pandas, polars, SQL and PySpark code to take away.

Each is one expression of the system's own functions, and gives what `applying.apply` gives: nulls
for missing pieces, cut texts where a text is too short. On lower and upper case, see `casing`.
Columns named in `cast` hold no text and are made text first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from lakejoin.joins.autojoin.forms import (
    LOOK_UPS,
    REPLACEMENTS,
    Casing,
    Runs,
    by_first_letters,
    replacing,
)
from lakejoin.joins.autojoin.programs import (
    Constant,
    Extract,
    Program,
    takes_all,
    window,
)


def code_pandas(program: Program, frame: str = "df") -> str:
    """The program as an expression over a pandas DataFrame.

    >>> from lakejoin.joins.autojoin.programs import Extract
    >>> first = Extract("name", (), 0, 1, casing=Casing.LOWER)
    >>> print(code_pandas(Program((first, Constant("@x.org")))))
    df['name'].astype('string').str.slice(0, 1).str.lower() + '@x.org'
    """

    def part(o: Extract) -> str:
        text = f"{frame}[{o.column!r}].astype('string')"
        for separator, piece in o.splits:
            way = (
                f"findall({separator.inside!r})"
                if isinstance(separator, Runs)
                else f"split({separator!r}, regex=False)"
            )
            # A column without any such piece would become one of numbers: it stays text.
            text += f".str.{way}.str[{piece}].astype('string')"
        if not takes_all(o):
            start, stop = window(o)
            text += f".str.slice({start})" if stop is None else f".str.slice({start}, {stop})"
        for pattern, by in REPLACEMENTS.get(o.form, ()):
            made = replacing(by, "\\{}")
            text += f".str.replace({_end(pattern, chr(92) + 'Z')!r}, {made!r}, regex=True)"
        if o.form in LOOK_UPS:
            text += ".str.slice(0, 3).str.lower()" if by_first_letters(o.form) else ""
            text += f".map({LOOK_UPS[o.form]!r}).astype('string')"
        text += f".str.rjust({o.width}, '0')" if o.width else ""
        return text + _method(o.casing, ".str.lower()", ".str.upper()")

    return " + ".join(_each(program, repr, part))


def code_polars(program: Program, cast: Collection[str] = ()) -> str:
    """The program as a polars expression.

    >>> from lakejoin.joins.autojoin.programs import Extract
    >>> print(code_polars(Program((Extract("name", ((", ", -1),)),))))
    pl.col('name').str.split(', ').list.get(-1, null_on_oob=True)
    """

    def part(o: Extract) -> str:
        text = f"pl.col({o.column!r})" + (".cast(pl.String)" if o.column in cast else "")
        for separator, piece in o.splits:
            way = (
                f"extract_all({separator.inside!r})"
                if isinstance(separator, Runs)
                else f"split({separator!r})"
            )
            text += f".str.{way}.list.get({piece}, null_on_oob=True)"
        if o.start or o.length is not None:
            length = "" if o.length is None else f", {o.length}"
            text += f".str.slice({o.start}{length})"
        text += f".str.head({-o.drop})" if o.drop else ""
        for pattern, by in REPLACEMENTS.get(o.form, ()):
            text += f".str.replace_all({pattern!r}, {replacing(by, '${{{}}}')!r})"
        if o.form in LOOK_UPS:
            text += ".str.slice(0, 3).str.to_lowercase()" if by_first_letters(o.form) else ""
            text += f".replace_strict({LOOK_UPS[o.form]!r}, default=None, return_dtype=pl.String)"
        text += f".str.pad_start({o.width}, '0')" if o.width else ""
        return text + _method(o.casing, ".str.to_lowercase()", ".str.to_uppercase()")

    return " + ".join(_each(program, lambda text: f"pl.lit({text!r})", part))


def code_sql(program: Program, cast: Collection[str] = (), table: str = "") -> str:
    """The program as an SQL expression, in DuckDB's dialect, over the columns of `table`.

    >>> from lakejoin.joins.autojoin.programs import Extract
    >>> print(code_sql(Program((Extract("name", (("'", 1),), 0, 3), Constant("!")))))
    substring(string_split("name", '''')[2], 1, 3) || '!'
    """

    def part(o: Extract) -> str:
        quoted = o.column.replace('"', '""')
        text = f'{table}."{quoted}"' if table else f'"{quoted}"'
        text = f"CAST({text} AS VARCHAR)" if o.column in cast else text
        for separator, piece in o.splits:
            pieces = (
                f"regexp_extract_all({text}, {_sql_text(separator.inside)})"
                if isinstance(separator, Runs)
                else f"string_split({text}, {_sql_text(separator)})"
            )
            text = f"{pieces}[{_from_one(piece)}]"
        if o.start or o.length is not None:
            length = "" if o.length is None else f", {o.length}"
            text = f"substring({text}, {_from_one(o.start)}{length})"
        text = f"left({text}, {-o.drop})" if o.drop else text
        for pattern, by in REPLACEMENTS.get(o.form, ()):
            made = replacing(by, "\\{}")
            text = f"regexp_replace({text}, {_sql_text(pattern)}, '{made}', 'g')"
        if o.form in LOOK_UPS:
            key = f"lower(left({text}, 3))" if by_first_letters(o.form) else text
            whens = (f"WHEN '{k}' THEN '{v}'" for k, v in LOOK_UPS[o.form].items())
            text = f"CASE {key} {' '.join(whens)} END"
        text = f"(repeat('0', {o.width} - length({text})) || {text})" if o.width else text
        return f"{o.casing}({text})" if o.casing else text

    return " || ".join(_each(program, _sql_text, part))


def code_pyspark(program: Program, cast: Collection[str] = ()) -> str:
    """The program as a PySpark column, with `pyspark.sql.functions` as `F`; no Python runs in it.

    >>> from lakejoin.joins.autojoin.programs import Extract
    >>> print(code_pyspark(Program((Extract("name", ((". ", 1),)),))))
    F.try_element_at(F.split(F.col('`name`'), '\\\\.\\\\ '), F.lit(2))
    """

    def part(o: Extract) -> str:
        quoted = "`" + o.column.replace("`", "``") + "`"
        text = f"F.col({quoted!r})" + (".cast('string')" if o.column in cast else "")
        for separator, piece in o.splits:
            pieces = (
                f"F.regexp_extract_all({text}, F.lit({separator.inside!r}), F.lit(0))"
                if isinstance(separator, Runs)
                else f"F.split({text}, {_java_pattern(separator)!r})"
            )
            text = f"F.try_element_at({pieces}, F.lit({_from_one(piece)}))"
        if o.drop:
            left = f"F.greatest(F.length({text}) - F.lit({o.start + o.drop}), F.lit(0))"
            text = f"F.substr({text}, F.lit({o.start + 1}), {left})"
        elif not takes_all(o):
            length = "" if o.length is None else f", F.lit({o.length})"
            text = f"F.substr({text}, F.lit({_from_one(o.start)}){length})"
        for pattern, by in REPLACEMENTS.get(o.form, ()):
            made = replacing(by, "${}")
            text = f"F.regexp_replace({text}, {_end(pattern, chr(92) + 'z')!r}, {made!r})"
        if o.form in LOOK_UPS:
            key = f"F.lower(F.substr({text}, F.lit(1), F.lit(3)))"
            key = key if by_first_letters(o.form) else text
            words = (f"F.lit({word!r})" for pair in LOOK_UPS[o.form].items() for word in pair)
            text = f"F.try_element_at(F.create_map({', '.join(words)}), {key})"
        if o.width:
            zeros = f"F.repeat(F.lit('0'), F.lit({o.width}) - F.length({text}))"
            text = f"F.concat({zeros}, {text})"
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


def _end(pattern: str, end: str) -> str:
    """The pattern with the sign for the end of the text; $ may also mean before a last line end."""
    return pattern[:-1] + end if pattern.endswith("$") else pattern


def _from_one(place: int) -> int:
    """A place counted from 0 as SQL counts it; from the end both count alike."""
    return place if place < 0 else place + 1


def _sql_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _java_pattern(text: str) -> str:
    """The text as a regular expression that finds just it."""
    return "".join(c if c.isalnum() or not c.isascii() else "\\" + c for c in text)
