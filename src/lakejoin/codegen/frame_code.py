"""Write a join as a Python function of two pandas, polars or Spark DataFrames."""

from __future__ import annotations

from lakejoin.codegen.join_plan import ComparedSide, JoinPlan, NumberType, PlanPart, frame_names
from lakejoin.codegen.program_code import pandas_expression, polars_expression, pyspark_expression
from lakejoin.quoting import comment_lines, dict_literal, quote_backticks

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
_PYSPARK_LOOKUP = """\
    def looked_up(text, spelt, others):
        known = {written: key for written, key in spelt.items() if key is not None}
        unknown = [written for written in spelt if written not in known]
        pairs = [F.lit(part) for pair in known.items() for part in pair]
        found = F.try_element_at(F.create_map(*pairs), text) if pairs else F.lit(None)
        return F.when(text.isin(unknown), None).otherwise(F.coalesce(found, others))
"""


def _function_head(plan: JoinPlan, imported: str, name: str) -> list[str]:
    return [*comment_lines(plan.comments), f"{imported}\n\n\ndef {name}(left, right):"]


def write_pyspark(plan: JoinPlan, name: str = "join") -> str:
    """The function of this name that does what the plan says."""
    source, target = frame_names(plan)
    lines = _function_head(plan, "from pyspark.sql import functions as F", name)
    sides = [side for part in plan.parts for side in (part.key, *part.sources)]
    lines += [PYSPARK_CANONICAL] if any(side.nulls is not None for side in sides) else []
    lines += [_PYSPARK_LOOKUP] if any(side.listed or side.respelt for side in sides) else []
    keys = {side: _key_names(plan, side) for side in ("left", "right")}
    for index, part in enumerate(plan.parts):
        key = keys[target][index]
        lines += _pyspark_key_lines(target, key, _pyspark_side(part.key, part), part.key)
        lines += _pyspark_source(plan, part, keys[source][index], key, source, target)
        for side in (source, target) if part.only else ():
            held = f"F.col({keys[side][0]!r}).isin({list(part.only)!r})"
            made = f"F.when({held}, F.col({keys[side][index]!r})).otherwise(F.lit(''))"
            lines.append(f"    {side} = {side}.withColumn({keys[side][index]!r}, {made})")
    width = len(plan.left)
    shown = {"left": plan.names[:width], "right": plan.names[width:]}
    for side in ("left", "right"):
        names = [*shown[side], *keys[side]]
        own = [f"F.col({quote_backticks(name)!r})" for name in getattr(plan, side)]
        kept = ", ".join([*own, *(f"F.col({key!r})" for key in keys[side])])
        lines.append(f"    {side} = {side}.select({kept}).toDF(*{names!r})")
    equal = [
        f"(F.col({left_key!r}) == F.col({right_key!r}))"
        for left_key, right_key in zip(keys["left"], keys["right"], strict=True)
    ]
    lines.append(f"    joined = left.join(right, {' & '.join(equal)}, {plan.how!r})")
    dropped = ", ".join(repr(name) for name in (*keys["left"], *keys["right"]))
    return "\n".join([*lines, f"    return joined.drop({dropped})"]) + "\n"


def _key_names(plan: JoinPlan, side: str) -> list[str]:
    return [plan.unused_name(f"lakejoin_{side}_{n}") for n in range(1, len(plan.parts) + 1)]


def _pyspark_source(
    plan: JoinPlan, part: PlanPart, mine: str, key: str, source: str, target: str
) -> list[str]:
    """The key of every source row: the first rule whose key exists."""
    if len(part.sources) == 1:
        return _pyspark_key_lines(
            source, mine, _pyspark_side(part.sources[0], part), part.sources[0]
        )
    lines = [f"    keys = {target}.select({key!r}).distinct()"]
    found = []
    for number, way in enumerate(part.sources, start=1):
        text, held = (
            plan.unused_name(f"lakejoin_way_{number}"),
            plan.unused_name(f"lakejoin_found_{number}"),
        )
        lines += _pyspark_key_lines(source, text, _pyspark_side(way, part), way)
        lines.append(
            f"    {source} = {source}.join(keys.toDF({held!r}), "
            f"F.col({text!r}) == F.col({held!r}), 'left')"
        )
        found.append(f"F.col({held!r})")
    lines.append(f"    {source} = {source}.withColumn({mine!r}, F.coalesce({', '.join(found)}))")
    return lines


def _pyspark_key_lines(frame: str, name: str, column: str, side: ComparedSide) -> list[str]:
    """Lines that add a key column to a frame."""
    if not side.listed and not side.respelt:
        return [f"    {frame} = {frame}.withColumn({name!r}, {column})"]
    others = "F.lit(None)" if side.listed else "text"
    return [
        f"    text = {column}",
        f"    spelt = {dict_literal(side.respelt, '    ')}",
        f"    {frame} = {frame}.withColumn({name!r}, looked_up(text, spelt, {others}))",
    ]


def _pyspark_side(side: ComparedSide, part: PlanPart) -> str:
    """What one side compares, before its listed texts are replaced."""
    if part.typed:
        column = f"F.col({quote_backticks(side.program.columns[0])!r})"
        if part.number is not NumberType.FLOATING:
            return column
        number = f"{column}.cast('double')"
        return f"F.when(~F.isnan({number}), {number})"
    text = pyspark_expression(side.program, side.cast)
    if side.nulls is not None:
        return f"canonical({text}, {list(side.nulls)!r})"
    text = f"F.trim({text})" if part.normal.trim else text
    return f"F.lower({text})" if part.normal.lower else text


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
_PANDAS_NUMBERS = {
    NumberType.WHOLE: "Int64",
    NumberType.UNSIGNED: "UInt64",
    NumberType.FLOATING: "Float64",
}


def write_pandas(plan: JoinPlan, name: str = "join") -> str:
    source, target = frame_names(plan)
    lines = _function_head(plan, "import pandas as pd", name)
    for index, part in enumerate(plan.parts, start=1):
        lines += [
            *_pandas_integer_lines(part.key, target),
            f"    key_{index} = {_pandas_side(part.key, part, target)}",
        ]
        lines += _pandas_mapping_lines(f"key_{index}", part.key) if part.key.respelt else []
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
    for number, way in enumerate(part.sources, start=1):
        name = f"way_{index}_{number}"
        lines += [
            *_pandas_integer_lines(way, source),
            f"    {name} = {_pandas_side(way, part, source)}",
        ]
        if way.listed:
            kind = _PANDAS_NUMBERS[part.number] if part.number else "string"
            looked_up = f"{name}.map({dict_literal(way.respelt, '    ')}).astype({kind!r})"
            lines.append(f"    {name} = {looked_up}")
        elif way.respelt:
            lines += _pandas_mapping_lines(name, way)
        if len(part.sources) > 1:
            lines.append(f"    {name} = {name}.where({name}.isin(key_{index}))")
        first = number == 1
        lines.append(
            f"    found_{index} = {name}"
            if first
            else f"    found_{index} = found_{index}.fillna({name})"
        )
    return lines


def _pandas_integer_lines(side: ComparedSide, frame: str) -> list[str]:
    """Integers as texts: pandas turns 7 into 7.0 if values are missing."""
    if not side.whole:
        return []
    columns = (
        f"{n!r}: {frame}[{n!r}].astype('Int64').astype('string')" for n in sorted(side.whole)
    )
    return [f"    {frame}_texts = {frame}.assign(**{{{', '.join(columns)}}})"]


def _pandas_mapping_lines(name: str, side: ComparedSide) -> list[str]:
    """Lines that replace the listed texts of a variable by their keys."""
    return [
        f"    spelt = {dict_literal(side.respelt, '    ')}",
        f"    {name} = {name}.where(~{name}.isin(spelt), {name}.map(spelt).astype('string'))",
    ]


def _pandas_side(side: ComparedSide, part: PlanPart, frame: str) -> str:
    """What one side compares, before its listed texts are replaced."""
    if part.typed:
        column = f"{frame}[{side.program.columns[0]!r}]"
        return f"{column}.astype({_PANDAS_NUMBERS[part.number]!r})" if part.number else column
    text = pandas_expression(side.program, f"{frame}_texts" if side.whole else frame)
    if part.normal.trim or part.normal.lower:
        text = f"({text})" if len(side.program.operators) > 1 else text
    text += ".str.strip(' ')" if part.normal.trim else ""
    return text + (".str.lower()" if part.normal.lower else "")


_POLARS_NUMBERS = {
    NumberType.WHOLE: ".cast(pl.Int64)",
    NumberType.UNSIGNED: "",
    NumberType.FLOATING: ".cast(pl.Float64).fill_nan(None)",
}


def write_polars(plan: JoinPlan, name: str = "join") -> str:
    source, target = frame_names(plan)
    keys = [plan.unused_name(f"lakejoin_key_{n}") for n in range(1, len(plan.parts) + 1)]
    lines = _function_head(plan, "import polars as pl", name)
    for part, key in zip(plan.parts, keys, strict=True):
        lines.append(f"    key = {_polars_where(part, keys[0], _polars_side(part.key, part))}")
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
    ways = [_polars_where(part, first, _polars_side(way, part)) for way in part.sources]
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


def _polars_side(side: ComparedSide, part: PlanPart) -> str:
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
