"""The command that searches: search."""

from __future__ import annotations

from typing import Any

import click

from lakejoin import api
from lakejoin.app.cluster import cluster_options
from lakejoin.app.lake_commands import index_option, json_option
from lakejoin.app.waiting import patience
from lakejoin.errors import InputError
from lakejoin.search.near_options import AUTO, MEASURES, METHODS, METRICS, NearAsked
from lakejoin.search.options import BY, DEFAULT_K, DEFAULT_MIN

OF_EACH = 3  # results shown of each answer where there are several


@click.command("search")
@click.argument("table", required=False)
@click.option(
    "--on",
    multiple=True,
    metavar="COLUMN",
    help="The column of TABLE: its name, or its place counted from zero; '*' for every column. "
    "Given several times, these columns together; MINE=THEIRS then allows only THEIRS as the "
    "partner of MINE. By distance: a column, or latitude and longitude.  [default: fused, every "
    "column that may be a key; by distance the coordinates; else the most key-like text column]",
)
@click.option(
    "-k",
    "k",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"How many tables, or columns.  [default: {DEFAULT_K} fused and by overlap, else all]",
)
@click.option(
    "--by",
    type=click.Choice(BY),
    default=BY[0],
    show_default=True,
    help="fused: the tables that join best, by every column that may be a key and by every engine "
    "that applies, without those that only meet by accident. Or one engine: overlap: the columns "
    "that share the most values, exactly; containment: every column that contains enough of them, "
    "found with sketches (small queries are counted); meaning: text columns with partners that "
    "mean or spell the same; distance: numbers, places or vectors that lie near.",
)
@click.option(
    "--min",
    "least",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="With every --by but fused: the share of my values that a column must contain, or have "
    f"partners for.  [default without -k: {DEFAULT_MIN}; with --by overlap none]",
)
@click.option(
    "--others",
    is_flag=True,
    help="Leave out TABLE itself and its exact copies; a fused search always does.",
)
@click.option(
    "--unverified",
    is_flag=True,
    help="With --by containment: show what the sketches tell, with its error, and count nothing.",
)
@click.option(
    "--explain",
    type=click.IntRange(min=0),
    is_flag=False,
    flag_value=0,
    metavar="N",
    help="Open result N: what speaks for it, in nats; without N, for all results. With another "
    "--by: its values, what was read, the SQL (by meaning, where the pairs are few, else with "
    "--json; by distance there is none).",
)
@click.option(
    "--batch",
    metavar="FOLDER",
    help="Search with every table of a folder or glob, or with those named in @FILE, one a line.",
)
@click.option(
    "--algorithm",
    type=click.Choice([AUTO, "stopping", "merge", "probe", "josie"]),
    default=AUTO,
    show_default=True,
    help="With --by overlap: how overlaps are counted; all give the same answer.",
)
@click.option(
    "--initial",
    metavar="COLUMN",
    help="With --by overlap or containment and several --on: the one of them by which rows are "
    "fetched; rows with one of its "
    "values are then tested for the others. Best is a column whose values are rare in the lake; "
    "'cardinality' takes the one with the fewest distinct values. It changes the time, not the "
    "answer.  [default: 'items', the cheapest]",
)
@click.option(
    "--tau",
    metavar="SHARE|auto",
    help="With --by meaning: how near texts must be, as a share of the largest distance (0.3 or "
    "30%). 'auto' shows how many columns would qualify at each tau and takes the knee.  [default: "
    "the encoder's own, 0.3 for those that come with lakejoin]",
)
@click.option(
    "--within",
    metavar="DISTANCE",
    help="With --by distance: 500m, 2km or 3mi for places, 0.5 or 1% for numbers, a number for "
    "vectors.",
)
@click.option(
    "--measure",
    type=click.Choice(MEASURES),
    help="With --by meaning and distance: count my values that have a partner (hit), or all pairs "
    f"of mine and theirs.  [default: {MEASURES[0]}]",
)
@click.option(
    "--metric",
    type=click.Choice(METRICS),
    help="With --by distance and a column of vectors: how they are compared.  [default: l2]",
)
@click.option(
    "--method",
    type=click.Choice(METHODS),
    help="With --by meaning: how partners are found; all give the same answer.  [default: auto]",
)
@click.option(
    "--encoder",
    metavar="NAME|PATH",
    help="With --by meaning: what makes vectors of my texts; it has to be the index's.  "
    "[default: the index's]",
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
    method: str | None,
    encoder: str | None,
    master: str | None,
    conf: tuple[str, ...],
    index: str | None,
    as_json: bool,
) -> None:
    """Which tables of the lake join with TABLE, and what would they add?

    TABLE is a file, or a table of the lake. Every column that may be a key is searched for, by
    every engine that applies, and the answer is one ranked list of tables: how each joins, how many
    of your values and rows find a partner, the rows of the join per row of yours (fan-out), the
    columns that it would add, and why it is believed. What only meets by accident is told below.
    On a terminal the first results stand there at once, and are refined in place.

    With --by it is one engine alone, for one column: which columns of the lake join with it? You
    see the figures of each, and examples of values that match (✓) and that do not (✗).

    With several --on: which tables hold most of the combinations of these columns, whatever their
    columns are called and in whatever order they stand?

    With --by meaning values need not be equal: '12 Main St' finds '12 main street'. With --by
    distance numbers, places (two columns, or one that holds both) and vectors find what lies near.
    You see how many pairs there are, how far apart they are, and examples: mine ~ theirs. The index
    must have been made --with meaning, or --with distance; that of a small lake has both.

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

    With --json: one object; with --explain N, one result is opened, in the place of the results;
    with --batch, an object a line for each answer, and for one that failed, its query and its
    error. The exit code is then 2. With another --by than fused, the keys in the lines that follow
    the first ones; with --on '*', answers in a list; by meaning and by distance there are also the
    last ones.

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
    from lakejoin.app.answers import Asked

    if (table is None) == (batch is None):
        raise InputError("search takes one TABLE, or --batch FOLDER")
    if batch is None and (master is not None or conf):
        raise InputError("--master and --conf go with --batch: Spark searches with many tables")
    if explain == 0 and by != "fused":
        raise InputError("--explain opens one result: give its number, as in --explain 1")
    if explain is not None and (batch is not None or (on == ("*",) and by != "fused")):
        raise InputError("--explain opens a result of one search: name one TABLE and one --on")
    if algorithm != AUTO and by != "overlap":
        raise InputError(
            f"--algorithm {algorithm} goes with --by overlap: it says how overlaps are counted"
        )
    if unverified and by != "containment":
        raise InputError("--unverified goes with --by containment: other searches count exactly")
    if least is not None and by == "fused":
        raise InputError(
            f"--min {least:g} goes with --by overlap, containment, meaning or distance: a fused "
            "search weighs how much is contained against chance"
        )
    if initial is not None and by == "fused":
        raise InputError(
            f"--initial {initial} goes with --by overlap or --by containment: a fused search takes "
            "the cheapest column itself"
        )
    if len(on) > 1 and by != "distance":
        _check_key(unverified, algorithm)
    elif initial is not None:
        raise InputError(
            f"--initial {initial} goes with several --on: it is the one of them by which rows are "
            "fetched"
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
        "method": method,
        "measure": measure,
        "within": within,
        "metric": metric,
    }
    lake = api.open(index)
    if batch is not None:
        from lakejoin.app.batch import run_batch
        from lakejoin.app.spark_batch import on_spark

        many = on_spark(lake, master, conf) if master is not None or conf else None
        run_batch(lake, batch, on or None, options, index, k or OF_EACH, as_json, many)
        return
    asked = Asked(str(table), index, len(lake))
    if by != "fused":
        from lakejoin.app.engine_answers import show_found

        with patience():
            found: Any = lake.search(asked.table, on=on or None, **options)
        show_found(found, asked, k or OF_EACH, explain, as_json)
        return
    from lakejoin.app.fused_answers import show_fused
    from lakejoin.app.fused_live import refined

    NearAsked(tau, encoder, method, measure, within, metric).near(by)  # refuses them
    answer = refined(lake, asked, on or None, options["k"], quiet=as_json)
    show_fused(answer, asked, explain, as_json)


def _check_key(unverified: bool, algorithm: str) -> None:
    """Says what does not go with several columns together."""
    if unverified:
        raise InputError(
            "--unverified goes with one --on: several columns together are always counted exactly"
        )
    if algorithm != AUTO:
        raise InputError(
            f"--algorithm {algorithm} goes with one --on: several columns together are counted in "
            "a way of their own"
        )
