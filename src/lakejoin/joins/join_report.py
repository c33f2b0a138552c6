"""Describe a join: its values with the keys of `lakejoin join --json`, and the report of these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lakejoin.render.report import Cell, Column, Line, Report, Row, line, lines
from lakejoin.text_format import clip, counted, format_percent

if TYPE_CHECKING:
    from lakejoin.joins.join import Join
    from lakejoin.joins.join_inputs import JoinInput
    from lakejoin.model import Loss

_WORDS = 400
_COLUMNS = (
    Column("#"),
    Column("step", right=False, keep="start"),
    Column("rows", right=False),
    Column("confidence", phrase="confidence {}"),
)

_EXAMPLES_PER_STEP = 3
_UNMATCHED = 3  # rows without a match, per side
_NEAREST_ROWS = 200_000  # in larger tables the nearest value is not searched for
_UNMATCHED_READ = 30  # to get some with different values

JsonReport = dict[str, Any]
Fields = Mapping[str, Any]


def join_report(join: Join, left: JoinInput, right: JoinInput) -> JsonReport:
    """A join, with the keys of `lakejoin join --json`."""
    values = join_values(join, (left.name, right.name))
    if join:
        values["unmatched"] = {side: _unmatched(join, side) for side in ("left", "right")}
    return values


def join_values(join: Join, names: tuple[str, str]) -> JsonReport:
    """The same for a join that was found or not, without examples of rows that have no match."""
    if not join:
        attempt = asdict(join.attempt) if join.attempt else None
        return no_join_report(join.no_join, join.notes, names) | {"attempt": attempt}
    found = join.known
    sides = (found.key_rules[0].columns, found.columns)
    left_columns, right_columns = sides if found.source_side == "left" else sides[::-1]
    is_equal = all(step.kind == "equal" for step in join.steps)
    pairs = zip(left_columns, right_columns, strict=True) if is_equal else ()
    return {
        "left": names[0],
        "right": names[1],
        "on": [{"left": one, "right": other} for one, other in pairs],
        "how": join.options.how,
        "rows": len(join),
        "left_rows": join.left.num_rows,
        "right_rows": join.right.num_rows,
        "left_joined": join.left_joined,
        "right_joined": join.right_joined,
        "pairs": join.matched,
        "fan_out": join.joined.fan_out,
        "left_columns": list(left_columns),
        "right_columns": list(right_columns),
        "steps": [step.to_json() for step in join.steps],
        "sure": join.sure,
        "examples": [
            {**asdict(example), "unit": example.unit or None}
            for example in join.examples(_EXAMPLES_PER_STEP)
        ],
        "unmatched": {"left": [], "right": []},
        "columns": join.schema.names,
        "first": [],
        "output": None,
        "bytes": None,
        "warnings": list(join.warnings),
        "notes": list(join.notes),
    }


def no_join_report(why: str, notes: Sequence[str], names: tuple[str, str]) -> JsonReport:
    """No join of two tables was found, without an attempt."""
    return {
        "left": names[0],
        "right": names[1],
        "found": False,
        "why": why,
        "attempt": None,
        "notes": list(notes),
    }


def first_rows(join: Join, limit: int) -> list[list[Any]]:
    columns = [column.to_pylist() for column in join.table(max(0, limit)).columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _unmatched(join: Join, side: str) -> list[JsonReport]:
    """Some rows without a match, all with different values."""
    values: dict[str, JsonReport] = {}
    few = max(join.left.num_rows, join.right.num_rows) <= _NEAREST_ROWS
    for row in join.unmatched(side, _UNMATCHED_READ, nearest=few).to_pylist():
        if row["value"]:
            values.setdefault(row["value"], row)
    return list(values.values())[:_UNMATCHED]


def describe_join(fields: Fields) -> Report:
    """Describe a join by the values of its JSON: its steps, the rows that match, and warnings.

    A join of equal values needs no list of steps.
    """
    notes = tuple(fields["notes"])
    if not fields.get("found", True):
        return Report(line(fields["why"]), notes=notes)
    steps = fields["steps"]
    is_simple = len(steps) == 1 and steps[0]["kind"] == "equal"
    rows = () if is_simple else tuple(_step(fields, index) for index in range(len(steps)))
    why = lines([f"  {clip(steps[0]['why'], _WORDS)}"] if is_simple and steps[0]["why"] else ())
    return Report(
        title=line(_headline(fields)),
        columns=_COLUMNS,
        rows=rows,
        notes=notes,
        after=(*why, *_matched_lines(fields), *_unmatched_lines(fields)),
        is_numbered=True,
    )


def _headline(fields: Fields) -> str:
    pairs = " and ".join(f"{clip(pair['left'])} = {clip(pair['right'])}" for pair in fields["on"])
    shape = f"{counted(fields['rows'], 'row')}, {counted(len(fields['columns']), 'column')}"
    confidence = "" if pairs else f"; confidence {format_percent(fields['sure'])}"
    return f"{fields['how']} join{f' on {pairs}' if pairs else ''}: {shape}{confidence}"


def _step(fields: Fields, index: int) -> Row:
    step = fields["steps"][index]
    rows = f"{counted(step['left_rows'], 'left row')}, {counted(step['right_rows'], 'right row')}"
    cells = (
        Cell(str(index + 1)),
        Cell(f"{step['kind']}: {clip(step['words'], _WORDS)}", "bold"),
        Cell(rows),
        Cell(format_percent(step["sure"])),
    )
    examples = [example for example in fields["examples"] if example["step"] == index]
    return Row(cells, (line(clip(step["why"], _WORDS)), *lines(map(example_text, examples), "dim")))


def _matched_lines(fields: Fields) -> Iterator[Line]:
    for side in ("left", "right"):
        share = f"{fields[side + '_joined']:,} of {fields[side + '_rows']:,} rows"
        yield line(f"  {share} of {fields[side]} have a match")
    if fields["pairs"] > fields["left_joined"]:
        average = fields["pairs"] / fields["left_joined"]
        yield line(f"  each joined row of {fields['left']} matches {average:,.1f} rows on average")
    yield from lines((f"warning: {warning}" for warning in fields["warnings"]), "warn")


def _unmatched_lines(fields: Fields) -> Iterator[Line]:
    """Some rows without a match, each with the nearest value."""
    for side in ("left", "right"):
        if examples := fields["unmatched"][side]:
            rows = fields[f"{side}_rows"] - fields[f"{side}_joined"]
            yield line(f"  {counted(rows, f'{side} row')} without a match, for example:")
            for row in examples:
                near = f"  (nearest: {clip(row['nearest'])})" if row["nearest"] is not None else ""
                yield line(f"     {clip(row['value'])}{near}", style="dim")


def example_text(example: Fields) -> str:
    """A matching pair of values, before and after rewriting.

    >>> example = {"before": "Obama, Barack", "after": "Barack Obama", "partner": "barack obama"}
    >>> print(example_text({**example, "distance": None, "unit": None}))
    Obama, Barack → Barack Obama = barack obama
    """
    after = "" if example["after"] is None else f" → {clip(example['after'])}"
    sign = "=" if example["distance"] is None else "~"
    far = f" ({example['distance']:,.4g} {example['unit']})" if example["unit"] else ""
    return f"{clip(example['before'])}{after} {sign} {clip(example['partner'])}{far}"


def loss_texts(name: str, losses: Iterable[Loss]) -> Iterator[str]:
    """What was lost in reading a table.

    >>> from lakejoin.model import Loss
    >>> list(loss_texts("a.csv", [Loss("line is not JSON", 3)]))
    ['reading a.csv: line is not JSON (3 times)']
    """
    return (f"reading {name}: {loss.reason} ({counted(loss.count, 'time')})" for loss in losses)
