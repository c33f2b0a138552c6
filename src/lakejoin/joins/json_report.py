"""Describe joins as plain values, with the keys of `lakejoin join --json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakejoin.joins.join import Join
    from lakejoin.joins.join_inputs import JoinInput

_EXAMPLES_PER_STEP = 3
_UNMATCHED = 3  # rows without a match, per side
_NEAREST_ROWS = 200_000  # in larger tables the nearest value is not searched for
_UNMATCHED_READ = 30  # to get some with different values

Report = dict[str, Any]


def join_report(join: Join, left: JoinInput, right: JoinInput) -> Report:
    """A join, with the keys of `lakejoin join --json`."""
    values = join_values(join, (left.name, right.name))
    if join:
        values["unmatched"] = {side: _unmatched(join, side) for side in ("left", "right")}
    return values


def join_values(join: Join, names: tuple[str, str]) -> Report:
    """The same for a join that was found or not, without examples of rows that have no match."""
    if not join:
        return no_join_report(join.no_join, join.notes, names) | {"attempt": _attempt(join)}
    found = join.known
    sides = (found.key_rules[0].columns, found.columns)
    left_columns, right_columns = sides if found.source_side == "left" else sides[::-1]
    is_equal = all(step.kind == "equal" for step in join.steps)
    pairs = zip(left_columns, right_columns, strict=True) if is_equal else ()
    return {
        "left": names[0],
        "right": names[1],
        "on": [{"left": one, "right": other} for one, other in pairs],
        "how": join.options.how,
        "rows": len(join),
        "left_rows": join.left.num_rows,
        "right_rows": join.right.num_rows,
        "left_joined": join.left_joined,
        "right_joined": join.right_joined,
        "pairs": join.matched,
        "fan_out": join.joined.fan_out,
        "left_columns": list(left_columns),
        "right_columns": list(right_columns),
        "steps": [step.to_json() for step in join.steps],
        "sure": join.sure,
        "examples": [
            {**asdict(example), "unit": example.unit or None}
            for example in join.examples(_EXAMPLES_PER_STEP)
        ],
        "unmatched": {"left": [], "right": []},
        "columns": join.schema.names,
        "first": [],
        "output": None,
        "bytes": None,
        "warnings": list(join.warnings),
        "notes": list(join.notes),
    }


def no_join_report(why: str, notes: Sequence[str], names: tuple[str, str]) -> Report:
    """No join of two tables was found, without an attempt."""
    return {
        "left": names[0],
        "right": names[1],
        "found": False,
        "why": why,
        "attempt": None,
        "notes": list(notes),
    }


def _attempt(join: Join) -> Report | None:
    if join.attempt is None:
        return None
    names = ("words", "left_rows", "right_rows", "why")
    return {name: getattr(join.attempt, name) for name in names}


def first_rows(join: Join, limit: int) -> list[list[Any]]:
    columns = [column.to_pylist() for column in join.table(max(0, limit)).columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _unmatched(join: Join, side: str) -> list[dict[str, Any]]:
    """Some rows without a match, all with different values."""
    values: dict[str, dict[str, Any]] = {}
    few = max(join.left.num_rows, join.right.num_rows) <= _NEAREST_ROWS
    for row in join.unmatched(side, _UNMATCHED_READ, nearest=few).to_pylist():
        if row["value"]:
            values.setdefault(row["value"], row)
    return list(values.values())[:_UNMATCHED]
