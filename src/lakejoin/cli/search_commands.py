"""The command `search`, and the commands that search with one engine: `overlap`, `containment`,
`composite`, `similar` and `nearby`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from lakejoin import api
from lakejoin.cli.options import (
    RESULTS_PER_ANSWER,
    Command,
    SearchRun,
    query_options,
    run_options,
)
from lakejoin.cli.terminal import explain_long_wait
from lakejoin.errors import InputError
from lakejoin.lake_search import check_column_count
from lakejoin.search.options import (
    AUTO,
    DEFAULT_K,
    DEFAULT_MIN,
    MEASURES,
    METRICS,
    ByDistance,
    ByMeaning,
    SearchOptions,
)

_COLUMN = (
    "A column of TABLE: its name or zero-based index; '*' for each column.  [default: the most "
    "key-like text column]"
)
_TOP = f"How many columns to show.  [default: {DEFAULT_K}]"
_ALL = "Show the best N.  [default: all that qualify]"
_EXPLAIN = "Show result N in detail: its values, what was read, and the SQL."


@click.command("search")
@query_options(
    "A column of TABLE: name or zero-based index. Repeat for a composite key; COLUMN=OTHER "
    "matches it with lake columns named OTHER only.  [default: every column that may be a key]",
    f"How many tables to show.  [default: {DEFAULT_K}]",
)
@run_options("Show the evidence for result N, in nats; without N, for all results.")
def search_command(run: SearchRun) -> None:
    """Find the tables in the lake that join best with TABLE, and what they add.

    TABLE is a file or a table in the lake. Every engine that applies searches with every column
    that may be a key; coincidental overlap is listed separately. To search with one engine, use
    lakejoin overlap, containment, composite, similar or nearby.

    \b
    Examples:
      lakejoin search mine.csv
      lakejoin search mine.csv --on city --explain 1
      lakejoin search mine.csv --on first_name --on last_name --on country=land
      lakejoin search --batch folder/ -k 1
    """
    k = max(run.k or DEFAULT_K, run.explain or 0)
    _show_answers(run, SearchOptions("fused", k))


def _limit_options(least: str) -> Callable[[Command], Command]:
    """`--min-share`, with its default, and `--skip-copies`."""

    def decorate(command: Command) -> Command:
        command = click.option(
            "--skip-copies", is_flag=True, help="Leave out TABLE itself and its exact copies."
        )(command)
        return click.option(
            "--min-share",
            type=click.FloatRange(0, 1),
            metavar="SHARE",
            help=f"The share of your values that must match.  [default: {least}]",
        )(command)

    return decorate


_measure_option = click.option(
    "--measure",
    type=click.Choice(MEASURES),
    default=MEASURES[0],
    show_default=True,
    help="Count your values that match (hit), or all pairs.",
)
_DEFAULT_LIMIT = f"{DEFAULT_MIN} without -k, else none"


@click.command("overlap")
@query_options(_COLUMN, _TOP)
@_limit_options("none")
@click.option(
    "--algorithm",
    type=click.Choice([AUTO, "stopping", "merge", "josie"]),
    default=AUTO,
    show_default=True,
    help="The algorithm that counts; all give the same answer.",
)
@run_options(_EXPLAIN)
def overlap_command(
    run: SearchRun, min_share: float | None, skip_copies: bool, algorithm: str
) -> None:
    """Find the columns in the lake that share the most values with a column.

    TABLE is a file or a table in the lake. Distinct values are counted exactly. Each result
    comes with figures for the join and examples of values that match (✓) and do not (✗).

    \b
    Examples:
      lakejoin overlap mine.csv --on city
      lakejoin overlap airports.csv --on iata --skip-copies -k 20
    """
    k = max(run.k or DEFAULT_K, run.explain or 0)
    options = SearchOptions("overlap", k, min_share, skip_copies, algorithm=algorithm)
    _search_with_column(run, options)


@click.command("containment")
@query_options(_COLUMN, _ALL)
@_limit_options(_DEFAULT_LIMIT)
@click.option(
    "--no-verify",
    is_flag=True,
    help="Show the estimates of the sketches instead of exact counts.",
)
@run_options(_EXPLAIN)
def containment_command(
    run: SearchRun, min_share: float | None, skip_copies: bool, no_verify: bool
) -> None:
    """Find every column in the lake that contains enough values of a column.

    TABLE is a file or a table in the lake. Small queries are counted directly; for larger ones,
    sketches find the columns and each is then counted.

    \b
    Examples:
      lakejoin containment mine.csv --on city
      lakejoin containment airports.csv --on iata --min-share 0.8 --skip-copies
    """
    options = SearchOptions("containment", run.k, min_share, skip_copies, not no_verify)
    _search_with_column(run, options)


@click.command("composite")
@query_options(
    "A key column; repeat for each. COLUMN=OTHER matches it with lake columns named OTHER only.",
    f"How many tables to show.  [default: {DEFAULT_K}, or all with --min-share]",
)
@_limit_options("none")
@click.option(
    "--initial",
    metavar="COLUMN",
    help="The key column to fetch rows by; rare values are fastest. 'cardinality' takes the one "
    "with the fewest values. Changes only the speed.  [default: 'items', the cheapest]",
)
@run_options(_EXPLAIN)
def composite_command(
    run: SearchRun, min_share: float | None, skip_copies: bool, initial: str | None
) -> None:
    """Find the tables that contain the most combinations of several columns.

    TABLE is a file or a table in the lake. Combinations are counted exactly, whatever the lake
    columns are called and whatever their order.

    \b
    Examples:
      lakejoin composite mine.csv --on first_name --on last_name
      lakejoin composite mine.csv --on name --on country=land --min-share 0.6
    """
    every = min_share is not None and run.k is None
    by, k = (
        ("containment", None) if every else ("overlap", max(run.k or DEFAULT_K, run.explain or 0))
    )
    options = SearchOptions(by, k, min_share, skip_copies, initial=initial)
    check_column_count(by, len(run.on), is_key=True)
    _show_answers(run, options)


@click.command("similar")
@query_options(_COLUMN, _ALL)
@_limit_options(_DEFAULT_LIMIT)
@click.option(
    "--sure",
    metavar="CHANCE",
    help="List matches with at least this chance of being right.  [default: 0.9]",
)
@click.option(
    "--judge",
    is_flag=True,
    help="Have the sentence model judge the ten best columns of at most 300 values.",
)
@click.option(
    "--tau",
    metavar="SHARE|auto",
    help="Instead match all texts this close, as a share of the largest distance (0.3 or 30%). "
    "'auto' shows how many columns qualify at each tau and picks the knee.",
)
@_measure_option
@click.option(
    "--encoder",
    metavar="NAME|PATH",
    help="The index's encoder, if its name or path has changed.",
)
@run_options(_EXPLAIN)
def similar_command(
    run: SearchRun,
    min_share: float | None,
    skip_copies: bool,
    sure: str | None,
    judge: bool,
    tau: str | None,
    measure: str,
    encoder: str | None,
) -> None:
    """Find text columns with similar meaning or spelling.

    TABLE is a file or a table in the lake. Values need not be equal: '12 Main St' finds
    '12 main street', and 'car' finds 'automobile'. The match of a value is the nearest value of a
    column, if it is clearly nearer than the second. The index must have been built --with meaning.

    \b
    Examples:
      lakejoin similar mine.csv --on address
      lakejoin similar mine.csv --on address --tau auto
    """
    near = ByMeaning(tau, encoder, measure, sure, judge)
    _search_with_column(run, SearchOptions("meaning", run.k, min_share, skip_copies, near=near))


@click.command("nearby")
@query_options("One column, or latitude and longitude.  [default: the coordinates of TABLE]", _ALL)
@click.option(
    "--within",
    required=True,
    metavar="DISTANCE",
    help="500m, 2km or 3mi for coordinates, 0.5 or 1% for numbers, a number for vectors.",
)
@_limit_options(_DEFAULT_LIMIT)
@_measure_option
@click.option(
    "--metric", type=click.Choice(METRICS), help="How vectors are compared.  [default: l2]"
)
@run_options(_EXPLAIN)
def nearby_command(
    run: SearchRun,
    within: str,
    min_share: float | None,
    skip_copies: bool,
    measure: str,
    metric: str | None,
) -> None:
    """Find columns with numbers, coordinates or vectors close to yours.

    TABLE is a file or a table in the lake. Each result shows the number of pairs, their distances,
    and examples (yours ~ theirs). The index must have been built --with distance.

    \b
    Examples:
      lakejoin nearby stations.csv --on lat --on lon --within 500m
      lakejoin nearby prices.csv --on price --within 1% -k 5
    """
    near = ByDistance(within, metric, measure)
    _show_answers(run, SearchOptions("distance", run.k, min_share, skip_copies, near=near))


def _search_with_column(run: SearchRun, options: SearchOptions) -> None:
    check_column_count(options.by, len(run.on), is_key=False)
    if run.explain is not None and run.on == ("*",):
        raise InputError("--explain shows one result of one search: name one --on")
    _show_answers(run, options)


def _show_answers(run: SearchRun, options: SearchOptions) -> None:
    """Search and show the answer, or with --batch all answers."""
    from lakejoin.cli.engine_output import TypedQuery, show_engine_answer

    if options.by != "fused" and run.explain == 0:
        raise InputError("--explain needs the number of a result, as in --explain 1")
    run.check()
    lake = api.open(run.index)
    if run.batch is not None:
        from lakejoin.cli.search_batch import run_batch

        run_batch(lake, run, options)
        return
    typed = TypedQuery(str(run.table), run.index, len(lake))
    if options.by == "fused":
        from lakejoin.cli.fused_output import search_live, show_fused

        k = options.k or DEFAULT_K
        found = search_live(lake, typed, run.on or None, k, quiet=run.as_json)
        show_fused(found, typed, run.explain, run.as_json)
        return
    with explain_long_wait():
        answer: Any = lake.search_with(typed.table, run.on or None, options)
    limit = run.k or RESULTS_PER_ANSWER
    show_engine_answer(answer, typed, limit, run.explain, run.as_json)
