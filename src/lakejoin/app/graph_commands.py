"""The command that makes and shows the join graph: graph."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from lakejoin import api
from lakejoin.app.cluster import cluster_options, settings_of
from lakejoin.app.lake_commands import index_option, json_option
from lakejoin.app.printing import counted, print_json, print_table, seconds
from lakejoin.discovery.graph.exporting import check_export, check_writable
from lakejoin.errors import InputError
from lakejoin.search.display import percent

if TYPE_CHECKING:
    from lakejoin.discovery.graph.around import Around
    from lakejoin.discovery.graph.joingraph import JoinGraph
    from lakejoin.discovery.graph.statistics import Statistics
    from lakejoin.spark.graph import GraphReport
    from lakejoin.store.graph import GraphOptions

_SHOWN = 40


@click.command("graph")
@click.argument("table", required=False)
@click.option(
    "--containment",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="SHARE",
    help="Which pairs the graph holds: those where one column has at least this share of the "
    "other's distinct values.  [default: the graph's own; 0.5 for a new one]",
)
@click.option(
    "--least",
    type=click.IntRange(min=1),
    metavar="N",
    help="Leave out columns with fewer distinct values, which are contained in others by accident."
    "  [default: the graph's own; 10 for a new one]",
)
@click.option(
    "--most",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many columns that hold most of it a column keeps.  [default: the graph's own; 1000 "
    "for a new one]",
)
@click.option(
    "--min",
    "minimum",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Show, draw and write only what contains at least this share.  [default: all]",
)
@click.option(
    "--numbers/--no-numbers",
    default=True,
    help="With columns of numbers, or without: the numbers from 1 on are in very many columns.",
)
@click.option(
    "--hops",
    type=click.IntRange(1, 4),
    default=1,
    show_default=True,
    help="With TABLE: how many joins away.",
)
@click.option("--picture", metavar="FILE.svg", help="With TABLE: draw what lies around it.")
@click.option(
    "--export",
    metavar="FILE",
    help="Write all edges to a .parquet or .graphml file.",
)
@click.option("--full", is_flag=True, help="Count everything anew, also where nothing changed.")
@click.option("--wait", default=0.0, metavar="SECONDS", help="As for index.")
@cluster_options
@index_option
@json_option
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
    master: str | None,
    conf: tuple[str, ...],
    index: str | None,
    as_json: bool,
) -> None:
    """Which tables of the lake join with which?

    Without TABLE, the join graph is made, or refreshed where tables are new or have gone, and kept
    with the index; you see how joinable the lake is. It is a Spark job; with nothing to do, no
    Spark is started. With TABLE, you see from the graph which tables can be joined with it, by
    which columns, and what can be reached from there.

    An edge leads from a column to one of another table that contains it. Columns meet by accident
    too: a search with --by fused tells which joins are to be believed.

    \b
    Examples:
      lakejoin graph
      lakejoin graph airports.csv
      lakejoin graph airports.csv --hops 3 --min 1 --no-numbers --picture airports.svg
      lakejoin graph --export joins.graphml

    \b
    JSON keys: made{version, pairs, counted, cut, segments, fresh, seconds{…}}, tables, joined,
    columns, edges, number_edges, quartiles[], most, components, largest, sample[] with table,
    tables, columns, reach{table, tables[]}

    \b
    or with table, reached[], steps[] with hop, table, column, other_table, other_column, shared,
    containment, complete
    """
    asked = {"containment": containment, "least": least, "most": most}
    asked = {name: value for name, value in asked.items() if value is not None}
    if table is not None and asked:
        raise InputError(f"--{next(iter(asked))} is for making the graph: leave TABLE out")
    if table is None and picture is not None:
        raise InputError("--picture draws what lies around a table: name one")
    if table is not None and full:
        raise InputError("--full is for making the graph: leave TABLE out")
    if export is not None:
        check_export(export)  # before anything is counted
    if picture is not None:
        check_writable(picture)
    making = Making(index, asked, master, conf, wait, full)
    made = _make(making, as_json) if table is None else None
    graph = api.open(index).graph()
    if export is not None:
        written = graph.export(export, minimum, numbers)
        click.echo(f"wrote {counted(written, 'edge')} to {export}", err=True)
    if table is None:
        statistics = graph.statistics(minimum, numbers)
        if as_json:
            print_json({"made": asdict(made) if made else None, **statistics.to_dict()})
        else:
            assert made is not None
            _print_statistics(graph, made, statistics)
        return
    around = graph.around(table, hops, minimum, numbers)
    if picture is not None:
        around.picture(picture)
        click.echo(f"drew {counted(len(around) + 1, 'table')} in {picture}", err=True)
    if as_json:
        print_json({**around.to_dict(), "complete": graph.complete})
    else:
        _print_around(graph, around)


@dataclass(frozen=True, slots=True)
class Making:
    """How a graph is to be made."""

    index: str | None
    asked: dict[str, Any]
    master: str | None
    conf: tuple[str, ...]
    wait: float
    full: bool


def _make(making: Making, quiet: bool) -> GraphReport:
    from lakejoin.app.build_commands import shown_progress
    from lakejoin.opened import index_place
    from lakejoin.spark.build import Cluster
    from lakejoin.spark.graph import make_graph

    place = index_place(making.index)
    with shown_progress(quiet) as listener:
        cluster = Cluster(None, making.master, settings_of(making.conf))
        options = _options(making)
        return make_graph(place, options, cluster, listener, making.wait, making.full)


def _options(making: Making) -> GraphOptions | None:
    """What was asked for, and else what the graph has."""
    from lakejoin.spark.graph import usable_graph
    from lakejoin.store.graph import GraphOptions

    if not making.asked:
        return None
    stored = usable_graph(api.open(making.index).snapshot)
    return replace(GraphOptions() if stored is None else stored.options, **making.asked)


def _print_statistics(graph: JoinGraph, made: GraphReport, found: Statistics) -> None:
    took = seconds(made.seconds["total"])
    done = f"counted {counted(made.counted, 'pair')} in {took}" if made.fresh else f"read in {took}"
    options = graph.options
    click.echo(
        f"{counted(made.pairs, 'pair')} of columns join, one with at least "
        f"{percent(options.containment)} of the other's {options.least:,} or more distinct values "
        f"({done})"
    )
    if made.cut:
        click.echo(
            f"{counted(made.cut, 'column')} had more than {options.most:,} partners and kept the "
            "best; --most keeps more"
        )
    low, middle, high = found.quartiles
    click.echo(
        f"\n{found.joined:,} of {counted(found.tables, 'table')} join with another, by "
        f"{counted(found.columns, 'column')} and {counted(found.edges, 'edge')}"
    )
    if found.number_edges:
        click.echo(f"{found.number_edges:,} of the edges are of numbers (--no-numbers: without)")
    click.echo(
        f"partners of a table: {middle:,} in the middle, half of all tables between {low:,} and "
        f"{high:,}, at most {found.most:,}"
    )
    if found.components:
        click.echo(
            f"{counted(found.components, 'group')} of tables hang together, the largest has "
            f"{found.largest:,}"
        )
    if found.sample:
        click.echo("\nsome tables, drawn at random:")
        rows = [(one.table, f"{one.tables:,}", f"{one.columns:,}") for one in found.sample]
        heads = ("table", "joinable tables", "joinable columns")
        print_table(heads, rows, right=heads[1:])
    if found.reach is not None:
        steps = ", then ".join(f"{number:,}" for number in found.reach.tables)
        click.echo(
            f"\nfrom {found.reach.table} by one join after the other, to columns that hold all "
            f"values of the one before: {steps} more tables"
        )


def _print_around(graph: JoinGraph, around: Around) -> None:
    if not graph.complete:
        click.echo("note: the graph is older than the index; lakejoin graph refreshes it")
    if not around.steps:
        click.echo(f"no table of the lake contains a column of {around.table} to such a share")
        return
    reached = ", then ".join(f"{number:,}" for number in around.hops())
    click.echo(f"from {around.table} by one join after the other: {reached} tables")
    rows: list[tuple[str, ...]] = [
        (
            f"{step.hop}",
            step.other_table,
            f"{step.column} = {step.other_column}",
            percent(step.share),
            f"{step.shared:,}",
            step.table if step.hop > 1 else "",
        )
        for step in around.steps[:_SHOWN]
    ]
    heads = ["joins", "table", "columns", "contained", "values", "from"]
    if all(step.hop == 1 for step in around.steps):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    print_table(heads, rows, right=("joins", "contained", "values"))
    if len(around) > _SHOWN:
        click.echo(f"… and {len(around) - _SHOWN:,} more; --json shows all")
