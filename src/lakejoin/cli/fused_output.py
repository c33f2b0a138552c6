"""Print the answer of a fused search, refined in place on a terminal, with the evidence as a tree."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from lakejoin.cli.engine_output import TypedQuery, print_notes
from lakejoin.cli.terminal import (
    LONG_WAIT_SECONDS,
    STILL_SEARCHING,
    console,
    explain_long_wait,
    print_json,
)
from lakejoin.codegen.pasted_command import join_command_line
from lakejoin.errors import InputError
from lakejoin.ranking.answer import (
    format_added_columns,
    format_joined_columns,
    format_kind,
    format_misses,
    format_versions,
)
from lakejoin.ranking.join_arguments import join_arguments
from lakejoin.search.answer_display import format_bar, format_fan_out, format_percent
from lakejoin.text_format import clip, counted, seconds

if TYPE_CHECKING:
    from lakejoin.lake import Lake
    from lakejoin.ranking.answer import FusedAnswer, FusedResult
    from lakejoin.ranking.join_candidates import JoinCandidate


EVERY = 0  # --explain without a number
_INDENT = "     "
_LONG = 200
_CANDIDATES_SHOWN = 5  # per table
_LARGE_FAN_OUT = 10.0  # marked with !
_FULL_BAR = 100.0  # nats


def show_fused(answer: FusedAnswer, typed: TypedQuery, explain: int | None, as_json: bool) -> None:
    """Print the answer; `explain` is the number of a result, or `EVERY`."""
    chosen = _chosen(answer, explain)
    if as_json:
        print_json(_explained_json(answer, chosen) if chosen else answer.to_dict())
        return
    screen = console()
    _print_searched(screen, answer, typed)
    for result in [chosen] if chosen else answer:
        _print(screen, ["", *_result_lines(result)])
        if explain is not None:
            _print(screen, _tree_lines(result))
    _print_misses(screen, answer, explain)
    best = chosen or next(iter(answer), None)
    if best is not None:
        _print(screen, ["", f"to join with result {best.rank}:", _join_text(best, typed)])
    stages = ", ".join(f"{stage} {seconds(took)}" for stage, took in answer.seconds_by.items())
    _print(screen, ["", Text(f"{seconds(answer.seconds)}: {stages}", "dim")])


def print_brief_fused_answer(
    screen: Console, answer: FusedAnswer, typed: TypedQuery, limit: int
) -> None:
    """Print one of several answers: the best results, and the command for the first."""
    _print_searched(screen, answer, typed)
    for result in answer[:limit]:
        _print(screen, brief_lines(result))
    if len(answer) > limit:
        more = f"… and {len(answer) - limit:,} more; --json shows all"
        _print(screen, [Text(f"{_INDENT}{more}", "dim")])
    _print(screen, [*([_join_text(answer[0], typed)] if len(answer) else []), ""])


def fused_query_text(answer: FusedAnswer, typed: TypedQuery) -> Text:
    """What was searched for, and how many tables join."""
    columns = ", ".join(" + ".join(map(clip, names)) for names in answer.columns)
    among = counted(typed.tables, "table")
    number = len(answer)
    best = f"the {number:,} best joins" if number > 1 else "the best join"
    found = f"{best if number else 'no joins found'} among {among}"
    return Text.assemble((columns, "bold"), f" of {clip(answer.table, _LONG)}: {found}")


def brief_lines(result: FusedResult) -> Iterator[Text]:
    """A table and how it joins."""
    name = (clip(result.table, _LONG), "bold")
    yield Text.assemble((f"{result.rank:>2}   ", "dim"), name)
    yield from _candidate_lines(result.ways[0])


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
    """The SQL of the join; None if values are not joined by equality and SQL cannot express it."""
    try:
        return result.sql()
    except InputError:
        if result.ways[0].kind == "equal":
            raise
        return None


def _print_searched(screen: Console, answer: FusedAnswer, typed: TypedQuery) -> None:
    _print(screen, [fused_query_text(answer, typed)])
    print_notes(screen, answer.notes)


def _result_lines(result: FusedResult) -> Iterator[Text]:
    yield from brief_lines(result)
    yield Text(f"{_INDENT}{clip(format_added_columns(result), _LONG)}")
    beneath = [format_versions(result), result.ways[0].why, _alternatives(result)]
    yield from (Text(f"{_INDENT}{clip(line, _LONG)}", "dim") for line in beneath if line)


def _candidate_lines(candidate: JoinCandidate) -> Iterator[Text]:
    result = candidate.result
    figures = [f"{result.matched:,} of {result.query_size:,}"]
    if result.row_coverage is None:  # estimated by sketches, not counted
        figures = [f"~{figures[0]}"]
    else:
        figures.append(f"{format_percent(result.row_coverage)} of your rows")
    is_large = (result.fan_out or 0) >= _LARGE_FAN_OUT
    fan_out = "" if result.fan_out is None else f"   x{format_fan_out(result.fan_out)}"
    yield Text.assemble(
        f"{_INDENT}{clip(format_joined_columns(candidate), _LONG)}   ",
        (format_bar(result.containment), "green"),
        f" {format_percent(result.containment)}   {'   '.join(figures)}",
        (fan_out + (" !" if is_large else ""), "bold red" if is_large else ""),
    )
    if how := format_kind(candidate):
        yield Text(f"{_INDENT}{clip(how, _LONG)}", "cyan")


def _alternatives(result: FusedResult) -> str:
    others = [other for other in result.ways[1:] if other.believed]
    if not others:
        return ""
    pairs = ", ".join(clip(other.pairs, 60) for other in others[:_CANDIDATES_SHOWN])
    more = len(others) - _CANDIDATES_SHOWN
    return f"or by {pairs}" + (f" and {more:,} more" if more > 0 else "")


def _tree_lines(result: FusedResult) -> Iterator[Text]:
    """The evidence for each join candidate, in nats."""
    for candidate in result.ways[:_CANDIDATES_SHOWN]:
        weighed = candidate.join_score
        figures = f"score {weighed.score:.2f}, confidence {format_percent(weighed.confidence)}"
        yield Text("")
        yield Text(f"{_INDENT}{clip(candidate.pairs, _LONG)}: {figures}")
        branches = [
            f"{reason.kind:<6} {reason.nats:>5.1f} nats {format_bar(reason.nats / _FULL_BAR)} "
            f"{reason.text}"
            for reason in weighed.reasons
        ]
        branches += [f"coincidental: {weighed.accidental}"] if weighed.accidental else []
        for number, branch in enumerate(branches, 1):
            yield Text(f"{_INDENT}{'└─' if number == len(branches) else '├─'} {branch}")
    if len(result.ways) > _CANDIDATES_SHOWN:
        more = counted(len(result.ways) - _CANDIDATES_SHOWN, "more candidate")
        yield Text(f"{_INDENT}… and {more}; --json shows all", "dim")


def _print_misses(screen: Console, answer: FusedAnswer, explain: int | None) -> None:
    if explain == EVERY and not len(answer):
        for miss in answer.misses:
            _print(screen, ["", *_result_lines(miss), *_tree_lines(miss)])
    elif misses := format_misses(answer):
        _print(screen, ["", Text(clip(misses, 600), "yellow")])


def _join_text(result: FusedResult, typed: TypedQuery) -> Text:
    """The command that makes the join, ready to paste into a shell."""
    words = [*join_arguments(result.ways[0]).words(), "-o", "joined.csv"]
    return Text(f"  {join_command_line(typed.table, result.table, words, typed.index)}", "bold")


# The stages of a search, in order, and what each of them searches for.
_STAGES = {
    "rows": "equal values, counted exactly",
    "composite": "keys of several columns",
    "rewritten": "values that must be rewritten",
    "meaning": "coordinates and meaning",
}
_OTHER_LINES = 4  # lines of the screen that are not for results


def search_live(
    lake: Lake, typed: TypedQuery, on: Sequence[str] | None, k: int, quiet: bool = False
) -> FusedAnswer:
    """Search and return the answer. On a terminal, unless `quiet`, preliminary results are drawn
    while the search runs and are removed at its end."""
    screen = console()
    if quiet or not screen.is_terminal or screen.is_dumb_terminal:
        with explain_long_wait():
            return lake.search(typed.table, on, k)
    view = _LiveView(typed, _stages(on))
    with Live(view, console=screen, transient=True, refresh_per_second=4) as live:
        for answer in lake.search_progressively(typed.table, on, k):
            view.answer = answer
            if not answer.final:
                live.refresh()
    assert view.answer is not None, "a search yields at least one answer"
    return view.answer


def _stages(on: Sequence[str] | None) -> dict[str, str]:
    """The stages that apply to the columns that were named."""
    if not on:
        return _STAGES
    stages = ("composite",) if len(on) > 1 else ("rows", "rewritten", "meaning")
    return {stage: _STAGES[stage] for stage in stages}


class _LiveView:
    """The results so far, as many as fit the screen, and what remains to be done."""

    def __init__(self, typed: TypedQuery, stages: dict[str, str]) -> None:
        self._typed = typed
        self._stages = stages
        self._begin = time.perf_counter()
        self.answer: FusedAnswer | None = None

    def __rich_console__(self, screen: Console, options: ConsoleOptions) -> RenderResult:
        lines = [] if self.answer is None else list(self._lines(self.answer))
        room = max(2, (options.height or screen.height) - _OTHER_LINES)
        for line in [*lines[:room], self._status()]:
            line.truncate(screen.width, overflow="ellipsis")
            yield line

    def _lines(self, answer: FusedAnswer) -> Iterator[Text]:
        # Until the search is over, it is not known that nothing joins.
        yield fused_query_text(answer, self._typed) if len(answer) else Text("nothing found so far")
        for result in answer:
            yield from brief_lines(result)

    def _status(self) -> Text:
        took = time.perf_counter() - self._begin
        if self.answer is None:
            return Text(STILL_SEARCHING if took >= LONG_WAIT_SECONDS else "searching …", "dim")
        done = self.answer.seconds_by
        left = {stage: words for stage, words in self._stages.items() if stage not in done}
        source = "from sketches" if len(left) == len(self._stages) else "so far"
        coming = ", ".join(left.values()) or "the columns they add"
        return Text(f"{source}, after {seconds(took)}; still to come: {coming}", "dim")
