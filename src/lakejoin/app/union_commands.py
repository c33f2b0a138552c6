"""The command that searches for rows to append: union."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from lakejoin import api
from lakejoin.app.lake_commands import index_option, json_option
from lakejoin.app.printing import clip, console, counted, print_json, print_table, seconds
from lakejoin.app.waiting import patience
from lakejoin.errors import InputError
from lakejoin.search.display import bar, percent
from lakejoin.search.options import DEFAULT_K

if TYPE_CHECKING:
    from lakejoin.discovery.union.answer import UnionAnswer, UnionResult

_INDENT = "     "
_LONG = 200
_MISSES = 5  # that are told


@click.command("union")
@click.argument("table")
@click.option(
    "-k",
    "k",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"How many tables.  [default: {DEFAULT_K}]",
)
@click.option(
    "--explain",
    type=click.IntRange(min=1),
    metavar="N",
    help="Open result N: each pair of columns with what says that they are alike, and some of the "
    "new rows.",
)
@click.option(
    "--out",
    "--output",
    "-o",
    "out",
    metavar="FILE",
    help="Write TABLE and the new rows of result 1 (or of those that --take names), with a column "
    "that says where each row is from. The ending says the format: .csv, .csv.gz, .tsv, .parquet, "
    ".arrow. A file that is there is never overwritten.",
)
@click.option(
    "--take",
    type=click.IntRange(min=1),
    multiple=True,
    metavar="N",
    help="With --out: the result whose rows are appended; may be given several times.  "
    "[default: 1]",
)
@index_option
@json_option
def union_command(
    table: str,
    k: int | None,
    explain: int | None,
    out: str | None,
    take: tuple[int, ...],
    index: str | None,
    as_json: bool,
) -> None:
    """Which tables of the lake have rows that could be appended to TABLE?

    TABLE is a file, or a table of the lake. Columns are put beside mine by their values, names,
    types and forms, and by meaning where the index has that part; each goes with one of mine at
    most. You see how many rows of each table are new, which columns go together, and which of mine
    would stay empty. Copies and versions of TABLE, and tables about the same things with other
    columns (which would rather be joined), are told apart.

    \b
    Examples:
      lakejoin union mine.csv
      lakejoin union mine.csv --explain 1
      lakejoin union mine.csv --out longer.csv
      lakejoin union mine.csv --take 1 --take 3 --out longer.parquet

    With --json: one object; with --explain N, the result and some of its new rows stand in the
    place of the results; with --out, what was written is told too.

    \b
    JSON keys: query{table, columns}, k, results[] or misses[] with rank, table, score, alignment[]
    with mine, theirs, score, signs[] with what, says, words, extra[], rows, new_rows, versions[],
    apart, notes[], seconds, result{…}, preview[], written{file, rows, tables[]}
    """
    if take and out is None:
        raise InputError("--take says whose rows --out writes: give --out FILE too")
    if out is not None:
        _check_new(out)
    lake = api.open(index)
    with patience():
        answer = lake.union(table, k)
    chosen = _one(answer, explain) if explain else None
    written = _write(answer, out, take or (1,)) if out is not None else None
    if as_json:
        print_json(_json(answer, chosen, written))
        return
    _print(answer, chosen, len(lake))
    if written:
        tables = ", ".join(written["tables"])
        click.echo(f"\nwrote {counted(written['rows'], 'row')} to {out}: {table} and {tables}")


def _check_new(out: str) -> None:
    """Says at once what would otherwise fail after the search."""
    from pathlib import Path

    from lakejoin.joins.output import check_output

    check_output(out)
    if Path(out).exists():
        raise InputError(f"{out} is there already and is never overwritten")


def _one(answer: UnionAnswer, number: int) -> UnionResult:
    if not len(answer):
        none = f"no table of the lake has rows that could be appended to {answer.table}"
        raise InputError(f"{none}; {_misses_text(answer)}" if answer.misses else none)
    if number > len(answer):
        raise InputError(f"there is no result {number}: the search found {len(answer):,}")
    return answer[number - 1]


def _write(answer: UnionAnswer, out: str, take: tuple[int, ...]) -> dict[str, Any]:
    from dataclasses import replace

    chosen = tuple(_one(answer, number) for number in dict.fromkeys(take))
    rows = replace(answer, results=chosen).write(out)
    return {"file": out, "rows": rows, "tables": [one.table for one in chosen]}


def _json(
    answer: UnionAnswer, chosen: UnionResult | None, written: dict[str, Any] | None
) -> dict[str, Any]:
    whole = answer.to_dict()
    if chosen is not None:
        opened = {"result": chosen.to_dict(), "preview": chosen.preview().to_pylist()}
        rest = ("query", "k", "notes", "seconds")
        whole = {**{key: whole[key] for key in rest}, **opened}
    return {**whole, "written": written} if written else whole


def _print(answer: UnionAnswer, chosen: UnionResult | None, tables: int) -> None:
    from rich.text import Text

    screen = console()
    among = counted(tables, "table")
    found = f"{len(answer):,} of {among}" if len(answer) else f"none of {among}"
    has = "has" if len(answer) in (0, 1) else "have"
    head = f"{clip(answer.table, _LONG)}: {found} {has} rows that could be appended"
    lines: list[Text] = [Text(head, "bold"), *(Text(f"note: {note}") for note in answer.notes)]
    for one in [chosen] if chosen else answer:
        lines += [Text(""), *_result_lines(one)]
    for line in lines:
        screen.print(line, soft_wrap=True)
    if chosen is not None:
        _print_opened(chosen)
    elif answer.misses:
        screen.print(Text(f"\n{_misses_text(answer)}", "yellow"), soft_wrap=True)
    screen.print(Text(f"\n{seconds(answer.seconds)}", "dim"))


def _result_lines(result: UnionResult) -> Iterator[Any]:
    from rich.text import Text

    yield Text.assemble((f"{result.rank:>2}   ", "dim"), (clip(result.table, _LONG), "bold"))
    known = result.rows - result.new_rows
    new = f"{counted(result.new_rows, 'new row')}" + (f", {known:,} are in yours" if known else "")
    columns = f"{len(result.pairs)} of {counted(len(result.alignment), 'column')}"
    yield Text.assemble(
        _INDENT, (bar(result.score), "green"), f" {result.score:.2f}   {new}   {columns}"
    )
    pairs = ", ".join(
        one.mine if one.mine == one.theirs else f"{one.mine} ← {one.theirs}" for one in result.pairs
    )
    yield Text(f"{_INDENT}{clip(pairs, _LONG)}")
    told = [
        f"empty would be: {', '.join(result.missing)}" if result.missing else "",
        f"not taken: {', '.join(result.extra)}" if result.extra else "",
        f"also as: {', '.join(result.versions)}" if result.versions else "",
    ]
    yield from (Text(f"{_INDENT}{clip(one, _LONG)}", "dim") for one in told if one)


def _print_opened(result: UnionResult) -> None:
    rows = [
        (
            one.mine,
            one.theirs or "",
            percent(one.likeness.score) if one.theirs else "",
            one.likeness.why,
        )
        for one in result.alignment
    ]
    click.echo()
    print_table(("mine", "theirs", "alike", "why"), rows, right=("alike",))
    some = result.preview()
    click.echo("\nsome of the new rows:")
    print_table(some.column_names, [list(row.values()) for row in some.to_pylist()])


def _misses_text(answer: UnionAnswer) -> str:
    told = "; ".join(f"{one.table} ({one.apart})" for one in answer.misses[:_MISSES])
    more = len(answer.misses) - _MISSES
    rest = f"; and {more:,} more" if more > 0 else ""
    return clip(f"none to append, although columns are alike: {told}{rest}", 900)
