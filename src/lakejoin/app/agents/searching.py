"""The tool `search`: which tables of the lake join with this one?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakejoin.app.agents.short import LINE, NAME, names_of, within
from lakejoin.app.pasting import join_options
from lakejoin.app.printing import clip, counted, seconds
from lakejoin.discovery.fused.display import adds_text, figures, how_text, versions_text
from lakejoin.search.display import percent

if TYPE_CHECKING:
    from lakejoin.discovery.fused.answer import FusedAnswer, FusedResult
    from lakejoin.discovery.fused.ways import Way
    from lakejoin.opened import Lake

DEFAULT_K = 5
_MISSES = 3
_WAYS = 2  # further ones of a table


def search(
    lake: Lake, table: str, on: str | Sequence[str] | None = None, k: int = DEFAULT_K
) -> str:
    """The tables that join best, the way each joins, what it adds; what was tried; near misses."""
    answer = lake.search(table, names_of(on) or None, k, by="fused")
    among = counted(len(lake), "table")
    mine = clip(answer.table, NAME)
    if not len(answer):
        found = f"nothing found: none of {among} joins with {mine}"
    elif len(answer) == 1:
        found = f"1 of {among} joins with {mine}"
    else:
        found = f"{len(answer):,} of {among} that join with {mine}, the best first"
    return within(
        [found],
        [_told(one) for one in answer],
        [_in_a_line(one) for one in answer],
        _tried(answer),
    )


def _in_a_line(result: FusedResult) -> str:
    way = result.ways[0]
    met = f"{percent(way.result.row_coverage)} of my rows"
    name = f"{result.rank}. {clip(result.table, NAME)} (score {result.score:.2f})"
    return f"{name}: {way.kind}, {clip(way.pairs, NAME)}, {met}"


def _told(result: FusedResult) -> str:
    way = result.ways[0]
    lines = [
        f"{result.rank}. {clip(result.table, NAME)} (score {result.score:.2f})",
        f"   {clip(figures(way), LINE)}",
        f"   {clip(how_text(way) or 'equal values', LINE)}",
        f"   {clip(adds_text(result), LINE)}",
        f"   why: {clip(way.why, LINE)}",
        f"   to join: {clip(_asked_for(way), LINE)}",
    ]
    if told := versions_text(result):
        lines.append(f"   {clip(told, LINE)}")
    others = [one for one in result.ways[1:] if one.believed]
    if others:
        more = f" and {len(others) - _WAYS:,} more" if len(others) > _WAYS else ""
        told = "; ".join(clip(one.pairs, NAME) for one in others[:_WAYS])
        lines.append(f"   or by {told}{more}")
    return "\n".join(lines)


def _asked_for(way: Way) -> str:
    """What `join` is to be told, beside the tables."""
    options = join_options(way)
    told = [f"on={list(options.on)}"] if options.on else []
    told += [f"by={options.by!r}"] if options.by else []
    return ", ".join([*told, *([f"within={options.within!r}"] if options.within else [])])


def _tried(answer: FusedAnswer) -> list[str]:
    """What was searched for and how, what met by accident, and what else should be known."""
    columns = "; ".join(" + ".join(clip(name, NAME) for name in one) for one in answer.columns)
    ways = ", ".join(f"{what} {seconds(took)}" for what, took in answer.seconds_by.items())
    lines = [f"tried: columns {clip(columns, LINE // 2)}; {ways}; {seconds(answer.seconds)} in all"]
    head = "by accident, no joins" if len(answer) else "nearest misses, which meet by accident"
    for one in answer.misses[:_MISSES]:
        told = f"{clip(one.table, NAME)} ({clip(one.ways[0].pairs, NAME)}: {one.accidental})"
        lines.append(clip(f"{head}: {told}", LINE // 2))
    if not len(answer) and not answer.misses:
        lines.append("no table comes near: none shares more than a value or two with it")
    return [*lines, *(clip(f"note: {note}", LINE // 2) for note in answer.notes[:_MISSES])]
