"""The command `union`: find tables whose rows can be appended to a table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from lakejoin import api
from lakejoin.cli.options import index_json_options
from lakejoin.cli.terminal import (
    console,
    explain_long_wait,
    pick_result,
    print_json,
    print_lines,
    print_report,
    print_table,
)
from lakejoin.errors import InputError
from lakejoin.render.headlines import headline_union
from lakejoin.render.report import line
from lakejoin.search.options import DEFAULT_K
from lakejoin.text_format import counted, format_percent, seconds

if TYPE_CHECKING:
    from lakejoin.union.answer import UnionAnswer, UnionResult


@click.command("union")
@click.argument("table")
@click.option(
    "-k",
    "k",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"How many tables to show.  [default: {DEFAULT_K}]",
)
@click.option(
    "--explain",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show result N in full: pairs of columns, why they correspond, some new rows.",
)
@click.option(
    "--out",
    "--output",
    "-o",
    "out",
    metavar="FILE",
    help="Write TABLE and the new rows of result 1 (or of --take) to a new file: .csv, .csv.gz, "
    ".tsv, .parquet or .arrow.",
)
@click.option(
    "--take",
    type=click.IntRange(min=1),
    multiple=True,
    metavar="N",
    help="With --out: the result whose rows are appended; repeatable.  [default: 1]",
)
@index_json_options
def union_command(
    table: str,
    k: int | None,
    explain: int | None,
    out: str | None,
    take: tuple[int, ...],
    index: str | None,
    as_json: bool,
) -> None:
    """Find tables in the lake whose rows could be appended to TABLE.

    TABLE is a file or a table in the lake. Columns are aligned by their values, names, types and
    formats, and by meaning if the index supports it; each aligns with at most one column of TABLE.
    Each result shows how many rows are new, which columns correspond, and which columns of TABLE
    would stay empty. Copies and versions of TABLE, and tables that are better joined than appended
    (the same things with other columns), are listed separately.

    \b
    Examples:
      lakejoin union mine.csv
      lakejoin union mine.csv --explain 1
      lakejoin union mine.csv --out longer.csv
      lakejoin union mine.csv --take 1 --take 3 --out longer.parquet
    """
    if take and out is None:
        raise InputError("--take needs --out FILE: it selects the results whose rows are written")
    if out is not None:
        from lakejoin.joins.output import check_output

        check_output(out, is_new=True)
    lake = api.open(index)
    with explain_long_wait():
        answer = lake.union(table, k or DEFAULT_K)
    chosen = _result(answer, explain) if explain else None
    written = _write(answer, out, take or (1,)) if out is not None else None
    if as_json:
        print_json(_json(answer, chosen, written))
        return
    _print(answer, chosen, len(lake))
    if written:
        tables = ", ".join(written["tables"])
        click.echo(f"\nwrote {counted(written['rows'], 'row')} to {out}: {table} and {tables}")


def _result(answer: UnionAnswer, number: int) -> UnionResult:
    if not len(answer):
        nothing = f"no table in the lake has rows that could be appended to {answer.table}"
        raise InputError(f"{nothing}; {answer.misses_text}" if answer.misses else nothing)
    return pick_result(answer, number)


def _write(answer: UnionAnswer, out: str, take: tuple[int, ...]) -> dict[str, Any]:
    chosen = tuple(_result(answer, number) for number in dict.fromkeys(take))
    rows = replace(answer, results=chosen).write(out)
    return {"file": out, "rows": rows, "tables": [result.table for result in chosen]}


def _json(
    answer: UnionAnswer, chosen: UnionResult | None, written: dict[str, Any] | None
) -> dict[str, Any]:
    whole = answer.to_dict()
    if chosen is not None:
        in_full = {"result": chosen.to_dict(), "preview": chosen.preview().to_pylist()}
        rest = ("query", "k", "notes", "seconds")
        whole = {**{key: whole[key] for key in rest}, **in_full}
    return {**whole, "written": written} if written else whole


def _print(answer: UnionAnswer, chosen: UnionResult | None, tables: int) -> None:
    screen = console()
    title = headline_union(answer.table, len(answer), tables)
    report = replace(answer.report(), title=title)
    if chosen is not None:
        report = replace(report, rows=(chosen.row(),), after=())
    print_report(screen, report)
    if chosen is not None:
        _print_in_full(chosen)
    print_lines(screen, [line(), line(seconds(answer.seconds), style="dim")])


def _print_in_full(result: UnionResult) -> None:
    rows = [
        (
            pair.mine,
            pair.theirs or "",
            format_percent(pair.likeness.score) if pair.theirs else "",
            pair.likeness.why,
        )
        for pair in result.alignment
    ]
    click.echo()
    print_table(("your column", "lake column", "similar", "why"), rows, right=("similar",))
    some = result.preview()
    click.echo("\nsome of the new rows:")
    print_table(some.column_names, [list(row.values()) for row in some.to_pylist()])
