"""How predicates and key relations look on a terminal, and as plain values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from lakejoin.app.pasting import join_line, on_words
from lakejoin.app.printing import clip, console, counted, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from lakejoin.joins.predicates.database import Relations
    from lakejoin.joins.predicates.described import JoinPredicate, Predicates

_WORDS = 400
_PAIRS = 8  # in a command; where there are more, those that make the same join
_COLUMNS = 6  # of each table, beside the joined ones, in the rows that are shown

Report = dict[str, Any]


def report_of(found: Predicates, shown: int, index: str | None) -> Report:
    """The answer as plain values, with the keys of `lakejoin predicate --json`."""
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
        "predicates": [_predicate(one, shown, index) for one in found],
        "looked_at": found.looked_at,
        "complete": found.complete,
        "notes": list(found.notes),
    }


def _predicate(one: JoinPredicate, shown: int, index: str | None) -> Report:
    facts, first = one.facts, one.table(shown)
    columns = [column.to_pylist() for column in first.columns]
    return {
        "pairs": _listed(one.pairs),
        "enough": _listed(one.enough),
        "scores": one.scores,
        "inner_rows": facts.inner,
        "outer_rows": facts.outer,
        "groups": facts.groups,
        "entropy": facts.entropy,
        "involved": list(facts.involved),
        "columns": first.column_names,
        "first": [list(row) for row in zip(*columns, strict=True)],
        "command": _command(one, index),
        "notes": list(one.notes),
    }


def _listed(pairs: Iterable[Iterable[str | tuple[str, str]]]) -> list[list[str | list[str]]]:
    """Pairs as lists; of more than two tables each column is a list of the table's name and its
    own."""
    return [[one if isinstance(one, str) else list(one) for one in pair] for pair in pairs]


def _command(one: JoinPredicate, index: str | None) -> str | None:
    """The command that makes the join of two tables."""
    if not one.tables.are_two:
        return None
    left, right = one.tables.sides
    pairs = one.pairs if len(one.pairs) <= _PAIRS else one.enough
    words = on_words(pairs, left.columns, right.columns)
    return join_line(left.name, right.name, [*words, "--by", "equal"], index)


def print_predicates(found: Predicates, report: Report) -> None:
    """The best predicates, and the first rows and the command of the very best."""
    from lakejoin.joins.predicates.shown import facts_text, fewer_text, scores_text

    screen, preference = console(), found.preferences[0]
    given = (f"{t['table']} ({counted(t['rows'], 'row')})" for t in report["tables"])
    _say(screen, ", ".join(given))
    _say(screen, f"best for {preference.name}: {preference.when}")
    for place, one in enumerate(found, start=1):
        screen.print()
        line = Text.assemble(f"{place}. ", (clip(one.words, _WORDS), "bold"))
        screen.print(line, soft_wrap=True)
        if one.fewer_words:
            _say(screen, f"   {fewer_text(one)}")
        _say(screen, f"   {scores_text(one)}")
        _say(screen, f"   {facts_text(one)}")
        _notes(screen, one.notes, "   ")
    screen.print()
    _notes(screen, found.notes)
    _print_first(found.winner, report["predicates"][0])
    print_how(report["predicates"][0]["command"])


def print_how(command: str | None) -> None:
    """How the best join is made."""
    if command is None:
        click.echo("to join them: the same with --code sql, pandas, polars or pyspark")
    else:
        click.echo("to join them, or --code sql, pandas, polars or pyspark for the same as code:")
        click.echo(f"  {command} -o joined.csv")


def _print_first(best: JoinPredicate, report: Report) -> None:
    """The first joined rows: the columns that make the join first, then some of each table."""
    if not report["first"]:
        return
    sides = best.tables.sides
    begins = [sum(len(side.columns) for side in sides[:n]) for n in range(len(sides))]
    joined = [
        begins[table] + sides[table].columns.index(name)
        for pair in best.found.enough
        for table, name in pair
    ]
    some = [
        begins[n] + place
        for n, side in enumerate(sides)
        for place in range(min(_COLUMNS, len(side.columns)))
    ]
    order = list(dict.fromkeys([*joined, *some, *range(len(report["columns"]))]))
    click.echo(f"the first rows of {counted(best.facts.inner, 'row')} of the best:\n")
    heads = [report["columns"][place] for place in order]
    print_table(heads, ([row[place] for place in order] for row in report["first"]), least=12)
    click.echo()


def report_of_relations(found: Relations) -> Report:
    """Key relations as plain values, with the keys of `lakejoin predicates --json`."""
    return {
        "tables": list(found.tables),
        "relations": [one.to_json() for one in found],
        "notes": list(found.notes),
    }


def print_relations(found: Relations) -> None:
    """Key relations as a table."""
    from lakejoin.joins.predicates.database import told

    screen = console()
    if found:
        heads = ["refers", "to the key", "rows", "missing", "score", "why"]
        rows = (
            [
                told(one.table, one.columns),
                told(one.key_table, one.key_columns),
                f"{one.rows:,}",
                f"{one.missing:,}",
                f"{one.score:.2f}",
                one.why,
            ]
            for one in found.short
        )
        print_table(heads, rows, right=["rows", "missing", "score"])
        screen.print()
    _notes(screen, found.notes)
    among = f"among {counted(len(found.tables), 'table')}"
    _say(screen, f"{counted(len(found), 'likely relation')} {among}")


def _notes(screen: Console, notes: Iterable[str], indent: str = "") -> None:
    for note in notes:
        screen.print(Text(f"{indent}note: {note}", "yellow"), soft_wrap=True)


def _say(screen: Console, text: str) -> None:
    screen.print(Text(text), soft_wrap=True)
