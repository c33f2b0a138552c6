"""Format an answer as a plain text table that fits the screen, or as HTML for notebooks."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakejoin.search.result import NearResult

if TYPE_CHECKING:
    from lakejoin.search.answer import Answer
    from lakejoin.search.result import Result
    from lakejoin.search.tau_choice import Reach

WIDTH = 100
SHOWN = 20  # results; the others are only counted
_BAR = 10
_EIGHTHS = " ▏▎▍▌▋▊▉"
_COLUMN = 40  # longest column name in a list of names
_NAMES = 16  # shortest width of the table column
_HTML_TITLE = 200
_HTML_NAME = 80
_HTML_EXAMPLE = 40
_COPY = {"itself": " (itself)", "copy": " (copy)"}


def format_answer(answer: Answer, width: int = WIDTH) -> str:
    """Format an answer in lines of at most `width` characters.

    Under each result come query values that it contains (`+`) and lacks (`-`); for a composite key,
    first how the columns map; by meaning and by distance, values with their nearest match. If tau
    was chosen automatically, a plot shows how.
    """
    lines = [_title(answer, width)]
    if answer.taus is not None:
        from lakejoin.search.tau_choice import plot_text as plotted

        lines += ["", *plotted(answer.taus)]
    if len(answer):
        lines += ["", *_table(answer[:SHOWN], width)]
        if len(answer) > SHOWN:
            lines.append(f"… and {len(answer) - SHOWN:,} more")
    lines += ["", *(line for note in answer.notes for line in _wrapped(note, width))]
    return "\n".join(lines).rstrip()


def format_bar(share: float, width: int = _BAR) -> str:
    """A share as a bar of block characters.

    >>> format_bar(0.5, 4), format_bar(1.0, 4), format_bar(0.03, 4)
    ('██  ', '████', '▏   ')
    """
    eighths = round(max(0.0, min(share, 1.0)) * width * 8)
    if share > 0:
        eighths = max(1, eighths)  # never show a positive share as an empty bar
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


def format_percent(share: float | None) -> str:
    """Format a share; 0% and 100% are shown only if exact.

    >>> format_percent(0.4213), format_percent(0.9999), format_percent(0.0001), format_percent(None)
    ('42%', '>99%', '<1%', '-')
    """
    if share is None:
        return "-"
    text = f"{share:.0%}"
    if text == "100%" and share < 1:
        return ">99%"
    return "<1%" if text == "0%" and share > 0 else text


def format_fan_out(value: float | None) -> str:
    """Format the rows of the join per query row.

    >>> format_fan_out(0.5), format_fan_out(1234.5), format_fan_out(0.0004)
    ('0.50', '1,234', '<0.01')
    """
    if value is None:
        return "-"
    if 0 < value < 0.005:
        return "<0.01"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _title(answer: Answer, width: int) -> str:
    query = answer.query
    noun = "point" if answer.reach else "combination"
    noun = "value" if len(query.columns) == 1 else noun
    values = f"{len(query):,} {noun}" + ("" if len(query) == 1 else "s")
    rows = f"{query.rows:,} row" + ("" if query.rows == 1 else "s")
    found = "nothing found" if not len(answer) else f"{len(answer):,} found"
    by = f"by {answer.by}" + (f" {answer.reach.text}" if answer.reach else "")
    rest = f": {values} in {rows} · {by} · {found} in {_seconds(answer.seconds)}"
    room = width - _width(rest) - 12 - 3
    column = _clip(to_one_line(" + ".join(query.columns)), max(12, min(width // 4, room)))
    room = width - _width(rest) - _width(column) - 3
    table = _clip_front(to_one_line(query.table), max(12, room))
    return _clip(f"{table} · {column}{rest}", width)


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


def format_pairs(mine: Sequence[str], theirs: Sequence[str]) -> str:
    """Format which lake column each query column joins with.

    >>> format_pairs(["first", "last"], ["vorname", "name"])
    'first → vorname, last → name'
    >>> format_pairs(["lat", "lon"], ["position"])  # both coordinates in one column
    'lat, lon → position'
    """
    if len(mine) != len(theirs):
        return f"{', '.join(map(_name, mine))} → {', '.join(map(_name, theirs))}"
    return ", ".join(f"{_name(a)} → {_name(b)}" for a, b in zip(mine, theirs, strict=True))


def format_runner_up(result: Result) -> str:
    """Format the runner-up mapping of columns, if it is close; otherwise empty."""
    if result.runner_up is None:
        return ""
    columns = ", ".join(map(_name, result.runner_up["columns"]))
    return f"or {columns}, with {result.runner_up['matched']:,}"


def _name(column: str) -> str:
    return _clip(to_one_line(column), _COLUMN)


def _table(answer: Answer, width: int) -> list[str]:
    mine = answer.query.columns
    heads = ["#", "table", "column", "matched", "containment", "size", "rows", "fan-out"]
    left = (1, 2, 4)
    rows = [_cells(result) for result in answer]
    if answer.reach is not None:
        heads += ["pairs", "median distance"]
        rows = [
            [*cells, *_near_cells(r, answer.reach)] for cells, r in zip(rows, answer, strict=True)
        ]
    if len(mine) > 1:  # key columns get a line of their own
        heads[2] = ""
        rows = [[*cells[:2], "", *cells[3:]] for cells in rows]
    natural = [max(map(_width, cells)) for cells in zip(heads, *rows, strict=True)]
    spare = width - sum(natural) - 2 * (len(heads) - 1)
    if spare < 0 and len(mine) > 1:
        natural[1] = max(natural[1] + spare, _NAMES)
    elif spare < 0:  # shorten the names
        names = max(natural[1] + natural[2] + spare, _NAMES + len("column"))
        natural[2] = min(natural[2], max(len("column"), names * 2 // 5))
        natural[1] = min(natural[1], names - natural[2])
    lines = []
    for cells in [heads, *rows]:
        fitted = [
            *cells[:1],
            _clip_front(cells[1], natural[1]),
            _clip(cells[2], natural[2]),
            *cells[3:],
        ]
        padded = [_pad(cell, natural[i], right=i not in left) for i, cell in enumerate(fitted)]
        lines.append(_clip("  ".join(padded).rstrip(), width))
    shown: list[str] = lines[:1]
    for line, result in zip(lines[1:], answer, strict=True):
        shown.append(line)
        indent = natural[0] + 2
        if len(mine) > 1:
            texts = [format_pairs(mine, result.columns), format_runner_up(result)]
            shown += [" " * indent + _clip(text, width - indent) for text in texts if text]
        shown += _examples(result, width, indent, answer.reach is not None)
    return shown


def _near_cells(result: Result, reach: Reach) -> list[str]:
    """The pairs and the median distance of a result by meaning or distance."""
    assert isinstance(result, NearResult)
    return [f"{result.pairs:,}", reach.format_distance(result.distance)]


def _cells(result: Result) -> list[str]:
    share = format_percent(result.containment)
    if not result.verified:
        share = f"{result.containment:.2f} ±{result.error or 0.0:.2f}"
    return [
        str(result.rank),
        to_one_line(result.table) + _COPY.get(result.copy, ""),
        ", ".join(map(to_one_line, result.columns)),
        f"{result.matched:,}" if result.verified else f"~{result.matched:,}",
        f"{format_bar(result.containment)} {share}",
        f"{result.column_size:,}",
        format_percent(result.row_coverage),
        format_fan_out(result.fan_out),
    ]


def _examples(result: Result, width: int, indent: int, near: bool) -> list[str]:
    """Matched and unmatched examples: in one line, or in two if `near`."""
    marks = {"matched": "+", "unmatched": "-"}
    between = ", " if len(result.columns) == 1 and not near else " | "
    parts = [
        f"{marks[kind]} {between.join(map(to_one_line, texts))}"
        for kind, texts in result.examples.items()
        if texts
    ]
    room = width - indent
    if near or not parts:
        return [" " * indent + _clip(part, room) for part in parts]
    half = (room - 3) // 2
    if len(parts) == 2 and _width(parts[0]) + 3 + _width(parts[1]) > room:
        longest = max(half, room - 3 - _width(parts[1]))
        first = _clip(parts[0], longest)
        parts = [first, _clip(parts[1], room - 3 - _width(first))]
    return [" " * indent + _clip("   ".join(parts), room)]


def to_one_line(text: str) -> str:
    """Replace line breaks and control characters, so that a text stays on its line.

    >>> to_one_line("a\\nb\\x1b[31m")
    'a⏎b�[31m'
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else {"\n": "⏎", "\t": "⇥", "\r": ""}.get(c, "�") for c in text
    )


def _width(text: str) -> int:
    """How many terminal columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def _clip(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    cut = text[: max(0, width - 1)]
    while cut and _width(cut) > width - 1:
        cut = cut[:-1]
    return cut + "…"


def _clip_front(text: str, width: int) -> str:
    """Shorten a path at its front, as its end says more."""
    if _width(text) <= width:
        return text
    cut = text[-max(1, width - 1) :]
    while cut and _width(cut) > width - 1:
        cut = cut[1:]
    return "…" + cut


def _pad(text: str, width: int, right: bool) -> str:
    fill = " " * max(0, width - _width(text))
    return fill + text if right else text + fill


def _wrapped(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(to_one_line(text), max(width, 20)) or [""]


# -- notebooks -----------------------------------------------------------------------------------

# Half-transparent colours suit light and dark pages.
_BAR_STYLE = (
    "background:linear-gradient(to right,rgba(56,132,255,.45) {share:.1f}%,"
    "rgba(128,128,128,.15) {share:.1f}%);padding:1px 6px;min-width:7em;text-align:right"
)
_HEADS = (
    ("#", "right"), ("table", "left"), ("column", "left"), ("matched", "right"),
    ("containment", "left"), ("size", "right"), ("your rows", "right"), ("fan-out", "right"),
    ("matched values", "left"), ("unmatched values", "left"),
)  # fmt: skip
_NEAR_HEADS = (("pairs", "right"), ("median distance", "right"))


def format_answer_html(answer: Answer) -> str:
    """Format an answer as an HTML table with bars; values of the lake are escaped."""
    heads = _HEADS if answer.reach is None else [*_HEADS[:-2], *_NEAR_HEADS, *_HEADS[-2:]]
    head = "".join(f'<th style="text-align:{side}">{name}</th>' for name, side in heads)
    body = "".join(_html_row(result, answer) for result in answer[:SHOWN])
    more = len(answer) - SHOWN
    notes = [*([f"… and {more:,} more"] if more > 0 else []), *answer.notes]
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return (
        f'<div class="lakejoin-answer"><div><b>{html.escape(_title(answer, _HTML_TITLE))}</b></div>'
        + (f"<div>{answer.taus._repr_html_()}</div>" if answer.taus else "")
        + (table if len(answer) else "")
        + "".join(f"<div>{_escaped(note, 400)}</div>" for note in notes)
        + "</div>"
    )


def _html_columns(result: Result, mine: Sequence[str]) -> str:
    if len(mine) == 1:
        return _escaped(", ".join(result.columns), _HTML_NAME)
    if len(mine) != len(result.columns):
        return _escaped(format_pairs(mine, result.columns), _HTML_TITLE)
    pairs = [f"{_name(a)} → {_name(b)}" for a, b in zip(mine, result.columns, strict=True)]
    lines = [*pairs, *filter(None, [format_runner_up(result)])]
    return "<br>".join(_escaped(line, _HTML_TITLE) for line in lines)


def _html_row(result: Result, answer: Answer) -> str:
    mine, reach = answer.query.columns, answer.reach
    share = format_percent(result.containment)
    if not result.verified:
        share = f"{result.containment:.2f} ± {result.error or 0.0:.2f}"
    style = _BAR_STYLE.format(share=100 * max(0.0, min(result.containment, 1.0)))
    matched = result.matched if result.verified else f"~{result.matched}"
    cells = [
        ("right", str(result.rank)),
        ("left", _escaped(result.table + _COPY.get(result.copy, ""), _HTML_NAME)),
        ("left", _html_columns(result, mine)),
        ("right", f"{matched:,}" if isinstance(matched, int) else matched),
        ("left", f'<div style="{style}">{html.escape(share)}</div>'),
        ("right", f"{result.column_size:,}"),
        ("right", html.escape(format_percent(result.row_coverage))),
        ("right", html.escape(format_fan_out(result.fan_out))),
        *(("right", html.escape(cell)) for cell in (_near_cells(result, reach) if reach else ())),
        ("left", _html_examples(result, "matched", answer)),
        ("left", _html_examples(result, "unmatched", answer)),
    ]
    return "<tr>" + "".join(f'<td style="text-align:{a}">{c}</td>' for a, c in cells) + "</tr>"


def _html_examples(result: Result, kind: str, answer: Answer) -> str:
    plain = len(answer.query.columns) == 1 and answer.reach is None
    between, longest = (", ", _HTML_EXAMPLE) if plain else ("<br>", _HTML_NAME)
    return between.join(_escaped(text, longest) for text in result.examples[kind])


def _escaped(text: str, longest: int) -> str:
    return html.escape(_clip(to_one_line(text), longest))
