"""The command `enrich`: add lake columns that help to predict a target column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lakejoin import api
from lakejoin.cli.options import count_option, index_json_options
from lakejoin.cli.terminal import (
    print_json,
    print_table,
    status_or_explanation,
    stop_without_join,
)
from lakejoin.errors import InputError
from lakejoin.inputs import resolve_table
from lakejoin.text_format import format_percent, size

if TYPE_CHECKING:
    from lakejoin.enrich.enrichment import Enrichment

_LEFT_OUT_SHOWN = 8


@click.command("enrich")
@click.argument("table")
@click.option(
    "--on",
    "keys",
    multiple=True,
    required=True,
    metavar="COLUMN",
    help="The column to join on. Repeat for a composite key.",
)
@click.option("--target", required=True, metavar="COLUMN", help="The column to predict.")
@click.option(
    "-o",
    "--output",
    "--out",
    metavar="FILE",
    help="Where to write the enriched table: .csv, .csv.gz, .tsv, .parquet or .arrow.",
)
@click.option(
    "--by",
    type=click.Choice(["auto", "equal", "fuzzy", "meaning"]),
    default="auto",
    show_default=True,
    help="How keys match: equal only, similar too, by meaning too, or whatever a search finds.",
)
@click.option(
    "--task",
    type=click.Choice(["auto", "regression", "classification"]),
    default="auto",
    show_default=True,
    help="The kind of prediction.",
)
@count_option("--tables", default=30, help="How many joinable tables to examine.")
@count_option("--columns", default=20, help="The most columns to add.")
@count_option(
    "--sample", default=2_000, least=50, help="How many rows to use when choosing columns."
)
@count_option(
    "--folds",
    default=5,
    least=2,
    most=20,
    help="The number of cross-validation folds that measure the lift.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="The random seed for folds and noise."
)
@index_json_options
def enrich_command(
    table: str,
    keys: tuple[str, ...],
    output: str | None,
    index: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Add lake columns to TABLE that help to predict one of its columns.

    TABLE is a file or a table in the lake. lakejoin takes the columns of joinable tables that
    predict the target better out of fold than noise does, and appends them to TABLE. The lift is
    how much they improve the score (RMSE for numbers, micro-F1 for classes), measured by
    cross-validation. If nothing helps, nothing is written and the exit code is 1.

    \b
    Examples:
      lakejoin enrich sales.csv --on town --target revenue -o enriched.csv
      lakejoin enrich trips.parquet --on day --on station --target delay --by equal
    """
    from lakejoin.enrich import joiner
    from lakejoin.joins.output import check_output, write_table

    if output is not None:
        check_output(output)
    joiner()  # fails early if scikit-learn is missing
    from lakejoin.enrich.enrichment import enrich_table
    from lakejoin.enrich.links import EnrichOptions

    lake = api.open(index)
    query_rows = resolve_table(table, lake.snapshot).rows
    if len(set(query_rows.column_names)) < query_rows.num_columns:
        raise InputError(f"{table} has several columns with the same name: rename them first")
    request = EnrichOptions(keys, exclude=(table,), **options)
    with status_or_explanation() as progress:
        found = enrich_table(lake, query_rows, request, progress)
    report = {"table": table, **found.to_dict(), "output": None, "bytes": None}
    if not found:
        if not as_json:
            _print_left_out(found)
        stop_without_join(found.why, report, as_json)
    if output is not None:
        rows = found.table
        written = write_table(rows.to_batches(), rows.schema, output)
        report |= {"output": output, "bytes": written}
    if as_json:
        print_json(report)
    else:
        _print(found, report)


def _print(found: Enrichment, report: dict[str, Any]) -> None:
    """Print the new columns, what was left out, and the lift."""
    click.echo(
        f"tables in the lake that join on {' and '.join(report['on'])}: {found.tables:,}; "
        f"columns that help to predict {found.options.target}: {len(found.columns):,} of "
        f"{report['looked_at']:,}"
    )
    click.echo()
    rows = [
        (
            column["name"],
            column["table"],
            column["column"] if column["made"] != "rows" else "",
            column["made"],
            f"{' '.join(column['mine'])} {_sign(column['kinds'])} {' '.join(column['theirs'])}",
            format_percent(column["full"]),
            f"{column['worth']:.3f}",
        )
        for column in report["columns"]
    ]
    heads = ["new column", "from table", "column", "made by", "joined on", "filled", "gain"]
    print_table(heads, rows, right=["filled", "gain"])
    click.echo()
    _print_left_out(found)
    _print_lift(found)
    for note in found.choice.notes:
        click.echo(f"note: {note}")
    if report["output"] is not None:
        click.echo(f"wrote {report['output']} ({size(report['bytes'])})")


def _sign(kinds: list[str]) -> str:
    return "=" if kinds == ["equal"] else "~"


def _print_left_out(found: Enrichment) -> None:
    left_out = found.choice.left_out
    for column in left_out[:_LEFT_OUT_SHOWN]:
        click.echo(f"left out: {column}")
    if len(left_out) > _LEFT_OUT_SHOWN:
        click.echo(f"left out: … and {len(left_out) - _LEFT_OUT_SHOWN:,} more; --json shows all")


def _print_lift(found: Enrichment) -> None:
    lift = found.lift
    if lift is None:
        return
    figures = lift.to_dict()
    before, after = figures["without"], figures["with"]
    by_key = ", all rows of a key in the same fold" if lift.keys else ""
    click.echo(
        f"{lift.score} without the lake {before['mean']:.4g} ± {before['spread']:.2g}, with it "
        f"{after['mean']:.4g} ± {after['spread']:.2g}: a lift of {lift.mean:+.1%} ± "
        f"{lift.spread:.1%} ({figures['folds']} folds of {found.sample:,} rows{by_key})"
    )
