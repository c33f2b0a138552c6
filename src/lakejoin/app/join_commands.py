"""The command that joins two tables: join."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from lakejoin.app.given import Given, given_table, lake_if_any
from lakejoin.app.lake_commands import index_option, json_option
from lakejoin.app.printing import clip, counted, print_json, print_table, size
from lakejoin.errors import InputError
from lakejoin.model import ValueRules

if TYPE_CHECKING:
    from lakejoin.joins.equal import Joined

_MOST = 100_000_000
_OF_LEFT = 4


@click.command("join")
@click.argument("left")
@click.argument("right")
@click.option(
    "--on",
    "pairs",
    multiple=True,
    required=True,
    metavar="LEFT=RIGHT",
    help="Columns that must be equal: names, or places counted from zero; one name where both "
    "tables have it. Given several times, all must be equal.",
)
@click.option(
    "--how",
    type=click.Choice(["inner", "left", "right", "full"]),
    default="inner",
    show_default=True,
    help="Which rows without a partner stay: none, those of LEFT, of RIGHT, or of both.",
)
@click.option("-o", "--output", metavar="FILE", help="Where to write all rows; see below.")
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
    how: str,
    output: str | None,
    shown: int,
    suffix: str,
    most: int,
    index: str | None,
    as_json: bool,
) -> None:
    """Joins LEFT and RIGHT where their columns hold equal values.

    LEFT and RIGHT are files, or tables of the lake. Values are equal as the search counts them:
    "Zürich " joins "zürich", and "7.0" joins "7". A null joins nothing. All columns of both
    tables are in the result. Without an output the first rows are shown; else the ending of FILE
    says how it is written: .csv, .csv.gz, .tsv, .parquet, .arrow or .feather.

    \b
    Examples:
      lakejoin join mine.csv airports.csv --on iata=code
      lakejoin join mine.csv airports.csv --on iata=code --how left -o joined.parquet
      lakejoin join a.csv b.csv --on country --on 0=year

    \b
    JSON keys: left, right, on[] with left, right, how, rows, left_rows, right_rows, left_joined,
    right_joined, pairs, fan_out, columns[], first[][], output, bytes, warnings[]
    """
    from lakejoin.joins.equal import EqualJoin
    from lakejoin.joins.on import columns_of
    from lakejoin.joins.output import check_output, write

    if output is not None:
        check_output(output)
    lake = lake_if_any(index)
    mine, theirs = given_table(left, lake), given_table(right, lake)
    names = mine.rows.column_names, theirs.rows.column_names
    on = tuple(columns_of(text, *names, left, right) for text in pairs)
    rules = lake.snapshot.manifest.options.rules if lake else ValueRules()
    joined = EqualJoin(on, how, suffix, rules).join(mine.rows, theirs.rows)
    report = _report(mine, theirs, joined)
    if output is not None:
        if len(joined) > most:
            raise InputError(
                f"the result would have {len(joined):,} rows, more than --max-rows {most:,}"
                + "".join(f"; {warning}" for warning in report["warnings"])
            )
        report |= {"output": output, "bytes": write(joined.batches(), joined.schema, output)}
    else:
        columns = [column.to_pylist() for column in joined.table(max(0, shown)).columns]
        report["first"] = [list(row) for row in zip(*columns, strict=True)]
    if as_json:
        print_json(report)
    else:
        _print_report(report, mine, theirs, _again(left, right, pairs, how, index))


def _report(left: Given, right: Given, joined: Joined) -> dict[str, Any]:
    return {
        "left": left.name,
        "right": right.name,
        "on": [{"left": mine, "right": theirs} for mine, theirs in joined.join.on],
        "how": joined.join.how,
        "rows": len(joined),
        "left_rows": left.rows.num_rows,
        "right_rows": right.rows.num_rows,
        "left_joined": joined.left_joined,
        "right_joined": joined.right_joined,
        "pairs": joined.pairs,
        "fan_out": joined.fan_out,
        "columns": joined.schema.names,
        "first": [],
        "output": None,
        "bytes": None,
        "warnings": _warnings(left, joined),
    }


def _warnings(left: Given, joined: Joined) -> list[str]:
    """What a person should know before using the result."""
    busiest = joined.busiest()
    if busiest is None:
        return [f"no row of {left.name} finds a partner"]
    if joined.pairs <= max(joined.left_joined, joined.right_joined):
        return []
    row, mine, theirs = busiest
    key = ", ".join(clip(left.rows[name][row].as_py()) for name, _ in joined.join.on)
    return [
        f"the join multiplies rows: both sides repeat values, and {key!r} alone "
        f"({mine:,} times {theirs:,} rows) makes {counted(mine * theirs, 'row')}"
    ]


def _print_report(report: dict[str, Any], left: Given, right: Given, again: str) -> None:
    for given in (left, right):
        for loss in given.losses:
            click.echo(f"left out of {given.name}: {loss.reason}, {loss.count:,} times")
    pairs = " and ".join(f"{clip(one['left'])} = {clip(one['right'])}" for one in report["on"])
    width = counted(len(report["columns"]), "column")
    click.echo(f"{report['how']} join on {pairs}: {counted(report['rows'], 'row')}, {width}")
    for side, given in (("left", left), ("right", right)):
        share = f"{report[side + '_joined']:,} of {report[side + '_rows']:,} rows"
        click.echo(f"  {share} of {given.name} have a partner")
    if report["pairs"] > report["left_joined"]:
        each = report["pairs"] / report["left_joined"]
        click.echo(f"  each of {left.name} that has one has {each:,.1f} on average")
    for warning in report["warnings"]:
        click.secho(f"warning: {warning}", fg="yellow")
    if report["output"] is not None:
        click.echo(f"written to {report['output']}: {size(report['bytes'])}")
        return
    if report["first"]:
        click.echo()
        order = _shown_first(report["on"], left, right)
        heads = [report["columns"][place] for place in order]
        print_table(heads, ([row[place] for place in order] for row in report["first"]), least=12)
        click.echo(f"\n{len(report['first']):,} of {report['rows']:,} rows; to write them all:")
        click.echo(f"  {again} -o joined.csv")


def _shown_first(on: Sequence[dict[str, str]], left: Given, right: Given) -> list[int]:
    """The columns as they are shown: the keys side by side, then some of each table, so that a
    narrow screen has something of both."""
    width = left.rows.num_columns
    keys = []
    for pair in on:
        keys.append(left.rows.column_names.index(pair["left"]))
        keys.append(width + right.rows.column_names.index(pair["right"]))
    mine, theirs = range(width), range(width, width + right.rows.num_columns)
    some = [place for place in mine if place not in keys][:_OF_LEFT]
    return list(dict.fromkeys([*keys, *some, *theirs, *mine]))


def _again(left: str, right: str, pairs: Sequence[str], how: str, index: str | None) -> str:
    """The command as it was given, to be pasted."""
    options = [part for pair in pairs for part in ("--on", pair)]
    options += [] if how == "inner" else ["--how", how]
    return join_line(left, right, options, index)


def join_line(left: str, right: str, options: Sequence[str], index: str | None) -> str:
    """A command that joins two tables, quoted for a shell.

    >>> join_line("my table.csv", "b.csv", ["--on", "a=b c"], None)
    "lakejoin join 'my table.csv' b.csv --on 'a=b c'"
    >>> join_line("-x.csv", "b.csv", ["--on", "a"], "here")
    'lakejoin join --on a --index here -- -x.csv b.csv'
    """
    rest = [*options, *(["--index", index] if index else [])]
    dashed = left.startswith("-") or right.startswith("-")
    words = [*rest, "--", left, right] if dashed else [left, right, *rest]
    return "lakejoin join " + " ".join(map(shell_word, words))


def shell_word(text: str) -> str:
    r"""A word for a shell to read; what would do something to the screen is written out.

    >>> print(shell_word("a b"), shell_word("a\tb"))
    'a b' $'a\x09b'
    """
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(map(_written_out, text)) + "'"


def _written_out(letter: str) -> str:
    if letter in "\\'":
        return "\\" + letter
    if letter.isprintable():
        return letter
    code = ord(letter)
    return (
        f"\\x{code:02x}" if code < 128 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )
