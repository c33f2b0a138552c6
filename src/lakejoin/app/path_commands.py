"""The command that finds how tables lead to each other: paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lakejoin import api
from lakejoin.app.lake_commands import index_option, json_option
from lakejoin.app.printing import clip, console, print_json, seconds
from lakejoin.app.waiting import patience
from lakejoin.errors import InputError
from lakejoin.search.display import bar, percent

if TYPE_CHECKING:
    from lakejoin.discovery.paths.answer import Path, Paths

_INDENT = "     "
_LONG = 200


@click.command("paths")
@click.argument("table")
@click.argument("other_table")
@click.option(
    "-k",
    "k",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    metavar="N",
    help="How many paths.",
)
@click.option(
    "--joins",
    type=click.IntRange(1, 4),
    default=4,
    show_default=True,
    metavar="N",
    help="How many joins a path may have.",
)
@click.option(
    "--sql",
    type=click.IntRange(min=1),
    metavar="N",
    help="Print only the SQL of path N, for DuckDB.",
)
@index_option
@json_option
def paths_command(
    table: str,
    other_table: str,
    k: int,
    joins: int,
    sql: int | None,
    index: str | None,
    as_json: bool,
) -> None:
    """How do I get from TABLE to OTHER_TABLE by joins?

    Each is a table of the lake, or a file of yours; what lies between them is of the lake. Paths
    are ranked by how many rows of TABLE survive, which is counted exactly for the best of them;
    joins that are only accidents are not taken. With the graph that `lakejoin graph` makes, the
    whole lake is looked at, but for columns with fewer than 10 distinct values (its --least);
    without it, joins are searched for from both ends, a few tables far.

    \b
    Examples:
      lakejoin paths flights.csv countries.csv
      lakejoin paths mine.csv countries.csv --joins 2
      lakejoin paths flights.csv countries.csv --sql 1 | duckdb

    \b
    JSON keys: table, other_table, paths[] with rank, joins[] with table, column, other_table,
    other_column, shared, containment, rows, total, joined, sql, none, searched, notes[], seconds
    """
    lake = api.open(index)
    with patience():
        found = lake.paths(table, other_table, k, joins)
    if as_json:
        print_json(found.to_dict())
    elif sql is not None:
        if sql > len(found):
            more = f", and -k {sql} may find more" if len(found) == k else ""
            raise InputError(found.none or f"there is no path {sql}: {len(found):,} found{more}")
        click.echo(found[sql - 1].sql())
    else:
        _print(found)


def _print(found: Paths) -> None:
    from rich.text import Text

    screen = console()
    for said in found.notes:
        screen.print(Text(f"note: {said}"), soft_wrap=True)
    if found.searched:
        note = "joins were searched for from both ends; lakejoin graph looks at all tables"
        screen.print(Text(f"note: {note}"), soft_wrap=True)
    if not len(found):
        screen.print(Text(found.none), soft_wrap=True)
    for path in found:
        screen.print()
        for line in _lines(path):
            screen.print(Text(line) if isinstance(line, str) else line, soft_wrap=True)
    if len(found):
        screen.print(Text("\nthe SQL of path 1 (--sql N prints another):", "dim"))
        screen.print(Text(found[0].sql()), soft_wrap=True)
    screen.print(Text(f"\n{seconds(found.seconds)}", "dim"))


def _lines(path: Path) -> list[object]:
    from rich.text import Text

    share = path.survivors.share
    head = Text.assemble(
        (f"{path.rank:>2}   ", "dim"),
        (clip(path.joins[0].table, _LONG), "bold"),
    )
    steps = [
        f"{_INDENT}→ {clip(join.other_table, _LONG)}   by {join.column} = {join.other_column} "
        f"({percent(join.containment)} of the values)"
        for join in path.joins
    ]
    figures = f"{path.rows:,} of {path.total:,} rows survive   the join has {path.joined:,} rows"
    told = Text.assemble(_INDENT, (bar(share), "green"), f" {percent(share)}   {figures}")
    return [head, *steps, told]
