"""Print details of an answer: near pairs and their distances, the choice of tau, what was read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakejoin.cli.terminal import print_lines, print_more, print_value_table, print_values
from lakejoin.errors import InputError
from lakejoin.render.report import line
from lakejoin.text_format import counted, seconds, size

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from lakejoin.engines.composite.hits import KeyCounters
    from lakejoin.engines.hits import Counters
    from lakejoin.engines.meaning.hits import VectorCounters
    from lakejoin.search.answer import Answer
    from lakejoin.search.result import Result
    from lakejoin.search.tau_choice import Reach


_NEAR_SHOWN = 12  # of the nearest pairs, the farthest pairs, and values that do not match


def print_pairs_hint(screen: Console, result: Result) -> None:
    """Print how to see the pairs, if they can be listed."""
    from lakejoin.search.result import NearResult

    assert isinstance(result, NearResult)
    if result.listed:
        add = f"add --explain {result.rank} (with --json, all of them)"
        hint = line(f"to see the pairs of result {result.rank}, {add}", style="dim")
        print_lines(screen, [line(), hint])


def print_near_values(screen: Console, result: Result, reach: Reach) -> None:
    """Print the nearest pairs that differ, the farthest pairs, and values that do not match."""
    from lakejoin.search.result import NearResult

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
    from lakejoin.search.result import NearResult
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
    from lakejoin.engines.hits import Counters

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
    from lakejoin.engines.hits import Counters

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
