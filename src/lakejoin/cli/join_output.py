"""Print joins, join predicates and foreign keys on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from lakejoin.cli.terminal import console, print_table
from lakejoin.joins.json_report import EXAMPLES_PER_STEP
from lakejoin.text_format import clip, counted, size

if TYPE_CHECKING:
    from rich.console import Console

    from lakejoin.joins.join import Join
    from lakejoin.joins.predicates.database_relations import Relations
    from lakejoin.joins.predicates.join_predicate import JoinPredicate, Predicates
    from lakejoin.lake_access import NamedTable

_LEFT_COLUMNS = 4  # shown before the columns of the right table
_PREDICATE_COLUMNS = 6  # of each table, besides the joined ones, in the rows that are shown
_WORDS = 400

Report = dict[str, Any]


def print_join(join: Join, report: Report, left: NamedTable, right: NamedTable) -> None:
    """Print how two tables join, step by step."""
    from lakejoin.joins.report import loss_texts

    screen = console()
    for table in (left, right):
        for loss in loss_texts(table.name, table.losses):
            _say(screen, loss)
    _print_headline(screen, report)
    for position, step in enumerate(join.steps):
        if len(join.steps) > 1 or step.kind != "equal":
            _print_step(screen, join, position)
        elif step.why and not join.options.on:
            _say(screen, f"  {step.why}")
    for side, table in (("left", left), ("right", right)):
        share = f"{report[side + '_joined']:,} of {report[side + '_rows']:,} rows"
        _say(screen, f"  {share} of {table.name} have a partner")
    if report["pairs"] > report["left_joined"]:
        average = report["pairs"] / report["left_joined"]
        _say(screen, f"  joined rows of {left.name} have {average:,.1f} partners on average")
    for warning in report["warnings"]:
        screen.print(Text(f"warning: {warning}", "yellow"), soft_wrap=True)
    _print_notes(screen, report["notes"])
    _print_unmatched(screen, report)


def print_written(report: Report) -> None:
    """Print where the result was written."""
    click.echo(f"wrote {report['output']} ({size(report['bytes'])})")


def print_first(report: Report, left: NamedTable, right: NamedTable, again: str) -> None:
    """Print the first rows of the result, and the command that writes them all."""
    if not report["first"]:
        return
    click.echo()
    order = _column_order(report, left, right)
    heads = [report["columns"][index] for index in order]
    print_table(heads, ([row[index] for index in order] for row in report["first"]), least=12)
    click.echo(f"\n{len(report['first']):,} of {report['rows']:,} rows; to write them all:")
    click.echo(f"  {again} -o joined.csv")


def _print_headline(screen: Console, report: Report) -> None:
    pairs = " and ".join(f"{clip(pair['left'])} = {clip(pair['right'])}" for pair in report["on"])
    shape = f"{counted(report['rows'], 'row')}, {counted(len(report['columns']), 'column')}"
    confidence = "" if pairs else f"; confidence {_percent(report['sure'])}"
    on = f" on {pairs}" if pairs else ""
    _say(screen, f"{report['how']} join{on}: {shape}{confidence}")


def _print_step(screen: Console, join: Join, position: int) -> None:
    from lakejoin.joins.report import example_text

    step = join.steps[position]
    line = Text.assemble(f"  {position + 1}. {step.kind}: ", (clip(step.words, _WORDS), "bold"))
    screen.print(line, soft_wrap=True)
    rows = f"{counted(step.left_rows, 'left row')}, {counted(step.right_rows, 'right row')}"
    _say(screen, f"     {rows}; confidence {_percent(step.sure)}: {clip(step.why, _WORDS)}")
    for example in join.examples(EXAMPLES_PER_STEP):
        if example.step == position:
            screen.print(Text(f"     {example_text(example)}", "dim"), soft_wrap=True)


def _print_unmatched(screen: Console, report: Report) -> None:
    """Print some rows without a partner, each with the nearest value."""
    for side in ("left", "right"):
        examples = report["unmatched"][side]
        if not examples:
            continue
        rows = report[f"{side}_rows"] - report[f"{side}_joined"]
        _say(screen, f"  {counted(rows, f'{side} row')} without a partner, for example:")
        for row in examples:
            near = f"  (nearest: {clip(row['nearest'])})" if row["nearest"] is not None else ""
            screen.print(Text(f"     {clip(row['value'])}{near}", "dim"), soft_wrap=True)


def _percent(share: float) -> str:
    from lakejoin.joins.report import percent

    return percent(share)


def _column_order(report: Report, left: NamedTable, right: NamedTable) -> list[int]:
    """The order in which columns are shown: the keys side by side, then some of each table, so
    that a narrow screen shows something of both."""
    indices = {name: index for index, name in enumerate(report["columns"])}
    width, total = left.rows.num_columns, len(report["columns"])
    left_keys = [indices[name] for name in report["left_columns"]]
    names = right.rows.column_names
    right_keys = [width + names.index(name) for name in report["right_columns"]]
    if total != width + len(names):  # aggregation dropped some columns
        right_keys = []
    keys = _alternating(left_keys, right_keys)
    some = [index for index in range(width) if index not in keys][:_LEFT_COLUMNS]
    return list(dict.fromkeys([*keys, *some, *range(width, total), *range(width)]))


def _alternating(left: Sequence[int], right: Sequence[int]) -> list[int]:
    if len(left) != len(right):
        return [*left, *right]
    return [index for pair in zip(left, right, strict=True) for index in pair]


# -- predicates and foreign keys ---------------------------------------------------------------


def print_predicates(found: Predicates, report: Report) -> None:
    """Print the best predicates, with the first rows and the command of the very best."""
    from lakejoin.joins.predicates.predicate_text import facts_text, fewer_text, scores_text

    screen, preference = console(), found.preferences[0]
    tables = (f"{t['table']} ({counted(t['rows'], 'row')})" for t in report["tables"])
    _say(screen, ", ".join(tables))
    _say(screen, f"best for {preference.name}: {preference.when}")
    for rank, predicate in enumerate(found, start=1):
        screen.print()
        line = Text.assemble(f"{rank}. ", (clip(predicate.words, _WORDS), "bold"))
        screen.print(line, soft_wrap=True)
        if predicate.fewer_words:
            _say(screen, f"   {fewer_text(predicate)}")
        _say(screen, f"   {scores_text(predicate)}")
        _say(screen, f"   {facts_text(predicate)}")
        _print_notes(screen, predicate.notes, "   ")
    screen.print()
    _print_notes(screen, found.notes)
    _print_first_of_best(found.winner, report["predicates"][0])
    _print_command(report["predicates"][0]["command"])


def _print_command(command: str | None) -> None:
    if command is None:
        click.echo("to join them, repeat with --code sql, pandas, polars or pyspark")
    else:
        click.echo("to join them (--code sql, pandas, polars or pyspark prints it as code):")
        click.echo(f"  {command} -o joined.csv")


def _print_first_of_best(best: JoinPredicate, report: Report) -> None:
    """Print the first joined rows: the joined columns, then some of each table."""
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
        begins[n] + index
        for n, side in enumerate(sides)
        for index in range(min(_PREDICATE_COLUMNS, len(side.columns)))
    ]
    order = list(dict.fromkeys([*joined, *some, *range(len(report["columns"]))]))
    click.echo(f"the first of {counted(best.facts.inner, 'row')} joined by the best predicate:\n")
    heads = [report["columns"][index] for index in order]
    print_table(heads, ([row[index] for index in order] for row in report["first"]), least=12)
    click.echo()


def print_relations(found: Relations) -> None:
    """Print foreign keys as a table."""
    from lakejoin.joins.predicates.database_relations import format_columns

    screen = console()
    if found:
        heads = ["column", "refers to key", "rows", "missing", "score", "why"]
        rows = (
            [
                format_columns(relation.table, relation.columns),
                format_columns(relation.key_table, relation.key_columns),
                f"{relation.rows:,}",
                f"{relation.missing:,}",
                f"{relation.score:.2f}",
                relation.why,
            ]
            for relation in found.short
        )
        print_table(heads, rows, right=["rows", "missing", "score"])
        screen.print()
    _print_notes(screen, found.notes)
    among = f"among {counted(len(found.tables), 'table')}"
    _say(screen, f"{counted(len(found), 'likely foreign key')} {among}")


# -- joins as code -----------------------------------------------------------------------------


def join_code(join: Join | JoinPredicate, code: str, names: Sequence[str]) -> str:
    """The join as code, with a comment that shows how the tables are read."""
    reads = [_reading(name) for name in names]
    if code == "sql":
        views = (
            ["left_table", "right_table"]
            if len(names) == 2
            else [f"table_{n}" for n in range(1, len(names) + 1)]
        )
        lines = [
            f"-- con.register('{view}', {read}.to_arrow())"
            for view, read in zip(views, reads, strict=True)
        ]
        return "\n".join([*lines, join.to_sql()])
    if code == "standard-sql":
        return join.to_sql(dialect="standard")
    writers = {
        "pandas": (join.to_pandas_code, "{}.to_pandas()"),
        "polars": (join.to_polars_code, "{}.to_polars()"),
        "pyspark": (join.to_pyspark_code, "spark.createDataFrame({}.to_arrow())"),
    }
    write, frame = writers[code]
    frames = ", ".join(frame.format(read) for read in reads)
    return f"{write()}\n\n# joined = join({frames})"


def _reading(name: str) -> str:
    """Python code that reads a table."""
    from lakejoin.formats.file_reader import split_part

    path, part = split_part(name)
    if not path:
        return f"lakejoin.open().table({name!r})"
    if not part:
        return f"lakejoin.read({path!r})"
    return f"next(t for t in lakejoin.read({path!r}) if t.name.endswith({'#' + part!r}))"


def _print_notes(screen: Console, notes: Iterable[str], indent: str = "") -> None:
    for note in notes:
        screen.print(Text(f"{indent}note: {note}", "yellow"), soft_wrap=True)


def _say(screen: Console, text: str) -> None:
    screen.print(Text(text), soft_wrap=True)
