"""Describe join predicates and foreign keys as plain values, with the keys of `--json`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lakejoin.codegen.pasted_command import join_command_line, on_arguments

if TYPE_CHECKING:
    from lakejoin.joins.predicates.database_relations import Relations
    from lakejoin.joins.predicates.join_predicate import JoinPredicate, Predicates

_MOST_PAIRS = 8  # in a command; a predicate with more is reduced to those that suffice

PredicateReport = dict[str, Any]


def predicate_report(found: Predicates, shown: int, index: str | None) -> PredicateReport:
    """The predicates, with the keys of `lakejoin predicate --json`."""
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


def relations_report(found: Relations) -> PredicateReport:
    """The foreign keys, with the keys of `lakejoin predicates --json`."""
    return {
        "tables": list(found.tables),
        "relations": [relation.to_json() for relation in found],
        "notes": list(found.notes),
    }
