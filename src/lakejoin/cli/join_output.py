"""Print joins, join predicates and foreign keys on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from lakejoin.cli.terminal import console, print_lines, print_report, print_table
from lakejoin.formats.file_reader import split_part
from lakejoin.joins.join_report import describe_join, loss_texts
from lakejoin.render.headlines import headline_relations
from lakejoin.render.report import lines
from lakejoin.text_format import counted, size

if TYPE_CHECKING:
    from lakejoin.joins.join import Join
    from lakejoin.joins.join_inputs import JoinInput
    from lakejoin.joins.predicates.database_relations import Relations
    from lakejoin.joins.predicates.join_predicate import JoinPredicate, Predicates

_LEFT_COLUMNS = 4  # shown before the columns of the right table
_PREDICATE_COLUMNS = 6  # of each table, besides the joined ones, in the rows that are shown

JsonReport = dict[str, Any]


def print_join(report: JsonReport, left: JoinInput, right: JoinInput) -> None:
    """Print how two tables join, step by step."""
    screen = console()
    for table in (left, right):
        print_lines(screen, lines(loss_texts(table.name, table.losses)))
    print_report(screen, describe_join(report))


def print_written(report: JsonReport) -> None:
    click.echo(f"wrote {report['output']} ({size(report['bytes'])})")


def print_first(report: JsonReport, left: JoinInput, right: JoinInput, again: str) -> None:
    """Print the first rows of the result, and the command that writes them all."""
    if not report["first"]:
        return
    click.echo()
    order = _column_order(report, left, right)
    heads = [report["columns"][index] for index in order]
    print_table(heads, ([row[index] for index in order] for row in report["first"]), least=12)
    click.echo(f"\n{len(report['first']):,} of {report['rows']:,} rows; to write them all:")
    click.echo(f"  {again} -o joined.csv")


def _column_order(report: JsonReport, left: JoinInput, right: JoinInput) -> list[int]:
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


def print_predicates(found: Predicates, report: JsonReport) -> None:
    """Print the best predicates, with the first rows and the command of the very best."""
    tables = (f"{t['table']} ({counted(t['rows'], 'row')})" for t in report["tables"])
    click.echo(", ".join(tables))
    print_report(console(), found.report())
    click.echo()
    _print_first_of_best(found.winner, report["predicates"][0])
    _print_command(report["predicates"][0]["command"])


def _print_command(command: str | None) -> None:
    if command is None:
        click.echo("to join them, repeat with --code sql, pandas, polars or pyspark")
    else:
        click.echo("to join them (--code sql, pandas, polars or pyspark prints it as code):")
        click.echo(f"  {command} -o joined.csv")


def _print_first_of_best(best: JoinPredicate, report: JsonReport) -> None:
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
    title = headline_relations(len(found), len(found.tables))
    print_report(console(), replace(found.report(), title=title))


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
    path, part = split_part(name)
    if not path:
        return f"lakejoin.open().table({name!r})"
    if not part:
        return f"lakejoin.read({path!r})"
    return f"next(t for t in lakejoin.read({path!r}) if t.name.endswith({'#' + part!r}))"
