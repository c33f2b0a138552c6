"""Describe a join as plain values, with the keys of `lakejoin join --json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.join import Join
    from lakejoin.joins.pairs import Example

EXAMPLES_PER_STEP = 3
_UNMATCHED = 3  # rows without a partner, per side
_NEAREST_ROWS = 200_000  # in larger tables the nearest value is not searched for
_UNMATCHED_READ = 30  # to get some with different values

Report = dict[str, Any]


class NamedRows(Protocol):
    """A table with the name that a person gave it."""

    @property
    def name(self) -> str: ...
    @property
    def rows(self) -> pa.Table: ...


def join_report(join: Join, left: NamedRows, right: NamedRows) -> Report:
    """A join that was found."""
    found = join.known
    sides = (found.ways[0].columns, found.columns)
    left_columns, right_columns = sides if found.source_side == "left" else sides[::-1]
    is_equal = all(step.kind == "equal" for step in join.steps)
    pairs = zip(left_columns, right_columns, strict=True) if is_equal else ()
    return {
        "left": left.name,
        "right": right.name,
        "on": [{"left": one, "right": other} for one, other in pairs],
        "how": join.options.how,
        "rows": len(join),
        "left_rows": left.rows.num_rows,
        "right_rows": right.rows.num_rows,
        "left_joined": join.left_joined,
        "right_joined": join.right_joined,
        "pairs": join.matched,
        "fan_out": join.joined.fan_out,
        "left_columns": list(left_columns),
        "right_columns": list(right_columns),
        "steps": [step.to_json() for step in join.steps],
        "sure": join.sure,
        "examples": [_example(example) for example in join.examples(EXAMPLES_PER_STEP)],
        "unmatched": {side: _unmatched(join, side) for side in ("left", "right")},
        "columns": join.schema.names,
        "first": [],
        "output": None,
        "bytes": None,
        "warnings": list(join.warnings),
        "notes": list(join.notes),
    }


def failed_join_report(join: Join, left: NamedRows, right: NamedRows) -> Report:
    """A join that was not found, with the best attempt."""
    best = join.attempt
    attempt = best and {
        "words": best.words,
        "left_rows": best.left_rows,
        "right_rows": best.right_rows,
        "why": best.why,
    }
    return no_join_report(join.no_join, join.notes, left, right) | {"attempt": attempt}


def no_join_report(why: str, notes: Sequence[str], left: NamedRows, right: NamedRows) -> Report:
    """A join that was not found, without an attempt."""
    return {
        "left": left.name,
        "right": right.name,
        "found": False,
        "why": why,
        "attempt": None,
        "notes": list(notes),
    }


def first_rows(join: Join, limit: int) -> list[list[Any]]:
    """The first rows of the result, each a list of cells."""
    columns = [column.to_pylist() for column in join.table(max(0, limit)).columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _unmatched(join: Join, side: str) -> list[dict[str, Any]]:
    """Some rows without a partner, all with different values."""
    values: dict[str, dict[str, Any]] = {}
    few = max(join.left.num_rows, join.right.num_rows) <= _NEAREST_ROWS
    for row in join.unmatched(side, _UNMATCHED_READ, nearest=few).to_pylist():
        if row["value"]:
            values.setdefault(row["value"], row)
    return list(values.values())[:_UNMATCHED]


def _example(example: Example) -> dict[str, Any]:
    return {
        "step": example.step,
        "before": example.before,
        "after": example.after,
        "partner": example.partner,
        "distance": example.distance,
        "unit": example.unit or None,
    }
