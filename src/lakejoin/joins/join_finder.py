"""Match rows by similar values: fuzzy, by meaning, or nearest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.joins.row_keys import NO_KEY, KeyColumn, encode_keys
from lakejoin.joins.options import TAU
from lakejoin.joins.task import RejectedJoin, JoinTask, side_words
from lakejoin.joins.join_key import NO_RULE, JoinKey, KeyRule
from lakejoin.values.column_encoder import encode_query

if TYPE_CHECKING:
    from lakejoin.codegen.programs import Program
    from lakejoin.joins.nearest.distances import RowDistances
    from lakejoin.joins.fuzzy import FuzzyMatches, FuzzyOptions

Array = np.ndarray[Any, Any]


def match_fuzzy(task: JoinTask, found: JoinKey | None) -> JoinKey | None:
    """Match unmatched rows with similar values, as many as the estimated precision allows.

    The table with the larger share of matched rows comes first, as the rest of its rows are the
    most likely to have a match; then the other table.
    """
    if found is None:
        return _fuzzy_alone(task)
    if len(found.columns) > 1 and found.program is None:
        return found  # a key of several columns is not one text
    task.tell("fuzzy matching the unmatched rows")
    order = (True, False) if found.more_targets_join else (False, True)
    for of_target in order:
        found = _also_fuzzy(task, found, of_target)
    return found


def _also_fuzzy(task: JoinTask, found: JoinKey, of_target: bool) -> JoinKey:
    """Add fuzzy matches of one table's unmatched rows, by the texts that match the most."""
    from lakejoin.joins.fuzzy import fuzzy_matches

    key = task.text(found.target_side, found.columns, found.program)
    best, most = found, 0
    for columns, program in _texts_to_match(found):
        texts = task.text(found.source_side, columns, program)
        options = _fuzzy_options(task)
        if of_target:
            matches = fuzzy_matches(key, texts, options, found.known_of_target)
            targets, sources = matches.left_rows, matches.right_rows
        else:
            matches = fuzzy_matches(texts, key, options, found.known)
            sources, targets = matches.left_rows, matches.right_rows
        fresh = found.way_of[sources] == NO_RULE
        if fresh.sum() <= most:
            continue
        most = int(fresh.sum())
        codes, distance = _codes_at(found, sources[fresh], targets[fresh], matches.distance[fresh])
        source_words = str(program) if program else columns[0]
        words = side_words(found.source_side, source_words, _key_words(found), "~")
        sure, why = _mean(matches.chance), _fuzzy_why(matches)
        way = KeyRule("fuzzy", columns, codes, words, sure, why, program, distance)
        best = found.also(way)
    return best


def match_meaning(task: JoinTask, found: JoinKey | None) -> JoinKey | None:
    """Match each left row with the right row closest in meaning."""
    from lakejoin.joins.nearest.nearest_meanings import find_nearest_meanings

    task.tell("comparing texts by meaning")
    ((left, right),) = task.options.on
    tau = TAU if task.options.tau is None else task.options.tau
    once = task.options.one_to_one
    near = find_nearest_meanings(task.left[left], task.right[right], tau, task.options.encoder, once)
    why = f"closest in meaning, within {tau:g} of the largest distance"
    return _nearest_found(task, "meaning", near, why)


def match_nearest(task: JoinTask, found: JoinKey | None) -> JoinKey | None:
    """Match each left row with the nearest right row, by number, time or coordinates."""
    from lakejoin.joins.nearest.nearest_rows import NearestOptions, find_nearest_rows

    task.tell("looking for the nearest rows")
    within = task.options.within
    near = find_nearest_rows(task.left, task.right, task.options.on, NearestOptions(within=within))
    limit = "" if within is None else f", at most {within} away"
    return _nearest_found(task, "nearest", near, f"the nearest value{limit}")


def _fuzzy_options(task: JoinTask) -> FuzzyOptions:
    from lakejoin.joins.fuzzy import FuzzyOptions

    return FuzzyOptions(precision=task.options.precision, one_to_one=task.options.one_to_one)


def _fuzzy_alone(task: JoinTask) -> JoinKey | None:
    from lakejoin.joins.fuzzy import find_fuzzy_join

    task.tell("looking for columns with similar values")
    if len(task.options.on) > 1:
        raise InputError(
            f"a fuzzy join takes one column of each table; got {len(task.options.on)} pairs"
        )
    match = find_fuzzy_join(task.left, task.right, _fuzzy_options(task), task.options.on)
    if match is None:
        return None
    names = match.left_column, match.right_column
    side = "left" if match.key_side == "right" else "right"
    source, target = names if side == "left" else names[::-1]
    other = "right" if side == "left" else "left"
    key = KeyColumn(encode_query(task.table(other)[target], task.options.rules))
    found = JoinKey(side, (target,), key.codes, key.count, ())
    matches = match.matches
    rows = matches.left_rows, matches.right_rows
    sources, targets = rows if side == "left" else rows[::-1]
    size = task.table(side).num_rows
    codes, distance = _codes_at(found, sources, targets, matches.distance, size)
    words = side_words(side, source, target, "~")
    sure, why = _mean(matches.chance), _fuzzy_why(matches)
    return found.also(KeyRule("fuzzy", (source,), codes, words, sure, why, None, distance))


def _texts_to_match(found: JoinKey) -> list[tuple[tuple[str, ...], Program | None]]:
    """The texts to compare with the key: the best program's result, and the column it reads."""
    way = found.ways[0]
    texts: list[tuple[tuple[str, ...], Program | None]] = []
    if way.program is not None and not way.program.is_identity:
        texts.append((way.columns, way.program))
    if len(way.columns) == 1:
        texts.append((way.columns, None))
    return texts


def _fuzzy_why(matches: FuzzyMatches) -> str:
    rules = "; or ".join(str(rule) for rule in matches.rules)
    return f"{rules}: an estimated {_mean(matches.chance):.0%} of the pairs are correct"


def _nearest_found(task: JoinTask, kind: str, near: RowDistances, why: str) -> JoinKey | None:
    on = task.options.on
    left_names, right_names = tuple(a for a, _ in on), tuple(b for _, b in on)
    words = " and ".join(f"{a} ~ {b}" for a, b in on)
    if not len(near):
        task.attempts.append(RejectedJoin(words, 0, 0, "no left row has a right row that close"))
        return None
    columns = [task.right[name] for name in right_names]
    keys = encode_keys(columns, columns, task.options.rules)
    found = JoinKey("left", right_names, keys.left, keys.count, ())
    rows = task.left.num_rows
    codes, distance = _codes_at(found, near.left_rows, near.right_rows, near.distance, rows)
    sure = 1.0 if kind == "nearest" else 1 - _mean(near.distance)
    return found.also(KeyRule(kind, left_names, codes, words, sure, why, None, distance, near.unit))


def _codes_at(
    found: JoinKey, sources: Array, targets: Array, distances: Array, rows: int | None = None
) -> tuple[Array, Array]:
    """The key of each source row and its distance, from pairs of rows."""
    rows = len(found.way_of) if rows is None else rows
    codes, distance = np.full(rows, NO_KEY, np.int64), np.full(rows, np.nan)
    order = np.argsort(-distances, kind="stable")  # the nearest is written last and stays
    codes[sources[order]] = found.codes[targets[order]]
    distance[sources[order]] = distances[order]
    return codes, distance


def _key_words(found: JoinKey) -> str:
    return str(found.program) if found.program else " + ".join(found.columns)


def _mean(numbers: Array) -> float:
    return float(np.mean(numbers)) if len(numbers) else 0.0
