"""Describe the answer of one engine as a report: the query, a row for each result, examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lakejoin.render.report import Cell, Column, Line, Plot, Report, Row, Span, line
from lakejoin.search.evidence import PAIR_SEPARATOR
from lakejoin.search.result import NearResult, Result
from lakejoin.text_format import clip, counted, format_fan_out, format_percent, to_one_line

if TYPE_CHECKING:
    from lakejoin.search.answer import Answer

MAX_RESULTS = 20  # shown; the others are only counted
_LARGE_FAN_OUT = 10.0  # marked with !
_SOME_FAN_OUT = 2.0
_NAME = 200
_EXAMPLE = 30
_COMBINATION = 60
_UNKNOWN = Cell("–", "dim")

_COLUMNS = (
    Column("#"),
    Column("table", right=False, keep="end"),
    Column("column", right=False, keep="start"),
    Column("matched"),
    Column("contained", right=False),
    Column("size", phrase="size {}"),
    Column("your rows", phrase="{} of your rows"),
    Column("fan-out"),
)
_NEAR_COLUMNS = (
    Column("pairs", phrase="{} pairs"),
    Column("median distance", phrase="median distance {}"),
)


def answer_report(answer: Answer, limit: int | None = MAX_RESULTS) -> Report:
    """Describe an answer; beyond `limit` the results are only counted."""
    is_key = len(answer.query.columns) > 1  # its columns get a line of their own
    columns = [column for column in _COLUMNS if not is_key or column.name != "column"]
    columns += _NEAR_COLUMNS if answer.reach else ()
    shown = answer.results[:limit]
    large = any((result.fan_out or 0) >= _LARGE_FAN_OUT for result in shown)
    warning = line("     ! this join would multiply your rows", style="warn")
    return Report(
        title=line(_title(answer), cut=True),
        columns=tuple(columns),
        rows=tuple(_row(result, answer) for result in shown),
        notes=answer.notes,
        after=(warning,) if large else (),
        left_out=len(answer) - len(shown),
        plot=_plot(answer),
        as_table=True,
    )


def _plot(answer: Answer) -> Plot | None:
    if answer.taus is None:
        return None
    from lakejoin.search.tau_choice import plot_text

    return Plot(tuple(plot_text(answer.taus)), answer.taus._repr_html_())


def _title(answer: Answer) -> str:
    query = answer.query
    noun = "point" if answer.reach else "combination"
    noun = "value" if len(query.columns) == 1 else noun
    found = "nothing found" if not len(answer) else f"{len(answer):,} found"
    by = f"by {answer.by}" + (f" {answer.reach.text}" if answer.reach else "")
    took = answer.seconds
    seconds = f"{took * 1000:.1f} ms" if took < 1 else f"{took:.1f} s"
    column = clip(" + ".join(query.columns))
    rows = f"{counted(len(query), noun)} in {counted(query.rows, 'row')}"
    return f"{clip(query.table)} · {column}: {rows} · {by} · {found} in {seconds}"


def _row(result: Result, answer: Answer) -> Row:
    is_key = len(answer.query.columns) > 1
    copy = Span(f" ({result.copy})", "warn") if result.copy else None
    about = "" if result.verified else "~"
    error = "" if result.verified or result.error is None else f" ±{100 * result.error:.0f}%"
    cells = [
        Cell(str(result.rank), "dim"),
        Cell(clip(result.table, _NAME), suffix=copy),
        *([] if is_key else [Cell(clip(", ".join(result.columns), _NAME))]),
        Cell(f"{about}{result.matched:,} of {result.query_size:,}"),
        Cell(f"{format_percent(result.containment):>4}{error}", bar=result.containment),
        Cell(f"{result.column_size:,}"),
        _UNKNOWN if result.row_coverage is None else Cell(format_percent(result.row_coverage)),
        fan_out_cell(result.fan_out),
    ]
    if answer.reach is not None:
        assert isinstance(result, NearResult)
        cells += [Cell(f"{result.pairs:,}"), Cell(answer.reach.format_distance(result.distance))]
    return Row(tuple(cells), tuple(_lines_beneath(result, answer)))


def fan_out_cell(fan_out: float | None) -> Cell:
    """The fan-out; a large one is marked."""
    if fan_out is None:
        return _UNKNOWN
    text = f"x{format_fan_out(fan_out)}"
    if fan_out >= _LARGE_FAN_OUT:
        return Cell(f"{text} !", "alarm")
    return Cell(text, "warn" if fan_out >= _SOME_FAN_OUT else "")


def _lines_beneath(result: Result, answer: Answer) -> Iterator[Line]:
    """The columns of a composite key, and examples of values that match and that do not."""
    names = answer.query.columns
    if len(names) > 1:
        yield line(format_pairs(names, result.columns), style="bold")
        if result.runner_up is not None:
            columns = ", ".join(map(clip, result.runner_up["columns"]))
            yield line(f"or {columns}, with {result.runner_up['matched']:,}", style="dim")
    examples = [_example_spans(result, kind, answer) for kind in ("matched", "unmatched")]
    if answer.reach is not None:
        yield from (Line(tuple(spans), cut=True) for spans in examples if spans)
    elif both := [spans for spans in examples if spans]:
        first, *rest = both
        yield Line((*first, *(span for spans in rest for span in (Span("   "), *spans))), cut=True)


def _example_spans(result: Result, kind: str, answer: Answer) -> list[Span]:
    texts = result.examples[kind]
    if not texts:
        return []
    if answer.reach is not None:
        shown = " | ".join(clip_pair(text, _COMBINATION) for text in texts)
    elif len(answer.query.columns) == 1:
        shown = " · ".join(clip(text, _EXAMPLE) for text in texts)
    else:  # the values of a combination are separated by a dot, like single examples
        shown = " | ".join(clip(text, _COMBINATION) for text in texts)
    mark = Span("✓ ", "good") if kind == "matched" else Span("✗ ", "bad")
    return [mark, Span(shown, "dim")]


def format_pairs(mine: Sequence[str], theirs: Sequence[str]) -> str:
    """Format which lake column each query column joins with.

    >>> format_pairs(["first", "last"], ["vorname", "name"])
    'first → vorname, last → name'
    >>> format_pairs(["lat", "lon"], ["position"])  # both coordinates in one column
    'lat, lon → position'
    """
    if len(mine) != len(theirs):
        return f"{', '.join(map(clip, mine))} → {', '.join(map(clip, theirs))}"
    return ", ".join(f"{clip(a)} → {clip(b)}" for a, b in zip(mine, theirs, strict=True))


def clip_pair(text: str, width: int) -> str:
    """Shorten an example so that something of both values is left.

    >>> clip_pair("Saint Barthélemy ~ Saint Barthelemy", 23), clip_pair("Rom ~ Rome (Italy)", 11)
    ('Saint Bar… ~ Saint Bar…', 'Rom ~ Rome…')
    """
    value, between, partner = text.partition(PAIR_SEPARATOR)
    room = width - len(between)
    if len(value) + len(partner) <= room or not between:
        return clip(to_one_line(text), width)
    value = clip(value, max(room // 2, room - len(partner)))
    return f"{value}{between}{clip(partner, room - len(value))}"
