"""The command `search`: find tables or columns of the lake that join."""

from __future__ import annotations

from typing import Any

import click

from lakejoin import api
from lakejoin.cli.options import cluster_options, index_option, json_option
from lakejoin.cli.terminal import explain_long_wait
from lakejoin.errors import InputError
from lakejoin.search.options import (
    AUTO,
    BY,
    DEFAULT_K,
    DEFAULT_MIN,
    MEASURES,
    METRICS,
    NearArguments,
)

RESULTS_PER_ANSWER = 3  # shown if there are several answers


@click.command("search")
@click.argument("table", required=False)
@click.option(
    "--on",
    multiple=True,
    metavar="COLUMN",
    help="A column of TABLE: its name or zero-based index; '*' for every column. Repeat it for a "
    "composite key; COLUMN=OTHER then allows only OTHER as the lake column for COLUMN. By "
    "distance: one column, or latitude and longitude.  [default: fused: every column that may be a "
    "key; by distance: the coordinates; else: the text column that is most like a key]",
)
@click.option(
    "-k",
    "k",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"How many results to show.  [default: {DEFAULT_K} for fused and overlap, else all]",
)
@click.option(
    "--by",
    type=click.Choice(BY),
    default=BY[0],
    show_default=True,
    help="fused: the tables that join best, by every column that may be a key and every engine "
    "that applies, without coincidental overlap. Or a single engine: overlap: the columns that "
    "share the most values, counted exactly; containment: every column that contains enough of the "
    "values, found with sketches (small queries are counted); meaning: text columns with similar "
    "meaning or spelling; distance: numbers, coordinates or vectors that are close.",
)
@click.option(
    "--min",
    "least",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="With any --by except fused: the share of your values that a column must contain or have "
    f"partners for.  [default without -k: {DEFAULT_MIN}; none for --by overlap]",
)
@click.option(
    "--others",
    is_flag=True,
    help="Leave out TABLE itself and its exact copies; a fused search always does this.",
)
@click.option(
    "--unverified",
    is_flag=True,
    help="With --by containment: show the estimates of the sketches instead of exact counts.",
)
@click.option(
    "--explain",
    type=click.IntRange(min=0),
    is_flag=False,
    flag_value=0,
    metavar="N",
    help="Show the evidence for result N, in nats; without N, for all results. With a single "
    "engine: the values of result N, what was read, and the SQL (by meaning only for few pairs, or "
    "with --json; by distance never).",
)
@click.option(
    "--batch",
    metavar="FOLDER",
    help="Search with every table of a folder or glob, or with those listed in @FILE, one a line.",
)
@click.option(
    "--algorithm",
    type=click.Choice([AUTO, "stopping", "merge", "probe", "josie"]),
    default=AUTO,
    show_default=True,
    help="With --by overlap: how overlaps are counted; the answer is always the same.",
)
@click.option(
    "--initial",
    metavar="COLUMN",
    help="With --by overlap or containment and several --on: the column that rows are fetched by; "
    "the others are then checked in these rows. A column whose values are rare in the lake is "
    "best; 'cardinality' takes the one with the fewest distinct values. Affects the speed, not the "
    "answer.  [default: 'items', the cheapest]",
)
@click.option(
    "--tau",
    metavar="SHARE|auto",
    help="With --by meaning: how close texts must be, as a share of the largest distance (0.3 or "
    "30%). 'auto' shows how many columns qualify at each tau and takes the knee of the curve.  "
    "[default: the encoder's own; 0.3 for those that come with lakejoin]",
)
@click.option(
    "--within",
    metavar="DISTANCE",
    help="With --by distance: 500m, 2km or 3mi for coordinates, 0.5 or 1% for numbers, a number "
    "for vectors.",
)
@click.option(
    "--measure",
    type=click.Choice(MEASURES),
    help="With --by meaning or distance: count your values that have a partner (hit), or all "
    f"pairs.  [default: {MEASURES[0]}]",
)
@click.option(
    "--metric",
    type=click.Choice(METRICS),
    help="With --by distance and a column of vectors: how they are compared.  [default: l2]",
)
@click.option(
    "--encoder",
    metavar="NAME|PATH",
    help="With --by meaning: the encoder for your texts; it must be the one of the index.  "
    "[default: that of the index]",
)
@cluster_options
@index_option
@json_option
def search_command(
    table: str | None,
    on: tuple[str, ...],
    k: int | None,
    by: str,
    least: float | None,
    others: bool,
    unverified: bool,
    explain: int | None,
    batch: str | None,
    algorithm: str,
    initial: str | None,
    tau: str | None,
    within: str | None,
    measure: str | None,
    metric: str | None,
    encoder: str | None,
    master: str | None,
    conf: tuple[str, ...],
    index: str | None,
    as_json: bool,
) -> None:
    """Find the tables of the lake that join with TABLE, and what they would add.

    TABLE is a file or a table of the lake. Every column that may be a key is searched with every
    engine that applies. The answer is one ranked list of tables: how each joins, how many of your
    values and rows find a partner, how many rows the join has per row of yours (fan-out), which
    columns it would add, and the evidence. Coincidental overlap is listed separately below. On a
    terminal the first results appear at once and are refined in place.

    With --by, a single engine searches for one column and lists the columns of the lake that join
    with it, with figures and examples of values that match (✓) and that do not (✗).

    With several --on: the tables that contain the most combinations of these columns, whatever
    their columns are called and in any order.

    With --by meaning, values need not be equal: '12 Main St' finds '12 main street'. With --by
    distance, numbers, coordinates (two columns, or one with both) and vectors find close values.
    You see the number of pairs, their distances, and examples: yours ~ theirs. The index must have
    been built --with meaning or --with distance; that of a small lake has both.

    \b
    Examples:
      lakejoin search mine.csv
      lakejoin search mine.csv --on city --explain 1
      lakejoin search mine.csv --on first_name --on last_name --on country=land
      lakejoin search --batch folder/ -k 1
      lakejoin search mine.csv --on city --by overlap
      lakejoin search airports.csv --on iata --others --by containment --min 0.8
      lakejoin search mine.csv --on address --by meaning --tau auto
      lakejoin search stations.csv --on lat --on lon --by distance --within 500m
      lakejoin search prices.csv --on price --by distance --within 1% -k 5

    With --json: one object; with --explain N, that result in full replaces the list of results;
    with --batch, one line per answer, and for a query that fails its error (the exit code is then
    2). The keys of a fused search are listed first, then those of the other engines; with --on '*'
    the answers are in a list; by meaning and by distance the last group is added.

    \b
    JSON keys: query{table, columns}, by, k, results[] or misses[] with rank, table, score, ways[]
    with kind, how, mine, theirs, matched, containment, row_coverage, fan_out, chance, score,
    reasons[] with what, nats, words, accidental, adds[] with name, full, versions[],
    accidental, reason, notes[], seconds, seconds_by{…}, result{…}, sql

    \b
    or query{table, column, columns, size, rows}, by, k, min, results[] with rank, table,
    columns, matched, containment, query_size, column_size, row_coverage, fan_out,
    examples{matched, unmatched}, copy, estimate, error, runner_up{columns, matched},
    counters{segments, lists, lists_read, candidates, sets_read, pruned, bytes, algorithms} or
    {segments, tables, tables_read, items, rows_seen, rows_passed, rows_true, cut_short,
    initial}, notes[], seconds, answers[], result{…}, matches[] with value, mine, theirs,
    unmatched[] with value, mine, sql, join

    \b
    or with tau, within, metric, measure, encoder, taus{taken, why, least, values, counts[] with
    tau, columns}, results[] with pairs, distance, matches[] with value, partner, distance, mine,
    theirs, counters{segments, values, bounded, verified, near, encoded, methods}
    """
    from lakejoin.cli.engine_output import TypedQuery

    if (table is None) == (batch is None):
        raise InputError("search needs one TABLE, or --batch FOLDER")
    if batch is None and (master is not None or conf):
        raise InputError(
            "--master and --conf need --batch: Spark is only used to search with many tables"
        )
    if explain == 0 and by != "fused":
        raise InputError("--explain needs the number of a result, as in --explain 1")
    if explain is not None and (batch is not None or (on == ("*",) and by != "fused")):
        raise InputError("--explain shows one result of one search: name one TABLE and one --on")
    if algorithm != AUTO and by != "overlap":
        raise InputError(
            f"--algorithm {algorithm} needs --by overlap: it selects how overlaps are counted"
        )
    if unverified and by != "containment":
        raise InputError("--unverified needs --by containment: all other searches count exactly")
    if least is not None and by == "fused":
        raise InputError(
            f"--min {least:g} needs --by overlap, containment, meaning or distance: a fused search "
            "weighs containment against chance"
        )
    if initial is not None and by == "fused":
        raise InputError(
            f"--initial {initial} needs --by overlap or --by containment: a fused search always "
            "takes the cheapest column"
        )
    if len(on) > 1 and by != "distance":
        _check_key(unverified, algorithm)
    elif initial is not None:
        raise InputError(
            f"--initial {initial} needs several --on: it is the one that rows are fetched by"
        )
    options: dict[str, Any] = {
        "k": max(k or DEFAULT_K, explain or 0) if by in ("overlap", "fused") else k,
        "by": by,
        "min": least,
        "others": others,
        "verified": not unverified,
        "algorithm": algorithm,
        "initial": initial,
        "tau": tau,
        "encoder": encoder,
        "measure": measure,
        "within": within,
        "metric": metric,
    }
    lake = api.open(index)
    if batch is not None:
        from lakejoin.cli.search_batch import on_spark, run_batch

        search_many = on_spark(lake, master, conf) if master is not None or conf else None
        limit = k or RESULTS_PER_ANSWER
        run_batch(lake, batch, on or None, options, index, limit, as_json, search_many)
        return
    typed = TypedQuery(str(table), index, len(lake))
    if by != "fused":
        from lakejoin.cli.engine_output import show_engine_answer

        with explain_long_wait():
            found: Any = lake.search(typed.table, on=on or None, **options)
        show_engine_answer(found, typed, k or RESULTS_PER_ANSWER, explain, as_json)
        return
    from lakejoin.cli.fused_output import search_live, show_fused

    NearArguments(tau, encoder, measure, within, metric).to_options(
        by
    )  # refuses options of the engines
    answer = search_live(lake, typed, on or None, options["k"], quiet=as_json)
    show_fused(answer, typed, explain, as_json)


def _check_key(unverified: bool, algorithm: str) -> None:
    """Refuse options that do not apply to composite keys."""
    if unverified:
        raise InputError("--unverified takes one --on: composite keys are always counted exactly")
    if algorithm != AUTO:
        raise InputError(
            f"--algorithm {algorithm} takes one --on: composite keys have their own algorithm"
        )
