"""How a fused answer looks: plain text, and HTML for notebooks."""

from __future__ import annotations

import html
import textwrap
from typing import TYPE_CHECKING

from lakejoin.search.display import WIDTH, fan_out_text, one_line, percent

if TYPE_CHECKING:
    from lakejoin.discovery.fused.adds import Added
    from lakejoin.discovery.fused.answer import FusedAnswer, FusedResult
    from lakejoin.discovery.fused.ways import Way

MISSES = 3  # that are told of
_ADDED = 8  # columns that are named
_VERSIONS = 3  # tables that are named
_LONGEST = 300
_INDENT = "     "


def as_text(answer: FusedAnswer, width: int = WIDTH) -> str:
    """The answer as lines of at most `width` columns, but for long names of tables."""
    lines = [one_line(title(answer))]
    for one in answer:
        lines += ["", *result_text(one, width).splitlines()]
    told = misses_text(answer)
    lines += ["", *textwrap.wrap(told, width)] if told else []
    lines += ["", *textwrap.wrap(time_text(answer), width)]
    lines += ["", *(part for note in answer.notes for part in textwrap.wrap(one_line(note), width))]
    return "\n".join(lines).rstrip()


def result_text(result: FusedResult, width: int = WIDTH) -> str:
    """A table: how it joins, what it would add, and why it is believed."""
    way = result.ways[0]
    said = [figures(way), how_text(way), adds_text(result), versions_text(result)]
    said += [one_line(way.why)]
    beneath = [part for one in said for part in textwrap.wrap(one, width - len(_INDENT))]
    head = f"{result.rank:>3}  {result.score:.2f}  {one_line(result.table)}"
    return "\n".join([head, *(_INDENT + part for part in beneath)])


def title(answer: FusedAnswer) -> str:
    """What was asked, and how many tables there are."""
    columns = ", ".join(" + ".join(one) for one in answer.columns)
    found = {0: "nothing was found that joins", 1: "1 table joins"}.get(
        len(answer), f"{len(answer):,} tables join"
    )
    return f"{answer.table} · {columns}: {found}"


def figures(way: Way) -> str:
    """On which columns, how many of my values and rows meet, and how often."""
    result = way.result
    return (
        f"{one_line(on_text(way))}: {percent(result.containment)} of my values "
        f"({result.matched:,} of {result.query_size:,}), {percent(result.row_coverage)} of my "
        f"rows, fan-out {fan_out_text(result.fan_out)}"
    )


def on_text(way: Way) -> str:
    """Which of my columns goes with which of theirs."""
    return way.pairs.removesuffix(f" ({way.how})") if way.how else way.pairs


def how_text(way: Way) -> str:
    """How values meet that are not equal: by which program, or how near; nothing if they are."""
    if way.kind == "equal":
        return ""
    how = one_line(way.how).removeprefix("by meaning, ")
    told = {"rewritten": "equal once rewritten", "meaning": "the same by meaning", "near": "near"}
    between = ": " if way.kind == "rewritten" else ", "
    return f"{told[way.kind]}{between}{how}" if how else told[way.kind]


def time_text(answer: FusedAnswer) -> str:
    """How long it took, and what each part of the search took of that."""
    parts = ", ".join(f"{what} {took:.2f} s" for what, took in answer.seconds_by.items())
    return f"{answer.seconds:.2f} s" + (f": {parts}" if parts else "")


def adds_text(result: FusedResult) -> str:
    """What the table would add, and for how many of my rows; columns that are less full say so."""
    if not result.adds:
        return "adds no column"
    most = max((one.full or 0.0 for one in result.adds), default=0.0)
    names = ", ".join(_added(one, most) for one in result.adds[:_ADDED])
    more = len(result.adds) - _ADDED
    noun = "1 column" if len(result.adds) == 1 else f"{len(result.adds):,} columns"
    rows = f" for {percent(most)} of my rows" if result.adds[0].full is not None else ""
    return f"adds {noun}{rows}: {names}" + (f" and {more:,} more" if more > 0 else "")


def _added(one: Added, most: float) -> str:
    name = one_line(one.name)
    full = "" if one.full is None else percent(one.full)
    return f"{name} ({full})" if full and full != percent(most) else name


def versions_text(result: FusedResult) -> str:
    """The tables that are the same again, or another version of it; nothing if there are none."""
    if not result.versions:
        return ""
    names = ", ".join(map(one_line, result.versions[:_VERSIONS]))
    more = len(result.versions) - _VERSIONS
    return f"also, as copies or other versions: {names}" + (
        f" and {more:,} more" if more > 0 else ""
    )


def misses_text(answer: FusedAnswer) -> str:
    """One sentence on the tables that meet by accident; nothing if there are none.

    Where nothing joins they are the nearest misses.
    """
    if not answer.misses:
        return ""
    told = [
        f"{one_line(one.table)} ({one_line(one.ways[0].pairs)}: {one.accidental})"
        for one in answer.misses[:MISSES]
    ]
    more = len(answer.misses) - MISSES
    head = "by accident" if len(answer) else "nearest misses, which meet by accident"
    return f"{head}: {', '.join(told)}" + (f" and {more:,} more" if more > 0 else "")


# -- notebooks -----------------------------------------------------------------------------------

_HEADS = (
    ("#", "right"), ("table", "left"), ("score", "right"), ("joined on", "left"),
    ("how", "left"), ("containment", "right"), ("my rows", "right"), ("fan-out", "right"),
    ("adds", "left"), ("why", "left"),
)  # fmt: skip


def as_html(answer: FusedAnswer) -> str:
    """The answer as an HTML table; whatever the lake holds is shown as plain text."""
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
    way = result.ways[0]
    cells = (
        str(result.rank),
        f"{result.table} ({versions_text(result)})" if result.versions else result.table,
        f"{result.score:.2f}",
        on_text(way),
        how_text(way) or "equal values",
        percent(way.result.containment),
        percent(way.result.row_coverage),
        fan_out_text(way.result.fan_out),
        adds_text(result).removeprefix("adds "),
        way.why,
    )
    sides = (side for _, side in _HEADS)
    filled = zip(sides, cells, strict=True)
    return (
        "<tr>" + "".join(f'<td style="text-align:{s}">{_escaped(c)}</td>' for s, c in filled)
    ) + "</tr>"


def _escaped(text: str) -> str:
    return html.escape(textwrap.shorten(one_line(text), _LONGEST, placeholder="…"))
