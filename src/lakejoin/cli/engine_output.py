"""Print the answer of a single engine: a table of results, or one result in full."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from lakejoin.cli.search_details import (
    effort_line,
    effort_sentences,
    near_cells,
    near_query_text,
    print_near_examples,
    print_near_sql,
    print_near_values,
    print_pairs_hint,
    print_taus,
)
from lakejoin.cli.terminal import console, fitted_widths, print_json, print_more, print_value_table
from lakejoin.codegen.pasted_command import join_command_line
from lakejoin.errors import InputError
from lakejoin.search.answer import Answer
from lakejoin.search.answer_display import (
    format_bar,
    format_fan_out,
    format_pairs,
    format_percent,
    format_runner_up,
)
from lakejoin.search.result import NearResult
from lakejoin.text_format import clip, counted, seconds

if TYPE_CHECKING:
    from lakejoin.search.answer import Answers
    from lakejoin.search.result import Result


_WIDE = 110  # on narrower screens each result gets its own lines
_EXAMPLE = 30
_COMBINATION = 60
_LARGE_FAN_OUT = 10.0  # marked with !
_SOME_FAN_OUT = 2.0
_GAP = "   "
_INDENT = "     "
_VALUES_SHOWN = 20
_RESULTS_SHOWN = 40

_HEADS = ("#", "table", "column", "matched", "contained", "size", "your rows", "fan-out")
_NEAR = ("pairs", "median distance")  # by meaning and by distance
_RIGHT = ("#", "matched", "size", "your rows", "fan-out", *_NEAR)
_CUT = ("table", "column")


@dataclass(frozen=True, slots=True)
class TypedQuery:
    """The query as it was typed (TABLE and `--index`), and how many tables the lake has."""

    table: str
    index: str | None = None
    tables: int = 0


def print_answer(screen: Console, answer: Answer, typed: TypedQuery) -> None:
    """Print the whole answer: the query, the results, the command that joins, time and effort.

    Containment may find many columns; only the first are shown.
    """
    print_query(screen, answer, typed)
    if len(answer):
        screen.print()
        print_results(screen, answer, None if answer.k else _RESULTS_SHOWN)
        best = best_other(answer)
        if answer.reach is not None:
            print_pairs_hint(screen, best or answer[0])
        elif best is not None:
            screen.print()
            screen.print(_plain(f"to join with result {best.rank}:"))
            screen.print(Text(f"  {join_command_for(best, answer, typed)}", "bold"), soft_wrap=True)
    screen.print()
    screen.print(Text(effort_line(answer), "dim"), soft_wrap=True)


def print_answers(
    screen: Console, answers: Sequence[Answer], typed: TypedQuery, limit: int
) -> None:
    """Print the answers for several columns of one table; a note they share is printed once."""
    shared = [note for note in answers[0].notes if all(note in a.notes for a in answers)]
    print_notes(screen, shared)
    for answer in answers:
        own = tuple(note for note in answer.notes if note not in shared)
        print_brief_answer(screen, replace(answer, notes=own), typed, limit)


def print_brief_answer(screen: Console, answer: Answer, typed: TypedQuery, limit: int) -> None:
    """Print one of several answers: the best results, and the command for the first."""
    screen.print(_query(answer), soft_wrap=True)
    print_notes(screen, answer.notes)
    if len(answer):
        print_results(screen, answer, limit)
    best = best_other(answer)
    if best is not None and answer.reach is None:
        screen.print(Text(f"  {join_command_for(best, answer, typed)}", "bold"), soft_wrap=True)
    screen.print()


def print_query(screen: Console, answer: Answer, typed: TypedQuery) -> None:
    """Print what was searched for, on one line, and the notes."""
    screen.print(Text.assemble(_query(answer), " ", _looked_for(answer, typed)), soft_wrap=True)
    if answer.taus is not None:
        print_taus(screen, answer.taus)
    print_notes(screen, answer.notes)


def _query(answer: Answer) -> Text:
    query = answer.query
    noun = "distinct point" if answer.reach else "distinct combination"
    noun = noun if _is_key(answer) else "distinct value"
    shape = f"({counted(len(query), noun)} in {counted(query.rows, 'row')})"
    column = (" + ".join(map(clip, query.columns)), "bold")
    return Text.assemble(column, f" of {clip(query.table, 200)} {shape}:")


def _is_key(answer: Answer) -> bool:
    return len(answer.query.columns) > 1


def _looked_for(answer: Answer, typed: TypedQuery) -> str:
    if answer.reach is not None:
        return near_query_text(answer, typed.tables)
    least = f"contain at least {format_percent(answer.min)} of the values" if answer.min else ""
    noun, among, number = "column", f" of {counted(typed.tables, 'table')}", answer.k
    if _is_key(answer):
        noun, among = "table", f" of {typed.tables:,}"
        number = min(answer.k, typed.tables) if answer.k else None
    best = f"the {counted(number, noun)}" if number else f"the {noun}s"
    most = "contain the most values" if answer.k else ""
    if answer.by == "overlap":
        most = "share the most values"
    if _is_key(answer) and most:
        most = "contain the most combinations"
    if not most and not least:
        most = "contain any of the values"
    condition = " and ".join(filter(None, (most, least)))
    if number == 1:
        for verb in ("share", "contain"):
            condition = condition.replace(verb, f"{verb}s")
    return f"{best}{among} that {condition}"


def print_notes(screen: Console, notes: Iterable[str]) -> None:
    """Print the notes of an answer, one per line."""
    for note in notes:
        screen.print(Text(f"note: {clip(note, 400)}", "yellow"), soft_wrap=True)


def print_results(screen: Console, answer: Answer, limit: int | None = None) -> None:
    """Print the results; beyond `limit` they are only counted."""
    shown = answer[:limit] if limit is not None else answer
    if screen.width >= _WIDE:
        _print_wide(screen, shown)
    else:
        for result in shown:
            _print_stacked(screen, result, answer)
    if len(shown) < len(answer):
        more = f"… and {len(answer) - len(shown):,} more; --json shows all"
        screen.print(Text(f"{_INDENT}{more}", "dim"))
    if any((result.fan_out or 0) >= _LARGE_FAN_OUT for result in shown):
        screen.print(Text(f"{_INDENT}! this join would multiply your rows", "yellow"))


def _print_wide(screen: Console, answer: Answer) -> None:
    query_columns = answer.query.columns
    # The columns of a composite key get a line of their own.
    heads = [head for head in _HEADS if head != "column" or len(query_columns) == 1]
    heads += _NEAR if answer.reach is not None else ()
    cells = [{head: Text(head, "bold") for head in heads}]
    cells += [_cells(result, answer) for result in answer]
    lines = [[line[head] for head in heads] for line in cells]
    natural = [max(cell_len(line[i].plain) for line in lines) for i in range(len(heads))]
    widths = fitted_widths(natural, [head not in _CUT for head in heads], screen.width)
    _print_line(screen, heads, lines[0], widths)
    screen.print(Text("─" * min(screen.width, sum(widths) + len(_GAP) * (len(widths) - 1))))
    for result, line in zip(answer, lines[1:], strict=True):
        _print_line(screen, heads, line, widths)
        _print_beneath(screen, result, answer, " " * widths[0] + _GAP)


def _cells(result: Result, answer: Answer) -> dict[str, Text]:
    cells = (
        Text(str(result.rank), "dim"),
        _named(result.table, result),
        _plain(", ".join(result.columns)),
        _matched(result),
        _contained(result),
        Text(f"{result.column_size:,}"),
        _share(result.row_coverage),
        _fan_out(result.fan_out),
    )
    if answer.reach is None:
        return dict(zip(_HEADS, cells, strict=True))
    return dict(zip((*_HEADS, *_NEAR), (*cells, *near_cells(result, answer.reach)), strict=True))


def _print_line(
    screen: Console, heads: Sequence[str], cells: Sequence[Text], widths: Sequence[int]
) -> None:
    parts = []
    for head, cell, width in zip(heads, cells, widths, strict=False):
        room = width - cell_len(cell.plain)
        if room < 0:
            parts.append(_cut(cell, width, keep_end=head == "table"))
        elif head in _RIGHT:
            parts.append(Text.assemble(" " * room, cell))
        else:
            parts.append(Text.assemble(cell, " " * room))
    line = Text(_GAP).join(parts)
    line.rstrip()
    screen.print(line, soft_wrap=True)


def _cut(cell: Text, width: int, keep_end: bool) -> Text:
    """Shorten a cell; the end of a table name tells more than its beginning."""
    text = cell.plain
    if not keep_end:
        return Text(set_cell_size(text, width - 1).rstrip() + "…", cell.style)
    while cell_len(text) > width - 1:
        text = text[1:]
    return Text("…" + text + " " * (width - 1 - cell_len(text)), cell.style)


def _print_stacked(screen: Console, result: Result, answer: Answer) -> None:
    name = Text.assemble((f"{result.rank:>2}   ", "dim"), _named(result.table, result))
    if len(answer.query.columns) == 1:
        name = Text.assemble(name, " · ", (clip(", ".join(result.columns)), "bold"))
    screen.print(name, soft_wrap=True)
    figures = [_contained(result), _matched(result), Text(f"size {result.column_size:,}")]
    if result.row_coverage is not None:
        figures.append(Text.assemble(_share(result.row_coverage), " of your rows"))
        figures.append(_fan_out(result.fan_out))
    if answer.reach is not None:
        pairs, distance = near_cells(result, answer.reach)
        figures.append(Text.assemble(pairs, " pairs, median distance ", distance))
    screen.print(Text.assemble(_INDENT, Text("  ").join(figures)), soft_wrap=True)
    _print_beneath(screen, result, answer, _INDENT)


def _print_beneath(screen: Console, result: Result, answer: Answer, indent: str) -> None:
    """Print what goes below the figures: the columns of a composite key, and examples."""
    query_columns = answer.query.columns
    if len(query_columns) > 1:
        screen.print(
            Text(indent + format_pairs(query_columns, result.columns), "bold"), soft_wrap=True
        )
        if result.runner_up is not None:
            screen.print(Text(indent + format_runner_up(result), "dim"), soft_wrap=True)
    if answer.reach is not None:
        print_near_examples(screen, result, indent)
        return
    # The values of a combination are separated by a dot, like single examples.
    between, longest = (" · ", _EXAMPLE) if len(query_columns) == 1 else (" | ", _COMBINATION)
    line = Text(indent)
    for mark, style, kind in (("✓", "green", "matched"), ("✗", "red", "unmatched")):
        examples = result.examples[kind]
        if examples:
            line.append(f"{mark} ", style)
            line.append(between.join(clip(text, longest) for text in examples), "dim")
            line.append(_GAP)
    line.rstrip()
    if line.plain.strip():
        line.truncate(screen.width, overflow="ellipsis")
        screen.print(line, soft_wrap=True)


def _plain(text: str) -> Text:
    return Text(clip(text, 200))


def _named(table: str, result: Result) -> Text:
    name = _plain(table)
    return Text.assemble(name, (f" ({result.copy})", "yellow")) if result.copy else name


def _matched(result: Result) -> Text:
    about = "" if result.verified else "~"
    return Text(f"{about}{result.matched:,} of {result.query_size:,}")


def _contained(result: Result) -> Text:
    share = f"{format_percent(result.containment):>4}"
    if not result.verified and result.error is not None:
        share += f" ±{100 * result.error:.0f}%"
    return Text.assemble((format_bar(result.containment), "green"), " ", share)


def _share(share: float | None) -> Text:
    return Text("–", "dim") if share is None else Text(format_percent(share))


def _fan_out(fan_out: float | None) -> Text:
    if fan_out is None:
        return Text("–", "dim")
    text = f"x{format_fan_out(fan_out)}"
    if fan_out >= _LARGE_FAN_OUT:
        return Text(f"{text} !", "bold red")
    return Text(text, "yellow" if fan_out >= _SOME_FAN_OUT else "")


# -- the commands ------------------------------------------------------------------------------


def best_other(answer: Answer) -> Result | None:
    """The best result that is neither the table itself nor a copy; otherwise a copy."""
    others = [result for result in answer if not result.copy]
    copies = [result for result in answer if result.copy == "copy"]
    return next(iter([*others, *copies]), None)


def join_command_for(result: Result, answer: Answer, typed: TypedQuery) -> str:
    """The command that makes the join, ready to paste into a shell."""
    on = []
    found = result.found
    pairs = zip(answer.query.columns, result.columns, strict=True)
    for position, (query_column, lake_column) in enumerate(pairs):
        if found is not None and "=" in query_column + lake_column:  # indices are unambiguous
            on += ["--on", f"{found.query_columns[position]}={found.column_index(position)}"]
        else:
            on += ["--on", f"{query_column}={lake_column}"]
    return join_command_line(typed.table, result.table, [*on, "-o", "joined.csv"], typed.index)


# -- one result in full ------------------------------------------------------------------------


def print_explained(screen: Console, answer: Answer, result: Result, typed: TypedQuery) -> None:
    """Print one result: its figures, the values, what was read, the command and the SQL."""
    print_query(screen, answer, typed)
    screen.print()
    _print_stacked(screen, result, answer)
    if result.estimate is not None:
        error = f" ± {result.error:.3f}" if result.error is not None else ""
        screen.print(f"{_INDENT}estimated by sketches: {result.estimate:.3f}{error}")
    if answer.reach is not None:
        print_near_values(screen, result, answer.reach)
    else:
        _print_values(screen, result)
    screen.print()
    for sentence in effort_sentences(answer.counters):
        screen.print(_plain(sentence), soft_wrap=True)
    screen.print(f"time: {seconds(answer.seconds)}")
    if answer.reach is not None:
        print_near_sql(screen, result, answer.by)  # a join by equal values would find other rows
        return
    screen.print()
    screen.print(Text("to join the two:", "dim"))
    screen.print(Text(f"  {join_command_for(result, answer, typed)}", "bold"), soft_wrap=True)
    screen.print()
    screen.print(Text("or in DuckDB:", "dim"))
    screen.print(Text(result.sql()), soft_wrap=True)


def _print_values(screen: Console, result: Result) -> None:
    noun = "values" if len(result.columns) == 1 else "combinations"
    matched = result.matches(_VALUES_SHOWN)
    screen.print()
    screen.print(Text(f"{noun} that match", "bold"), "" if len(matched) else "none")
    print_value_table(matched)
    print_more(screen, result.matched - len(matched))
    missing = result.unmatched(_VALUES_SHOWN)
    screen.print()
    screen.print(Text(f"your {noun} without a partner", "bold"), "" if len(missing) else "none")
    print_value_table(missing)
    print_more(screen, result.query_size - result.matched - len(missing))


def show_engine_answer(
    answer: Answer | Answers, typed: TypedQuery, limit: int, explain: int | None, as_json: bool
) -> None:
    """Print one answer, or the best `limit` results of each of several answers; with `explain`,
    print that result of the only answer in full."""
    if explain is not None:
        (answer,) = [answer] if isinstance(answer, Answer) else answer
        _explain(answer, explain, typed, as_json)
    elif as_json:
        print_json(answer.to_dict())
    elif isinstance(answer, Answer):
        print_answer(console(), answer, typed)
    else:
        print_answers(console(), answer, typed, limit)


def _explain(answer: Answer, rank: int, typed: TypedQuery, as_json: bool) -> None:
    result = next((result for result in answer if result.rank == rank), None)
    if result is None:
        raise InputError(f"there is no result {rank}: the search found {len(answer):,}")
    if not result.verified:
        raise InputError("--explain needs exact counts: leave out --unverified")
    if isinstance(result, NearResult) and not result.listed:
        result.matches()  # raises and says why
    if as_json:
        print_json(_explained_json(answer, result, typed))
    else:
        print_explained(console(), answer, result, typed)


def _explained_json(answer: Answer, result: Result, typed: TypedQuery) -> dict[str, Any]:
    whole = replace(answer, results=()).to_dict()
    options = ("query", "by", "k", "min", *(answer.reach.to_dict() if answer.reach else ()))
    return {
        **{key: whole[key] for key in options},
        "result": result.to_dict(),
        "matches": result.matches().to_pylist(),
        "unmatched": result.unmatched().to_pylist(),
        **{key: whole[key] for key in ("counters", "notes", "seconds")},
        "sql": _sql_or_none(result),
        "join": join_command_for(result, answer, typed) if answer.reach is None else None,
    }


def _sql_or_none(result: Result) -> str | None:
    """The SQL of a join; None if it cannot be written in SQL."""
    try:
        return result.sql()
    except InputError:
        if isinstance(result, NearResult):
            return None
        raise
