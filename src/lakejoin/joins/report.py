"""Show a join as text, or as HTML for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.join import Join, Step
    from lakejoin.joins.pairs import Example
    from lakejoin.model import Loss

_VALUE = 40
_WORDS = 300
_ROWS = 10  # of the result, in HTML
_EXAMPLES = 2  # of each step


def join_text(join: Join) -> str:
    """The join as text, step by step, with examples."""
    if not join:
        return "\n".join([clipped(join.no_join, _WORDS), *map(_note, join.notes)])
    lines = [headline(join)]
    examples = join.examples(_EXAMPLES)
    for index, step in enumerate(join.steps):
        lines += [f"  {index + 1}. {step.kind}: {clipped(step.words, _WORDS)}"]
        lines += [f"     {step_text(step, join)}"]
        lines += [f"     {example_text(example)}" for example in examples if example.step == index]
    lines += [f"  {coverage(join)}"]
    lines += [f"warning: {warning}" for warning in join.warnings]
    return "\n".join([*lines, *map(_note, join.notes)])


def join_html(join: Join) -> str:
    """The join as HTML, with the first rows of the result."""
    if not join:
        return f"<p>{_escaped(join.no_join)}</p>" + "".join(
            f"<p>{_escaped(_note(note))}</p>" for note in join.notes
        )
    parts = [f"<p><b>{_escaped(headline(join))}</b>, {_escaped(coverage(join))}</p>", "<ol>"]
    examples = join.examples(_EXAMPLES)
    for index, step in enumerate(join.steps):
        listed = "<br>".join(_escaped(example_text(e)) for e in examples if e.step == index)
        parts.append(
            f"<li>{_escaped(step.kind)}: <code>{_escaped(clipped(step.words, _WORDS))}</code><br>"
            f"{_escaped(step_text(step, join))}<br><small>{listed}</small></li>"
        )
    parts.append("</ol>")
    notes = [*(f"warning: {warning}" for warning in join.warnings), *map(_note, join.notes)]
    parts += [f"<p>{_escaped(note)}</p>" for note in notes]
    return "".join([*parts, *html_rows(join.table(_ROWS))])


def loss_texts(name: str, losses: Iterable[Loss]) -> Iterator[str]:
    """What was lost in reading a table.

    >>> from lakejoin.model import Loss
    >>> list(loss_texts("a.csv", [Loss("line is not JSON", 3)]))
    ['reading a.csv: line is not JSON (3 times)']
    """
    return (f"reading {name}: {loss.reason} ({counted(loss.count, 'time')})" for loss in losses)


def headline(join: Join) -> str:
    """One line with the kind of join, its size and its confidence."""
    size = f"{counted(len(join), 'row')}, {counted(len(join.schema), 'column')}"
    return f"{join.options.how} join: {size}, confidence {percent(join.sure)}"


def coverage(join: Join) -> str:
    """How many rows of each side have a match."""
    left = f"{join.left_joined:,} of {join.left.num_rows:,} left rows"
    right = f"{join.right_joined:,} of {join.right.num_rows:,} right rows"
    return f"{left} and {right} have a match"


def step_text(step: Step, join: Join) -> str:
    """What a step joins, its confidence, and why."""
    rows = f"{counted(step.left_rows, 'left row')} and {counted(step.right_rows, 'right row')}"
    return f"joins {rows}; confidence {percent(step.sure)}: {clipped(step.why, _WORDS)}"


def example_text(example: Example) -> str:
    """A matching pair of values, before and after rewriting.

    >>> from lakejoin.joins.pairs import Example
    >>> print(example_text(Example(0, "Obama, Barack", "Barack Obama", "barack obama")))
    Obama, Barack → Barack Obama = barack obama
    """
    after = "" if example.after is None else f" → {clipped(example.after)}"
    sign = "=" if example.distance is None else "~"
    far = f" ({example.distance:,.4g} {example.unit})" if example.unit else ""
    return f"{clipped(example.before)}{after} {sign} {clipped(example.partner)}{far}"


def counted(number: int, noun: str) -> str:
    """A count with its noun.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def percent(share: float) -> str:
    """A share as a percentage, never rounded to 0% or 100%.

    >>> percent(0.42), percent(0.9999), percent(1.0)
    ('42%', '>99%', '100%')
    """
    text = f"{share:.0%}"
    if text == "100%" and share < 1:
        return ">99%"
    return "<1%" if text == "0%" and share > 0 else text


def clipped(text: str, width: int = _VALUE) -> str:
    """A text on one line, shortened to `width`, without control characters."""
    line = "".join(c if c.isprintable() else " " for c in text[: width + 1])
    return line if len(line) <= width else line[: width - 1] + "…"


def _note(note: str) -> str:
    return f"note: {note}"


def _escaped(text: str) -> str:
    return html.escape(text)


def html_rows(rows: pa.Table) -> Iterator[str]:
    """Rows as an HTML table with escaped cells."""
    yield "<table><tr>"
    yield from (f"<th>{_escaped(clipped(name))}</th>" for name in rows.column_names)
    yield "</tr>"
    for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        cells = ("" if cell is None else clipped(str(cell)) for cell in row)
        yield "<tr>" + "".join(f"<td>{_escaped(cell)}</td>" for cell in cells) + "</tr>"
    yield "</table>"
