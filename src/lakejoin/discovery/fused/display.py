"""Format a fused answer as plain text, or as HTML for notebooks."""

from __future__ import annotations

import html
import textwrap
from typing import TYPE_CHECKING

from lakejoin.search.display import WIDTH, fan_out_text, one_line, percent

if TYPE_CHECKING:
    from lakejoin.discovery.fused.adds import Added
    from lakejoin.discovery.fused.answer import FusedAnswer, FusedResult
    from lakejoin.discovery.fused.ways import Way

MISSES = 3  # to show
_ADDED = 8  # columns to name
_VERSIONS = 3  # tables to name
_LONGEST = 300
_INDENT = "     "


def as_text(answer: FusedAnswer, width: int = WIDTH) -> str:
    """Format an answer in lines of at most `width` characters, except for long table names."""
    lines = [one_line(title(answer))]
    for result in answer:
        lines += ["", *result_text(result, width).splitlines()]
    misses = misses_text(answer)
    lines += ["", *textwrap.wrap(misses, width)] if misses else []
    lines += ["", *textwrap.wrap(time_text(answer), width)]
    lines += ["", *(line for note in answer.notes for line in textwrap.wrap(one_line(note), width))]
    return "\n".join(lines).rstrip()


def result_text(result: FusedResult, width: int = WIDTH) -> str:
    """Format a result: how it joins, what it would add, and the evidence."""
    candidate = result.ways[0]
    texts = [figures(candidate), how_text(candidate), adds_text(result), versions_text(result)]
    texts += [one_line(candidate.why)]
    beneath = [line for text in texts for line in textwrap.wrap(text, width - len(_INDENT))]
    head = f"{result.rank:>3}  {result.score:.2f}  {one_line(result.table)}"
    return "\n".join([head, *(_INDENT + line for line in beneath)])


def title(answer: FusedAnswer) -> str:
    """Format the query and the number of tables."""
    columns = ", ".join(" + ".join(names) for names in answer.columns)
    found = {0: "no joins found", 1: "1 table joins"}.get(
        len(answer), f"{len(answer):,} tables join"
    )
    return f"{answer.table} · {columns}: {found}"


def figures(candidate: Way) -> str:
    """Format the joined columns, the shares of values and rows that match, and the fan-out."""
    result = candidate.result
    return (
        f"{one_line(on_text(candidate))}: {percent(result.containment)} of your values "
        f"({result.matched:,} of {result.query_size:,}), {percent(result.row_coverage)} of your "
        f"rows, fan-out {fan_out_text(result.fan_out)}"
    )


def on_text(candidate: Way) -> str:
    """Format the pairs of joined columns."""
    return candidate.pairs.removesuffix(f" ({candidate.how})") if candidate.how else candidate.pairs


def how_text(candidate: Way) -> str:
    """Format how unequal values match: by which program, or how near; empty for equal values."""
    if candidate.kind == "equal":
        return ""
    how = one_line(candidate.how).removeprefix("by meaning, ")
    labels = {"rewritten": "equal once rewritten", "meaning": "same meaning", "near": "near"}
    between = ": " if candidate.kind == "rewritten" else ", "
    return f"{labels[candidate.kind]}{between}{how}" if how else labels[candidate.kind]


def time_text(answer: FusedAnswer) -> str:
    """Format the total time and the time of each stage."""
    parts = ", ".join(f"{what} {took:.2f} s" for what, took in answer.seconds_by.items())
    return f"{answer.seconds:.2f} s" + (f": {parts}" if parts else "")


def adds_text(result: FusedResult) -> str:
    """Format the added columns and for how many rows; less full columns get their own share."""
    if not result.adds:
        return "adds no columns"
    most = max((column.full or 0.0 for column in result.adds), default=0.0)
    names = ", ".join(_added(column, most) for column in result.adds[:_ADDED])
    more = len(result.adds) - _ADDED
    noun = "1 column" if len(result.adds) == 1 else f"{len(result.adds):,} columns"
    rows = f" for {percent(most)} of your rows" if result.adds[0].full is not None else ""
    return f"adds {noun}{rows}: {names}" + (f" and {more:,} more" if more > 0 else "")


def _added(column: Added, most: float) -> str:
    name = one_line(column.name)
    full = "" if column.full is None else percent(column.full)
    return f"{name} ({full})" if full and full != percent(most) else name


def versions_text(result: FusedResult) -> str:
    """Format the copies and other versions of a table; empty if there are none."""
    if not result.versions:
        return ""
    names = ", ".join(map(one_line, result.versions[:_VERSIONS]))
    more = len(result.versions) - _VERSIONS
    return f"copies or other versions: {names}" + (f" and {more:,} more" if more > 0 else "")


def misses_text(answer: FusedAnswer) -> str:
    """Format the tables with coincidental overlap in one sentence; empty if there are none."""
    if not answer.misses:
        return ""
    texts = [
        f"{one_line(miss.table)} ({one_line(miss.ways[0].pairs)}: {miss.accidental})"
        for miss in answer.misses[:MISSES]
    ]
    more = len(answer.misses) - MISSES
    head = "coincidental overlap" if len(answer) else "nearest misses (coincidental overlap)"
    return f"{head}: {', '.join(texts)}" + (f" and {more:,} more" if more > 0 else "")


# -- notebooks -----------------------------------------------------------------------------------

_HEADS = (
    ("#", "right"), ("table", "left"), ("score", "right"), ("joined on", "left"),
    ("how", "left"), ("containment", "right"), ("your rows", "right"), ("fan-out", "right"),
    ("adds", "left"), ("why", "left"),
)  # fmt: skip


def as_html(answer: FusedAnswer) -> str:
    """Format an answer as an HTML table; values of the lake are escaped."""
    head = "".join(f'<th style="text-align:{side}">{name}</th>' for name, side in _HEADS)
    body = "".join(map(_html_row, answer))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    beneath = [*filter(None, [misses_text(answer)]), *answer.notes, time_text(answer)]
    return (
        f'<div class="lakejoin-answer"><div><b>{_escaped(title(answer))}</b></div>'
        + (table if len(answer) else "")
        + "".join(f"<div>{_escaped(note)}</div>" for note in beneath)
        + "</div>"
    )


def _html_row(result: FusedResult) -> str:
    candidate = result.ways[0]
    cells = (
        str(result.rank),
        f"{result.table} ({versions_text(result)})" if result.versions else result.table,
        f"{result.score:.2f}",
        on_text(candidate),
        how_text(candidate) or "equal values",
        percent(candidate.result.containment),
        percent(candidate.result.row_coverage),
        fan_out_text(candidate.result.fan_out),
        adds_text(result).removeprefix("adds "),
        candidate.why,
    )
    sides = (side for _, side in _HEADS)
    filled = zip(sides, cells, strict=True)
    return (
        "<tr>" + "".join(f'<td style="text-align:{s}">{_escaped(c)}</td>' for s, c in filled)
    ) + "</tr>"


def _escaped(text: str) -> str:
    return html.escape(textwrap.shorten(one_line(text), _LONGEST, placeholder="…"))
