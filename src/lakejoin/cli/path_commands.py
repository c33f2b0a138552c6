"""The command `paths`: find chains of joins from one table to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lakejoin import api
from lakejoin.cli.options import index_option, json_option
from lakejoin.cli.terminal import console, print_json
from lakejoin.text_format import clip, seconds
from lakejoin.cli.waiting import explain_long_wait
from lakejoin.errors import InputError
from lakejoin.search.answer_display import format_bar, format_percent

if TYPE_CHECKING:
    from lakejoin.paths.answer import Path, Paths

_PATH_INDENT = "     "
_LONG_NAME = 200


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
    help="How many paths to show.",
)
@click.option(
    "--joins",
    type=click.IntRange(1, 4),
    default=4,
    show_default=True,
    metavar="N",
    help="The most joins a path may have.",
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
    """Find chains of joins that lead from TABLE to OTHER_TABLE.

    Each end is a table of the lake or a file of yours; the tables in between are from the lake.
    Paths are ranked by how many rows of TABLE survive, counted exactly for the best paths;
    coincidental joins are not used. With the graph that `lakejoin graph` builds, paths cover the
    whole lake except columns with fewer than 10 distinct values (its --least). Without it, joins
    are searched for from both ends, within a few tables.

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
    with explain_long_wait():
        found = lake.paths(table, other_table, k, joins)
    if as_json:
        print_json(found.to_dict())
    elif sql is not None:
        if sql > len(found):
            more = f"; -k {sql} may find more" if len(found) == k else ""
            raise InputError(found.none or f"there is no path {sql}: {len(found):,} found{more}")
        click.echo(found[sql - 1].sql())
    else:
        _print_paths(found)


def _print_paths(found: Paths) -> None:
    from rich.text import Text

    screen = console()
    for note in found.notes:
        screen.print(Text(f"note: {note}"), soft_wrap=True)
    if found.searched:
        note = "joins were searched for from both ends; run lakejoin graph to cover all tables"
        screen.print(Text(f"note: {note}"), soft_wrap=True)
    if not len(found):
        screen.print(Text(found.none), soft_wrap=True)
    for path in found:
        screen.print()
        for line in _path_lines(path):
            screen.print(Text(line) if isinstance(line, str) else line, soft_wrap=True)
    if len(found):
        screen.print(Text("\nthe SQL of path 1 (--sql N prints another):", "dim"))
        screen.print(Text(found[0].sql()), soft_wrap=True)
    screen.print(Text(f"\n{seconds(found.seconds)}", "dim"))


def _path_lines(path: Path) -> list[object]:
    from rich.text import Text

    share = path.survivors.share
    head = Text.assemble(
        (f"{path.rank:>2}   ", "dim"),
        (clip(path.joins[0].table, _LONG_NAME), "bold"),
    )
    steps = [
        f"{_PATH_INDENT}→ {clip(join.other_table, _LONG_NAME)}   by {join.column} = "
        f"{join.other_column} ({format_percent(join.containment)} of the values)"
        for join in path.joins
    ]
    figures = f"{path.rows:,} of {path.total:,} rows survive   the join has {path.joined:,} rows"
    summary = Text.assemble(_PATH_INDENT, (format_bar(share), "green"), f" {format_percent(share)}   {figures}")
    return [head, *steps, summary]
