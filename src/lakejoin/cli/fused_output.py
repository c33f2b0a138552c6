"""Print the answer of a fused search, refined in place on a terminal, with its evidence."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live

from lakejoin.cli.engine_output import TypedQuery
from lakejoin.cli.terminal import (
    LONG_WAIT_SECONDS,
    STILL_SEARCHING,
    console,
    explain_long_wait,
    pick_result,
    print_json,
    print_lines,
    print_more,
    print_row,
    print_title,
    to_rich,
)
from lakejoin.errors import InputError
from lakejoin.quoting import join_command_line
from lakejoin.ranking.join_arguments import join_arguments
from lakejoin.render.candidate_text import describe_reason
from lakejoin.render.headlines import headline_fused
from lakejoin.render.layout import INDENT, format_bar, lay_out_row
from lakejoin.render.report import Line, Report, line
from lakejoin.text_format import clip, counted, format_percent, seconds

if TYPE_CHECKING:
    from lakejoin.lake import Lake
    from lakejoin.ranking.answer import FusedAnswer, FusedResult


EVERY = 0  # --explain without a number
_LONG = 200
_CANDIDATES_SHOWN = 5  # per table
_FULL_BAR = 100.0  # nats


def show_fused(answer: FusedAnswer, typed: TypedQuery, explain: int | None, as_json: bool) -> None:
    """Print the answer; `explain` is the number of a result, or `EVERY`."""
    chosen = pick_result(answer, explain) if explain else None
    if as_json:
        print_json(_explained_json(answer, chosen) if chosen else answer.to_dict())
        return
    screen = console()
    report = _report(answer, typed)
    print_title(screen, report)
    for result in [chosen] if chosen else answer:
        _print_result(screen, report, result, explain is not None)
    if explain == EVERY and not len(answer):
        for miss in answer.misses:
            _print_result(screen, report, miss, with_evidence=True)
    elif answer.misses:
        print_lines(screen, [line(), line(clip(answer.misses_text, 600), style="warn")])
    best = chosen or next(iter(answer), None)
    if best is not None:
        head = line(f"to join with result {best.rank}:")
        print_lines(screen, [line(), head, _join_line(best, typed)])
    if len(answer) < answer.total and not chosen:
        print_lines(screen, [line(), line(f"-k {answer.total} shows all {answer.total:,}")])
    stages = ", ".join(f"{stage} {seconds(took)}" for stage, took in answer.seconds_by.items())
    print_lines(screen, [line(), line(f"{seconds(answer.seconds)}: {stages}", style="dim")])


def print_brief_fused_answer(
    screen: Console, answer: FusedAnswer, typed: TypedQuery, limit: int
) -> None:
    """Print one of several answers: the best results, and the command for the first."""
    report = _report(answer, typed)
    print_title(screen, report)
    for result in answer[:limit]:
        print_row(screen, report, result.row(brief=True))
    print_more(screen, len(answer) - limit)
    print_lines(screen, [*([_join_line(answer[0], typed)] if len(answer) else []), line()])


def _report(answer: FusedAnswer, typed: TypedQuery) -> Report:
    """The report of an answer, titled with what was searched for and how many tables join."""
    found = len(answer), answer.total
    title = headline_fused(answer.columns, answer.table, *found, typed.tables)
    return replace(answer.report(), title=title)


def _print_result(
    screen: Console, report: Report, result: FusedResult, with_evidence: bool
) -> None:
    screen.print()
    print_row(screen, report, result.row())
    if with_evidence:
        print_lines(screen, _tree_lines(result))


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
        if result.candidates[0].kind == "equal":
            raise
        return None


def _tree_lines(result: FusedResult) -> Iterator[Line]:
    """The evidence for each join candidate, in nats."""
    for candidate in result.candidates[:_CANDIDATES_SHOWN]:
        weighed = candidate.join_score
        sure = format_percent(candidate.sure)
        figures = f"{candidate.verdict}, {sure} sure, score {weighed.score:.2f}"
        yield line()
        yield line(f"{INDENT}{clip(candidate.pairs, _LONG)}: {figures}")
        branches = [
            f"{reason.kind:<6} {reason.nats:>5.1f} nats {format_bar(reason.nats / _FULL_BAR)} "
            f"{describe_reason(reason)}"
            for reason in weighed.reasons
        ]
        branches += [f"coincidental: {weighed.accidental}"] if weighed.accidental else []
        for number, branch in enumerate(branches, 1):
            yield line(f"{INDENT}{'└─' if number == len(branches) else '├─'} {branch}")
    if len(result.candidates) > _CANDIDATES_SHOWN:
        more = counted(len(result.candidates) - _CANDIDATES_SHOWN, "more candidate")
        yield line(f"{INDENT}… and {more}; --json shows all", style="dim")


def _join_line(result: FusedResult, typed: TypedQuery) -> Line:
    """The command that makes the join, ready to paste into a shell."""
    words = [*join_arguments(result.candidates[0]).words(), "-o", "joined.csv"]
    command = join_command_line(typed.table, result.table, words, typed.index)
    return line(f"  {command}", style="bold")


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
        for shown in [*lines[:room], line(self._status(), style="dim")]:
            yield to_rich(replace(shown, cut=True), screen.width)

    def _lines(self, answer: FusedAnswer) -> Iterator[Line]:
        report = _report(answer, self._typed)
        # Until the search is over, it is not known that nothing joins.
        yield report.title if len(answer) else line("nothing found so far")
        for result in answer:
            yield from lay_out_row(report, result.row(brief=True))

    def _status(self) -> str:
        took = time.perf_counter() - self._begin
        if self.answer is None:
            return STILL_SEARCHING if took >= LONG_WAIT_SECONDS else "searching …"
        done = self.answer.seconds_by
        left = {stage: words for stage, words in self._stages.items() if stage not in done}
        source = "from sketches" if len(left) == len(self._stages) else "so far"
        coming = ", ".join(left.values()) or "the columns they add"
        return f"{source}, after {seconds(took)}; still to come: {coming}"
