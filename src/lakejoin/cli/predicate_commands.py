"""The commands `predicates` (which columns to equate) and `relations` (foreign keys)."""

from __future__ import annotations

import click

from lakejoin import api
from lakejoin.cli.options import CODE_TARGETS, count_option, index_json_options
from lakejoin.cli.terminal import print_json, status_or_explanation, stop_without_join
from lakejoin.errors import InputError
from lakejoin.inputs import NearbyIndex, resolve_table
from lakejoin.joins.join_inputs import common_value_rules

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
    """Find which columns of these tables to equate in a join.

    Tables are files or tables of the lake. They can be joined in many ways, and names and types do
    not reveal the right one. A predicate is a set of column pairs that must all be equal; lakejoin
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
    from lakejoin.joins.predicates.join_predicate import best_predicates
    from lakejoin.joins.predicates.predicate_finder import PredicateOptions
    from lakejoin.joins.predicates.preferences import find_preference

    preference = find_preference(prefer)
    if len(tables) < 2:
        raise InputError("a predicate needs at least two tables: name another one")
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
@index_json_options
def relations_command(
    source: str | None, diagram: str | None, index: str | None, as_json: bool
) -> None:
    """Find the likely foreign keys of a database: which tables refer to which.

    SOURCE is a folder, a glob, or a file with several tables (SQLite, Excel); by default, the lake
    of the index. A foreign key is one or more columns whose values come from a key of another
    table. Values, names and chance are weighed in one score from 0 to 1; the likeliest come first,
    and those below 0.5 are left out.

    \b
    Examples:
      lakejoin relations database/
      lakejoin relations shop.sqlite
      lakejoin relations shop.sqlite --diagram mermaid > relations.mmd
      lakejoin relations                    for all tables of the lake
    """
    from lakejoin.cli.join_output import print_relations

    with status_or_explanation() as progress:
        found = api.relations(source if source is not None else api.open(index), progress)
    report = found.to_dict()
    if diagram is not None:
        report["diagram"] = found.diagram(diagram)
    if as_json:
        print_json(report)
    elif diagram is not None:
        click.echo(report["diagram"])
    else:
        print_relations(found)
