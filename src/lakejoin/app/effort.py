"""What a search read and what it could leave unread, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakejoin.app.printing import counted, seconds, size

if TYPE_CHECKING:
    from lakejoin.search.answer import Answer
    from lakejoin.search.hits import Counters
    from lakejoin.search.mate.hits import KeyCounters
    from lakejoin.search.vectors.hits import VectorCounters


def what_it_took(answer: Answer) -> str:
    """One line: how long, and what was read."""
    said = ", ".join(_briefly(answer.counters))
    return ": ".join(filter(None, (seconds(answer.seconds), said)))


def _briefly(counters: Counters | KeyCounters | VectorCounters) -> list[str]:
    from lakejoin.search.hits import Counters
    from lakejoin.search.mate.hits import KeyCounters

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
        f"{counters.rows_true:,} true",
    ]


def _near_briefly(counters: VectorCounters) -> list[str]:
    if not counters.values:
        return []
    return [
        f"{counted(counters.values, 'value')} in the lake",
        f"{counted(counters.verified, 'distance')} measured",
        *([" and ".join(counters.methods)] if counters.methods else []),
    ]


def read_and_pruned(counters: Counters | KeyCounters | VectorCounters) -> list[str]:
    """What the search read and what it could leave unread, in sentences.

    >>> from lakejoin.search.hits import Counters
    >>> read_and_pruned(Counters(2, 10, 4, candidates=9, sets_read=3, pruned=6, bytes=4000))[1]
    '9 columns were candidates: 3 were opened for an exact count, 6 were ruled out unopened'
    """
    from lakejoin.search.hits import Counters
    from lakejoin.search.mate.hits import KeyCounters

    if isinstance(counters, KeyCounters):
        return _rows_filtered(counters)
    if not isinstance(counters, Counters):
        return _measured(counters)
    said = []
    if counters.lists:
        said.append(
            f"your values have {counted(counters.lists, 'posting list')} here (equal ones count "
            f"once): {counters.lists_read:,} were read"
        )
    said.append(
        f"{counted(counters.candidates, 'column')} were candidates: {counters.sets_read:,} were "
        f"opened for an exact count, {counters.pruned:,} were ruled out unopened"
    )
    said.append(f"{size(counters.bytes)} of the index in {counted(counters.segments, 'segment')}")
    ran = [f"{name} ({counted(times, 'time')})" for name, times in counters.algorithms.items()]
    if ran:
        said.append(f"algorithm: {', '.join(ran)}")
    return said


def _rows_filtered(counters: KeyCounters) -> list[str]:
    """The same of a composite key: tables and rows that were looked at, and the filter between.

    >>> from lakejoin.search.mate.hits import KeyCounters
    >>> counters = KeyCounters(tables=9, tables_read=3, rows_seen=80, rows_passed=20, rows_true=15)
    >>> read_and_pruned(counters)[1]
    'of 80 rows seen, 20 passed the row filter and 15 hold a combination: its precision is 75%'
    """
    rows = (
        f"of {counted(counters.rows_seen, 'row')} seen, {counters.rows_passed:,} passed the row "
        f"filter and {counters.rows_true:,} hold a combination"
    )
    if counters.rows_passed:
        rows += f": its precision is {counters.rows_true / counters.rows_passed:.0%}"
    said = [
        f"{counted(counters.tables, 'table')} could hold a combination: the rows of "
        f"{counters.tables_read:,} were looked at",
        rows,
        f"{counted(counters.items, 'posting item')} in {counted(counters.segments, 'segment')}",
    ]
    if counters.cut_short:
        said.append(
            f"of {counted(counters.cut_short, 'table')} not all ways to map the columns were tried"
        )
    if counters.initial:
        names = [f"{name} ({counted(n, 'segment')})" for name, n in counters.initial.items()]
        said.append(f"rows were fetched by {', '.join(names)}")
    return said


def _measured(counters: VectorCounters) -> list[str]:
    """The same by meaning and by distance: bounds that were enough, and distances measured.

    >>> from lakejoin.search.vectors.hits import VectorCounters
    >>> _measured(VectorCounters(2, 500, 900, 80, 25, 60, {"tree": 2}))[0]
    'the lake has 500 values: 900 bounds were computed, 80 distances measured, 25 pairs are near'
    """
    said = [
        f"the lake has {counted(counters.values, 'value')}: {counters.bounded:,} bounds were "
        f"computed, {counters.verified:,} distances measured, {counters.near:,} pairs are near"
    ]
    if counters.encoded:
        said.append(f"{counted(counters.encoded, 'value')} of the lake had to be encoded for that")
    said.append(f"in {counted(counters.segments, 'segment')}")
    ran = [f"{name} ({counted(times, 'time')})" for name, times in counters.methods.items()]
    if ran:
        said.append(f"method: {', '.join(ran)}")
    return said
