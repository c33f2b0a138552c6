"""The commands `join` (work out how two tables join, and join them), `predicates` (which columns
to join on) and `relations` (foreign keys)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from lakejoin.cli.options import CODE_TARGETS, count_option, index_json_options
from lakejoin.cli.terminal import print_json, status, status_or_explanation, stop_without_join
from lakejoin.errors import InputError
from lakejoin.quoting import join_command_line

# Help loads none of what joins, a join nothing of what finds predicates.
if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.join import Join
    from lakejoin.joins.join_inputs import JoinInput
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
    help="Columns to join on; repeatable.  [default: found]",
)
@click.option(
    "--by",
    type=click.Choice(["auto", "equal", "transform", "fuzzy", "meaning", "nearest"]),
    metavar="METHOD",
    help="How rows match: equal, transform, fuzzy, meaning or nearest; auto tries the first three.",
)
@click.option(
    "--prefer",
    metavar="WHAT",
    help="Choose columns as `lakejoin predicates` does.",
)
@click.option(
    "--how",
    type=click.Choice(["inner", "left", "right", "full"]),
    default="inner",
    show_default=True,
    metavar="HOW",
    help="Which rows to keep: inner, left, right or full.",
)
@click.option("-o", "--output", metavar="FILE", help="Write all rows to this file.")
@click.option("--dry-run", is_flag=True, help="Show how the tables join, without rows.")
@click.option(
    "--code",
    type=click.Choice(CODE_TARGETS),
    metavar="LANGUAGE",
    help=f"Print the join as code: {', '.join(CODE_TARGETS)}.",
)
@click.option("--one-to-one", is_flag=True, help="Match each row with at most one other.")
@click.option(
    "--aggregate",
    multiple=True,
    metavar="[COLUMN=]WHAT",
    help="Merge all rows that match a row: first, last, count, list, min, max, mean or sum.",
)
@click.option(
    "--precision",
    default=0.9,
    show_default=True,
    help="The share of fuzzy matches, or the chance of each match by meaning, that is right.",
)
@click.option("--within", metavar="DISTANCE", help="By nearest: the limit, such as 5, 3d or 500m.")
@click.option("--tau", type=float, help="By meaning: all pairs this close, 0 to 1.")
@click.option("-n", "--rows", "shown", default=10, show_default=True, help="How many rows to show.")
@click.option(
    "--suffix",
    default="_right",
    show_default=True,
    help="Added to names of RIGHT that LEFT also has.",
)
@click.option(
    "--max-rows",
    "most",
    default=_MOST_ROWS,
    help=f"The most rows to write.  [default: {_MOST_ROWS:,}]",
)
@index_json_options
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
    """Work out how LEFT and RIGHT join, and join them.

    LEFT and RIGHT are files or tables in the lake. Values are compared by the rules of the index
    that a table is in: "Zürich " equals "zürich". If no join is found, the exit code is 1.

    \b
    Examples:
      lakejoin join mine.csv theirs.csv -o joined.parquet --how left
      lakejoin join sales.csv days.csv --on day=date --by nearest --within 3d
      lakejoin join rooms.csv homes.csv --on lat --on lon --by nearest --within 1km --aggregate mean
      lakejoin join shops.csv sales.csv --aggregate amount=sum
      lakejoin join mine.csv theirs.csv --code pandas > join.py
    """
    from lakejoin.cli.join_output import join_code, print_first, print_join, print_written
    from lakejoin.inputs import NearbyIndex, resolve_table
    from lakejoin.joins.join_finder import join_tables
    from lakejoin.joins.join_report import first_rows, join_report
    from lakejoin.joins.output import check_output, write_table

    if output is not None:
        if code is not None:
            raise InputError(
                "--code prints the join as code and -o writes its rows: use one of them"
            )
        check_output(output)
    if prefer is not None:
        _check_prefer(pairs, options["by"])
    nearby = NearbyIndex(index)
    left_table, right_table = resolve_table(left, nearby), resolve_table(right, nearby)
    join_options = _join_options(left_table, right_table, pairs, options)
    best = None
    if prefer is not None:
        best = _preferred(left_table, right_table, prefer, join_options, as_json)
        join_options = replace(join_options, on=best.winner.found.on, by="equal")
    with status() as progress:
        join = join_tables(left_table.rows, right_table.rows, join_options, progress, (left, right))
        if not join:
            why = "; ".join([join.no_join, *join.notes])
            stop_without_join(why, join_report(join, left_table, right_table), as_json)
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
        print_join(report, left_table, right_table)
        if report["output"] is not None:
            print_written(report)
        else:
            again = _command_again(left, right, pairs, join_options, index, prefer)
            print_first(report, left_table, right_table, again)


def _join_options(
    left: JoinInput,
    right: JoinInput,
    pairs: Sequence[str],
    options: dict[str, Any],
) -> JoinOptions:
    from lakejoin.joins.join_inputs import common_value_rules, parse_column_pairs
    from lakejoin.joins.joined_table import parse_aggregates
    from lakejoin.joins.options import JoinOptions

    names = left.rows.column_names, right.rows.column_names
    on = parse_column_pairs(pairs, *names, (left.name, right.name))
    parse_aggregates(options["aggregate"], names[1])  # fails before any work is done
    return JoinOptions(on=on, rules=common_value_rules((left, right)), **options)


def _check_prefer(pairs: Sequence[str], by: str | None) -> None:
    """Refuse options that contradict --prefer."""
    if pairs:
        raise InputError("--prefer finds the columns and --on names them: use one of them")
    if by not in (None, "equal"):
        raise InputError(f"--prefer joins equal values: it cannot be combined with --by {by}")


def _preferred(
    left: JoinInput, right: JoinInput, prefer: str, options: JoinOptions, as_json: bool
) -> Predicates:
    """The best predicates for a preference; exits if there is none."""
    from lakejoin.joins.join_report import no_join_report
    from lakejoin.joins.predicates.join_predicate import best_predicates
    from lakejoin.joins.predicates.predicate_finder import PredicateOptions

    with status() as progress:
        found = best_predicates((left, right), PredicateOptions(prefer, 1, options.rules), progress)
    if not found:
        report = no_join_report(found.none, found.notes, (left.name, right.name))
        stop_without_join(found.none, report, as_json)
    return found


def _hints(join: Join) -> list[str]:
    """Suggest --by auto if both tables have rows that do not match and only equality was tried."""
    unmatched = join.left.num_rows > join.left_joined and join.right.num_rows > join.right_joined
    only_equal = all(step.kind == "equal" for step in join.steps)
    if join.options.on and join.options.by is None and unmatched and only_equal:
        return ["both tables have rows that do not match; --by auto tries more ways to match them"]
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


_MOST_PREDICATES = 100_000


@click.command("predicates")
@click.argument("tables", metavar="LEFT RIGHT [MORE]...", nargs=-1)
@click.option(
    "--prefer",
    default="compact",
    show_default=True,
    metavar="WHAT",
    help="The kind of result to optimize for; see above.",
)
@click.option("-n", "--number", default=5, show_default=True, help="How many predicates to show.")
@count_option("--rows", "shown", default=3, least=0, help="How many joined rows to show.")
@click.option("--code", type=click.Choice(CODE_TARGETS), help="Print the best join as code.")
@count_option(
    "--most",
    default=_MOST_PREDICATES,
    least=0,
    help="Examine at most this many predicates; 0 for no limit.",
)
@index_json_options
def predicates_command(
    tables: tuple[str, ...],
    prefer: str,
    number: int,
    shown: int,
    code: str | None,
    most: int,
    index: str | None,
    as_json: bool,
) -> None:
    """Find which columns of these tables to join on, for the result you want.

    Tables are files or tables in the lake. Two tables can join in many ways, and names and types do
    not say which is right. A predicate is a set of column pairs that must all be equal; lakejoin
    finds the best predicates for the kind of result you want. All numbers are exact. A null matches
    nothing, and values are compared in canonical form: "Zürich " equals "zürich".

    \b
    --prefer
      coverage  (h1)  most matching rows: reach all customers who have an order
      groups    (h2)  most distinct keys: distinguish as many items as possible
      compact   (h3)  smallest full outer join: merge two lists
      balanced  (h4)  many keys with similar numbers of rows: a monthly bill for each customer
      strength  (h5)  many matching rows, few that match several: who placed this order?

    \b
    Examples:
      lakejoin predicates people.csv orders.csv
      lakejoin predicates people.csv orders.csv --prefer coverage -n 3
      lakejoin predicates people.csv orders.csv items.csv --code sql
      lakejoin join people.csv orders.csv --prefer compact -o joined.csv
    """
    from lakejoin.cli.join_output import join_code, print_predicates
    from lakejoin.inputs import NearbyIndex, resolve_table
    from lakejoin.joins.join_inputs import common_value_rules
    from lakejoin.joins.predicates.join_predicate import best_predicates
    from lakejoin.joins.predicates.predicate_finder import PredicateOptions
    from lakejoin.joins.predicates.preferences import find_preference

    preference = find_preference(prefer)
    nearby = NearbyIndex(index)
    with status_or_explanation() as progress:
        inputs = [resolve_table(name, nearby) for name in tables]
        rules = common_value_rules(inputs)
        options = PredicateOptions(preference, number, rules, most=most or None)
        found = best_predicates(inputs, options, progress)
        report = found.to_dict(shown, index)
    if not found:
        stop_without_join("; ".join([found.none, *found.notes]), report, as_json)
    if code is not None:
        report["code"] = join_code(found.winner, code, tables)
    if as_json:
        print_json(report)
    elif code is not None:
        click.echo(report["code"])
    else:
        print_predicates(found, report)


@click.command("relations")
@click.argument("source", required=False)
@click.option(
    "--diagram",
    type=click.Choice(["mermaid", "graphviz"]),
    help="Print the foreign keys as the source of a Mermaid or Graphviz diagram.",
)
@click.option(
    "--export",
    type=click.Choice(["dbt", "dbml", "csv"]),
    help="Print the foreign keys for another tool: dbt sources with tests, DBML, or CSV.",
)
@index_json_options
def relations_command(
    source: str | None,
    diagram: str | None,
    export: str | None,
    index: str | None,
    as_json: bool,
) -> None:
    """Find the likely foreign keys of a database: which tables refer to which.

    SOURCE is a folder, a glob, or a file with several tables (SQLite, Excel); by default, the
    indexed lake. A foreign key is one or more columns whose values come from a key of another
    table. Values, names and chance make one score from 0 to 1; the likeliest come first, and those
    below 0.5 are left out.

    \b
    Examples:
      lakejoin relations database/
      lakejoin relations shop.sqlite
      lakejoin relations shop.sqlite --diagram mermaid > relations.mmd
      lakejoin relations shop.sqlite --export dbt > sources.yml
      lakejoin relations                    for all tables in the lake
    """
    from lakejoin import api
    from lakejoin.cli.join_output import print_relations

    with status_or_explanation() as progress:
        found = api.relations(source if source is not None else api.open(index), progress)
    report = found.to_dict()
    if diagram is not None:
        report["diagram"] = found.diagram(diagram)
    if export is not None:
        report["export"] = found.export(export)
    if as_json:
        print_json(report)
    elif diagram is not None or export is not None:
        click.echo("\n".join(report[key] for key in ("diagram", "export") if key in report))
    else:
        print_relations(found)
