"""Write a join as a Python function of two polars DataFrames."""

from __future__ import annotations

from lakejoin.codegen.program_code import polars_expression
from lakejoin.codegen.join_plan import (
    ComparedSide,
    NumberType,
    PlanPart,
    JoinPlan,
    comment_lines,
    frame_names,
    dict_literal,
)

_POLARS_HEAD = """\
import polars as pl


def join(left, right):"""

_POLARS_NUMBERS = {
    NumberType.WHOLE: ".cast(pl.Int64)",
    NumberType.UNSIGNED: "",
    NumberType.FLOATING: ".cast(pl.Float64).fill_nan(None)",
}


def write_polars(plan: JoinPlan) -> str:
    """The function that does what the plan says."""
    source, target = frame_names(plan)
    keys = [plan.free(f"lakejoin_key_{n}") for n in range(1, len(plan.parts) + 1)]
    lines = [*comment_lines(plan.comments), _POLARS_HEAD]
    for part, key in zip(plan.parts, keys, strict=True):
        lines.append(f"    key = {_polars_where(part, keys[0], polars_side(part.key, part))}")
        lines.append(f"    {target} = {target}.with_columns(key.alias({key!r}))")
        lines += _polars_source(part, key, keys[0], source, target)
    renamed = {
        name: shown
        for name, shown in zip(plan.right, plan.names[len(plan.left) :], strict=True)
        if name != shown
    }
    lines += [f"    right = right.rename({renamed!r})"] if renamed else []
    order = "right_left" if plan.how == "right" else "left_right"
    lines.append(
        f"    joined = left.join(right, on={keys!r}, how={plan.how!r}, coalesce=True, "
        f"maintain_order={order!r})"
    )
    return "\n".join([*lines, f"    return joined.select({list(plan.names)!r})"]) + "\n"


def _polars_source(part: PlanPart, key: str, first: str, source: str, target: str) -> list[str]:
    """The key of every source row: the first rule whose key exists."""
    ways = [_polars_where(part, first, polars_side(way, part)) for way in part.ways]
    if len(ways) == 1:
        return [f"    {source} = {source}.with_columns(({ways[0]}).alias({key!r}))"]
    lines = [f"    keys = {target}[{key!r}].drop_nulls().unique().to_list()", "    ways = ["]
    lines += [f"        {way}," for way in ways]
    lines += [
        "    ]",
        "    found = pl.coalesce(*(pl.when(way.is_in(keys)).then(way) for way in ways))",
        f"    {source} = {source}.with_columns(found.alias({key!r}))",
    ]
    return lines


def _polars_where(part: PlanPart, first: str, text: str) -> str:
    """What a part compares, if it only applies to some keys of the first part."""
    if not part.only:
        return text
    held = f"pl.col({first!r}).is_in({list(part.only)!r})"
    return f"pl.when({held}).then({text}).otherwise(pl.lit(''))"


def polars_side(side: ComparedSide, part: PlanPart) -> str:
    """What one side compares, as a polars expression."""
    if part.typed:
        column = f"pl.col({side.program.columns[0]!r})"
        column += _POLARS_NUMBERS[part.number] if part.number else ""
        if side.listed:
            spelt = dict_literal(side.respelt, "    ")
            column += f".replace_strict({spelt}, default=None, return_dtype=pl.Float64)"
        return column
    text = polars_expression(side.program, side.cast)
    methods = ".str.strip_chars(' ')" if part.normal.trim else ""
    methods += ".str.to_lowercase()" if part.normal.lower else ""
    spelt = dict_literal(side.respelt, "    ")
    if side.listed:
        methods += f".replace_strict({spelt}, default=None, return_dtype=pl.String)"
    elif side.respelt:
        methods += f".replace({spelt})"
    return f"({text}){methods}" if methods and len(side.program.operators) > 1 else text + methods
