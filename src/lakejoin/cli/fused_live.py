"""Run a fused search; on a terminal its first answer appears at once and is refined in place."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from lakejoin.cli.fused_output import brief_lines, fused_query_text
from lakejoin.cli.terminal import console
from lakejoin.text_format import seconds
from lakejoin.cli.waiting import LONG_WAIT_SECONDS, STILL_SEARCHING, explain_long_wait

if TYPE_CHECKING:
    from lakejoin.cli.engine_output import TypedQuery
    from lakejoin.ranking.answer_more import FusedAnswer
    from lakejoin.lake import Lake

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
