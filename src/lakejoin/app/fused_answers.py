"""How the answer of a fused search looks on a terminal: the tables, and the evidence as a tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from lakejoin.app.answers import Asked, print_notes
from lakejoin.app.pasting import join_line, join_options
from lakejoin.app.printing import clip, console, counted, print_json, seconds
from lakejoin.discovery.fused.display import (
    adds_text,
    how_text,
    misses_text,
    on_text,
    versions_text,
)
from lakejoin.errors import InputError
from lakejoin.search.display import bar, fan_out_text, percent

if TYPE_CHECKING:
    from lakejoin.discovery.fused.answer import FusedAnswer, FusedResult
    from lakejoin.discovery.fused.ways import Way

EVERY = 0  # --explain without a number
_INDENT = "     "
_LONG = 200
_WAYS = 5  # of one table that are shown
_MUCH = 10.0  # a fan-out from here on is marked
_FULL = 100.0  # nats: the length of a bar


def show_fused(answer: FusedAnswer, asked: Asked, explain: int | None, as_json: bool) -> None:
    """Prints what was found; `explain` is the number of a result, or `EVERY`."""
    chosen = _chosen(answer, explain)
    if as_json:
        print_json(_explained_json(answer, chosen) if chosen else answer.to_dict())
        return
    screen = console()
    _print_searched(screen, answer, asked)
    for one in [chosen] if chosen else answer:
        _print(screen, ["", *_result_lines(one)])
        if explain is not None:
            _print(screen, _tree_lines(one))
    _print_misses(screen, answer, explain)
    best = chosen or next(iter(answer), None)
    if best is not None:
        _print(screen, ["", f"to join with number {best.rank}:", _join_text(best, asked)])
    parts = ", ".join(f"{what} {seconds(took)}" for what, took in answer.seconds_by.items())
    _print(screen, ["", Text(f"{seconds(answer.seconds)}: {parts}", "dim")])


def print_fused_short(screen: Console, answer: FusedAnswer, asked: Asked, limit: int) -> None:
    """The answer as one of several: the best results, and the command for the first."""
    _print_searched(screen, answer, asked)
    for one in answer[:limit]:
        _print(screen, brief_lines(one))
    if len(answer) > limit:
        more = f"… and {len(answer) - limit:,} more; --json shows all"
        _print(screen, [Text(f"{_INDENT}{more}", "dim")])
    _print(screen, [*([_join_text(answer[0], asked)] if len(answer) else []), ""])


def searched_text(answer: FusedAnswer, asked: Asked) -> Text:
    """What was searched for, and how many tables there are."""
    columns = ", ".join(" + ".join(map(clip, one)) for one in answer.columns)
    among = counted(asked.tables, "table")
    number = len(answer)
    best = f"the {number:,} that join best" if number > 1 else "the one that joins"
    found = f"{best}, of {among}" if number else f"nothing was found that joins, in {among}"
    return Text.assemble((columns, "bold"), f" of {clip(answer.table, _LONG)}: {found}")


def brief_lines(result: FusedResult) -> Iterator[Text]:
    """A table, and how it joins."""
    name = (clip(result.table, _LONG), "bold")
    yield Text.assemble((f"{result.rank:>2}   ", "dim"), name)
    yield from _way_lines(result.ways[0])


def _print(screen: Console, lines: Iterable[Text | str]) -> None:
    for line in lines:
        screen.print(line if isinstance(line, Text) else Text(line), soft_wrap=True)


def _chosen(answer: FusedAnswer, explain: int | None) -> FusedResult | None:
    if not explain:
        return None
    if explain > len(answer):
        raise InputError(f"there is no result {explain}: the search found {len(answer):,}")
    return answer[explain - 1]


def _explained_json(answer: FusedAnswer, result: FusedResult) -> dict[str, Any]:
    whole = answer.to_dict()
    return {
        **{key: whole[key] for key in ("query", "by", "k")},
        "result": result.to_dict(),
        **{key: whole[key] for key in ("notes", "seconds", "seconds_by")},
        "sql": _sql(result),
    }


def _sql(result: FusedResult) -> str | None:
    """The SQL of the join; None where values are not equal, and it cannot be written so."""
    try:
        return result.sql()
    except InputError:
        if result.ways[0].kind == "equal":
            raise
        return None


def _print_searched(screen: Console, answer: FusedAnswer, asked: Asked) -> None:
    _print(screen, [searched_text(answer, asked)])
    print_notes(screen, answer.notes)


def _result_lines(result: FusedResult) -> Iterator[Text]:
    yield from brief_lines(result)
    yield Text(f"{_INDENT}{clip(adds_text(result), _LONG)}")
    beneath = [versions_text(result), result.ways[0].why, _other_ways(result)]
    yield from (Text(f"{_INDENT}{clip(one, _LONG)}", "dim") for one in beneath if one)


def _way_lines(way: Way) -> Iterator[Text]:
    result = way.result
    figures = [f"{result.matched:,} of {result.query_size:,}"]
    if result.row_coverage is None:  # not counted, but told by sketches
        figures = [f"~{figures[0]}"]
    else:
        figures.append(f"{percent(result.row_coverage)} of my rows")
    many = (result.fan_out or 0) >= _MUCH
    multiplied = "" if result.fan_out is None else f"   x{fan_out_text(result.fan_out)}"
    yield Text.assemble(
        f"{_INDENT}{clip(on_text(way), _LONG)}   ",
        (bar(result.containment), "green"),
        f" {percent(result.containment)}   {'   '.join(figures)}",
        (multiplied + (" !" if many else ""), "bold red" if many else ""),
    )
    if told := how_text(way):
        yield Text(f"{_INDENT}{clip(told, _LONG)}", "cyan")


def _other_ways(result: FusedResult) -> str:
    others = [other for other in result.ways[1:] if other.believed]
    if not others:
        return ""
    told = ", ".join(clip(other.pairs, 60) for other in others[:_WAYS])
    more = f" and {len(others) - _WAYS:,} more" if len(others) > _WAYS else ""
    return f"or by {told}{more}"


def _tree_lines(result: FusedResult) -> Iterator[Text]:
    """What speaks for each way to join, in nats."""
    for way in result.ways[:_WAYS]:
        weighed = way.weighed
        told = f"score {weighed.score:.2f}, sure {percent(weighed.sure)}"
        yield Text("")
        yield Text(f"{_INDENT}{clip(way.pairs, _LONG)}: {told}")
        branches = [
            f"{reason.what:<6} {reason.nats:>5.1f} nats {bar(reason.nats / _FULL)} {reason.words}"
            for reason in weighed.reasons
        ]
        branches += [f"accidental: {weighed.accidental}"] if weighed.accidental else []
        for place, branch in enumerate(branches, 1):
            yield Text(f"{_INDENT}{'└─' if place == len(branches) else '├─'} {branch}")
    if len(result.ways) > _WAYS:
        more = counted(len(result.ways) - _WAYS, "more way")
        yield Text(f"{_INDENT}… and {more}; --json shows all", "dim")


def _print_misses(screen: Console, answer: FusedAnswer, explain: int | None) -> None:
    if explain == EVERY and not len(answer):
        for one in answer.misses:
            _print(screen, ["", *_result_lines(one), *_tree_lines(one)])
    elif told := misses_text(answer):
        _print(screen, ["", Text(clip(told, 600), "yellow")])


def _join_text(result: FusedResult, asked: Asked) -> Text:
    """The command that makes the join, to be pasted into a shell."""
    words = [*join_options(result.ways[0]).words(), "-o", "joined.csv"]
    return Text(f"  {join_line(asked.table, result.table, words, asked.index)}", "bold")
