"""Which rows meet by their values? Equal ones, and those that learned programs make equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lakejoin.joins.dates_inside import dates_inside
from lakejoin.joins.given import subject
from lakejoin.joins.keys import NO_KEY, KeyColumn, key_codes
from lakejoin.joins.shown import percent
from lakejoin.joins.task import Attempt, On, Task, sides
from lakejoin.joins.ways import Found, Way
from lakejoin.lake.columns import encode_query
from lakejoin.model import ColumnData

if TYPE_CHECKING:
    from lakejoin.joins.autojoin.finding import Learned

_KEY = 0.8  # the share of distinct values from which on a column is a key
_MOST = 0.5  # of the rows: columns that join so many are the right ones
_MANY_MORE = 1.5  # times as many rows
_GIVEN = "the columns were given"


def equal(task: Task, found: Found | None) -> Found | None:
    """Rows whose columns hold equal values."""
    if task.options.on:
        return equal_on(task, task.options.on, 1.0, _GIVEN)
    from lakejoin.joins.equal_columns import equal_columns

    task.tell("looking for columns with equal values")
    subjects = subject(task.names[0]), subject(task.names[1])
    best = equal_columns(task.left, task.right, task.options.rules, subjects)
    if best is None:
        return found
    if not best.believed:
        words = _equal_words(best.on)
        task.attempts.append(Attempt(words, best.left_joined, best.right_joined, best.why))
        return found
    return equal_on(task, best.on, 1.0, best.why)


def equal_on(task: Task, on: On, sure: float, why: str, side: str = "") -> Found:
    """The join on these columns, whether or not a row meets another; `side` looks for the key."""
    left, right, rules = task.left, task.right, task.options.rules
    mine, theirs = tuple(a for a, _ in on), tuple(b for _, b in on)
    words = _equal_words(on)
    if len(on) > 1:
        keys = key_codes([right[name] for name in theirs], [left[name] for name in mine], rules)
        way = Way("equal", mine, keys.right, words, sure, why)
        return Found("left", theirs, keys.left, keys.count, (way,))
    one, other = encode_query(left[mine[0]], rules), encode_query(right[theirs[0]], rules)
    side = side or _source_side(one, other)
    source, target = (one, other) if side == "left" else (other, one)
    columns, key_names = (mine, theirs) if side == "left" else (theirs, mine)
    key = KeyColumn(target)
    way = Way("equal", columns, key.codes_of(source), words, sure, why)
    return Found(side, key_names, key.codes, key.count, (way,))


def transform(task: Task, found: Found | None) -> Found | None:
    """Rows that meet once the values of one side are rewritten by learned programs.

    Columns that are equal in some rows are rewritten for the others. Other columns take their
    place only where the equal ones join few rows and programs many more.
    """
    task.tell("learning how values are rewritten")
    if found is None or task.options.on:
        learned = _learned(task, task.options.on)
        best = _joining_more(found, learned, 1.0)
        if best is None or not any(best.joined):
            best = _joining_more(best, dates_inside(task), 1.0)
        return best
    if len(found.columns) == 1:
        found = _joining_more(found, _learned(task, (_pair(found),)), 1.0)
    if found and _reach(task, found) < _MOST:
        found = _joining_more(found, _learned(task, ()), _MANY_MORE)
    return found


def _learned(task: Task, on: On) -> Found | None:
    from lakejoin.joins.autojoin.finding import find_programs

    learned = find_programs(task.left, task.right, on=on, rules=task.options.rules)
    if learned:
        return _of_programs(task, learned)
    if doubted := learned.doubted:
        rows = doubted.left_rows, doubted.right_rows
        task.attempts.append(Attempt(doubted.words, *rows, doubted.why))
    return None


def _joining_more(found: Found | None, other: Found | None, times: float) -> Found | None:
    """The other where it joins more rows, so many times as many."""
    if found is None or other is None:
        return found or other
    return other if sum(other.joined) > times * sum(found.joined) else found


def _pair(found: Found) -> tuple[str, str]:
    source, target = found.ways[0].columns[0], found.columns[0]
    return (source, target) if found.source_side == "left" else (target, source)


def _reach(task: Task, found: Found) -> float:
    """The share of rows that join, of the table of which more do."""
    sizes = task.left.num_rows, task.right.num_rows
    shares = [joined / max(1, size) for joined, size in zip(found.joined, sizes, strict=True)]
    return float(max(shares))


def _of_programs(task: Task, learned: Learned) -> Found:
    """The programs as ways, in their order."""
    side = learned.source_side
    target = learned.target
    assert target is not None, "programs lead to a key"
    rows = learned.left_rows, learned.right_rows
    sources, targets = rows if side == "left" else rows[::-1]
    ways = []
    for place, one in enumerate(learned.programs):
        mine = learned.which == place
        codes = np.full(task.table(side).num_rows, NO_KEY, np.int64)
        codes[sources[mine]] = learned.key_of[targets[mine]]
        plain = one.program.is_identity and target.is_identity
        texts = (one.program.columns[0], target.columns[0]) if plain else (one.program, target)
        words = sides(side, str(texts[0]), str(texts[1]), "=")
        why = _program_why(one.source_rows, one.by_chance)
        kind = "equal" if plain else "transform"
        way = Way(kind, one.program.columns, codes, words, 1 - one.by_chance, why, one.program)
        ways.append(way)
    program = None if target.is_identity else target
    return Found(side, target.columns, learned.key_of, learned.key_count, tuple(ways), program)


def _program_why(rows: int, by_chance: float) -> str:
    noun = "row meets a key" if rows == 1 else "rows meet a key"
    if by_chance <= 0:
        return f"{rows:,} {noun}, and values that were made wrong on purpose meet none"
    wrong = percent(by_chance)
    return f"{rows:,} {noun}; of values that were made wrong on purpose {wrong} would too"


def _source_side(left: ColumnData, right: ColumnData) -> str:
    """The side whose rows look for a key: the left, unless only its own column is one."""
    is_key = [side.profile.uniqueness >= _KEY for side in (left, right)]
    return "right" if is_key[0] and not is_key[1] else "left"


def _equal_words(on: On) -> str:
    return " and ".join(f"{mine} = {theirs}" for mine, theirs in on)
