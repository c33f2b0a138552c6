"""The command that adds columns of the lake which help to predict a target: enrich."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lakejoin import api
from lakejoin.app.given import given_table
from lakejoin.app.lake_commands import index_option, json_option
from lakejoin.app.printing import counted, print_json, print_table, size
from lakejoin.app.waiting import told
from lakejoin.errors import InputError, NoJoin
from lakejoin.search.display import percent

if TYPE_CHECKING:
    from lakejoin.enrich.enriching import Enriched

_LEFT_OUT = 8  # that are told one by one


@click.command("enrich")
@click.argument("table")
@click.option(
    "--on",
    "keys",
    multiple=True,
    required=True,
    metavar="COLUMN",
    help="The key that tables are joined by. May be given several times, for a composite key.",
)
@click.option("--target", required=True, metavar="COLUMN", help="The column to be predicted.")
@click.option(
    "-o",
    "--output",
    "--out",
    metavar="FILE",
    help="Where to write the enriched table. The ending says the format: .csv, .csv.gz, .tsv, "
    ".parquet, .arrow. A file that is there is replaced once the new one is whole.",
)
@click.option(
    "--by",
    type=click.Choice(["auto", "equal", "fuzzy", "meaning"]),
    default="auto",
    show_default=True,
    help="How keys may meet: equal values; also rewritten and similar ones; also texts that mean "
    "the same; or all that a search finds.",
)
@click.option(
    "--task",
    type=click.Choice(["auto", "regression", "classification"]),
    default="auto",
    show_default=True,
    help="What the target is; auto tells by its values.",
)
@click.option(
    "--tables",
    type=click.IntRange(min=1),
    default=30,
    show_default=True,
    help="How many tables that join are looked at.",
)
@click.option(
    "--columns",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How many columns are added at most.",
)
@click.option(
    "--sample",
    type=click.IntRange(min=50),
    default=2_000,
    show_default=True,
    help="By how many rows columns are chosen.",
)
@click.option(
    "--folds",
    type=click.IntRange(2, 20),
    default=5,
    show_default=True,
    help="Of the cross-validation that measures the lift.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of folds and noise.")
@index_option
@json_option
def enrich_command(
    table: str,
    keys: tuple[str, ...],
    target: str,
    output: str | None,
    columns: int,
    sample: int,
    seed: int,
    index: str | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Adds columns of the lake to TABLE that help to predict a column of it.

    TABLE is a file, or a table of the lake. Tables that join on the key are searched for; of their
    columns those are taken that predict the target better out of fold than noise does. Where a key
    has many rows in a table, numbers become their mean and other values the most frequent one. The
    enriched table has all rows and columns of TABLE, in their order, and the new columns behind
    them. TABLE itself, versions of it, and columns that are the target are left out and told.

    The lift is by how much the score gets better than without the lake: the error (RMSE) of
    numbers, or the share of right classes (micro-F1). It is measured by cross-validation, with the
    columns chosen anew in every fold. If nothing helps, nothing is written and the exit code is 1.

    \b
    Examples:
      lakejoin enrich sales.csv --on town --target revenue -o enriched.csv
      lakejoin enrich trips.parquet --on day --on station --target delay --by equal
      lakejoin enrich companies.csv --on name --target sector -o enriched.parquet --json

    \b
    JSON keys: table, on[], target, task, by, rows, sample, tables, looked_at, found, why, columns[]
    with name, table, column, made, mine[], theirs[], kinds[], worth, full; left_out[] with table,
    column, why; lift{score, folds, folds_by_key, without{mean, spread}, with{mean, spread}, lift,
    lift_spread}, notes[], output, bytes
    """
    from lakejoin.enrich import joiner
    from lakejoin.joins.output import check_output, write

    if output is not None:
        check_output(output)
    joiner()  # says at once if scikit-learn is missing
    from lakejoin.enrich.enriching import Asked, enriched
    from lakejoin.enrich.preparing import Limits

    lake = api.open(index)
    given = given_table(table, lake)
    if len(set(given.rows.column_names)) < given.rows.num_columns:
        raise InputError(f"{table} has columns with the same name: rename them first")
    limits = Limits(sample, columns, seed)
    with told() as tell:
        found = enriched(
            lake,
            given.rows,
            Asked(keys, target, exclude=(table,), limits=limits, **asked),
            tell,
        )
    report = {"table": table, **found.to_dict(), "output": None, "bytes": None}
    if not found:
        if as_json:
            print_json(report)
            raise SystemExit(NoJoin.exit_code)
        _print_left_out(found)
        raise NoJoin(found.why)
    if output is not None:
        rows = found.table
        written = write(rows.to_batches(), rows.schema, output)
        report |= {"output": output, "bytes": written}
    if as_json:
        print_json(report)
    else:
        _print(found, report)


def _print(found: Enriched, report: dict[str, Any]) -> None:
    """What was found, for people."""
    click.echo(
        f"{counted(found.tables, 'table')} of the lake join on "
        f"{' and '.join(found.asked.on)}; {counted(len(found.columns), 'column')} of "
        f"{report['looked_at']:,} help to predict {found.asked.target}"
    )
    click.echo()
    rows = [
        (
            one["name"],
            one["table"],
            one["column"] if one["made"] != "rows" else "",
            one["made"],
            f"{' '.join(one['mine'])} {_sign(one['kinds'])} {' '.join(one['theirs'])}",
            percent(one["full"]),
            f"{one['worth']:.3f}",
        )
        for one in report["columns"]
    ]
    heads = ["new column", "from table", "column", "made", "joined by", "full", "worth"]
    print_table(heads, rows, right=["full", "worth"])
    click.echo()
    _print_left_out(found)
    _print_lift(found)
    for note in found.choice.notes:
        click.echo(f"note: {note}")
    if report["output"] is not None:
        click.echo(f"written to {report['output']}: {size(report['bytes'])}")


def _sign(kinds: list[str]) -> str:
    return "=" if kinds == ["equal"] else "~"


def _print_left_out(found: Enriched) -> None:
    left_out = found.choice.left_out
    for one in left_out[:_LEFT_OUT]:
        click.echo(f"left out: {one}")
    if len(left_out) > _LEFT_OUT:
        click.echo(f"left out: … and {len(left_out) - _LEFT_OUT:,} more; --json shows all")


def _print_lift(found: Enriched) -> None:
    lift = found.lift
    if lift is None:
        return
    told = lift.to_dict()
    before, after = told["without"], told["with"]
    by_key = ", with all rows of a key in the same one" if lift.keys else ""
    click.echo(
        f"{lift.score} without the lake {before['mean']:.4g} ± {before['spread']:.2g}, with it "
        f"{after['mean']:.4g} ± {after['spread']:.2g}: a lift of {lift.mean:+.1%} ± "
        f"{lift.spread:.1%} ({told['folds']} folds of {found.sample:,} rows{by_key})"
    )
