"""Print the answer of a single engine: a table of results, or one result in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lakejoin.cli.search_details import (
    effort_line,
    effort_sentences,
    print_near_sql,
    print_near_values,
    print_pairs_hint,
)
from lakejoin.cli.terminal import (
    console,
    print_json,
    print_lines,
    print_notes,
    print_row,
    print_rows,
    print_title,
    print_values,
)
from lakejoin.codegen.pasted_command import join_command_line
from lakejoin.errors import InputError
from lakejoin.render.headlines import describe_aim, describe_near_aim, headline_query
from lakejoin.render.report import Line, Report, Span, line, lines
from lakejoin.search.answer import Answer, Answers
from lakejoin.search.result import NearResult, Result
from lakejoin.text_format import seconds

if TYPE_CHECKING:
    from rich.console import Console


_VALUES_SHOWN = 20
_RESULTS_SHOWN = 40


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
    report = _report(answer, typed, None if answer.k else _RESULTS_SHOWN)
    print_title(screen, report)
    if len(answer):
        screen.print()
        print_results(screen, report)
        best = best_other(answer)
        if answer.reach is not None:
            print_pairs_hint(screen, best or answer[0])
        elif best is not None:
            command = join_command_for(best, answer, typed)
            texts = (line(), line(f"to join with result {best.rank}:"))
            print_lines(screen, [*texts, line(f"  {command}", style="bold")])
    print_lines(screen, [line(), line(effort_line(answer), style="dim")])


def print_results(screen: Console, report: Report) -> None:
    """Print the results, and a warning if a join would multiply rows."""
    print_rows(screen, report)
    print_lines(screen, report.after)


def print_answers(
    screen: Console, answers: Sequence[Answer], typed: TypedQuery, limit: int
) -> None:
    """Print the answers for several columns of one table: the best results of each, and the command
    for the first. A note they share is printed once."""
    shared = [note for note in answers[0].notes if all(note in a.notes for a in answers)]
    print_notes(screen, shared)
    for answer in answers:
        print_lines(screen, [_query(answer)])
        print_notes(screen, (note for note in answer.notes if note not in shared))
        print_results(screen, answer.report(limit))
        best = best_other(answer)
        if best is not None and answer.reach is None:
            command = join_command_for(best, answer, typed)
            print_lines(screen, [line(f"  {command}", style="bold")])
        screen.print()


def _report(answer: Answer, typed: TypedQuery, limit: int | None = None) -> Report:
    """The report of an answer, titled with what was searched for."""
    spans = (*_query(answer).spans, Span(f" {_aim(answer, typed.tables)}"))
    return replace(answer.report(limit), title=Line(spans))


def _query(answer: Answer) -> Line:
    query = answer.query
    near = answer.reach is not None
    return headline_query(query.columns, query.table, len(query), query.rows, near)


def _aim(answer: Answer, tables: int) -> str:
    if answer.reach is not None:
        near = answer.reach.text
        return describe_near_aim(answer.measure, answer.k, answer.min, tables, near)
    is_key = len(answer.query.columns) > 1
    return describe_aim(answer.by, answer.k, answer.min, tables, is_key)


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
    report = _report(replace(answer, results=(result,)), typed)
    print_title(screen, report)
    screen.print()
    print_row(screen, report, report.rows[0])
    if result.estimate is not None:
        error = f" ± {result.error:.3f}" if result.error is not None else ""
        screen.print(f"     estimated by sketches: {result.estimate:.3f}{error}")
    if answer.reach is not None:
        print_near_values(screen, result, answer.reach)
    else:
        _print_values(screen, result)
    effort = [*effort_sentences(answer.counters), f"time: {seconds(answer.seconds)}"]
    print_lines(screen, [line(), *lines(effort)])
    if answer.reach is not None:
        print_near_sql(screen, result, answer.by)  # a join by equal values would find other rows
        return
    command = line(f"  {join_command_for(result, answer, typed)}", style="bold")
    print_lines(screen, [line(), line("to join the two:", style="dim"), command])
    print_lines(screen, [line(), line("or in DuckDB:", style="dim"), line(result.sql())])


def _print_values(screen: Console, result: Result) -> None:
    noun = "values" if len(result.columns) == 1 else "combinations"
    matched = result.matches(_VALUES_SHOWN)
    print_values(screen, f"{noun} that match", matched, result.matched)
    missing = result.unmatched(_VALUES_SHOWN)
    total = result.query_size - result.matched
    print_values(screen, f"your {noun} that do not match", missing, total)


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
        raise InputError("--explain needs exact counts: leave out --no-verify")
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
