"""Write a join as a Python function of two pandas DataFrames."""

from __future__ import annotations

from lakejoin.codegen.program_code import pandas_expression
from lakejoin.codegen.join_plan import (
    ComparedSide,
    NumberType,
    PlanPart,
    JoinPlan,
    comment_lines,
    frame_names,
    dict_literal,
)

_PANDAS_HEAD = """\
import pandas as pd


def join(left, right):"""
_PAIRS = """\
    pairs = left_keys.dropna().merge(right_keys.dropna(), on={on!r})[["left", "right"]]"""
_LEFT_ALONE = """\
    alone = pd.DataFrame({"left": sorted(set(range(len(left))) - set(pairs["left"]))})
    pairs = pd.concat([pairs, alone])"""
_RIGHT_ALONE = """\
    alone = pd.DataFrame({"right": sorted(set(range(len(right))) - set(pairs["right"]))})
    pairs = pd.concat([pairs, alone])"""
_ROWS = """\
    pairs = pairs.sort_values({order!r}).fillna(-1).astype(int)
    left = left.reset_index(drop=True).reindex(pairs["left"]).reset_index(drop=True)
    right = right.reset_index(drop=True).reindex(pairs["right"]).reset_index(drop=True)
    joined = pd.concat([left, right], axis=1)
    joined.columns = {names!r}
    return joined"""

# pandas turns integer columns with missing values into floating-point ones.
_BOTH = ("key", "found")
_PANDAS_NUMBERS = {NumberType.WHOLE: "Int64", NumberType.UNSIGNED: "UInt64", NumberType.FLOATING: "Float64"}


def write_pandas(plan: JoinPlan) -> str:
    """The function that does what the plan says."""
    source, target = frame_names(plan)
    lines = [*comment_lines(plan.comments), _PANDAS_HEAD]
    for index, part in enumerate(plan.parts, start=1):
        lines += [
            *pandas_integer_lines(part.key, target),
            f"    key_{index} = {pandas_side(part.key, part, target)}",
        ]
        lines += pandas_mapping_lines(f"key_{index}", part.key) if part.key.respelt else []
        lines += _pandas_rules(part, index, source)
        if part.only:
            lines.append(f"    only = {list(part.only)!r}")
            lines += [f"    {n}_{index} = {n}_{index}.where({n}_1.isin(only), '')" for n in _BOTH]
    lines += [_frame(plan, "left"), _frame(plan, "right")]
    on = [f"key_{index}" for index in range(1, len(plan.parts) + 1)]
    lines.append(_PAIRS.format(on=on))
    lines += [_LEFT_ALONE] if plan.how in ("left", "full") else []
    lines += [_RIGHT_ALONE] if plan.how in ("right", "full") else []
    order = ["right", "left"] if plan.how == "right" else ["left", "right"]
    return "\n".join([*lines, _ROWS.format(order=order, names=list(plan.names))]) + "\n"


def _frame(plan: JoinPlan, side: str) -> str:
    """The rows of a side with their keys."""
    name = "left_keys" if side == "left" else "right_keys"
    made = "found" if side == plan.source_side else "key"
    keys = (f'"key_{n}": {made}_{n}.array' for n in range(1, len(plan.parts) + 1))
    return f'    {name} = pd.DataFrame({{"{side}": range(len({side})), {", ".join(keys)}}})'


def _pandas_rules(part: PlanPart, index: int, source: str) -> list[str]:
    """The key of every source row: the first rule whose key exists."""
    lines = []
    for number, way in enumerate(part.ways, start=1):
        name = f"way_{index}_{number}"
        lines += [*pandas_integer_lines(way, source), f"    {name} = {pandas_side(way, part, source)}"]
        if way.listed:
            kind = _PANDAS_NUMBERS[part.number] if part.number else "string"
            looked_up = f"{name}.map({dict_literal(way.respelt, '    ')}).astype({kind!r})"
            lines.append(f"    {name} = {looked_up}")
        elif way.respelt:
            lines += pandas_mapping_lines(name, way)
        if len(part.ways) > 1:
            lines.append(f"    {name} = {name}.where({name}.isin(key_{index}))")
        first = number == 1
        lines.append(
            f"    found_{index} = {name}"
            if first
            else f"    found_{index} = found_{index}.fillna({name})"
        )
    return lines


def pandas_integer_lines(side: ComparedSide, frame: str) -> list[str]:
    """Integers as texts: pandas turns 7 into 7.0 if values are missing."""
    if not side.whole:
        return []
    columns = (
        f"{n!r}: {frame}[{n!r}].astype('Int64').astype('string')" for n in sorted(side.whole)
    )
    return [f"    {frame}_texts = {frame}.assign(**{{{', '.join(columns)}}})"]


def pandas_mapping_lines(name: str, side: ComparedSide) -> list[str]:
    """Lines that replace the listed texts of a variable by their keys."""
    return [
        f"    spelt = {dict_literal(side.respelt, '    ')}",
        f"    {name} = {name}.where(~{name}.isin(spelt), {name}.map(spelt).astype('string'))",
    ]


def pandas_side(side: ComparedSide, part: PlanPart, frame: str) -> str:
    """What one side compares, before its listed texts are replaced."""
    if part.typed:
        column = f"{frame}[{side.program.columns[0]!r}]"
        return f"{column}.astype({_PANDAS_NUMBERS[part.number]!r})" if part.number else column
    text = pandas_expression(side.program, f"{frame}_texts" if side.whole else frame)
    if part.normal.trim or part.normal.lower:
        text = f"({text})" if len(side.program.operators) > 1 else text
    text += ".str.strip(' ')" if part.normal.trim else ""
    return text + (".str.lower()" if part.normal.lower else "")
