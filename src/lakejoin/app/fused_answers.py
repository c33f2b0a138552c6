"""How the answer of a fused search looks on a terminal: the tables, and the evidence as a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from lakejoin.app.answers import Asked, print_notes
from lakejoin.app.pasting import join_line, on_of_way
from lakejoin.app.printing import clip, console, counted, print_json, seconds
from lakejoin.discovery.fused.display import adds_text, misses_text, versions_text
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
        screen.print()
        _print_result(screen, one)
        if explain is not None:
            _print_tree(screen, one)
    _print_misses(screen, answer, explain)
    best = chosen or next(iter(answer), None)
    if best is not None:
        screen.print()
        screen.print(f"to join with number {best.rank}:")
        screen.print(Text(f"  {_join_command(best, asked)}", "bold"), soft_wrap=True)
    screen.print()
    parts = ", ".join(f"{what} {seconds(took)}" for what, took in answer.seconds_by.items())
    screen.print(Text(f"{seconds(answer.seconds)}: {parts}", "dim"), soft_wrap=True)


def print_fused_short(screen: Console, answer: FusedAnswer, asked: Asked, limit: int) -> None:
    """The answer as one of several: the best results, and the command for the first."""
    _print_searched(screen, answer, asked)
    for one in answer[:limit]:
        name = Text.assemble((f"{one.rank:>2}   ", "dim"), (clip(one.table, _LONG), "bold"))
        screen.print(name, soft_wrap=True)
        _print_way(screen, one.ways[0], _INDENT)
    if len(answer) > limit:
        more = f"… and {len(answer) - limit:,} more; --json shows all"
        screen.print(Text(f"{_INDENT}{more}", "dim"))
    if len(answer):
        screen.print(Text(f"  {_join_command(answer[0], asked)}", "bold"), soft_wrap=True)
    screen.print()


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
        "sql": result.sql(),
    }


def _print_searched(screen: Console, answer: FusedAnswer, asked: Asked) -> None:
    columns = ", ".join(" + ".join(map(clip, one)) for one in answer.columns)
    among = counted(asked.tables, "table")
    number = len(answer)
    best = f"the {number:,} that join best" if number > 1 else "the one that joins"
    found = f"{best}, of {among}" if number else f"nothing was found that joins, in {among}"
    told = Text.assemble((columns, "bold"), f" of {clip(answer.table, _LONG)}: {found}")
    screen.print(told, soft_wrap=True)
    print_notes(screen, answer.notes)


def _print_result(screen: Console, result: FusedResult) -> None:
    way, name = result.ways[0], clip(result.table, _LONG)
    head = Text.assemble((f"{result.rank:>2}   ", "dim"), (name, "bold"))
    screen.print(head, soft_wrap=True)
    _print_way(screen, way, _INDENT)
    screen.print(Text(f"{_INDENT}{clip(adds_text(result), _LONG)}"), soft_wrap=True)
    if told := versions_text(result):
        screen.print(Text(f"{_INDENT}{clip(told, _LONG)}", "dim"), soft_wrap=True)
    screen.print(Text(f"{_INDENT}{clip(way.why, _LONG)}", "dim"), soft_wrap=True)
    others = [other for other in result.ways[1:] if not other.weighed.accidental]
    if others:
        told = ", ".join(clip(other.pairs, 60) for other in others[:_WAYS])
        more = f" and {len(others) - _WAYS:,} more" if len(others) > _WAYS else ""
        screen.print(Text(f"{_INDENT}or by {told}{more}", "dim"), soft_wrap=True)


def _print_way(screen: Console, way: Way, indent: str) -> None:
    result = way.result
    many = (result.fan_out or 0) >= _MUCH
    line = Text.assemble(
        indent,
        clip(way.pairs, _LONG),
        "   ",
        (bar(result.containment), "green"),
        f" {percent(result.containment)}   {result.matched:,} of {result.query_size:,}   "
        f"{percent(result.row_coverage)} of my rows   ",
        (f"x{fan_out_text(result.fan_out)}" + (" !" if many else ""), "bold red" if many else ""),
    )
    screen.print(line, soft_wrap=True)


def _print_tree(screen: Console, result: FusedResult) -> None:
    """What speaks for each way to join, in nats."""
    for way in result.ways[:_WAYS]:
        weighed = way.weighed
        screen.print()
        told = f"score {weighed.score:.2f}, sure {percent(weighed.sure)}"
        screen.print(Text(f"{_INDENT}{clip(way.pairs, _LONG)}: {told}"), soft_wrap=True)
        reasons = weighed.reasons
        for reason in reasons:
            last = reason is reasons[-1] and not weighed.accidental
            branch = "└─" if last else "├─"
            amount = f"{reason.what:<6} {reason.nats:>5.1f} nats {bar(reason.nats / _FULL)}"
            screen.print(Text(f"{_INDENT}{branch} {amount} {reason.words}"), soft_wrap=True)
        if weighed.accidental:
            screen.print(Text(f"{_INDENT}└─ accidental: {weighed.accidental}"), soft_wrap=True)
    if len(result.ways) > _WAYS:
        more = counted(len(result.ways) - _WAYS, "more way")
        screen.print(Text(f"{_INDENT}… and {more}; --json shows all", "dim"))


def _print_misses(screen: Console, answer: FusedAnswer, explain: int | None) -> None:
    if explain == EVERY and not len(answer):
        for one in answer.misses:
            screen.print()
            _print_result(screen, one)
            _print_tree(screen, one)
    elif told := misses_text(answer):
        screen.print()
        screen.print(Text(clip(told, 600), "yellow"), soft_wrap=True)


def _join_command(result: FusedResult, asked: Asked) -> str:
    """The command that makes the join, to be pasted into a shell."""
    on = [word for pair in on_of_way(result.ways[0]) for word in ("--on", pair)]
    return join_line(asked.table, result.table, [*on, "-o", "joined.csv"], asked.index)
