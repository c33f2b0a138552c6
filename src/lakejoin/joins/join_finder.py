"""Join two tables: try equal, learned, fuzzy, meaning and nearest matching in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakejoin.codegen.programs import Program
from lakejoin.errors import InputError, MissingDependency
from lakejoin.joins.agreement_matcher import match_agreeing, refine_keys
from lakejoin.joins.join import Join
from lakejoin.joins.join_inputs import TABLE_NAMES, plain_columns
from lakejoin.joins.join_key import NO_RULE, JoinKey, JoinTask, KeyRule, RejectedJoin, side_words
from lakejoin.joins.options import JoinOptions, Progress
from lakejoin.joins.row_keys import NO_KEY, KeyColumn, encode_keys
from lakejoin.joins.value_matchers import match_equal, match_rewritten
from lakejoin.model import Array
from lakejoin.values.column_encoder import encode_query

if TYPE_CHECKING:
    from lakejoin.joins.fuzzy.match_choice import FuzzyMatches, FuzzyOptions
    from lakejoin.joins.nearest.nearest_rows import RowDistances


def match_fuzzy(task: JoinTask, join_key: JoinKey | None) -> JoinKey | None:
    """Match unmatched rows with similar values, as many as the estimated precision allows.

    The table with the larger share of matched rows comes first, as the rest of its rows are the
    most likely to have a match; then the other table.
    """
    if join_key is None:
        return _match_fuzzy_alone(task)
    if len(join_key.columns) > 1 and join_key.program is None:
        return join_key  # a key of several columns is not one text
    task.report_progress("fuzzy matching the unmatched rows")
    order = (True, False) if join_key.more_targets_join else (False, True)
    for of_target in order:
        join_key = _add_fuzzy_rule(task, join_key, of_target)
    return join_key


def _add_fuzzy_rule(task: JoinTask, join_key: JoinKey, of_target: bool) -> JoinKey:
    """Add fuzzy matches of one table's unmatched rows, by the texts that match the most."""
    from lakejoin.joins.fuzzy.fuzzy_join import fuzzy_matches

    key = task.text(join_key.target_side, join_key.columns, join_key.program)
    best, most = join_key, 0
    for columns, program in _texts_to_match(join_key):
        texts = task.text(join_key.source_side, columns, program)
        options = _fuzzy_options(task)
        if of_target:
            matches = fuzzy_matches(key, texts, options, join_key.matched_targets)
            targets, sources = matches.left_rows, matches.right_rows
        else:
            matches = fuzzy_matches(texts, key, options, join_key.matched_sources)
            sources, targets = matches.left_rows, matches.right_rows
        fresh = join_key.rule_of[sources] == NO_RULE
        if fresh.sum() <= most:
            continue
        most = int(fresh.sum())
        pairs = sources[fresh], targets[fresh], matches.distance[fresh]
        codes, distance = _codes_at(join_key, *pairs)
        source_words = str(program) if program else columns[0]
        key_words = str(join_key.program) if join_key.program else " + ".join(join_key.columns)
        words = side_words(join_key.source_side, source_words, key_words, "~")
        sure, why = _mean(matches.chance), _fuzzy_why(matches)
        rule = KeyRule("fuzzy", columns, codes, words, sure, why, program, distance)
        best = join_key.with_rule(rule)
    return best


def match_meaning(task: JoinTask, join_key: JoinKey | None) -> JoinKey | None:
    """Match each left row with the right row closest in meaning: by its chance of being right, or
    within tau."""
    from lakejoin.joins.nearest.nearest_meanings import find_meaning_matches, find_nearest_meanings

    task.report_progress("comparing texts by meaning")
    ((left, right),) = task.options.on
    tau, once = task.options.tau, task.options.one_to_one
    if tau is None:
        sure = task.options.precision
        near = find_meaning_matches(task.left[left], task.right[right], sure, task.options.encoder)
        why = f"each other's nearest in meaning, right with a chance of at least {sure:.0%}"
        return _build_nearest_key(task, "meaning", near, why)
    near = find_nearest_meanings(
        task.left[left], task.right[right], tau, task.options.encoder, once
    )
    why = f"closest in meaning, within {tau:g} of the largest distance"
    return _build_nearest_key(task, "meaning", near, why)


def match_nearest(task: JoinTask, join_key: JoinKey | None) -> JoinKey | None:
    """Match each left row with the nearest right row, by number, time or coordinates; with all
    within the distance, if they are aggregated."""
    from lakejoin.joins.nearest.near_lists import list_near_rows
    from lakejoin.joins.nearest.nearest_rows import find_nearest_rows

    task.report_progress("looking for the nearest rows")
    within = task.options.within
    near = find_nearest_rows(task.left, task.right, task.options.on, within)
    if within is None or not task.options.aggregate:
        limit = "" if within is None else f", at most {within} away"
        return _build_nearest_key(task, "nearest", near, f"the nearest value{limit}")
    nearest = _build_nearest_key(task, "nearest", near, f"all rows at most {within} away")
    if nearest is None:
        return None
    return replace(nearest, lists=list_near_rows(task.left, task.right, task.options.on, within))


def _fuzzy_options(task: JoinTask) -> FuzzyOptions:
    from lakejoin.joins.fuzzy.match_choice import FuzzyOptions

    return FuzzyOptions(precision=task.options.precision, one_to_one=task.options.one_to_one)


def _match_fuzzy_alone(task: JoinTask) -> JoinKey | None:
    from lakejoin.joins.fuzzy.fuzzy_join import find_fuzzy_join

    task.report_progress("looking for columns with similar values")
    match = find_fuzzy_join(task.left, task.right, _fuzzy_options(task), task.options.on)
    if match is None:
        return None
    names = match.left_column, match.right_column
    side = "left" if match.key_side == "right" else "right"
    source, target = names if side == "left" else names[::-1]
    other_side = "right" if side == "left" else "left"
    key = KeyColumn(encode_query(task.table(other_side)[target], task.options.rules))
    join_key = JoinKey(side, (target,), key.codes, key.count, ())
    matches = match.matches
    rows = matches.left_rows, matches.right_rows
    sources, targets = rows if side == "left" else rows[::-1]
    size = task.table(side).num_rows
    codes, distance = _codes_at(join_key, sources, targets, matches.distance, size)
    words = side_words(side, source, target, "~")
    sure, why = _mean(matches.chance), _fuzzy_why(matches)
    return join_key.with_rule(KeyRule("fuzzy", (source,), codes, words, sure, why, None, distance))


def _texts_to_match(join_key: JoinKey) -> list[tuple[tuple[str, ...], Program | None]]:
    """The texts to compare with the key: the best program's result, and the column it reads."""
    rule = join_key.key_rules[0]
    texts: list[tuple[tuple[str, ...], Program | None]] = []
    if rule.program is not None and not rule.program.is_identity:
        texts.append((rule.columns, rule.program))
    if len(rule.columns) == 1:
        texts.append((rule.columns, None))
    return texts


def _fuzzy_why(matches: FuzzyMatches) -> str:
    rules = "; or ".join(str(rule) for rule in matches.rules)
    return f"{rules}: an estimated {_mean(matches.chance):.0%} of the pairs are correct"


def _build_nearest_key(task: JoinTask, kind: str, near: RowDistances, why: str) -> JoinKey | None:
    on = task.options.on
    left_names, right_names = tuple(a for a, _ in on), tuple(b for _, b in on)
    words = " and ".join(f"{a} ~ {b}" for a, b in on)
    if not len(near):
        task.attempts.append(RejectedJoin(words, 0, 0, "no left row has a right row that close"))
        return None
    columns = [task.right[name] for name in right_names]
    keys = encode_keys(columns, columns, task.options.rules)
    join_key = JoinKey("left", right_names, keys.left, keys.count, ())
    rows = task.left.num_rows
    codes, distance = _codes_at(join_key, near.left_rows, near.right_rows, near.distance, rows)
    sure = 1.0 if kind == "nearest" else 1 - _mean(near.distance)
    sure = sure if near.chance is None else _mean(near.chance)
    return join_key.with_rule(
        KeyRule(kind, left_names, codes, words, sure, why, None, distance, near.unit)
    )


def _codes_at(
    join_key: JoinKey, sources: Array, targets: Array, distances: Array, rows: int | None = None
) -> tuple[Array, Array]:
    """The key of each source row and its distance, from pairs of rows."""
    rows = len(join_key.rule_of) if rows is None else rows
    codes, distance = np.full(rows, NO_KEY, np.int64), np.full(rows, np.nan)
    order = np.argsort(-distances, kind="stable")  # the nearest is written last and stays
    codes[sources[order]] = join_key.codes[targets[order]]
    distance[sources[order]] = distances[order]
    return codes, distance


def _mean(values: Array) -> float:
    return float(np.mean(values)) if len(values) else 0.0


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
    names: tuple[str, str] = TABLE_NAMES,
) -> Join:
    """Join two tables; the result is false if no join was found.

    >>> cities = pa.table({"city": ["Bern", "Zug", "Ulm"], "people": [134, 31, 126]})
    >>> codes = pa.table({"name": ["ULM", "Bern "], "code": ["UL", "BE"]})
    >>> join = join_tables(cities, codes, JoinOptions(on=(("city", "name"),)))
    >>> join.table().select(["city", "code"]).to_pylist()
    [{'city': 'Bern', 'code': 'BE'}, {'city': 'Ulm', 'code': 'UL'}]
    """
    options = options or JoinOptions()
    left, right = plain_columns(left), plain_columns(right)
    _check_columns(left, right, options)
    table_names = ("", "") if names == TABLE_NAMES else names
    task = JoinTask(left, right, options, progress or (lambda doing: None), table_names)
    join_key: JoinKey | None = None
    for matcher in _MATCHERS[options.by or "auto"]:
        if join_key and (_nothing_left(join_key) or _columns_suffice(join_key, options)):
            break
        join_key = _run_matcher(matcher, task, join_key)
    if join_key is not None and options.by in (None, "auto"):
        join_key = refine_keys(task, join_key)
    if join_key is not None and not _joins(join_key) and not (options.by == "equal" and options.on):
        task.attempts.append(RejectedJoin(join_key.key_rules[0].words, 0, 0, "no rows match"))
        join_key = None
    join = Join(left, right, options, join_key, tuple(task.attempts), tuple(task.notes), names)
    return _drop_idle_steps(join)


def _drop_idle_steps(join: Join) -> Join:
    """Drop the steps that add no row, after the steps before them and one-to-one pairing."""
    if join.found is None or len(join.steps) == 1:
        return join
    steps = zip(join.found.key_rules, join.steps, strict=True)
    rules = tuple(rule for rule, step in steps if step.left_rows or step.right_rows)
    if len(rules) in (0, len(join.steps)):
        return join
    return replace(join, found=replace(join.found, key_rules=rules))


def _run_matcher(matcher: Matcher, task: JoinTask, join_key: JoinKey | None) -> JoinKey | None:
    """Try one kind; if its library is missing and other kinds remain, add a note."""
    try:
        return matcher(task, join_key)
    except MissingDependency as problem:
        if task.options.by not in (None, "auto"):
            raise
        task.notes.append(f"some kinds of matching were skipped: {problem}")
        return join_key


def _nothing_left(join_key: JoinKey) -> bool:
    """Whether every row of one side has a match."""
    return bool((join_key.rule_of >= 0).all() or join_key.target_joined.all())


def _columns_suffice(join_key: JoinKey, options: JoinOptions) -> bool:
    """Whether the caller named only columns, so that equal values are enough."""
    return bool(options.on) and options.by is None and _joins(join_key)


def _joins(join_key: JoinKey) -> bool:
    return bool((join_key.rule_of >= 0).any())


def _check_columns(left: pa.Table, right: pa.Table, options: JoinOptions) -> None:
    for side, table in (("left", left), ("right", right)):
        for pair in options.on:
            name = pair[0] if side == "left" else pair[1]
            count = table.column_names.count(name)
            if not count:
                raise InputError(f"column {name!r} not found in the {side} table")
            if count > 1:
                raise InputError(f"the {side} table has {count} columns called {name!r}")
