"""The command `join`: join two tables, and find out how."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from lakejoin.cli.options import CODE_TARGETS, index_option, json_option
from lakejoin.cli.terminal import print_json, status
from lakejoin.codegen.pasted_command import join_command_line
from lakejoin.errors import InputError, NoJoin
from lakejoin.lake_access import NamedTable, open_lake_if_any, read_named_table
from lakejoin.model import ValueRules

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.join import Join
    from lakejoin.joins.options import JoinOptions, Progress
    from lakejoin.joins.predicates.join_predicate import Predicates

_MOST_ROWS = 100_000_000


@click.command("join")
@click.argument("left")
@click.argument("right")
@click.option(
    "--on",
    "pairs",
    multiple=True,
    metavar="LEFT=RIGHT",
    help="Columns to join on: names or zero-based indices; a single name if both tables have it. "
    "Repeatable.  [default: lakejoin finds them]",
)
@click.option(
    "--by",
    type=click.Choice(["auto", "equal", "transform", "fuzzy", "meaning", "nearest"]),
    help="How rows are matched: by equal values, learned programs, similarity, meaning, or the "
    "nearest value. auto tries the first three in turn; see above.  [default: auto]",
)
@click.option(
    "--prefer",
    metavar="WHAT",
    help="Choose the columns for a kind of result: coverage, groups, compact, balanced or "
    "strength; see lakejoin predicate --help.",
)
@click.option(
    "--how",
    type=click.Choice(["inner", "left", "right", "full"]),
    default="inner",
    show_default=True,
    help="Which rows without a partner to keep: none, those of LEFT, of RIGHT, or of both.",
)
@click.option("-o", "--output", metavar="FILE", help="Write all rows to this file; see above.")
@click.option(
    "--dry-run", is_flag=True, help="Show how the tables join, with examples, but no rows."
)
@click.option(
    "--code",
    type=click.Choice(CODE_TARGETS),
    help="Print the join as code instead of rows; sql is for DuckDB.",
)
@click.option("--one-to-one", is_flag=True, help="Give each row at most one partner.")
@click.option(
    "--aggregate",
    multiple=True,
    metavar="[COLUMN=]WHAT",
    help="Merge all partners of a row of LEFT into one row: first, last, count, list, min, max, "
    "mean or sum, for all columns of RIGHT or for one. Repeatable.",
)
@click.option(
    "--precision",
    default=0.9,
    show_default=True,
    help="The estimated share of fuzzy matches that must be correct.",
)
@click.option(
    "--within", metavar="DISTANCE", help="With --by nearest: the largest distance (5, 3d, 500m)."
)
@click.option(
    "--tau", type=float, help="With --by meaning: the largest distance, 0 to 1.  [default: 0.3]"
)
@click.option("-n", "--rows", "shown", default=10, show_default=True, help="How many rows to show.")
@click.option(
    "--suffix",
    default="_right",
    show_default=True,
    help="Appended to the name of a column of RIGHT if LEFT has a column of that name.",
)
@click.option(
    "--max-rows",
    "most",
    default=_MOST_ROWS,
    show_default=True,
    help="Refuse to write a result with more rows than this.",
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
    **options: Any,
) -> None:
    """Join LEFT and RIGHT, and find out how.

    LEFT and RIGHT are files or tables of the lake. lakejoin first looks for columns with equal
    values, then learns programs that rewrite the values of one side, then matches the remaining
    rows by similarity. With --on but without --by, rows are joined where these columns are equal;
    other methods are tried only if no rows match. Values are compared in canonical form: "Zürich "
    equals "zürich", and "7.0" equals "7". A null matches nothing. The result has all columns of
    both tables.

    Without --output the first rows are shown. The format of FILE follows from its extension: .csv,
    .csv.gz, .tsv, .parquet, .arrow or .feather. If no join is found, nothing is written and the
    exit code is 1.

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
    from lakejoin.cli.join_output import join_code, print_first, print_join, print_written
    from lakejoin.joins.join_finder import join_tables
    from lakejoin.joins.json_report import first_rows, join_report
    from lakejoin.joins.output import check_output, write_table

    if output is not None:
        if code is not None:
            raise InputError(
                "--code prints the join as code and -o writes its rows: use one of them"
            )
        check_output(output)
    if prefer is not None:
        _check_prefer(pairs, options["by"])
    lake = open_lake_if_any(index)
    left_table, right_table = read_named_table(left, lake), read_named_table(right, lake)
    rules = lake.snapshot.manifest.options.rules if lake else ValueRules()
    join_options = _join_options(left_table, right_table, pairs, rules, options)
    best = None
    if prefer is not None:
        best = _preferred(left_table, right_table, prefer, join_options, as_json)
        join_options = replace(join_options, on=best.winner.found.on, by="equal")
    with status() as progress:
        join = join_tables(left_table.rows, right_table.rows, join_options, progress, (left, right))
        if not join:
            _fail_without_join(join, left_table, right_table, as_json)
        report = join_report(join, left_table, right_table)
        report["notes"] += _hints(join) if best is None else _predicate_notes(best)
        if output is not None and not dry_run:
            _check_size(join, most)
            batches = _with_progress(join.batches(), len(join), progress)
            report |= {"output": output, "bytes": write_table(batches, join.schema, output)}
        elif code is None and not dry_run:
            report["first"] = first_rows(join, shown)
    if code is not None:
        report["code"] = join_code(join, code, (left, right))
    if best is not None:
        report |= {"prefer": best.preferences[0].name, "scores": best.winner.scores}
    if as_json:
        print_json(report)
    elif code is not None:
        click.echo(report["code"])
    else:
        print_join(join, report, left_table, right_table)
        if report["output"] is not None:
            print_written(report)
        else:
            again = _command_again(left, right, pairs, join_options, index, prefer)
            print_first(report, left_table, right_table, again)


def _join_options(
    left: NamedTable,
    right: NamedTable,
    pairs: Sequence[str],
    rules: ValueRules,
    options: dict[str, Any],
) -> JoinOptions:
    from lakejoin.joins.aggregation import check_aggregate
    from lakejoin.joins.join_inputs import parse_column_pair
    from lakejoin.joins.options import JoinOptions

    names = left.rows.column_names, right.rows.column_names
    on = tuple(parse_column_pair(text, *names, left.name, right.name) for text in pairs)
    check_aggregate(options["aggregate"], names[1])
    return JoinOptions(on=on, rules=rules, **options)


def _fail_without_join(join: Join, left: NamedTable, right: NamedTable, as_json: bool) -> None:
    """Report that no join was found, and exit."""
    from lakejoin.joins.json_report import failed_join_report

    if not as_json:
        raise NoJoin("; ".join([join.no_join, *join.notes]))
    print_json(failed_join_report(join, left, right))
    raise SystemExit(NoJoin.exit_code)


def _check_prefer(pairs: Sequence[str], by: str | None) -> None:
    """Refuse options that contradict --prefer."""
    if pairs:
        raise InputError("--prefer finds the columns and --on names them: use one of them")
    if by not in (None, "equal"):
        raise InputError(f"--prefer joins equal values: it cannot be combined with --by {by}")


def _preferred(
    left: NamedTable, right: NamedTable, prefer: str, options: JoinOptions, as_json: bool
) -> Predicates:
    """The best predicates for a preference; exits if there is none."""
    from lakejoin.joins.join_inputs import side_from_rows
    from lakejoin.joins.json_report import no_join_report
    from lakejoin.joins.predicates.join_predicate import best_predicates
    from lakejoin.joins.predicates.predicate_finder import PredicateOptions

    sides = [side_from_rows(table.name, table.rows) for table in (left, right)]
    with status() as progress:
        found = best_predicates(sides, PredicateOptions(prefer, 1, options.rules), progress)
    if found:
        return found
    if not as_json:
        raise NoJoin(found.none)
    print_json(no_join_report(found.none, found.notes, left, right))
    raise SystemExit(NoJoin.exit_code)


def _hints(join: Join) -> list[str]:
    """Suggest --by auto if both tables have rows without a partner and only equality was tried."""
    unmatched = join.left.num_rows > join.left_joined and join.right.num_rows > join.right_joined
    only_equal = all(step.kind == "equal" for step in join.steps)
    if join.options.on and join.options.by is None and unmatched and only_equal:
        return ["both tables have rows without a partner; --by auto tries more ways to match them"]
    return []


def _predicate_notes(best: Predicates) -> list[str]:
    """Notes on the predicate; the join itself warns if rows are multiplied."""
    from lakejoin.joins.predicates.predicate_text import weak_pair_notes

    return [*best.notes, *weak_pair_notes(best.winner)]


def _check_size(join: Join, most: int) -> None:
    if len(join) > most:
        raise InputError(
            f"the result would have {len(join):,} rows, more than --max-rows {most:,} allows"
            + "".join(f"; {warning}" for warning in join.warnings)
        )


def _with_progress(
    batches: Iterable[pa.RecordBatch], rows: int, progress: Progress
) -> Iterator[pa.RecordBatch]:
    """Yield the batches and report how many rows are done."""
    done = 0
    for batch in batches:
        progress(f"writing: {done:,} of {rows:,} rows")
        yield batch
        done += batch.num_rows


def _command_again(
    left: str,
    right: str,
    pairs: Sequence[str],
    options: JoinOptions,
    index: str | None,
    prefer: str | None,
) -> str:
    """The command as it was typed, ready to paste."""
    words = [word for pair in pairs for word in ("--on", pair)]
    if prefer is not None:
        words += ["--prefer", prefer]
    elif options.by:
        words += ["--by", options.by]
    words += [] if options.how == "inner" else ["--how", options.how]
    words += ["--one-to-one"] if options.one_to_one else []
    words += [word for function in options.aggregate for word in ("--aggregate", function)]
    words += [] if options.precision == 0.9 else ["--precision", str(options.precision)]
    words += [] if options.within is None else ["--within", str(options.within)]
    words += [] if options.tau is None else ["--tau", str(options.tau)]
    words += [] if options.suffix == "_right" else ["--suffix", options.suffix]
    return join_command_line(left, right, words, index)
