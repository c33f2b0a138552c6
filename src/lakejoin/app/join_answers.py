"""How a join looks on a terminal: its steps, examples, what is left over, and the first rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from lakejoin.app.printing import clip, console, counted, print_table, size

if TYPE_CHECKING:
    from rich.console import Console

    from lakejoin.app.given import Given
    from lakejoin.joins.join import Join
    from lakejoin.joins.pairs import Example

_OF_LEFT = 4
_EXAMPLES = 3  # of each step
_LEFT_OVER = 3  # rows without a partner that are shown, of each side
_COMPARED = 200_000  # rows of a table in which the nearest is looked for
_LOOKED_AT = 30  # to find some with different values
_WORDS = 400

Report = dict[str, Any]


def report_of(join: Join, left: Given, right: Given) -> Report:
    """The join as plain values, with the keys of `lakejoin join --json`."""
    found = join.known
    way = found.ways[0]
    sides = (way.columns, found.columns)
    mine, theirs = sides if found.source_side == "left" else sides[::-1]
    is_plain = all(step.kind == "equal" for step in join.steps)
    return {
        "left": left.name,
        "right": right.name,
        "on": [
            {"left": a, "right": b} for a, b in (zip(mine, theirs, strict=True) if is_plain else ())
        ],
        "how": join.options.how,
        "rows": len(join),
        "left_rows": left.rows.num_rows,
        "right_rows": right.rows.num_rows,
        "left_joined": join.left_joined,
        "right_joined": join.right_joined,
        "pairs": join.matched,
        "fan_out": join.joined.fan_out,
        "left_columns": list(mine),
        "right_columns": list(theirs),
        "steps": [step.to_json() for step in join.steps],
        "sure": join.sure,
        "examples": [_example(one) for one in join.examples(_EXAMPLES)],
        "unmatched": {side: _left_over(join, side) for side in ("left", "right")},
        "columns": join.schema.names,
        "first": [],
        "output": None,
        "bytes": None,
        "warnings": list(join.warnings),
        "notes": list(join.notes),
    }


def report_of_none(join: Join, left: Given, right: Given) -> Report:
    """The same where no join was found."""
    best = join.attempt
    attempt = best and {
        "words": best.words,
        "left_rows": best.left_rows,
        "right_rows": best.right_rows,
        "why": best.why,
    }
    return report_without(join.no_join, join.notes, left, right) | {"attempt": attempt}


def report_without(why: str, notes: Sequence[str], left: Given, right: Given) -> Report:
    """The same where nothing came near."""
    return {
        "left": left.name,
        "right": right.name,
        "found": False,
        "why": why,
        "attempt": None,
        "notes": list(notes),
    }


def first_rows(join: Join, limit: int) -> list[list[Any]]:
    """The first rows of the result, a list of cells each."""
    columns = [column.to_pylist() for column in join.table(max(0, limit)).columns]
    return [list(row) for row in zip(*columns, strict=True)]


def print_join(join: Join, report: Report, left: Given, right: Given) -> None:
    """What was found, step by step."""
    from lakejoin.joins.shown import left_out

    screen = console()
    for given in (left, right):
        for lost in left_out(given.name, given.losses):
            _say(screen, lost)
    _print_headline(screen, report)
    for place, step in enumerate(join.steps):
        if len(join.steps) > 1 or step.kind != "equal":
            _print_step(screen, join, place)
        elif step.why and not join.options.on:
            _say(screen, f"  {step.why}")
    for side, given in (("left", left), ("right", right)):
        share = f"{report[side + '_joined']:,} of {report[side + '_rows']:,} rows"
        _say(screen, f"  {share} of {given.name} have a partner")
    if report["pairs"] > report["left_joined"]:
        each = report["pairs"] / report["left_joined"]
        _say(screen, f"  each of {left.name} that has one has {each:,.1f} on average")
    for warning in report["warnings"]:
        screen.print(Text(f"warning: {warning}", "yellow"), soft_wrap=True)
    for note in report["notes"]:
        screen.print(Text(f"note: {note}", "yellow"), soft_wrap=True)
    _print_left_over(screen, report)


def print_written(report: Report) -> None:
    """Where the result went."""
    click.echo(f"written to {report['output']}: {size(report['bytes'])}")


def print_first(report: Report, left: Given, right: Given, again: str) -> None:
    """The first rows of the result, and the command that writes them all."""
    if not report["first"]:
        return
    click.echo()
    order = _shown_first(report, left, right)
    heads = [report["columns"][place] for place in order]
    print_table(heads, ([row[place] for place in order] for row in report["first"]), least=12)
    click.echo(f"\n{len(report['first']):,} of {report['rows']:,} rows; to write them all:")
    click.echo(f"  {again} -o joined.csv")


def _print_headline(screen: Console, report: Report) -> None:
    on = " and ".join(f"{clip(one['left'])} = {clip(one['right'])}" for one in report["on"])
    size_of = f"{counted(report['rows'], 'row')}, {counted(len(report['columns']), 'column')}"
    sure = "" if on else f"; sure {_percent(report['sure'])}"
    _say(screen, f"{report['how']} join{f' on {on}' if on else ''}: {size_of}{sure}")


def _print_step(screen: Console, join: Join, place: int) -> None:
    step = join.steps[place]
    line = Text.assemble(f"  {place + 1}. {step.kind}: ", (clip(step.words, _WORDS), "bold"))
    screen.print(line, soft_wrap=True)
    rows = f"{counted(step.left_rows, 'left row')}, {counted(step.right_rows, 'right row')}"
    _say(screen, f"     {rows}; sure {_percent(step.sure)}: {clip(step.why, _WORDS)}")
    for one in join.examples(_EXAMPLES):
        if one.step == place:
            screen.print(Text(f"     {_shown(one)}", "dim"), soft_wrap=True)


def _print_left_over(screen: Console, report: Report) -> None:
    """Some rows without a partner, and what is nearest to them."""
    for side in ("left", "right"):
        few = report["unmatched"][side]
        if not few:
            continue
        rows = report[f"{side}_rows"] - report[f"{side}_joined"]
        _say(screen, f"  without a partner: {counted(rows, f'{side} row')}, such as")
        for row in few:
            near = f"  (nearest: {clip(row['nearest'])})" if row["nearest"] is not None else ""
            screen.print(Text(f"     {clip(row['value'])}{near}", "dim"), soft_wrap=True)


def _shown(example: Example) -> str:
    from lakejoin.joins.shown import shown

    return shown(example)


def _percent(share: float) -> str:
    from lakejoin.joins.shown import percent

    return percent(share)


def _left_over(join: Join, side: str) -> list[dict[str, Any]]:
    """Some rows without a partner, each with another value."""
    values: dict[str, dict[str, Any]] = {}
    few = max(join.left.num_rows, join.right.num_rows) <= _COMPARED
    for row in join.unmatched(side, _LOOKED_AT, nearest=few).to_pylist():
        if row["value"]:
            values.setdefault(row["value"], row)
    return list(values.values())[:_LEFT_OVER]


def _example(one: Example) -> dict[str, Any]:
    return {
        "step": one.step,
        "before": one.before,
        "after": one.after,
        "partner": one.partner,
        "distance": one.distance,
        "unit": one.unit or None,
    }


def _shown_first(report: Report, left: Given, right: Given) -> list[int]:
    """The columns as they are shown: the keys side by side, then some of each table, so that a
    narrow screen has something of both."""
    places = {name: place for place, name in enumerate(report["columns"])}
    width, total = left.rows.num_columns, len(report["columns"])
    mine = [places[name] for name in report["left_columns"]]
    names = right.rows.column_names
    theirs = [width + names.index(name) for name in report["right_columns"]]
    if total != width + len(names):  # some were left out by aggregating
        theirs = []
    keys = _in_turns(mine, theirs)
    some = [place for place in range(width) if place not in keys][:_OF_LEFT]
    return list(dict.fromkeys([*keys, *some, *range(width, total), *range(width)]))


def _in_turns(mine: Sequence[int], theirs: Sequence[int]) -> list[int]:
    if len(mine) != len(theirs):
        return [*mine, *theirs]
    return [place for pair in zip(mine, theirs, strict=True) for place in pair]


def _say(screen: Console, text: str) -> None:
    screen.print(Text(text), soft_wrap=True)
