"""Commands that say which columns to equate: predicate, and predicates for whole databases."""

from __future__ import annotations

import click

from lakejoin.app.given import given_side, lake_if_any
from lakejoin.app.lake_commands import index_option, json_option
from lakejoin.app.pasting import CODES, code_of
from lakejoin.app.printing import print_json
from lakejoin.app.waiting import told
from lakejoin.errors import InputError, NoJoin
from lakejoin.model import ValueRules

_MOST = 100_000


@click.command("predicate")
@click.argument("tables", metavar="LEFT RIGHT [MORE]...", nargs=-1)
@click.option(
    "--prefer",
    default="compact",
    show_default=True,
    metavar="WHAT",
    help="What is wanted of the result; see below.",
)
@click.option("-n", "--number", default=5, show_default=True, help="How many predicates.")
@click.option(
    "--rows",
    "shown",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="Joined rows to show.",
)
@click.option("--code", type=click.Choice(CODES), help="Print the best one's join as code.")
@click.option(
    "--most",
    type=click.IntRange(min=0),
    default=_MOST,
    show_default=True,
    help="Look at no more predicates; 0 for all that could be among the best.",
)
@index_option
@json_option
def predicate_command(
    tables: tuple[str, ...],
    prefer: str,
    number: int,
    shown: int,
    code: str | None,
    most: int,
    index: str | None,
    as_json: bool,
) -> None:
    """Which columns of these tables should be equated?

    Tables are files, or tables of the lake. There are many ways to join them, and no name or type
    says which is meant. A predicate is a set of pairs of columns that must all be equal; the best
    ones are found for what you want of the joined rows. All numbers are exact. A null joins
    nothing, and values are equal as the search counts them: "Zürich " is "zürich".

    \b
    --prefer
      coverage  (h1)  as many rows as possible find a partner: reach all customers with an order
      groups    (h2)  as many different keys as possible: tell most things apart
      compact   (h3)  the smallest merged table, with the rows that have no partner: merge two lists
      balanced  (h4)  many keys with about as many rows each: a bill every month for each customer
      strength  (h5)  many rows find a partner, and few more than one: who made this order?

    \b
    Examples:
      lakejoin predicate people.csv orders.csv
      lakejoin predicate people.csv orders.csv --prefer coverage -n 3
      lakejoin predicate people.csv orders.csv items.csv --code sql
      lakejoin join people.csv orders.csv --prefer compact -o joined.csv

    \b
    JSON keys: tables[] with table, rows, columns; prefer, predicates[] with pairs[][], enough[][],
    scores, inner_rows, outer_rows, groups, entropy, involved[], columns[], first[][], command,
    notes[]; looked_at, complete, notes[]; with --code: code; or
    tables[], prefer, predicates[], why, notes[]
    """
    from lakejoin.app import predicate_answers as answers
    from lakejoin.joins.predicates.described import best_predicates
    from lakejoin.joins.predicates.finding import PredicateOptions
    from lakejoin.joins.predicates.preferences import preference_named

    preference = preference_named(prefer)
    if len(tables) < 2:
        raise InputError("a predicate is between two tables or more: name another one")
    lake = lake_if_any(index)
    rules = lake.snapshot.manifest.options.rules if lake else ValueRules()
    options = PredicateOptions(preference, number, rules, most=most or None)
    with told() as tell:
        sides = [given_side(name, lake) for name in tables]
        found = best_predicates(sides, options, tell)
        report = answers.report_of(found, shown, index)
    if code is not None and found:
        report["code"] = code_of(found.winner, code, tables)
    if as_json:
        print_json(report)
    elif not found:
        raise NoJoin("; ".join([found.none, *found.notes]))
    elif code is not None:
        click.echo(report["code"])
    else:
        answers.print_predicates(found, report)
    if not found:
        raise SystemExit(NoJoin.exit_code)


@click.command("predicates")
@click.argument("place", required=False)
@click.option(
    "--diagram",
    type=click.Choice(["mermaid", "graphviz"]),
    help="Print the relations as a diagram, in text that Mermaid or Graphviz draws.",
)
@index_option
@json_option
def predicates_command(
    place: str | None, diagram: str | None, index: str | None, as_json: bool
) -> None:
    """Which tables refer to which? The likely key relations of a database.

    PLACE is a folder, a glob, or a file that holds several tables (SQLite, Excel); without it, the
    lake of the index is looked at. A relation is a column, or some together, whose values are those
    of a key of another table. Values, names and chance are weighed in one score from 0 to 1; the
    likeliest relations come first, and those below 0.5 are left out.

    \b
    Examples:
      lakejoin predicates database/
      lakejoin predicates shop.sqlite
      lakejoin predicates shop.sqlite --diagram mermaid > relations.mmd
      lakejoin predicates                    all tables of the lake

    \b
    JSON keys: tables[], relations[] with table, columns[], key_table, key_columns[], rows, values,
    missing, keys, score, why; notes[]; with --diagram: diagram
    """
    from lakejoin import api
    from lakejoin.app import predicate_answers as answers

    with told() as tell:
        found = api.relations(place if place is not None else api.open(index), tell)
    report = answers.report_of_relations(found)
    if diagram is not None:
        report["diagram"] = found.diagram(diagram)
    if as_json:
        print_json(report)
    elif diagram is not None:
        click.echo(report["diagram"])
    else:
        answers.print_relations(found)
