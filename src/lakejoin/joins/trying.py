"""How may two tables join? Each kind of join is tried by one function, which says what it found.

A function takes the task and what those before it found, and gives what is now known: the same, or
a better way, or one more. None is nothing. What was looked at and not believed is left as an
attempt, so that a join that is not found can be explained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.joins.keys import NO_KEY, KeyColumn, key_codes
from lakejoin.joins.options import TAU, JoinOptions, Progress
from lakejoin.joins.ways import Found, Way
from lakejoin.lake.columns import encode_query
from lakejoin.model import ColumnData

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.autojoin.finding import Learned
    from lakejoin.joins.autojoin.programs import Program
    from lakejoin.joins.distances import RowDistances
    from lakejoin.joins.fuzzy import FuzzyMatches, FuzzyOptions

Array = np.ndarray[Any, Any]
On = tuple[tuple[str, str], ...]

_KEY = 0.8  # the share of distinct values from which on a column is a key
_SOME = 10  # rows from which on what they have in common is no accident
_GIVEN = "the columns were given"


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came nearest to a join that was not believed."""

    words: str
    left_rows: int
    right_rows: int
    why: str  # it is not believed


@dataclass(frozen=True, eq=False)
class Task:
    """Two tables and what is asked of their join."""

    left: pa.Table
    right: pa.Table
    options: JoinOptions
    tell: Progress
    attempts: list[Attempt] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def table(self, side: str) -> pa.Table:
        """The left or the right one."""
        return self.left if side == "left" else self.right

    def text(self, side: str, columns: Sequence[str], program: Program | None) -> pa.Array:
        """What is compared as text: a column, or what a program makes of some."""
        from lakejoin.joins.autojoin.applying import apply
        from lakejoin.joins.autojoin.programs import identity

        return apply(program or identity(columns[0]), self.table(side))


def equal(task: Task, found: Found | None) -> Found | None:
    """Rows whose columns hold equal values."""
    if task.options.on:
        return equal_on(task, task.options.on, 1.0, _GIVEN)
    from lakejoin.joins.equal_columns import equal_columns

    task.tell("looking for columns with equal values")
    best = equal_columns(task.left, task.right, task.options.rules)
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
    """Rows that meet once the values of one side are rewritten by learned programs."""
    from lakejoin.joins.autojoin.finding import find_programs

    task.tell("learning how values are rewritten")
    learned = find_programs(task.left, task.right, on=task.options.on)
    if not learned:
        return found
    rewritten = _of_programs(task, learned)
    return rewritten if found is None or sum(rewritten.joined) > sum(found.joined) else found


def fuzzy(task: Task, found: Found | None) -> Found | None:
    """Rows left over whose values are similar, with as many as the estimated precision allows."""
    if found is None:
        return _fuzzy_alone(task)
    if len(found.columns) > 1 and found.program is None:
        return found  # a key of several columns has no one text that could be similar
    from lakejoin.joins.fuzzy import fuzzy_matches

    task.tell("matching the rows that are left over")
    key = task.text(found.target_side, found.columns, found.program)
    best, most = found, 0
    for columns, program in _texts_to_match(found):
        texts = task.text(found.source_side, columns, program)
        options = _fuzzy_options(task, _is_one_to_one(found, texts))
        matches = fuzzy_matches(texts, key, options, found.known)
        if len(matches.left_rows) <= most:
            continue
        most = len(matches.left_rows)
        codes, distance = _codes_at(found, matches.left_rows, matches.right_rows, matches.distance)
        mine = str(program) if program else columns[0]
        words = _sides(found.source_side, mine, _key_words(found), "~")
        sure, why = _mean(matches.chance), _fuzzy_why(matches)
        way = Way("fuzzy", columns, codes, words, sure, why, program, distance)
        best = found.also(way)
    return best


def meaning(task: Task, found: Found | None) -> Found | None:
    """Each left row with the right one whose text means most nearly the same."""
    from lakejoin.joins.meant import meant_rows

    task.tell("comparing what the texts mean")
    ((mine, theirs),) = task.options.on
    tau = TAU if task.options.tau is None else task.options.tau
    once = task.options.one_to_one
    near = meant_rows(task.left[mine], task.right[theirs], tau, task.options.encoder, once)
    why = f"the nearest meaning, at most {tau:g} of the largest distance away"
    return _nearest_found(task, "meaning", near, why)


def nearest(task: Task, found: Found | None) -> Found | None:
    """Each left row with the nearest right one: of numbers, moments or places."""
    from lakejoin.joins.near import NearOptions, near_rows

    task.tell("looking for the nearest rows")
    within = task.options.within
    near = near_rows(task.left, task.right, task.options.on, NearOptions(within=within))
    limit = "" if within is None else f", at most {within} away"
    return _nearest_found(task, "nearest", near, f"the nearest value{limit}")


# -- found by programs -------------------------------------------------------------------------


def _of_programs(task: Task, learned: Learned) -> Found:
    """The programs as ways, in their order."""
    side = learned.source_side
    other = "right" if side == "left" else "left"
    target = learned.target
    assert target is not None, "programs lead to a key"
    key = KeyColumn(encode_query(task.text(other, target.columns, target), task.options.rules))
    rows = learned.left_rows, learned.right_rows
    sources, targets = rows if side == "left" else rows[::-1]
    ways = []
    for place, one in enumerate(learned.programs):
        mine = learned.which == place
        codes = np.full(task.table(side).num_rows, NO_KEY, np.int64)
        codes[sources[mine]] = key.codes[targets[mine]]
        plain = one.program.is_identity and target.is_identity
        texts = (one.program.columns[0], target.columns[0]) if plain else (one.program, target)
        words = _sides(side, str(texts[0]), str(texts[1]), "=")
        why = _program_why(one.source_rows, one.by_chance)
        kind = "equal" if plain else "transform"
        way = Way(kind, one.program.columns, codes, words, 1 - one.by_chance, why, one.program)
        ways.append(way)
    program = None if target.is_identity else target
    return Found(side, target.columns, key.codes, key.count, tuple(ways), program)


def _program_why(rows: int, by_chance: float) -> str:
    noun = "row meets a key" if rows == 1 else "rows meet a key"
    if by_chance <= 0:
        return f"{rows:,} {noun}, and values that were made wrong on purpose meet none"
    return f"{rows:,} {noun}; of values that were made wrong on purpose {by_chance:.0%} would too"


# -- found by likeness -------------------------------------------------------------------------


def _fuzzy_options(task: Task, one_to_one: bool = False) -> FuzzyOptions:
    from lakejoin.joins.fuzzy import FuzzyOptions

    one_to_one = one_to_one or task.options.one_to_one
    return FuzzyOptions(precision=task.options.precision, one_to_one=one_to_one)


def _is_one_to_one(found: Found, texts: pa.Array) -> bool:
    """Whether every key that is joined so far is meant by one text only, and there are some."""
    import pyarrow as pa

    rows, _ = found.known
    values = texts.take(pa.array(rows)).dictionary_encode().indices.to_numpy(zero_copy_only=False)
    codes = found.source_codes[rows]
    meant = len(np.unique(np.stack([codes, values.astype(np.int64)]), axis=1).T)
    return len(rows) >= _SOME and meant == len(np.unique(codes))


def _fuzzy_alone(task: Task) -> Found | None:
    from lakejoin.joins.fuzzy import find_fuzzy

    task.tell("looking for columns with similar values")
    if len(task.options.on) > 1:
        raise InputError("one column of each table can be matched by likeness, not several")
    match = find_fuzzy(task.left, task.right, _fuzzy_options(task), task.options.on)
    if match is None:
        return None
    names = match.left_column, match.right_column
    side = "left" if match.key_side == "right" else "right"
    source, target = names if side == "left" else names[::-1]
    other = "right" if side == "left" else "left"
    key = KeyColumn(encode_query(task.table(other)[target], task.options.rules))
    found = Found(side, (target,), key.codes, key.count, ())
    matches = match.matches
    rows = matches.left_rows, matches.right_rows
    sources, targets = rows if side == "left" else rows[::-1]
    size = task.table(side).num_rows
    codes, distance = _codes_at(found, sources, targets, matches.distance, size)
    words = _sides(side, source, target, "~")
    sure, why = _mean(matches.chance), _fuzzy_why(matches)
    return found.also(Way("fuzzy", (source,), codes, words, sure, why, None, distance))


def _texts_to_match(found: Found) -> list[tuple[tuple[str, ...], Program | None]]:
    """What may be similar to the key: what the best program makes, and the column that it reads."""
    way = found.ways[0]
    texts: list[tuple[tuple[str, ...], Program | None]] = []
    if way.program is not None and not way.program.is_identity:
        texts.append((way.columns, way.program))
    if len(way.columns) == 1:
        texts.append((way.columns, None))
    return texts


def _fuzzy_why(matches: FuzzyMatches) -> str:
    rules = "; or ".join(str(rule) for rule in matches.rules)
    return f"{rules}: {_mean(matches.chance):.0%} of the pairs are estimated to be right"


# -- found by nearness -------------------------------------------------------------------------


def _nearest_found(task: Task, kind: str, near: RowDistances, why: str) -> Found | None:
    on = task.options.on
    mine, theirs = tuple(a for a, _ in on), tuple(b for _, b in on)
    words = " and ".join(f"{a} ~ {b}" for a, b in on)
    if not len(near):
        task.attempts.append(Attempt(words, 0, 0, "no row has another that near"))
        return None
    columns = [task.right[name] for name in theirs]
    keys = key_codes(columns, columns, task.options.rules)
    found = Found("left", theirs, keys.left, keys.count, ())
    rows = task.left.num_rows
    codes, distance = _codes_at(found, near.left_rows, near.right_rows, near.distance, rows)
    sure = 1.0 if kind == "nearest" else 1 - _mean(near.distance)
    return found.also(Way(kind, mine, codes, words, sure, why, None, distance, near.unit))


# -- what they share ---------------------------------------------------------------------------


def _codes_at(
    found: Found, sources: Array, targets: Array, distances: Array, rows: int | None = None
) -> tuple[Array, Array]:
    """The keys of source rows, and how far each is from it, where pairs of rows are given."""
    rows = len(found.way_of) if rows is None else rows
    codes, distance = np.full(rows, NO_KEY, np.int64), np.full(rows, np.nan)
    order = np.argsort(-distances, kind="stable")  # the nearest last: it stays
    codes[sources[order]] = found.codes[targets[order]]
    distance[sources[order]] = distances[order]
    return codes, distance


def _source_side(left: ColumnData, right: ColumnData) -> str:
    """The side whose rows look for a key: the left, unless only its own column is one."""
    is_key = [side.profile.uniqueness >= _KEY for side in (left, right)]
    return "right" if is_key[0] and not is_key[1] else "left"


def _equal_words(on: On) -> str:
    return " and ".join(f"{mine} = {theirs}" for mine, theirs in on)


def _key_words(found: Found) -> str:
    return str(found.program) if found.program else " + ".join(found.columns)


def _sides(source_side: str, source: str, target: str, sign: str) -> str:
    """Both sides with the left one first."""
    first, second = (source, target) if source_side == "left" else (target, source)
    return f"{first} {sign} {second}"


def _mean(numbers: Array) -> float:
    return float(np.mean(numbers)) if len(numbers) else 0.0
