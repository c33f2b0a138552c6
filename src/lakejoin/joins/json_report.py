"""Describe joins, join predicates and foreign keys as plain values, with the keys of `--json`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from lakejoin.codegen.pasted_command import join_command_line, on_arguments

if TYPE_CHECKING:
    from lakejoin.joins.join import Join
    from lakejoin.joins.pairs import Example
    from lakejoin.joins.predicates.join_predicate import JoinPredicate, Predicates


EXAMPLES_PER_STEP = 3
_UNMATCHED = 3  # rows without a partner, per side
_NEAREST_ROWS = 200_000  # in larger tables the nearest value is not searched for
_UNMATCHED_READ = 30  # to get some with different values

Report = dict[str, Any]


class NamedTable(Protocol):
    """A table with the name that a person gave it."""

    @property
    def name(self) -> str: ...


def join_report(join: Join, left: NamedTable, right: NamedTable) -> Report:
    """A join, with the keys of `lakejoin join --json`."""
    return {**join_values(join, (left.name, right.name)), **_unmatched_values(join)}


def join_values(join: Join, names: tuple[str, str]) -> Report:
    """The same for a join that was found or not, without examples of rows that have no partner."""
    if not join:
        return _no_join(join.no_join, join.notes, names) | {"attempt": _attempt(join)}
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
        "examples": [_example(example) for example in join.examples(EXAMPLES_PER_STEP)],
        "unmatched": {"left": [], "right": []},
        "columns": join.schema.names,
        "first": [],
        "output": None,
        "bytes": None,
        "warnings": list(join.warnings),
        "notes": list(join.notes),
    }


def no_join_report(why: str, notes: Sequence[str], left: NamedTable, right: NamedTable) -> Report:
    """No join was found, without an attempt."""
    return _no_join(why, notes, (left.name, right.name))


def _no_join(why: str, notes: Sequence[str], names: tuple[str, str]) -> Report:
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
    """The first rows of the result, each a list of cells."""
    columns = [column.to_pylist() for column in join.table(max(0, limit)).columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _unmatched_values(join: Join) -> Report:
    if not join:
        return {}
    return {"unmatched": {side: _unmatched(join, side) for side in ("left", "right")}}


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


_MOST_PAIRS = 8  # in a command; a predicate with more is reduced to those that suffice

PredicateReport = dict[str, Any]


def predicate_report(found: Predicates, shown: int, index: str | None) -> PredicateReport:
    """The predicates, with the keys of `lakejoin predicates --json`."""
    sides, labels = found.tables.sides, found.tables.labels
    tables = [
        {"table": label, "rows": side.size, "columns": len(side.columns)}
        for label, side in zip(labels, sides, strict=True)
    ]
    head = {"tables": tables, "prefer": found.preferences[0].name}
    if not found:
        return {**head, "predicates": [], "why": found.none, "notes": list(found.notes)}
    return {
        **head,
        "predicates": [_predicate(predicate, shown, index) for predicate in found],
        "looked_at": found.looked_at,
        "complete": found.complete,
        "notes": list(found.notes),
    }


def _predicate(predicate: JoinPredicate, shown: int, index: str | None) -> PredicateReport:
    facts, first = predicate.facts, predicate.table(shown)
    columns = [column.to_pylist() for column in first.columns]
    return {
        "pairs": _listed(predicate.pairs),
        "enough": _listed(predicate.enough),
        "scores": predicate.scores,
        "inner_rows": facts.inner,
        "outer_rows": facts.outer,
        "groups": facts.groups,
        "entropy": facts.entropy,
        "involved": list(facts.involved),
        "columns": first.column_names,
        "first": [list(row) for row in zip(*columns, strict=True)],
        "command": _command(predicate, index),
        "notes": list(predicate.notes),
    }


def _listed(pairs: Iterable[Iterable[str | tuple[str, str]]]) -> list[list[str | list[str]]]:
    """Pairs as lists; with more than two tables, each column is a list of table and column name."""
    return [
        [column if isinstance(column, str) else list(column) for column in pair] for pair in pairs
    ]


def _command(predicate: JoinPredicate, index: str | None) -> str | None:
    """The command that joins two tables; None for more than two."""
    if not predicate.tables.are_two:
        return None
    left, right = predicate.tables.sides
    pairs = predicate.pairs if len(predicate.pairs) <= _MOST_PAIRS else predicate.enough
    words = on_arguments(pairs, left.columns, right.columns)
    return join_command_line(left.name, right.name, [*words, "--by", "equal"], index)
