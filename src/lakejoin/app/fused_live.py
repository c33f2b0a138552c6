"""A fused search as it goes on: its first answer stands on the terminal at once, and is refined."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from lakejoin.app.fused_answers import brief_lines, searched_text
from lakejoin.app.printing import console, seconds
from lakejoin.app.waiting import AFTER, TOLD, patience

if TYPE_CHECKING:
    from lakejoin.app.answers import Asked
    from lakejoin.discovery.fused.answer import FusedAnswer
    from lakejoin.opened import Lake

# What is searched for, in this order, and the part of the search after which it has been.
_PARTS = {
    "rows": "equal values, counted exactly",
    "composite": "keys of several columns",
    "rewritten": "values that must be rewritten",
    "meaning": "places and meaning",
}
_BESIDE = 4  # lines of the screen for what stands around the results


def refined(
    lake: Lake, asked: Asked, on: Sequence[str] | None, k: int, quiet: bool = False
) -> FusedAnswer:
    """The answer. On a terminal, and unless it is to be `quiet`, what is known before is drawn as
    long as the search goes on, and is gone when the answer is to be printed."""
    screen = console()
    if quiet or not screen.is_terminal or screen.is_dumb_terminal:
        with patience():
            return lake.search(asked.table, on, k)
    drawn = _Drawn(asked, _parts(on))
    with Live(drawn, console=screen, transient=True, refresh_per_second=4) as live:
        for answer in lake.search_progressively(asked.table, on, k):
            drawn.answer = answer
            if not answer.final:
                live.refresh()
    assert drawn.answer is not None, "a search gives an answer"
    return drawn.answer


def _parts(on: Sequence[str] | None) -> dict[str, str]:
    """What is searched for, by the columns that were named."""
    if not on:
        return _PARTS
    wanted = ("composite",) if len(on) > 1 else ("rows", "rewritten", "meaning")
    return {part: _PARTS[part] for part in wanted}


class _Drawn:
    """What is known now, as much of it as fits the screen, and what is still being done."""

    def __init__(self, asked: Asked, parts: dict[str, str]) -> None:
        self._asked = asked
        self._parts = parts
        self._begin = time.perf_counter()
        self.answer: FusedAnswer | None = None

    def __rich_console__(self, screen: Console, options: ConsoleOptions) -> RenderResult:
        lines = [] if self.answer is None else list(self._lines(self.answer))
        room = max(2, (options.height or screen.height) - _BESIDE)
        for line in [*lines[:room], self._status()]:
            line.truncate(screen.width, overflow="ellipsis")
            yield line

    def _lines(self, answer: FusedAnswer) -> Iterator[Text]:
        # As long as nothing is found, nobody can say that nothing joins.
        yield searched_text(answer, self._asked) if len(answer) else Text("nothing found so far")
        for result in answer:
            yield from brief_lines(result)

    def _status(self) -> Text:
        took = time.perf_counter() - self._begin
        if self.answer is None:
            return Text(TOLD if took >= AFTER else "searching …", "dim")
        done = self.answer.seconds_by
        left = {part: words for part, words in self._parts.items() if part not in done}
        known = "from sketches" if len(left) == len(self._parts) else "so far"
        coming = ", ".join(left.values()) or "what they would add"
        return Text(f"{known}, after {seconds(took)}; still to come: {coming}", "dim")
