"""The tool `search`: find tables of the lake that join with a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakejoin.mcp.short_text import LINE_LENGTH, NAME_LENGTH, parse_names, fitted_in_brief
from lakejoin.ranking.join_arguments import join_arguments
from lakejoin.text_format import clip, counted, seconds
from lakejoin.ranking.answer import (
    format_added_columns,
    format_figures,
    format_kind,
    format_versions,
)
from lakejoin.search.answer_display import format_percent

if TYPE_CHECKING:
    from lakejoin.ranking.answer_more import FusedAnswer, FusedResult
    from lakejoin.ranking.join_candidates import JoinCandidate
    from lakejoin.lake import Lake

DEFAULT_K = 5
_MISSES_SHOWN = 3
_ALTERNATIVES_SHOWN = 2


def search(
    lake: Lake, table: str, on: str | Sequence[str] | None = None, k: int = DEFAULT_K
) -> str:
    """The tables that join best, how each joins and what it adds; what was tried; near misses."""
    answer = lake.search(table, parse_names(on) or None, k, by="fused")
    among = counted(len(lake), "table")
    query_table = clip(answer.table, NAME_LENGTH)
    if not len(answer):
        head = f"nothing found: none of {among} joins with {query_table}"
    elif len(answer) == 1:
        head = f"the best join for {query_table} among {among}"
    else:
        head = f"the {len(answer):,} best joins for {query_table} among {among}"
    full, brief = [*map(_in_full, answer)], [*map(_in_brief, answer)]
    return fitted_in_brief([head], full, brief, _tried(answer))


def _in_brief(result: FusedResult) -> str:
    candidate = result.ways[0]
    coverage = f"{format_percent(candidate.result.row_coverage)} of your rows"
    name = f"{result.rank}. {clip(result.table, NAME_LENGTH)} (score {result.score:.2f})"
    return f"{name}: {candidate.kind}, {clip(candidate.pairs, NAME_LENGTH)}, {coverage}"


def _in_full(result: FusedResult) -> str:
    candidate = result.ways[0]
    lines = [
        f"{result.rank}. {clip(result.table, NAME_LENGTH)} (score {result.score:.2f})",
        f"   {clip(format_figures(candidate), LINE_LENGTH)}",
        f"   {clip(format_kind(candidate) or 'equal values', LINE_LENGTH)}",
        f"   {clip(format_added_columns(result), LINE_LENGTH)}",
        f"   evidence: {clip(candidate.why, LINE_LENGTH)}",
        f"   to join: {clip(_join_arguments(candidate), LINE_LENGTH)}",
    ]
    if versions := format_versions(result):
        lines.append(f"   {clip(versions, LINE_LENGTH)}")
    others = [other for other in result.ways[1:] if other.believed]
    if others:
        pairs = "; ".join(clip(other.pairs, NAME_LENGTH) for other in others[:_ALTERNATIVES_SHOWN])
        more = len(others) - _ALTERNATIVES_SHOWN
        lines.append(f"   or by {pairs}" + (f" and {more:,} more" if more > 0 else ""))
    return "\n".join(lines)


def _join_arguments(candidate: JoinCandidate) -> str:
    """The arguments for the tool `join`, besides the tables."""
    options = join_arguments(candidate)
    arguments = [f"on={list(options.on)}"] if options.on else []
    arguments += [f"by={options.by!r}"] if options.by else []
    arguments += [f"within={options.within!r}"] if options.within else []
    return ", ".join(arguments)


def _tried(answer: FusedAnswer) -> list[str]:
    """What was searched for and how long it took, coincidental overlap, and notes."""
    columns = "; ".join(" + ".join(clip(name, NAME_LENGTH) for name in names) for names in answer.columns)
    stages = ", ".join(f"{stage} {seconds(took)}" for stage, took in answer.seconds_by.items())
    total = f"{seconds(answer.seconds)} in total"
    lines = [f"tried: columns {clip(columns, LINE_LENGTH // 2)}; {stages}; {total}"]
    head = "coincidental overlap" if len(answer) else "nearest misses (coincidental overlap)"
    for miss in answer.misses[:_MISSES_SHOWN]:
        why = f"{clip(miss.ways[0].pairs, NAME_LENGTH)}: {miss.accidental}"
        lines.append(clip(f"{head}: {clip(miss.table, NAME_LENGTH)} ({why})", LINE_LENGTH // 2))
    if not len(answer) and not answer.misses:
        lines.append("no near misses: no table shares more than a value or two with it")
    return [*lines, *(clip(f"note: {note}", LINE_LENGTH // 2) for note in answer.notes[:_MISSES_SHOWN])]
