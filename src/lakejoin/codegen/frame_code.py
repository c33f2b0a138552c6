"""Write a join as a Python function of two Spark DataFrames, with only Spark functions."""

from __future__ import annotations

from lakejoin.codegen.program_code import pyspark_expression
from lakejoin.codegen.join_plan import (
    ComparedSide,
    NumberType,
    PlanPart,
    JoinPlan,
    comment_lines,
    frame_names,
    dict_literal,
)

_PYSPARK_HEAD = """\
from pyspark.sql import functions as F


def join(left, right):"""
# Lower case is folded case for nearly all characters, except ß and final sigma. Blanks are those of
# Python.
PYSPARK_CANONICAL = r"""    def canonical(text, nulls):
        blanks = r"[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"
        text = F.replace(F.translate(F.lower(text), "ς", "σ"), F.lit("ß"), F.lit("ss"))
        text = F.trim(F.regexp_replace(text, blanks, " "))
        number = F.regexp_replace(F.regexp_replace(text, r"^\+", ""), r"(?<![0-9])\.", "0.")
        number = F.regexp_replace(number, r"(\.[0-9]*?)0+$", "$1")
        number = F.regexp_replace(F.regexp_replace(number, r"\.$", ""), r"^-0$", "0")
        day = F.regexp_replace(text, r"^(\d{4}-\d\d-\d\d)[ t]00:00(:00(\.0+)?)?$", "$1")
        is_number = text.rlike(r"^[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)$")
        return F.when(~text.isin(nulls), F.when(is_number, number).otherwise(day))
"""
PYSPARK_LOOKUP = """\
    def looked_up(text, spelt, others):
        known = {written: key for written, key in spelt.items() if key is not None}
        unknown = [written for written in spelt if written not in known]
        pairs = [F.lit(part) for pair in known.items() for part in pair]
        found = F.try_element_at(F.create_map(*pairs), text) if pairs else F.lit(None)
        return F.when(text.isin(unknown), None).otherwise(F.coalesce(found, others))
"""
_HOWS = {"inner": "inner", "left": "left", "right": "right", "full": "full"}


def write_pyspark(plan: JoinPlan) -> str:
    """The function that does what the plan says."""
    source, target = frame_names(plan)
    lines = [*comment_lines(plan.comments), _PYSPARK_HEAD]
    sides = [side for part in plan.parts for side in (part.key, *part.ways)]
    lines += [PYSPARK_CANONICAL] if any(side.nulls is not None for side in sides) else []
    lines += [PYSPARK_LOOKUP] if any(side.listed or side.respelt for side in sides) else []
    keys = {side: _key_names(plan, side) for side in ("left", "right")}
    for index, part in enumerate(plan.parts):
        key = keys[target][index]
        lines += pyspark_key_lines(target, key, pyspark_side(part.key, part), part.key)
        lines += _pyspark_source(plan, part, keys[source][index], key, source, target)
        for side in (source, target) if part.only else ():
            held = f"F.col({keys[side][0]!r}).isin({list(part.only)!r})"
            made = f"F.when({held}, F.col({keys[side][index]!r})).otherwise(F.lit(''))"
            lines.append(f"    {side} = {side}.withColumn({keys[side][index]!r}, {made})")
    width = len(plan.left)
    shown = {"left": plan.names[:width], "right": plan.names[width:]}
    for side in ("left", "right"):
        names = [*shown[side], *keys[side]]
        own = [f"F.col({pyspark_name(name)!r})" for name in getattr(plan, side)]
        kept = ", ".join([*own, *(f"F.col({key!r})" for key in keys[side])])
        lines.append(f"    {side} = {side}.select({kept}).toDF(*{names!r})")
    equal = [
        f"(F.col({left_key!r}) == F.col({right_key!r}))"
        for left_key, right_key in zip(keys["left"], keys["right"], strict=True)
    ]
    lines.append(f"    joined = left.join(right, {' & '.join(equal)}, {_HOWS[plan.how]!r})")
    dropped = ", ".join(repr(name) for name in (*keys["left"], *keys["right"]))
    return "\n".join([*lines, f"    return joined.drop({dropped})"]) + "\n"


def _key_names(plan: JoinPlan, side: str) -> list[str]:
    return [plan.free(f"lakejoin_{side}_{n}") for n in range(1, len(plan.parts) + 1)]


def _pyspark_source(
    plan: JoinPlan, part: PlanPart, mine: str, key: str, source: str, target: str
) -> list[str]:
    """The key of every source row: the first rule whose key exists."""
    if len(part.ways) == 1:
        return pyspark_key_lines(source, mine, pyspark_side(part.ways[0], part), part.ways[0])
    lines = [f"    keys = {target}.select({key!r}).distinct()"]
    found = []
    for number, way in enumerate(part.ways, start=1):
        text, held = plan.free(f"lakejoin_way_{number}"), plan.free(f"lakejoin_found_{number}")
        lines += pyspark_key_lines(source, text, pyspark_side(way, part), way)
        lines.append(
            f"    {source} = {source}.join(keys.toDF({held!r}), "
            f"F.col({text!r}) == F.col({held!r}), 'left')"
        )
        found.append(f"F.col({held!r})")
    lines.append(f"    {source} = {source}.withColumn({mine!r}, F.coalesce({', '.join(found)}))")
    return lines


def pyspark_key_lines(frame: str, name: str, column: str, side: ComparedSide) -> list[str]:
    """Lines that add a key column to a frame."""
    if not side.listed and not side.respelt:
        return [f"    {frame} = {frame}.withColumn({name!r}, {column})"]
    others = "F.lit(None)" if side.listed else "text"
    return [
        f"    text = {column}",
        f"    spelt = {dict_literal(side.respelt, '    ')}",
        f"    {frame} = {frame}.withColumn({name!r}, looked_up(text, spelt, {others}))",
    ]


def pyspark_side(side: ComparedSide, part: PlanPart) -> str:
    """What one side compares, before its listed texts are replaced."""
    if part.typed:
        column = f"F.col({pyspark_name(side.program.columns[0])!r})"
        if part.number is not NumberType.FLOATING:
            return column
        number = f"{column}.cast('double')"
        return f"F.when(~F.isnan({number}), {number})"
    text = pyspark_expression(side.program, side.cast)
    if side.nulls is not None:
        return f"canonical({text}, {list(side.nulls)!r})"
    text = f"F.trim({text})" if part.normal.trim else text
    return f"F.lower({text})" if part.normal.lower else text


def pyspark_name(name: str) -> str:
    """The quoted name of a column."""
    return "`" + name.replace("`", "``") + "`"
