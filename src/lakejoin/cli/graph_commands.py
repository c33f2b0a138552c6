"""The commands `graph` (the join graph of the lake) and `paths` (chains of joins between two
tables)."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from lakejoin import api
from lakejoin.cli.options import (
    EngineRun,
    count_option,
    engine_options,
    index_json_options,
)
from lakejoin.cli.terminal import (
    console,
    explain_long_wait,
    print_json,
    print_lines,
    print_report,
    print_table,
)
from lakejoin.errors import InputError
from lakejoin.graph.graph_export import check_export, check_writable
from lakejoin.inputs import index_location
from lakejoin.quoting import lakejoin_command
from lakejoin.render.report import line
from lakejoin.store.graph_files import GraphOptions
from lakejoin.text_format import counted, format_percent, seconds

if TYPE_CHECKING:
    from lakejoin.graph.graph_statistics import GraphStatistics
    from lakejoin.graph.join_graph import JoinGraph
    from lakejoin.graph.neighborhood import Neighborhood
    from lakejoin.paths.answer import Paths
    from lakejoin.pipeline.graph_build import GraphReport


_EDGES_SHOWN = 40


@click.command("graph")
@click.argument("table", required=False)
@click.option(
    "--containment",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="SHARE",
    help="Include pairs where one column contains this share of the other.  [default: 0.5]",
)
@click.option(
    "--least",
    type=click.IntRange(min=1),
    metavar="N",
    help="Leave out columns with fewer distinct values.  [default: 10]",
)
@click.option(
    "--most",
    type=click.IntRange(min=1),
    metavar="N",
    help="Keep at most the best N joinable columns per column.  [default: 1000]",
)
@click.option(
    "--min",
    "minimum",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Show, draw and export only edges with at least this containment.",
)
@click.option(
    "--numbers/--no-numbers",
    default=True,
    help="Include number columns (the default), or leave them out.",
)
@count_option("--hops", default=1, most=4, help="With TABLE: how many joins to follow.")
@click.option("--picture", metavar="FILE.svg", help="With TABLE: draw the tables around it.")
@click.option(
    "--export",
    metavar="FILE",
    help="Write all edges to a .parquet or .graphml file.",
)
@click.option("--full", is_flag=True, help="Count all pairs again, even if nothing changed.")
@click.option("--wait", default=0.0, metavar="SECONDS", help="As for `lakejoin index`.")
@engine_options
@index_json_options
def graph_command(
    table: str | None,
    containment: float | None,
    least: int | None,
    most: int | None,
    minimum: float | None,
    numbers: bool,
    hops: int,
    picture: str | None,
    export: str | None,
    full: bool,
    wait: float,
    run: EngineRun,
    index: str | None,
    as_json: bool,
) -> None:
    """Find out which tables in the lake join with which.

    Without TABLE, builds or updates the join graph, stores it with the index, and shows
    how well the lake joins. With TABLE, shows which tables join with it, on which columns, and what
    can be reached from there. Some overlap is coincidence: `lakejoin search` says which joins are
    real.

    \b
    Examples:
      lakejoin graph
      lakejoin graph airports.csv
      lakejoin graph airports.csv --hops 3 --min 1 --no-numbers --picture airports.svg
      lakejoin graph --export joins.graphml
    """
    options = {"containment": containment, "least": least, "most": most}
    options = {name: value for name, value in options.items() if value is not None}
    if table is not None and options:
        raise InputError(f"--{next(iter(options))} applies to building the graph: leave out TABLE")
    if table is None and picture is not None:
        raise InputError("--picture draws the tables around a TABLE: name one")
    if table is not None and full:
        raise InputError("--full applies to building the graph: leave out TABLE")
    if export is not None:
        check_export(export)  # fail before anything is counted
    if picture is not None:
        check_writable(picture)
    report = None
    if table is None:
        report = _build(index, options, run, wait, full, quiet=as_json)
    graph = api.open(index).graph()
    if export is not None:
        written = graph.export(export, minimum, numbers)
        click.echo(f"wrote {counted(written, 'edge')} to {export}", err=True)
    if table is None:
        statistics = graph.statistics(minimum, numbers)
        if as_json:
            print_json({"made": asdict(report) if report else None, **statistics.to_dict()})
        else:
            assert report is not None
            _print_statistics(graph, report, statistics)
        return
    around = graph.around(table, hops, minimum, numbers)
    if picture is not None:
        around.picture(picture)
        click.echo(f"drew {counted(len(around) + 1, 'table')} in {picture}", err=True)
    if as_json:
        print_json({**around.to_dict(), "complete": graph.complete})
    else:
        _print_around(graph, around, index_location(index).uri)


def _build(
    index: str | None,
    options: dict[str, Any],
    run: EngineRun,
    wait: float,
    full: bool,
    quiet: bool,
) -> GraphReport:
    """Build the graph; the options of an existing graph hold unless others are named."""
    from lakejoin.cli.build_commands import show_progress
    from lakejoin.pipeline.graph_build import build_graph, usable_graph

    with show_progress(quiet) as listener:
        chosen = None
        if options:
            stored = usable_graph(api.open(index).snapshot)
            chosen = replace(GraphOptions() if stored is None else stored.options, **options)
        return build_graph(index_location(index), chosen, run.start, listener, wait, full)


def _print_statistics(graph: JoinGraph, report: GraphReport, found: GraphStatistics) -> None:
    took = seconds(report.seconds["total"])
    done = f"counted {counted(report.counted, 'pair')}" if report.fresh else "read"
    options = graph.options
    click.echo(
        f"{counted(report.pairs, 'pair')} of columns join: one has at least {options.least:,} "
        f"distinct values, and the other contains {format_percent(options.containment)} of them "
        f"or more ({done} in {took})"
    )
    if report.cut:
        click.echo(
            f"{counted(report.cut, 'column')} had more than {options.most:,} joinable columns; "
            "the best were kept (--most N keeps more)"
        )
    low, middle, high = found.quartiles
    click.echo(
        f"\n{found.joined:,} of {counted(found.tables, 'table')} join with another table, on "
        f"{counted(found.columns, 'column')} with {counted(found.edges, 'edge')}"
    )
    if found.number_edges:
        click.echo(f"{found.number_edges:,} edges connect numbers (--no-numbers leaves them out)")
    click.echo(
        f"joinable tables per table: median {middle:,}, half of all tables between {low:,} and "
        f"{high:,}, at most {found.most:,}"
    )
    if found.components:
        click.echo(
            f"{counted(found.components, 'group')} of connected tables, the largest with "
            f"{counted(found.largest, 'table')}"
        )
    if found.sample:
        click.echo("\na random sample of tables:")
        rows = [(row.table, f"{row.tables:,}", f"{row.columns:,}") for row in found.sample]
        heads = ("table", "joinable tables", "joinable columns")
        print_table(heads, rows, right=heads[1:])
    if found.reach is not None:
        steps = ", then ".join(f"{number:,}" for number in found.reach.tables)
        click.echo(
            f"\ntables reached from {found.reach.table}, where each column contains all values of "
            f"the one before, one join at a time: {steps}"
        )


def _print_around(graph: JoinGraph, around: Neighborhood, index: str) -> None:
    if not graph.complete:
        update = lakejoin_command("graph", index)
        click.echo(f"note: the graph is older than the index; update it with: {update}")
    if not around.steps:
        click.echo(f"no table in the lake contains enough of any column of {around.table}")
        return
    reached = ", then ".join(f"{number:,}" for number in around.hops())
    click.echo(f"tables reached from {around.table}, one join at a time: {reached}")
    rows: list[tuple[str, ...]] = [
        (
            f"{step.hop}",
            step.other_table,
            f"{step.column} = {step.other_column}",
            format_percent(step.share),
            f"{step.shared:,}",
            step.table if step.hop > 1 else "",
        )
        for step in around.steps[:_EDGES_SHOWN]
    ]
    heads = ["joins", "table", "columns", "contained", "values", "from"]
    if all(step.hop == 1 for step in around.steps):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    print_table(heads, rows, right=("joins", "contained", "values"))
    if len(around) > _EDGES_SHOWN:
        click.echo(f"… and {len(around) - _EDGES_SHOWN:,} more; --json shows all")


@click.command("paths")
@click.argument("table")
@click.argument("other_table")
@count_option("-k", default=5, metavar="N", help="How many paths to show.")
@count_option("--joins", default=4, most=4, metavar="N", help="The most joins in a path.")
@click.option(
    "--sql",
    type=click.IntRange(min=1),
    metavar="N",
    help="Print only the SQL of path N, for DuckDB.",
)
@index_json_options
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

    Each end is a table in the lake or a file of yours; the tables in between are from the lake.
    Paths are ranked by how many rows of TABLE survive, counted exactly for the best paths;
    coincidental joins are not used. With the graph that `lakejoin graph` builds, paths cover the
    whole lake except columns with fewer than 10 distinct values (its --least). Without it, joins
    are searched for from both ends, a few tables deep.

    \b
    Examples:
      lakejoin paths flights.csv countries.csv
      lakejoin paths mine.csv countries.csv --joins 2
      lakejoin paths flights.csv countries.csv --sql 1 | duckdb
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
    screen = console()
    print_report(screen, found.report())
    if len(found):
        head = line("the SQL of path 1 (--sql N prints another):", style="dim")
        print_lines(screen, [line(), head, line(found[0].sql())])
    print_lines(screen, [line(), line(seconds(found.seconds), style="dim")])
