"""Generate pandas, polars, SQL and PySpark code for programs.

Each is one expression of the system's own functions, with the results of `apply_program`: null
for missing substrings, shorter results for short texts. On lower and upper case, see `Casing`.
Columns named in `cast` are not text and are converted first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from lakejoin.codegen.programs import (
    LOOKUPS,
    REPLACEMENTS,
    Casing,
    Constant,
    Extract,
    Program,
    Runs,
    by_first_letters,
    replacement_text,
    slice_bounds,
    takes_all,
)
from lakejoin.codegen.sql_query import replace_texts
from lakejoin.quoting import quote_backticks, quote_identifier, quote_literal


def pandas_expression(program: Program, frame: str = "df") -> str:
    """The program as an expression over a pandas DataFrame.

    >>> first = Extract("name", (), 0, 1, casing=Casing.LOWER)
    >>> print(pandas_expression(Program((first, Constant("@x.org")))))
    df['name'].astype('string').str.slice(0, 1).str.lower() + '@x.org'
    """

    def part(o: Extract) -> str:
        text = f"{frame}[{o.column!r}].astype('string')"
        for separator, index in o.splits:
            method = (
                f"findall({separator.inside!r})"
                if isinstance(separator, Runs)
                else f"split({separator!r}, regex=False)"
            )
            # A column without any such substring would become numeric: keep it text.
            text += f".str.{method}.str[{index}].astype('string')"
        if not takes_all(o):
            start, stop = slice_bounds(o)
            text += f".str.slice({start})" if stop is None else f".str.slice({start}, {stop})"
        for pattern, by in REPLACEMENTS.get(o.form, ()):
            replacement = replacement_text(by, "\\{}")
            text += f".str.replace({_end(pattern, chr(92) + 'Z')!r}, {replacement!r}, regex=True)"
        if o.form in LOOKUPS:
            text += ".str.slice(0, 3).str.lower()" if by_first_letters(o.form) else ""
            text += f".map({LOOKUPS[o.form]!r}).astype('string')"
        text += f".str.rjust({o.width}, '0')" if o.width else ""
        return text + _case_method(o.casing, ".str.lower()", ".str.upper()")

    return " + ".join(_operators(program, repr, part))


def polars_expression(program: Program, cast: Collection[str] = ()) -> str:
    """The program as a polars expression.

    >>> print(polars_expression(Program((Extract("name", ((", ", -1),)),))))
    pl.col('name').str.split(', ').list.get(-1, null_on_oob=True)
    """

    def part(o: Extract) -> str:
        text = f"pl.col({o.column!r})" + (".cast(pl.String)" if o.column in cast else "")
        for separator, index in o.splits:
            method = (
                f"extract_all({separator.inside!r})"
                if isinstance(separator, Runs)
                else f"split({separator!r})"
            )
            text += f".str.{method}.list.get({index}, null_on_oob=True)"
        if o.start or o.length is not None:
            length = "" if o.length is None else f", {o.length}"
            text += f".str.slice({o.start}{length})"
        text += f".str.head({-o.drop})" if o.drop else ""
        for pattern, by in REPLACEMENTS.get(o.form, ()):
            text += f".str.replace_all({pattern!r}, {replacement_text(by, '${{{}}}')!r})"
        if o.form in LOOKUPS:
            text += ".str.slice(0, 3).str.to_lowercase()" if by_first_letters(o.form) else ""
            text += f".replace_strict({LOOKUPS[o.form]!r}, default=None, return_dtype=pl.String)"
        text += f".str.pad_start({o.width}, '0')" if o.width else ""
        return text + _case_method(o.casing, ".str.to_lowercase()", ".str.to_uppercase()")

    return " + ".join(_operators(program, lambda text: f"pl.lit({text!r})", part))


def duckdb_expression(program: Program, cast: Collection[str] = (), table: str = "") -> str:
    """The program as an SQL expression, in DuckDB's dialect, over the columns of `table`.

    >>> print(duckdb_expression(Program((Extract("name", (("'", 1),), 0, 3), Constant("!")))))
    substring(string_split("name", '''')[2], 1, 3) || '!'
    """

    def part(o: Extract) -> str:
        text = (f"{table}." if table else "") + quote_identifier(o.column)
        text = f"CAST({text} AS VARCHAR)" if o.column in cast else text
        for separator, index in o.splits:
            substrings = (
                f"regexp_extract_all({text}, {quote_literal(separator.inside)})"
                if isinstance(separator, Runs)
                else f"string_split({text}, {quote_literal(separator)})"
            )
            text = f"{substrings}[{_from_one(index)}]"
        if o.start or o.length is not None:
            length = "" if o.length is None else f", {o.length}"
            text = f"substring({text}, {_from_one(o.start)}{length})"
        text = f"left({text}, {-o.drop})" if o.drop else text
        for pattern, by in REPLACEMENTS.get(o.form, ()):
            replacement = replacement_text(by, "\\{}")
            text = f"regexp_replace({text}, {quote_literal(pattern)}, '{replacement}', 'g')"
        if o.form in LOOKUPS:
            key = f"lower(left({text}, 3))" if by_first_letters(o.form) else text
            text = replace_texts(key, LOOKUPS[o.form])
        text = f"(repeat('0', {o.width} - length({text})) || {text})" if o.width else text
        return f"{o.casing}({text})" if o.casing else text

    return " || ".join(_operators(program, quote_literal, part))


def pyspark_expression(program: Program, cast: Collection[str] = ()) -> str:
    """The program as a PySpark column of Spark functions, with `pyspark.sql.functions` as `F`.

    >>> print(pyspark_expression(Program((Extract("name", ((". ", 1),)),))))
    F.try_element_at(F.split(F.col('`name`'), '\\\\.\\\\ '), F.lit(2))
    """

    def part(o: Extract) -> str:
        text = f"F.col({quote_backticks(o.column)!r})"
        text += ".cast('string')" if o.column in cast else ""
        for separator, index in o.splits:
            substrings = (
                f"F.regexp_extract_all({text}, F.lit({separator.inside!r}), F.lit(0))"
                if isinstance(separator, Runs)
                else f"F.split({text}, {_java_pattern(separator)!r})"
            )
            text = f"F.try_element_at({substrings}, F.lit({_from_one(index)}))"
        if o.drop:
            left = f"F.greatest(F.length({text}) - F.lit({o.start + o.drop}), F.lit(0))"
            text = f"F.substr({text}, F.lit({o.start + 1}), {left})"
        elif not takes_all(o):
            length = "" if o.length is None else f", F.lit({o.length})"
            text = f"F.substr({text}, F.lit({_from_one(o.start)}){length})"
        for pattern, by in REPLACEMENTS.get(o.form, ()):
            replacement = replacement_text(by, "${}")
            text = f"F.regexp_replace({text}, {_end(pattern, chr(92) + 'z')!r}, {replacement!r})"
        if o.form in LOOKUPS:
            key = f"F.lower(F.substr({text}, F.lit(1), F.lit(3)))"
            key = key if by_first_letters(o.form) else text
            words = (f"F.lit({word!r})" for pair in LOOKUPS[o.form].items() for word in pair)
            text = f"F.try_element_at(F.create_map({', '.join(words)}), {key})"
        if o.width:
            zeros = f"F.repeat(F.lit('0'), F.lit({o.width}) - F.length({text}))"
            text = f"F.concat({zeros}, {text})"
        return f"F.{o.casing}({text})" if o.casing else text

    parts = _operators(program, lambda text: f"F.lit({text!r})", part)
    return parts[0] if len(parts) == 1 else f"F.concat({', '.join(parts)})"


def _operators(
    program: Program, constant: Callable[[str], str], part: Callable[[Extract], str]
) -> list[str]:
    return [
        constant(operator.text) if isinstance(operator, Constant) else part(operator)
        for operator in program.operators
    ]


def _case_method(casing: Casing, lower: str, upper: str) -> str:
    return {Casing.SAME: "", Casing.LOWER: lower, Casing.UPPER: upper}[casing]


def _end(pattern: str, end: str) -> str:
    """The pattern with the token for the end of the text, as $ may also match before a newline."""
    return pattern[:-1] + end if pattern.endswith("$") else pattern


def _from_one(index: int) -> int:
    """A 0-based index as SQL counts it; negative indexes stay."""
    return index if index < 0 else index + 1


def _java_pattern(text: str) -> str:
    """The text as a regular expression that matches it literally."""
    return "".join(c if c.isalnum() or not c.isascii() else "\\" + c for c in text)
