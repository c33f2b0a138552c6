"""The command that joins two tables: join."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from lakejoin.app.given import Given, given_table, lake_if_any
from lakejoin.app.lake_commands import index_option, json_option
from lakejoin.app.pasting import CODES, code_of, join_line
from lakejoin.app.printing import print_json
from lakejoin.app.waiting import status
from lakejoin.errors import InputError, NoJoin
from lakejoin.model import ValueRules

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.join import Join
    from lakejoin.joins.options import JoinOptions, Progress
    from lakejoin.joins.predicates.described import Predicates

_MOST = 100_000_000


@click.command("join")
@click.argument("left")
@click.argument("right")
@click.option(
    "--on",
    "pairs",
    multiple=True,
    metavar="LEFT=RIGHT",
    help="Columns to join on: names, or places counted from zero; one name where both tables have "
    "it. May be given several times. Left out, the columns are found.",
)
@click.option(
    "--by",
    type=click.Choice(["auto", "equal", "transform", "fuzzy", "meaning", "nearest"]),
    help="How rows may meet: equal values, learned programs, likeness, meaning, or the nearest. "
    "auto, where it is left out, tries the first three in turn; see below.",
)
@click.option(
    "--prefer",
    metavar="WHAT",
    help="Find the columns by what is wanted of the result: coverage, groups, compact, balanced or "
    "strength; lakejoin predicate --help says more.",
)
@click.option(
    "--how",
    type=click.Choice(["inner", "left", "right", "full"]),
    default="inner",
    show_default=True,
    help="Which rows without a partner stay: none, those of LEFT, of RIGHT, or of both.",
)
@click.option("-o", "--output", metavar="FILE", help="Where to write all rows; see below.")
@click.option("--dry-run", is_flag=True, help="Show how they join and examples, and no rows.")
@click.option(
    "--code",
    type=click.Choice(CODES),
    help="Print the join as code to take away, and no rows; sql is DuckDB's.",
)
@click.option("--one-to-one", is_flag=True, help="Give each row at most one partner.")
@click.option(
    "--aggregate",
    multiple=True,
    metavar="[COLUMN=]WHAT",
    help="Make one row of all partners of a row of LEFT: first, last, count, list, min, max, mean "
    "or sum, for all columns of RIGHT or for one. May be given several times.",
)
@click.option(
    "--precision",
    default=0.9,
    show_default=True,
    help="The share of fuzzy matches that must be right, as estimated.",
)
@click.option("--within", metavar="FAR", help="--by nearest: how far at most (5, 3d, 500m).")
@click.option("--tau", type=float, help="--by meaning: how far at most, 0 to 1.  [default: 0.3]")
@click.option("-n", "--rows", "shown", default=10, show_default=True, help="Rows to show.")
@click.option(
    "--suffix",
    default="_right",
    show_default=True,
    help="What a column of RIGHT gets behind its name where LEFT has that name too.",
)
@click.option(
    "--max-rows",
    "most",
    default=_MOST,
    show_default=True,
    help="Refuse to write a result with more rows.",
)
@index_option
@json_option
def join_command(
    left: str,
    right: str,
    pairs: tuple[str, ...],
    prefer: str | None,
    output: str | None,
    dry_run: bool,
    code: str | None,
    shown: int,
    most: int,
    index: str | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Joins LEFT and RIGHT, and finds out how.

    LEFT and RIGHT are files, or tables of the lake. Columns with equal values are looked for first,
    then programs that rewrite the values of either side, then likeness for the rows that are left
    over. With --on and without --by, rows are joined where these columns are equal, and more is
    tried only if none are. Values are equal as the search counts them: "Zürich " joins "zürich",
    and "7.0" joins "7". A null joins nothing. All columns of both tables are in the result.
    Without an output the first rows are shown; else the ending of FILE says how it is written:
    .csv, .csv.gz, .tsv, .parquet, .arrow or .feather. If no join is found, nothing is written and
    the exit code is 1.

    \b
    Examples:
      lakejoin join mine.csv theirs.csv
      lakejoin join mine.csv theirs.csv -o joined.parquet --how left
      lakejoin join mine.csv airports.csv --on iata=code
      lakejoin join sales.csv days.csv --on day=date --by nearest --within 3d
      lakejoin join shops.csv sales.csv --aggregate amount=sum
      lakejoin join mine.csv theirs.csv --prefer compact
      lakejoin join mine.csv theirs.csv --code pandas > join.py

    \b
    JSON keys: left, right, on[] with left, right, how, rows, left_rows, right_rows, left_joined,
    right_joined, pairs, fan_out, left_columns[], right_columns[], steps[] with kind, words,
    program, left_rows, right_rows, sure, why; sure, examples[] with step, before, after, partner,
    distance, unit; unmatched with left[], right[] with row, value, nearest, distance; columns[],
    first[][], output, bytes, warnings[], notes[]; with --code: code; with --prefer: prefer,
    scores{}; or
    left, right, found, why, attempt, notes[]
    """
    from lakejoin.app import join_answers as answers
    from lakejoin.joins.joining import join_tables
    from lakejoin.joins.output import check_output, write

    if output is not None:
        if code is not None:
            raise InputError("--code prints the join and -o writes its rows: ask for one of them")
        check_output(output)
    if prefer is not None:
        _check_prefer(pairs, asked["by"])
    lake = lake_if_any(index)
    mine, theirs = given_table(left, lake), given_table(right, lake)
    rules = lake.snapshot.manifest.options.rules if lake else ValueRules()
    options = _options(mine, theirs, pairs, rules, asked)
    best = None if prefer is None else _preferred(mine, theirs, prefer, options, as_json)
    if best is not None:
        options = replace(options, on=best.winner.found.on, by="equal")
    with status() as tell:
        join = join_tables(mine.rows, theirs.rows, options, tell, (left, right))
        if not join:
            _refuse(join, mine, theirs, as_json)
        report = answers.report_of(join, mine, theirs)
        report["notes"] += _notes(join) if best is None else _notes_of(best)
        if output is not None and not dry_run:
            _check_size(join, most)
            written = write(_told(join.batches(), len(join), tell), join.schema, output)
            report |= {"output": output, "bytes": written}
        elif code is None and not dry_run:
            report["first"] = answers.first_rows(join, shown)
    if code is not None:
        report["code"] = code_of(join, code, (left, right))
    if best is not None:
        report |= {"prefer": best.preferences[0].name, "scores": best.winner.scores}
    if as_json:
        print_json(report)
    elif code is not None:
        click.echo(report["code"])
    else:
        answers.print_join(join, report, mine, theirs)
        if report["output"] is not None:
            answers.print_written(report)
        else:
            again = _again(left, right, pairs, options, index, prefer)
            answers.print_first(report, mine, theirs, again)


def _options(
    left: Given, right: Given, pairs: Sequence[str], rules: ValueRules, asked: dict[str, Any]
) -> JoinOptions:
    from lakejoin.joins.aggregating import check_aggregate
    from lakejoin.joins.on import columns_of
    from lakejoin.joins.options import JoinOptions

    names = left.rows.column_names, right.rows.column_names
    on = tuple(columns_of(text, *names, left.name, right.name) for text in pairs)
    check_aggregate(asked["aggregate"], names[1])
    return JoinOptions(on=on, rules=rules, **asked)


def _refuse(join: Join, left: Given, right: Given, as_json: bool) -> None:
    """Says that there is none, and ends."""
    from lakejoin.app.join_answers import report_of_none

    if not as_json:
        raise NoJoin("; ".join([join.no_join, *join.notes]))
    print_json(report_of_none(join, left, right))
    raise SystemExit(NoJoin.exit_code)


def _check_prefer(pairs: Sequence[str], by: str | None) -> None:
    """Ends where --prefer contradicts what else is asked, whatever the tables are."""
    if pairs:
        raise InputError("--prefer finds the columns and --on names them: give one of the two")
    if by not in (None, "equal"):
        raise InputError(f"--prefer joins equal values: not together with --by {by}")


def _preferred(
    left: Given, right: Given, prefer: str, options: JoinOptions, as_json: bool
) -> Predicates:
    """The best predicates by a preference; ends where there is none."""
    from lakejoin.app.join_answers import report_without
    from lakejoin.joins.predicates.described import best_predicates
    from lakejoin.joins.predicates.finding import PredicateOptions
    from lakejoin.joins.sides import side_of_rows

    sides = [side_of_rows(given.name, given.rows) for given in (left, right)]
    with status() as tell:
        found = best_predicates(sides, PredicateOptions(prefer, 1, options.rules), tell)
    if found:
        return found
    if not as_json:
        raise NoJoin(found.none)
    print_json(report_without(found.none, found.notes, left, right))
    raise SystemExit(NoJoin.exit_code)


def _notes(join: Join) -> list[str]:
    """What else could be tried."""
    left_over = join.left.num_rows > join.left_joined and join.right.num_rows > join.right_joined
    if join.options.on and join.options.by is None and left_over and _only_equal(join):
        return ["rows of both tables are left over; --by auto would try more for them"]
    return []


def _notes_of(best: Predicates) -> list[str]:
    """What should be known of the predicate; the join itself tells whether rows are multiplied."""
    from lakejoin.joins.predicates.shown import says_little

    return [*best.notes, *says_little(best.winner)]


def _only_equal(join: Join) -> bool:
    return all(step.kind == "equal" for step in join.steps)


def _check_size(join: Join, most: int) -> None:
    if len(join) > most:
        raise InputError(
            f"the result would have {len(join):,} rows, more than --max-rows {most:,}"
            + "".join(f"; {warning}" for warning in join.warnings)
        )


def _told(batches: Iterable[pa.RecordBatch], rows: int, tell: Progress) -> Iterator[pa.RecordBatch]:
    """The batches as they come, and how far they are."""
    done = 0
    for batch in batches:
        tell(f"writing: {done:,} of {rows:,} rows")
        yield batch
        done += batch.num_rows


def _again(
    left: str,
    right: str,
    pairs: Sequence[str],
    options: JoinOptions,
    index: str | None,
    prefer: str | None,
) -> str:
    """The command as it was given, to be pasted."""
    words = [part for pair in pairs for part in ("--on", pair)]
    if prefer is not None:
        words += ["--prefer", prefer]
    elif options.by:
        words += ["--by", options.by]
    words += [] if options.how == "inner" else ["--how", options.how]
    words += ["--one-to-one"] if options.one_to_one else []
    words += [part for one in options.aggregate for part in ("--aggregate", one)]
    words += [] if options.precision == 0.9 else ["--precision", str(options.precision)]
    words += [] if options.within is None else ["--within", str(options.within)]
    words += [] if options.tau is None else ["--tau", str(options.tau)]
    words += [] if options.suffix == "_right" else ["--suffix", options.suffix]
    return join_line(left, right, words, index)
