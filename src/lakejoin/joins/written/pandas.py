"""The join as a Python function of two pandas DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakejoin.joins.autojoin.code import code_pandas
from lakejoin.joins.written.lines import comments, frames, mapping
from lakejoin.joins.written.plan import Compared, Number, Part, Plan, plan_of

if TYPE_CHECKING:
    from lakejoin.joins.join import Join

_HEAD = """\
import pandas as pd


def join(left, right):"""
_PAIRS = """\
    pairs = mine.dropna().merge(theirs.dropna(), on={on!r})[["left", "right"]]"""
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

# Where some are missing, pandas has made whole numbers floating ones.
_BOTH = ("key", "found")
_NUMBERS = {Number.WHOLE: "Int64", Number.UNSIGNED: "UInt64", Number.FLOATING: "Float64"}


def pandas_of(join: Join) -> str:
    """The function, and what it needs."""
    plan = plan_of(join)
    source, target = frames(plan)
    lines = [*comments(plan.comments), _HEAD]
    for place, part in enumerate(plan.parts, start=1):
        lines += [
            *printed(part.key, target),
            f"    key_{place} = {text_of(part.key, part, target)}",
        ]
        lines += mapped(f"key_{place}", part.key) if part.key.respelt else []
        lines += _ways(part, place, source)
        if part.only:
            lines.append(f"    only = {list(part.only)!r}")
            lines += [f"    {n}_{place} = {n}_{place}.where({n}_1.isin(only), '')" for n in _BOTH]
    lines += [_frame(plan, "left"), _frame(plan, "right")]
    on = [f"key_{place}" for place in range(1, len(plan.parts) + 1)]
    lines.append(_PAIRS.format(on=on))
    lines += [_LEFT_ALONE] if plan.how in ("left", "full") else []
    lines += [_RIGHT_ALONE] if plan.how in ("right", "full") else []
    order = ["right", "left"] if plan.how == "right" else ["left", "right"]
    return "\n".join([*lines, _ROWS.format(order=order, names=list(plan.names))]) + "\n"


def _frame(plan: Plan, side: str) -> str:
    """The rows of a side with their keys."""
    name = "mine" if side == "left" else "theirs"
    made = "found" if side == plan.source_side else "key"
    keys = (f'"key_{n}": {made}_{n}.array' for n in range(1, len(plan.parts) + 1))
    return f'    {name} = pd.DataFrame({{"{side}": range(len({side})), {", ".join(keys)}}})'


def _ways(part: Part, place: int, source: str) -> list[str]:
    """The key of every source row: the first way that gives one that exists."""
    lines = []
    for number, way in enumerate(part.ways, start=1):
        name = f"way_{place}_{number}"
        lines += [*printed(way, source), f"    {name} = {text_of(way, part, source)}"]
        if way.listed:
            kind = _NUMBERS[part.number] if part.number else "string"
            looked_up = f"{name}.map({mapping(way.respelt, '    ')}).astype({kind!r})"
            lines.append(f"    {name} = {looked_up}")
        elif way.respelt:
            lines += mapped(name, way)
        if len(part.ways) > 1:
            lines.append(f"    {name} = {name}.where({name}.isin(key_{place}))")
        first = number == 1
        lines.append(
            f"    found_{place} = {name}"
            if first
            else f"    found_{place} = found_{place}.fillna({name})"
        )
    return lines


def printed(side: Compared, frame: str) -> list[str]:
    """Whole numbers as texts: where some are missing, pandas has made 7 a 7.0."""
    if not side.whole:
        return []
    columns = (
        f"{n!r}: {frame}[{n!r}].astype('Int64').astype('string')" for n in sorted(side.whole)
    )
    return [f"    {frame}_texts = {frame}.assign(**{{{', '.join(columns)}}})"]


def mapped(name: str, side: Compared) -> list[str]:
    """Lines that give the texts of a variable that are listed the key that they mean."""
    return [
        f"    spelt = {mapping(side.respelt, '    ')}",
        f"    {name} = {name}.where(~{name}.isin(spelt), {name}.map(spelt).astype('string'))",
    ]


def text_of(side: Compared, part: Part, frame: str) -> str:
    """What one side compares, before texts are looked up in its list."""
    if part.typed:
        column = f"{frame}[{side.program.columns[0]!r}]"
        return f"{column}.astype({_NUMBERS[part.number]!r})" if part.number else column
    text = code_pandas(side.program, f"{frame}_texts" if side.whole else frame)
    if part.normal.trim or part.normal.lower:
        text = f"({text})" if len(side.program.operators) > 1 else text
    text += ".str.strip(' ')" if part.normal.trim else ""
    return text + (".str.lower()" if part.normal.lower else "")
