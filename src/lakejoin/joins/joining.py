"""Join two tables: try the kinds of matching one after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from lakejoin.errors import InputError, MissingDependency
from lakejoin.joins.agreement_matcher import match_agreeing, refine_keys
from lakejoin.joins.join_finder import match_fuzzy, match_meaning, match_nearest
from lakejoin.joins.value_matchers import match_equal, match_rewritten
from lakejoin.joins.given import plain_columns
from lakejoin.joins.join import NAMES, Join
from lakejoin.joins.options import JoinOptions, Progress
from lakejoin.joins.task import RejectedJoin, JoinTask
from lakejoin.joins.join_key import JoinKey

if TYPE_CHECKING:
    import pyarrow as pa

Matcher = Callable[[JoinTask, JoinKey | None], JoinKey | None]

_MATCHERS: dict[str, tuple[Matcher, ...]] = {
    "equal": (match_equal,),
    "transform": (match_rewritten,),
    "fuzzy": (match_fuzzy,),
    "meaning": (match_meaning,),
    "nearest": (match_nearest,),
    "auto": (match_equal, match_rewritten, match_agreeing, match_fuzzy),
}


def join_tables(
    left: pa.Table,
    right: pa.Table,
    options: JoinOptions | None = None,
    progress: Progress | None = None,
    names: tuple[str, str] = NAMES,
) -> Join:
    """Join two tables; the result is false if no join was found.

    >>> import pyarrow as pa
    >>> cities = pa.table({"city": ["Bern", "Zug", "Ulm"], "people": [134, 31, 126]})
    >>> codes = pa.table({"name": ["ULM", "Bern "], "code": ["UL", "BE"]})
    >>> join = join_tables(cities, codes, JoinOptions(on=(("city", "name"),)))
    >>> join.table().select(["city", "code"]).to_pylist()
    [{'city': 'Bern', 'code': 'BE'}, {'city': 'Ulm', 'code': 'UL'}]
    """
    options = options or JoinOptions()
    left, right = plain_columns(left), plain_columns(right)
    _check(left, right, options)
    known = ("", "") if names == NAMES else names
    task = JoinTask(left, right, options, progress or (lambda doing: None), known)
    found: JoinKey | None = None
    for matcher in _MATCHERS[options.by or "auto"]:
        if found is not None and (_nothing_left(found) or _columns_suffice(found, options)):
            break
        found = _run_matcher(matcher, task, found)
    if found is not None and options.by in (None, "auto"):
        found = refine_keys(task, found)
    if found is not None and not _joins(found) and not (options.by == "equal" and options.on):
        task.attempts.append(RejectedJoin(found.ways[0].words, 0, 0, "no rows match"))
        found = None
    join = Join(left, right, options, found, tuple(task.attempts), tuple(task.notes), names)
    return _without_idle_steps(join)


def _without_idle_steps(join: Join) -> Join:
    """Drop the steps that add no row, after the steps before them and one-to-one pairing."""
    if join.found is None or len(join.steps) == 1:
        return join
    steps = zip(join.found.ways, join.steps, strict=True)
    ways = tuple(way for way, step in steps if step.left_rows or step.right_rows)
    if len(ways) in (0, len(join.steps)):
        return join
    return replace(join, found=replace(join.found, ways=ways))


def _run_matcher(matcher: Matcher, task: JoinTask, found: JoinKey | None) -> JoinKey | None:
    """Try one kind; if its library is missing and other kinds remain, add a note."""
    try:
        return matcher(task, found)
    except MissingDependency as problem:
        if task.options.by not in (None, "auto"):
            raise
        task.notes.append(f"some kinds of matching were skipped: {problem}")
        return found


def _nothing_left(found: JoinKey) -> bool:
    """Whether every row of one side has a match."""
    return bool((found.way_of >= 0).all() or found.target_joined.all())


def _columns_suffice(found: JoinKey, options: JoinOptions) -> bool:
    """Whether the caller named only columns, so that equal values are enough."""
    return bool(options.on) and options.by is None and _joins(found)


def _joins(found: JoinKey) -> bool:
    return bool((found.way_of >= 0).any())


def _check(left: pa.Table, right: pa.Table, options: JoinOptions) -> None:
    for side, table in (("left", left), ("right", right)):
        for pair in options.on:
            name = pair[0] if side == "left" else pair[1]
            count = table.column_names.count(name)
            if not count:
                raise InputError(f"column {name!r} not found in the {side} table")
            if count > 1:
                raise InputError(f"the {side} table has {count} columns called {name!r}")
