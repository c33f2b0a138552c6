"""Print the answer of a single engine: a table of results, or one result in full with near pairs,
their distances, and what was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lakejoin.cli.terminal import (
    console,
    pick_result,
    print_json,
    print_lines,
    print_more,
    print_notes,
    print_row,
    print_rows,
    print_title,
    print_value_table,
    print_values,
)
from lakejoin.engines.hits import Counters
from lakejoin.errors import InputError
from lakejoin.quoting import join_command_line
from lakejoin.render.headlines import describe_aim, describe_near_aim, headline_query
from lakejoin.render.report import Line, Report, Span, line, lines
from lakejoin.search.answer import Answer, Answers
from lakejoin.search.result import NearResult, Result
from lakejoin.search.tau_choice import Reach
from lakejoin.text_format import counted, seconds, size

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from lakejoin.engines.composite.hits import KeyCounters
    from lakejoin.engines.meaning.hits import VectorCounters


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
    result = pick_result(answer, rank)
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


_NEAR_SHOWN = 12  # of the nearest pairs, the farthest pairs, and values that do not match


def print_pairs_hint(screen: Console, result: Result) -> None:
    """Print how to see the pairs, if they can be listed."""
    assert isinstance(result, NearResult)
    if result.listed:
        add = f"add --explain {result.rank} (with --json, all of them)"
        hint = line(f"to see the pairs of result {result.rank}, {add}", style="dim")
        print_lines(screen, [line(), hint])


def print_near_values(screen: Console, result: Result, reach: Reach) -> None:
    """Print the nearest pairs that differ, the farthest pairs, and values that do not match."""
    assert isinstance(result, NearResult)
    equal = result.equal
    others = result.pairs - equal
    if equal:
        print_lines(
            screen, [line(), line(f"{counted(equal, 'pair')} of equal values", style="bold")]
        )
    noun = "other pair" if equal else "pair"
    head = f"{counted(others, noun)}, nearest first" if others else "no other pairs"
    print_lines(screen, [line(), line(head, style="bold")])
    few = others <= 2 * _NEAR_SHOWN
    _print_pairs(result.matches(others if few else _NEAR_SHOWN, differing=True), reach)
    if not few:
        print_lines(screen, [line(f"… and the farthest pairs {reach.text}", style="bold")])
        farthest = result.farthest(_NEAR_SHOWN, differing=True)
        _print_pairs(farthest.take([*range(len(farthest))][::-1]), reach)
        print_more(screen, others - 2 * _NEAR_SHOWN)
    missing = result.unmatched(_NEAR_SHOWN)
    total = result.query_size - result.matched
    print_values(screen, "your values that do not match", missing, total)


def print_near_sql(screen: Console, result: Result, by: str) -> None:
    """Print the join by meaning as SQL, if its pairs are few; by distance there is no SQL."""
    from lakejoin.search.result_sql import MAX_SQL_PAIRS

    assert isinstance(result, NearResult)
    if by != "meaning" or result.pairs > MAX_SQL_PAIRS:
        return
    try:
        many = result.pairs > 2 * _NEAR_SHOWN
        sql = "" if many else result.sql()
        head = "to join them in DuckDB:" + (" --json prints the SQL" if many else "")
    except InputError as problem:
        head, sql = f"this join has no SQL: {problem}", ""
    print_lines(screen, [line(), line(head, style="dim"), *([line(sql)] if sql else [])])


def _print_pairs(pairs: pa.Table, reach: Reach) -> None:
    shown = [reach.format_distance(distance) for distance in pairs["distance"].to_pylist()]
    column = pairs.column_names.index("distance")
    print_value_table(pairs.set_column(column, "distance", [shown]))


def effort_line(answer: Answer) -> str:
    """One line: the time, and what was read."""
    effort = ", ".join(_briefly(answer.counters))
    return ": ".join(filter(None, (seconds(answer.seconds), effort)))


def _briefly(counters: Counters | KeyCounters | VectorCounters) -> list[str]:
    from lakejoin.engines.composite.hits import KeyCounters

    if isinstance(counters, KeyCounters):
        return _key_briefly(counters)
    if not isinstance(counters, Counters):
        return _near_briefly(counters)
    parts = []
    if counters.lists:
        parts.append(f"{counters.lists_read:,} of {counted(counters.lists, 'posting list')} read")
    if counters.sets_read:
        parts.append(f"{counted(counters.sets_read, 'column')} opened")
    if counters.pruned:
        parts.append(f"{counters.pruned:,} ruled out unopened")
    if counters.bytes:
        parts.append(f"{size(counters.bytes)} of the index")
    if counters.algorithms:
        parts.append(" and ".join(counters.algorithms))
    return parts


def _key_briefly(counters: KeyCounters) -> list[str]:
    if not counters.tables:
        return []
    return [
        f"{counters.tables_read:,} of {counted(counters.tables, 'table')} read",
        f"{counters.rows_seen:,} rows seen",
        f"{counters.rows_passed:,} passed the filter",
        f"{counters.rows_true:,} matched",
    ]


def _near_briefly(counters: VectorCounters) -> list[str]:
    if not counters.values:
        return []
    return [
        f"{counted(counters.values, 'value')} in the lake",
        f"{counted(counters.verified, 'distance')} measured",
        *([" and ".join(counters.methods)] if counters.methods else []),
    ]


def effort_sentences(counters: Counters | KeyCounters | VectorCounters) -> list[str]:
    """Sentences on what the search read and what it ruled out unread.

    >>> from lakejoin.engines.hits import Counters
    >>> effort_sentences(Counters(2, 10, 4, candidates=9, sets_read=3, pruned=6, bytes=4000))[1]
    '9 columns were candidates: 3 were opened for an exact count, 6 were ruled out unopened'
    """
    from lakejoin.engines.composite.hits import KeyCounters

    if isinstance(counters, KeyCounters):
        return _rows_filtered(counters)
    if not isinstance(counters, Counters):
        return _measured(counters)
    sentences = []
    if counters.lists:
        sentences.append(
            f"your values have {counted(counters.lists, 'posting list')} (equal lists count once): "
            f"{counters.lists_read:,} were read"
        )
    sentences.append(
        f"{counted(counters.candidates, 'column')} were candidates: {counters.sets_read:,} were "
        f"opened for an exact count, {counters.pruned:,} were ruled out unopened"
    )
    sentences.append(
        f"{size(counters.bytes)} of the index in {counted(counters.segments, 'segment')}"
    )
    ran = [f"{name} ({counted(times, 'time')})" for name, times in counters.algorithms.items()]
    if ran:
        sentences.append(f"algorithm: {', '.join(ran)}")
    return sentences


def _rows_filtered(counters: KeyCounters) -> list[str]:
    """For a composite key: tables and rows that were read, and the row filter.

    >>> from lakejoin.engines.composite.hits import KeyCounters
    >>> counters = KeyCounters(tables=9, tables_read=3, rows_seen=80, rows_passed=20, rows_true=15)
    >>> effort_sentences(counters)[1]
    'of 80 rows seen, 20 passed the row filter and 15 match: its precision is 75%'
    """
    rows = (
        f"of {counted(counters.rows_seen, 'row')} seen, {counters.rows_passed:,} passed the row "
        f"filter and {counters.rows_true:,} match"
    )
    if counters.rows_passed:
        rows += f": its precision is {counters.rows_true / counters.rows_passed:.0%}"
    sentences = [
        f"{counted(counters.tables, 'table')} could contain a combination: the rows of "
        f"{counters.tables_read:,} were read",
        rows,
        f"{counted(counters.items, 'posting item')} in {counted(counters.segments, 'segment')}",
    ]
    if counters.cut_short:
        sentences.append(
            f"in {counted(counters.cut_short, 'table')} not every mapping of the columns was tried"
        )
    if counters.initial:
        names = [f"{name} ({counted(n, 'segment')})" for name, n in counters.initial.items()]
        sentences.append(f"rows were fetched by {', '.join(names)}")
    return sentences


def _measured(counters: VectorCounters) -> list[str]:
    """By meaning and by distance: bounds that sufficed, and distances that were measured.

    >>> from lakejoin.engines.meaning.hits import VectorCounters
    >>> _measured(VectorCounters(2, 500, 900, 80, 25, 60, {"tree": 2}))[0]
    'the lake has 500 values: 900 bounds were computed, 80 distances measured, 25 pairs found'
    """
    sentences = [
        f"the lake has {counted(counters.values, 'value')}: {counters.bounded:,} bounds were "
        f"computed, {counters.verified:,} distances measured, {counters.near:,} pairs found"
    ]
    if counters.encoded:
        sentences.append(f"{counted(counters.encoded, 'lake value')} had to be encoded")
    sentences.append(f"in {counted(counters.segments, 'segment')}")
    ran = [f"{name} ({counted(times, 'time')})" for name, times in counters.methods.items()]
    if ran:
        sentences.append(f"method: {', '.join(ran)}")
    return sentences
