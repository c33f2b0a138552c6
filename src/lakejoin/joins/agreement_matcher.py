"""Match rows by other columns that agree.

Unmatched rows join if a reading agrees that also agrees in the matching rows (`agreements`), and
rows that share a key are separated by it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from lakejoin.joins.agreements import Agreement, find_agreements
from lakejoin.joins.join_key import NO_RULE, JoinKey, JoinTask, KeyRefinement, KeyRule, side_words
from lakejoin.joins.row_keys import NO_KEY, Keys, combine_keys, count_rows
from lakejoin.model import Array
from lakejoin.signals.chance import match_chance
from lakejoin.text_format import counted, format_percent

Codes = tuple[Array, Array]  # of all source rows and all target rows

_WRONG = 0.1  # expected share of wrong rows that is acceptable
_TRIED = 6  # agreements
_LARGE = 200_000  # rows to read per agreement
_TIMES = 3
_NEARLY_ALL = 0.9
_OFTEN = 0.2


def match_agreeing(task: JoinTask, join_key: JoinKey | None) -> JoinKey | None:
    """Match unmatched rows whose other columns agree as they do in the matching rows."""
    if join_key is None or task.options.on:
        return join_key
    if not _is_single_text(join_key) or _keys_contradict(join_key):
        return join_key
    task.report_progress("checking which other columns agree")
    tried = _strongest_agreements(task, join_key)
    for _ in range(_TIMES if tried else 0):
        rules = [_match_left_over(task, join_key, *agreement) for agreement in tried]
        best = max((rule for rule in rules if rule is not None), key=_worth, default=None)
        if best is None:
            break
        join_key = join_key.with_rule(best)
    return join_key


def _keys_contradict(join_key: JoinKey) -> bool:
    """Whether rows matched by equal values alone: then rows with other keys do not match.

    If values had to be rewritten, a row may be unmatched because it is written differently.
    """
    return all(rule.kind == "equal" for rule in join_key.key_rules)


def refine_keys(task: JoinTask, join_key: JoinKey) -> JoinKey:
    """Separate rows that share a key by other columns that agree in nearly all rows."""
    if task.options.on or not _is_single_text(join_key) or not _is_ambiguous(join_key):
        return join_key
    task.report_progress("separating rows that share a key")
    best: KeyRefinement | None = None
    for agreement, codes in _strongest_agreements(task, join_key, _NEARLY_ALL):
        refinement = _build_refinement(join_key, agreement, codes)
        if refinement and (best is None or refinement.split.sum() > best.split.sum()):
            best = refinement
    if best is None:
        return join_key
    task.notes.append(f"rows that share a key must also match on {best.words}: {best.why}")
    return replace(join_key, refinement=best)


def _strongest_agreements(
    task: JoinTask, join_key: JoinKey, least: float = 0.0
) -> list[tuple[Agreement, Codes]]:
    """The strongest agreements with their codes in all rows; fewer for large tables."""
    rows = task.left.num_rows + task.right.num_rows
    most = min(_TRIED, max(1, _LARGE // max(1, rows)))
    strong = [a for a in find_agreements(task, join_key) if a.share >= least]
    return [(agreement, agreement.codes(task, join_key)) for agreement in strong[:most]]


def _is_single_text(join_key: JoinKey) -> bool:
    return len(join_key.columns) == 1 or join_key.program is not None


# -- unmatched rows ---------------------------------------------------------------------------


def _worth(rule: KeyRule) -> float:
    """The rows that a rule joins, less a penalty for those expected to be wrong."""
    rows = int(np.count_nonzero(rule.codes >= 0))
    return rows - rows * (1 - rule.sure) / _WRONG


def _match_left_over(
    task: JoinTask, join_key: JoinKey, agreement: Agreement, codes: Codes
) -> KeyRule | None:
    """Match unmatched rows that agree, if hardly any would agree by chance."""
    values, others = codes
    source_values = np.where(join_key.rule_of == NO_RULE, values, NO_KEY)
    target_values = np.where(~join_key.target_joined & (join_key.codes >= 0), others, NO_KEY)
    count = 1 + int(max(others.max(initial=0), 0))
    # The agreeing value must be unambiguous on both sides.
    key = _only(target_values, join_key.codes, count)
    text = _only(source_values, _source_text_codes(task, join_key), count)
    key = np.where((text != _SEVERAL) & (key >= 0), key, NO_KEY)
    key = np.where(_has_several_values(join_key, others)[key], NO_KEY, key)
    keys = np.where(source_values >= 0, key[source_values], NO_KEY)
    rows = int(np.count_nonzero(keys >= 0))
    by_chance = _chance_matches(join_key, codes, source_values, target_values) if rows else 0.0
    if (
        not rows
        or by_chance > _WRONG * rows
        or _matches_anything(task, join_key, agreement, keys, target_values)
    ):
        return None
    words = side_words(join_key.source_side, str(agreement.source), str(agreement.target), "=")
    why = (
        f"they agree in {format_percent(agreement.share)} of "
        f"{counted(agreement.compared, 'matching row')}; {by_chance:.2g} would by chance"
    )
    sure = 1 - by_chance / rows
    program = agreement.source
    return KeyRule(
        "agreeing",
        program.columns,
        keys,
        words,
        sure,
        why,
        program,
        target_program=agreement.target,
    )


_SEVERAL = -2


def _matches_anything(
    task: JoinTask, join_key: JoinKey, agreement: Agreement, keys: Array, target_values: Array
) -> bool:
    """Whether slightly wrong values would match too: row numbers match anything."""
    source, target = agreement.source, agreement.target
    source_texts = task.text(join_key.source_side, source.columns, source).filter(keys >= 0)
    target_texts = task.text(join_key.target_side, target.columns, target)
    texts = source_texts, target_texts.filter(target_values >= 0)
    lower = [pc.utf8_trim_whitespace(pc.utf8_lower(side)) for side in texts]
    return match_chance(lower[0].unique().drop_null(), lower[1]) > _OFTEN


def _source_text_codes(task: JoinTask, join_key: JoinKey) -> Array:
    """A code for the text that each source row has in place of a key; every null gets its own."""
    rule = join_key.key_rules[0]
    texts = task.text(join_key.source_side, rule.columns, rule.program).dictionary_encode()
    codes = np.asarray(texts.indices.fill_null(-1)).astype(np.int64)
    missing = np.flatnonzero(codes < 0)
    codes[missing] = len(texts.dictionary) + missing
    return codes


def _only(groups: Array, values: Array, count: int) -> Array:
    """The only value of each group's rows; `_SEVERAL` if it has more, `NO_KEY` if no rows."""
    valid = groups >= 0
    least = np.full(count + 1, np.iinfo(np.int64).max)
    most = np.full(count + 1, np.iinfo(np.int64).min)
    np.minimum.at(least, groups[valid], values[valid])
    np.maximum.at(most, groups[valid], values[valid])
    only = np.where(least == most, most, _SEVERAL)
    return np.asarray(np.where(most == np.iinfo(np.int64).min, NO_KEY, only))


def _has_several_values(join_key: JoinKey, values: Array) -> Array:
    """Whether the rows of each key have several values; the last entry is for `NO_KEY`."""
    return np.asarray(_only(join_key.codes, values, join_key.count) == _SEVERAL)


def _chance_matches(
    join_key: JoinKey, codes: Codes, unmatched: Array, unmatched_targets: Array
) -> float:
    """How many unmatched rows agree by chance, estimated from pairs of rows known not to match.

    These are matching rows paired differently, and unmatched rows paired with matching ones.
    """
    joined = join_key.rule_of != NO_RULE
    matched = np.where(joined, codes[0], NO_KEY)
    matched_targets = np.where(join_key.target_joined, codes[1], NO_KEY)
    correct = _pairs(*_combine_with_keys(join_key, matched, matched_targets))
    wrong = (
        _pairs(matched, matched_targets)
        - correct
        + _pairs(unmatched, matched_targets)
        + _pairs(matched, unmatched_targets)
    )
    rows, others = int(joined.sum()), int(join_key.target_joined.sum())
    unmatched_rows, unmatched_target_rows = len(matched) - rows, len(matched_targets) - others
    tried = rows * max(1, others - 1) + unmatched_rows * others + rows * unmatched_target_rows
    return float((wrong + 1) / tried * unmatched_rows * unmatched_target_rows)


def _combine_with_keys(join_key: JoinKey, source_values: Array, target_values: Array) -> Codes:
    """One code for the key and the value of each row."""
    keys = Keys(join_key.source_codes, join_key.codes, join_key.count)
    combined = combine_keys(
        keys, Keys(source_values, target_values, _limit(source_values, target_values))
    )
    return combined.left, combined.right


def _limit(left: Array, right: Array) -> int:
    """A number above all codes."""
    return 1 + max(int(left.max(initial=0)), int(right.max(initial=0)))


def _pairs(left: Array, right: Array) -> int:
    """How many pairs of rows have the same code."""
    count = _limit(left, right)
    return int((count_rows(left, count) * count_rows(right, count)).sum())


# -- rows that share a key ---------------------------------------------------------------------


def _is_ambiguous(join_key: JoinKey) -> bool:
    sources, targets = _counts(join_key)
    return bool(((sources > 1) & (targets > 1)).any())


def _counts(join_key: JoinKey) -> tuple[Array, Array]:
    """How many source rows and target rows each key has."""
    count = join_key.count
    return count_rows(join_key.source_codes, count), count_rows(join_key.codes, count)


def _build_refinement(
    join_key: JoinKey, agreement: Agreement, values: Codes
) -> KeyRefinement | None:
    """Split the keys whose rows an agreement separates; None if there are none.

    Only keys with several rows in both tables: a reference keeps the one row that it names. And
    only if every row of the key agrees with a row of the other table, so that no match is lost.
    """
    source_counts, target_counts = _counts(join_key)
    ambiguous = (source_counts > 1) & (target_counts > 1)
    both = _combine_with_keys(join_key, *values)
    all_agree = [
        count_rows(codes[~(np.isin(own, other) & (own >= 0))], join_key.count) == 0
        for codes, own, other in (
            (join_key.source_codes, both[0], both[1]),
            (join_key.codes, both[1], both[0]),
        )
    ]
    separable = all_agree[0] & all_agree[1]
    refinement = KeyRefinement(agreement.source, agreement.target, ambiguous & separable, *values)
    left, right = refinement.keys_of(join_key.source_codes, join_key.codes, join_key.count)[:2]
    before, after = source_counts * target_counts, _pairs_by_key(join_key, left, right)
    split = ambiguous & separable & (after < before)
    if not split.any():
        return None
    pairs = int(before[split].sum()) - int(after[split].sum())
    words = side_words(join_key.source_side, str(agreement.source), str(agreement.target), "=")
    why = (
        f"they agree in {format_percent(agreement.share)} of "
        f"{counted(agreement.compared, 'matching row')}, which rules out "
        f"{counted(pairs, 'pair')} of rows that share a key"
    )
    return KeyRefinement(agreement.source, agreement.target, split, *values, words, why)


def _pairs_by_key(join_key: JoinKey, source_keys: Array, target_keys: Array) -> Array:
    """How many pairs of rows each key makes when rows match by these finer keys."""
    most = _limit(source_keys, target_keys)
    pairs = count_rows(source_keys, most) * count_rows(target_keys, most)
    key = np.zeros(most, np.int64)
    key[source_keys[source_keys >= 0]] = join_key.source_codes[source_keys >= 0]
    return np.bincount(key, pairs, minlength=join_key.count)
