"""The headlines of answers: what was searched for, among how many tables, and what was found."""

from __future__ import annotations

from collections.abc import Sequence

from lakejoin.render.report import Line, Span, line
from lakejoin.text_format import clip, counted, format_percent

_LONG = 200


def headline_fused(
    columns: Sequence[Sequence[str]], table: str, found: int, total: int, tables: int
) -> Line:
    """Of a fused search that shows some of all the joins it found.

    >>> headline_fused([["first", "last"]], "mine.csv", 3, 7, 12).text
    'first + last of mine.csv: the 3 best of 7 joins among 12 tables'
    """
    outcome = f"{describe_best_joins(found, total)} among {counted(tables, 'table')}"
    names = Span(", ".join(" + ".join(map(clip, key)) for key in columns), "bold")
    return line(names, f" of {clip(table, _LONG)}: {outcome}")


def describe_best_joins(found: int, total: int) -> str:
    """How many joins are shown, of how many.

    >>> describe_best_joins(0, 0), describe_best_joins(1, 1), describe_best_joins(10, 34)
    ('no joins found', 'the best join', 'the 10 best of 34 joins')
    """
    if found < total:
        return f"the {found:,} best of {total:,} joins" if found > 1 else f"1 of {total:,} joins"
    if not found:
        return "no joins found"
    return f"the {found:,} best joins" if found > 1 else "the best join"


def headline_union(table: str, found: int, tables: int) -> Line:
    """Of a search for rows to append.

    >>> headline_union("mine.csv", 1, 12).text
    'mine.csv: 1 of 12 tables has rows that could be appended'
    """
    among = f"{found:,}" if found else "none"
    has = "has" if found in (0, 1) else "have"
    text = f"{among} of {counted(tables, 'table')} {has} rows that could be appended"
    return line(f"{clip(table, _LONG)}: {text}", style="bold")


def headline_relations(found: int, tables: int) -> Line:
    """Of a search for foreign keys."""
    return line(f"{counted(found, 'likely foreign key')} among {counted(tables, 'table')}")


def headline_query(
    columns: Sequence[str], table: str, values: int, rows: int, near: bool = False
) -> Line:
    """Of one query of one engine: its columns and their values."""
    several = "distinct point" if near else "distinct combination"
    noun = several if len(columns) > 1 else "distinct value"
    shape = f"({counted(values, noun)} in {counted(rows, 'row')})"
    return line(Span(" + ".join(map(clip, columns)), "bold"), f" of {clip(table, _LONG)} {shape}:")


def describe_aim(by: str, k: int | None, least: float | None, tables: int, is_key: bool) -> str:
    """What a search by equal values looks for, in words.

    >>> describe_aim("overlap", 1, 0.5, 12, is_key=False)
    'the 1 column of 12 tables that shares the most values and contains at least 50% of the values'
    """
    noun, among, number = "column", f" of {counted(tables, 'table')}", k
    if is_key:
        noun, among = "table", f" of {tables:,}"
        number = min(k, tables) if k else None
    best = f"the {counted(number, noun)}" if number else f"the {noun}s"
    s = "s" if number == 1 else ""
    most = ""
    if is_key and (k or by == "overlap"):
        most = f"contain{s} the most combinations"
    elif by == "overlap":
        most = f"share{s} the most values"
    elif k:
        most = f"contain{s} the most values"
    enough = f"contain{s} at least {format_percent(least)} of the values" if least else ""
    condition = " and ".join(filter(None, (most, enough))) or f"contain{s} any of the values"
    return f"{best}{among} that {condition}"


def describe_near_aim(
    measure: str | None, k: int | None, least: float | None, tables: int, reach: str
) -> str:
    """What a search by meaning or distance looks for, in words; `reach` is how near.

    >>> describe_near_aim("hit", None, 0.6, 3, "within tau 45%")
    'the columns of 3 tables that match at least 60% of the values within tau 45%'
    """
    share = f"at least {format_percent(least)}" if least else ""
    if measure == "all":
        verb = "has" if k == 1 else "have"
        pairs = f"{share} as many pairs as there are values" if share else "any pair"
        most = "the most pairs" + (f", {share} as many as there are values," if share else "")
    else:
        verb = "matches" if k == 1 else "match"
        pairs = f"{share} of the values" if share else "any of the values"
        most = "the most values" + (f", {share}," if share else "")
    best = f"the {counted(k, 'column')}" if k else "the columns"
    return f"{best} of {counted(tables, 'table')} that {verb} {most if k else pairs} {reach}"
