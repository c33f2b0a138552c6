"""The answer of a fused search: tables with their join candidates and added columns, as data, text
and HTML."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, overload

from lakejoin.ranking.added_columns import AddedColumn
from lakejoin.ranking.join_candidates import JoinCandidate
from lakejoin.search.answer_display import WIDTH, format_fan_out, format_percent, to_one_line

MAX_MISSES = 3  # to show
_ADDED = 8  # columns to name
_VERSIONS = 3  # tables to name
_LONGEST = 300
_INDENT = "     "


def format_fused_answer(answer: FusedAnswer, width: int = WIDTH) -> str:
    """Format an answer in lines of at most `width` characters, except for long table names."""
    lines = [to_one_line(format_title(answer))]
    for result in answer:
        lines += ["", *format_result(result, width).splitlines()]
    misses = format_misses(answer)
    lines += ["", *textwrap.wrap(misses, width)] if misses else []
    lines += ["", *textwrap.wrap(format_time(answer), width)]
    lines += [
        "",
        *(line for note in answer.notes for line in textwrap.wrap(to_one_line(note), width)),
    ]
    return "\n".join(lines).rstrip()


def format_result(result: FusedResult, width: int = WIDTH) -> str:
    """Format a result: how it joins, what it would add, and the evidence."""
    candidate = result.ways[0]
    texts = [
        format_figures(candidate),
        format_kind(candidate),
        format_added_columns(result),
        format_versions(result),
    ]
    texts += [to_one_line(candidate.why)]
    beneath = [line for text in texts for line in textwrap.wrap(text, width - len(_INDENT))]
    head = f"{result.rank:>3}  {result.score:.2f}  {to_one_line(result.table)}"
    return "\n".join([head, *(_INDENT + line for line in beneath)])


def format_title(answer: FusedAnswer) -> str:
    """Format the query and the number of tables."""
    columns = ", ".join(" + ".join(names) for names in answer.columns)
    found = {0: "no joins found", 1: "1 table joins"}.get(
        len(answer), f"{len(answer):,} tables join"
    )
    return f"{answer.table} · {columns}: {found}"


def format_figures(candidate: JoinCandidate) -> str:
    """Format the joined columns, the shares of values and rows that match, and the fan-out."""
    result = candidate.result
    return (
        f"{to_one_line(format_joined_columns(candidate))}: {format_percent(result.containment)} of your values "
        f"({result.matched:,} of {result.query_size:,}), {format_percent(result.row_coverage)} of your "
        f"rows, fan-out {format_fan_out(result.fan_out)}"
    )


def format_joined_columns(candidate: JoinCandidate) -> str:
    """Format the pairs of joined columns."""
    return candidate.pairs.removesuffix(f" ({candidate.how})") if candidate.how else candidate.pairs


def format_kind(candidate: JoinCandidate) -> str:
    """Format how unequal values match: by which program, or how near; empty for equal values."""
    if candidate.kind == "equal":
        return ""
    how = to_one_line(candidate.how).removeprefix("by meaning, ")
    labels = {"rewritten": "equal once rewritten", "meaning": "same meaning", "near": "near"}
    between = ": " if candidate.kind == "rewritten" else ", "
    return f"{labels[candidate.kind]}{between}{how}" if how else labels[candidate.kind]


def format_time(answer: FusedAnswer) -> str:
    """Format the total time and the time of each stage."""
    parts = ", ".join(f"{what} {took:.2f} s" for what, took in answer.seconds_by.items())
    return f"{answer.seconds:.2f} s" + (f": {parts}" if parts else "")


def format_added_columns(result: FusedResult) -> str:
    """Format the added columns and for how many rows; less full columns get their own share."""
    if not result.adds:
        return "adds no columns"
    most = max((column.full or 0.0 for column in result.adds), default=0.0)
    names = ", ".join(_added(column, most) for column in result.adds[:_ADDED])
    more = len(result.adds) - _ADDED
    noun = "1 column" if len(result.adds) == 1 else f"{len(result.adds):,} columns"
    rows = f" for {format_percent(most)} of your rows" if result.adds[0].full is not None else ""
    return f"adds {noun}{rows}: {names}" + (f" and {more:,} more" if more > 0 else "")


def _added(column: AddedColumn, most: float) -> str:
    name = to_one_line(column.name)
    full = "" if column.full is None else format_percent(column.full)
    return f"{name} ({full})" if full and full != format_percent(most) else name


def format_versions(result: FusedResult) -> str:
    """Format the copies and other versions of a table; empty if there are none."""
    if not result.versions:
        return ""
    names = ", ".join(map(to_one_line, result.versions[:_VERSIONS]))
    more = len(result.versions) - _VERSIONS
    return f"copies or other versions: {names}" + (f" and {more:,} more" if more > 0 else "")


def format_misses(answer: FusedAnswer) -> str:
    """Format the tables with coincidental overlap in one sentence; empty if there are none."""
    if not answer.misses:
        return ""
    texts = [
        f"{to_one_line(miss.table)} ({to_one_line(miss.ways[0].pairs)}: {miss.accidental})"
        for miss in answer.misses[:MAX_MISSES]
    ]
    more = len(answer.misses) - MAX_MISSES
    head = "coincidental overlap" if len(answer) else "nearest misses (coincidental overlap)"
    return f"{head}: {', '.join(texts)}" + (f" and {more:,} more" if more > 0 else "")


# -- notebooks -----------------------------------------------------------------------------------

_HEADS = (
    ("#", "right"), ("table", "left"), ("score", "right"), ("joined on", "left"),
    ("how", "left"), ("containment", "right"), ("your rows", "right"), ("fan-out", "right"),
    ("adds", "left"), ("why", "left"),
)  # fmt: skip


def format_fused_html(answer: FusedAnswer) -> str:
    """Format an answer as an HTML table; values of the lake are escaped."""
    head = "".join(f'<th style="text-align:{side}">{name}</th>' for name, side in _HEADS)
    body = "".join(map(_html_row, answer))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    beneath = [*filter(None, [format_misses(answer)]), *answer.notes, format_time(answer)]
    return (
        f'<div class="lakejoin-answer"><div><b>{_escaped(format_title(answer))}</b></div>'
        + (table if len(answer) else "")
        + "".join(f"<div>{_escaped(note)}</div>" for note in beneath)
        + "</div>"
    )


def _html_row(result: FusedResult) -> str:
    candidate = result.ways[0]
    cells = (
        str(result.rank),
        f"{result.table} ({format_versions(result)})" if result.versions else result.table,
        f"{result.score:.2f}",
        format_joined_columns(candidate),
        format_kind(candidate) or "equal values",
        format_percent(candidate.result.containment),
        format_percent(candidate.result.row_coverage),
        format_fan_out(candidate.result.fan_out),
        format_added_columns(result).removeprefix("adds "),
        candidate.why,
    )
    sides = (side for _, side in _HEADS)
    filled = zip(sides, cells, strict=True)
    return (
        "<tr>" + "".join(f'<td style="text-align:{s}">{_escaped(c)}</td>' for s, c in filled)
    ) + "</tr>"


def _escaped(text: str) -> str:
    return html.escape(textwrap.shorten(to_one_line(text), _LONGEST, placeholder="…"))


@dataclass(frozen=True, eq=False, repr=False)
class FusedResult:
    """A table of the lake and the ways to join it with the query table, best first.

    `adds` are the columns it would add, joined the first way, and how full they would be.
    `versions` are the names of its copies and other versions, which are no results of their own.
    """

    rank: int
    table: str
    ways: tuple[JoinCandidate, ...]
    adds: tuple[AddedColumn, ...]
    versions: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """The score of its best join, 0 to 1."""
        return self.ways[0].join_score.score

    @property
    def accidental(self) -> str:
        """Why this is no real join; empty if it is one."""
        return self.ways[0].join_score.accidental

    @property
    def reason(self) -> str:
        """In words: the joined columns, how many values match, and the evidence for or against."""
        candidate = self.ways[0]
        share = format_percent(candidate.result.containment)
        return f"{candidate.pairs}: {share} of your values match; {candidate.why}"

    def sql(self) -> str:
        """DuckDB SQL that joins the query table with this one in the first way."""
        return self.ways[0].result.sql()

    def to_dict(self) -> dict[str, Any]:
        """The result as a JSON object with stable keys."""
        return {
            "rank": self.rank,
            "table": self.table,
            "score": self.score,
            "ways": [candidate.to_dict() for candidate in self.ways],
            "adds": [asdict(column) for column in self.adds],
            "versions": list(self.versions),
            "accidental": self.accidental,
            "reason": self.reason,
        }

    def __repr__(self) -> str:

        return format_result(self)


@dataclass(frozen=True, eq=False, repr=False)
class FusedAnswer(Sequence[FusedResult]):
    """The tables that join, at most `k`, best first; a sequence of `FusedResult`.

    `columns` are the query columns that were searched for, each by itself or together as a key.
    `misses` are tables with only coincidental overlap, the nearest first. `seconds` is how long the
    caller waited, `seconds_by` the time of each stage. An answer that is not `final` comes before
    the search is over; a better one follows.
    """

    table: str
    columns: tuple[tuple[str, ...], ...]
    results: tuple[FusedResult, ...]
    misses: tuple[FusedResult, ...]
    k: int = 10
    seconds: float = 0.0
    seconds_by: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    final: bool = True

    by: ClassVar[str] = "fused"
    error: ClassVar[None] = None  # so that it can stand beside `Failed` in a batch

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[FusedResult]:
        return iter(self.results)

    @overload
    def __getitem__(self, position: int) -> FusedResult: ...
    @overload
    def __getitem__(self, position: slice) -> FusedAnswer: ...
    def __getitem__(self, position: int | slice) -> FusedResult | FusedAnswer:
        if isinstance(position, slice):
            return replace(self, results=self.results[position])
        return self.results[position]

    def to_dict(self) -> dict[str, Any]:
        """The answer as a JSON object with stable keys."""
        return {
            "query": {"table": self.table, "columns": [list(result) for result in self.columns]},
            "by": self.by,
            "k": self.k,
            "results": [result.to_dict() for result in self.results],
            "misses": [result.to_dict() for result in self.misses],
            "notes": list(self.notes),
            "seconds": self.seconds,
            "seconds_by": self.seconds_by,
        }

    def __repr__(self) -> str:

        return format_fused_answer(self)

    def _repr_html_(self) -> str:

        return format_fused_html(self)
