"""Match rows by equal values, by learned programs, or by dates inside texts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.codegen.programs import Program, unglue
from lakejoin.joins.agreements import readable_parts
from lakejoin.joins.equal.shared_values import uniquely_named
from lakejoin.joins.join_inputs import table_subject
from lakejoin.joins.join_key import (
    JoinKey,
    JoinTask,
    KeyRule,
    NamePairs,
    RejectedJoin,
    side_words,
)
from lakejoin.joins.row_keys import NO_KEY, KeyColumn, count_rows, encode_keys
from lakejoin.model import Array, ColumnData, ColumnType
from lakejoin.signals.chance import evidence, match_chance
from lakejoin.signals.name_similarity import CONTAINED, compare_names
from lakejoin.signals.sureness import KeyQuality
from lakejoin.text_format import format_percent
from lakejoin.values.column_encoder import encode_query

if TYPE_CHECKING:
    from lakejoin.joins.learned.program_finder import LearnedJoin


_KEY = 0.8  # least share of distinct values of a key column
_MOST = 0.5  # of the rows: columns that join this many are the right ones
_MANY_MORE = 1.5  # times as many rows
_NEARLY_ONCE = 1.02  # matches per row, as a few rows are repeated by mistake
_NAMED_COLUMNS = "you named these columns"


def match_equal(task: JoinTask, join_key: JoinKey | None) -> JoinKey | None:
    """Match rows whose columns have equal values."""
    if task.options.on:
        return match_columns(task, task.options.on, 1.0, _NAMED_COLUMNS)
    from lakejoin.joins.equal.equal_columns import find_equal_columns

    task.report_progress("looking for columns with equal values")
    subjects = table_subject(task.names[0]), table_subject(task.names[1])
    best = find_equal_columns(task.left, task.right, task.options.rules, subjects)
    if best is None:
        return join_key
    if not best.believed:
        words = _equal_words(best.on)
        task.attempts.append(RejectedJoin(words, best.left_joined, best.right_joined, best.why))
        return join_key
    if not best.decided:
        task.notes.append(
            f"{_equal_words(best.on)} is only possible: any numbers in this range would match; a "
            "similar name, another shared column or a declared key would settle it"
        )
    return match_columns(task, best.on, best.sure, best.why)


def match_columns(task: JoinTask, on: NamePairs, sure: float, why: str, side: str = "") -> JoinKey:
    """Join on these columns, even if no row matches; `side` is the source side."""
    left, right, rules = task.left, task.right, task.options.rules
    left_names, right_names = tuple(a for a, _ in on), tuple(b for _, b in on)
    words = _equal_words(on)
    if len(on) > 1:
        keys = encode_keys(
            [right[name] for name in right_names], [left[name] for name in left_names], rules
        )
        rule = KeyRule("equal", left_names, keys.right, words, sure, why)
        return JoinKey("left", right_names, keys.left, keys.count, (rule,))
    left_data, right_data = (
        encode_query(left[left_names[0]], rules),
        encode_query(right[right_names[0]], rules),
    )
    side = side or _source_side(left_data, right_data)
    source, target = (left_data, right_data) if side == "left" else (right_data, left_data)
    columns, key_names = (left_names, right_names) if side == "left" else (right_names, left_names)
    key = KeyColumn(target)
    rule = KeyRule("equal", columns, key.codes_of(source), words, sure, why)
    return JoinKey(side, key_names, key.codes, key.count, (rule,))


def match_rewritten(task: JoinTask, join_key: JoinKey | None) -> JoinKey | None:
    """Match rows by rewriting the values of one side with learned programs.

    A column that is equal in some rows is rewritten for the others. Other columns replace it only
    if it joins few rows and programs many more.
    """
    task.report_progress("learning rewriting rules")
    if join_key is None or task.options.on:
        learned = _learn_key(task, task.options.on)
        best = _choose_larger(join_key, learned, 1.0)
        if best is None or not any(best.joined):
            best = _choose_larger(best, match_embedded_dates(task), 1.0)
        return best
    if len(join_key.columns) == 1:
        join_key = _choose_larger(join_key, _learn_key(task, (_pair(join_key),)), 1.0)
    if join_key and len(join_key.columns) == 1 and _reach(task, join_key) < _MOST:
        join_key = _choose_larger(join_key, _learn_key(task, ()), _MANY_MORE)
    return join_key


def _learn_key(task: JoinTask, on: NamePairs) -> JoinKey | None:
    from lakejoin.joins.learned.program_finder import find_programs

    learned = find_programs(task.left, task.right, on=on, rules=task.options.rules)
    if learned:
        return _build_program_key(task, learned)
    if doubted := learned.rejected:
        rows = doubted.left_rows, doubted.right_rows
        task.attempts.append(RejectedJoin(doubted.words, *rows, doubted.why))
    return None


def _choose_larger(join_key: JoinKey | None, other: JoinKey | None, times: float) -> JoinKey | None:
    """The other candidate if it joins more than `times` as many rows."""
    if join_key is None or other is None:
        return join_key or other
    return other if sum(other.joined) > times * sum(join_key.joined) else join_key


def _pair(join_key: JoinKey) -> tuple[str, str]:
    source, target = join_key.key_rules[0].columns[0], join_key.columns[0]
    return (source, target) if join_key.source_side == "left" else (target, source)


def _reach(task: JoinTask, join_key: JoinKey) -> float:
    """The larger share of rows that join, of either table."""
    sizes = task.left.num_rows, task.right.num_rows
    shares = [joined / max(1, size) for joined, size in zip(join_key.joined, sizes, strict=True)]
    return float(max(shares))


def _build_program_key(task: JoinTask, learned: LearnedJoin) -> JoinKey:
    """The learned programs as rules, in order."""
    side = learned.source_side
    target = learned.target
    assert target is not None, "programs lead to a key"
    rows = learned.left_rows, learned.right_rows
    sources, targets = rows if side == "left" else rows[::-1]
    rules = []
    for index, supported in enumerate(learned.programs):
        chosen = learned.program_of == index
        codes = np.full(task.table(side).num_rows, NO_KEY, np.int64)
        codes[sources[chosen]] = learned.key_of[targets[chosen]]
        plain = supported.program.is_identity and target.is_identity
        words = _program_words(side, supported.program, target)
        why = _program_why(supported.source_rows, supported.by_chance)
        kind = "equal" if plain else "transform"
        chance = 1 - supported.by_chance
        rule = KeyRule(
            kind,
            supported.program.columns,
            codes,
            words,
            min(_judge_rule(learned, codes, supported.program).most_sure, chance),
            why,
            supported.program,
        )
        rules.append(rule)
    program = None if target.is_identity else target
    return JoinKey(side, target.columns, learned.key_of, learned.key_count, tuple(rules), program)


def _judge_rule(learned: LearnedJoin, codes: Array, program: Program) -> KeyQuality:
    """What keeps a learned rule from being nearly certain; `codes` are the keys of its rows."""
    target = learned.target
    assert target is not None, "programs lead to a key"
    counts = count_rows(codes, learned.key_count), count_rows(learned.key_of, learned.key_count)
    both = (counts[0] > 0) & (counts[1] > 0)
    joined = [int(rows[both].sum()) for rows in counts]
    pairs = zip(program.columns, target.columns, strict=False)
    return KeyQuality(
        repeated=int((counts[0] * counts[1]).sum()) > _NEARLY_ONCE * max(joined),
        rewritten=not (program.is_identity and target.is_identity),
        named=all(compare_names(*pair).similarity >= CONTAINED for pair in pairs),
    )


def _program_words(side: str, source: Program, target: Program) -> str:
    """What must be equal; the columns of a key of several one by one."""
    parts = unglue(source), unglue(target)
    pairs = zip(*parts, strict=True) if len(parts[0]) == len(parts[1]) else [(source, target)]
    return " and ".join(side_words(side, _text(one), _text(other), "=") for one, other in pairs)


def _text(program: Program) -> str:
    return program.columns[0] if program.is_identity else str(program)


def _program_why(rows: int, by_chance: float) -> str:
    matched = f"{rows:,} row matches a key" if rows == 1 else f"{rows:,} rows match a key"
    if by_chance <= 0:
        return f"{matched}; deliberately wrong values match none"
    return f"{matched}; {format_percent(by_chance)} of deliberately wrong values would match too"


def _source_side(left: ColumnData, right: ColumnData) -> str:
    """The side whose rows look up a key: the left, unless only its column is a key."""
    is_key = [side.profile.uniqueness >= _KEY for side in (left, right)]
    return "right" if is_key[0] and not is_key[1] else "left"


def _equal_words(on: NamePairs) -> str:
    return " and ".join(f"{left} = {right}" for left, right in on)


_SAMPLE = 200
_COLUMNS = 12
_UNIQUE_DATES = 0.8  # least share of distinct dates of a key column
_SHARE, _NATS = 0.65, 20.0  # least share of the fewer dates that match, and its evidence


def match_embedded_dates(task: JoinTask) -> JoinKey | None:
    """Match rows by dates inside the texts of one side; named columns are trusted."""
    best: JoinKey | None = None
    for side in ("left", "right"):
        other_side = "right" if side == "left" else "left"
        on = [pair if side == "left" else pair[::-1] for pair in task.options.on]
        targets = _dates(task.table(other_side), [target for _, target in on])
        for source in _texts(task.table(side), [source for source, _ in on]) if targets else ():
            for program in _readings(task.table(side)[source], source):
                for target, dates in targets.items():
                    join_key = _date_key(task, side, program, target, dates)
                    believed = on or _is_believed(task, join_key, program, dates)
                    if believed and _rows(join_key) > _rows(best):
                        best = join_key
    return best


def _rows(join_key: JoinKey | None) -> int:
    return 0 if join_key is None else sum(join_key.joined)


def _dates(table: pa.Table, named: list[str]) -> dict[str, ColumnData]:
    names = named or uniquely_named(table)
    dates = (n for n in names if not pa.types.is_nested(table[n].type) and _is_date(table[n]))
    return {name: encode_query(table[name]) for name in islice(dates, _COLUMNS)}


def _texts(table: pa.Table, named: list[str]) -> list[str]:
    kinds = pa.types.is_string, pa.types.is_large_string
    names = named or uniquely_named(table)
    return [name for name in names if any(kind(table[name].type) for kind in kinds)][:_COLUMNS]


def _is_date(column: pa.ChunkedArray | pa.Array) -> bool:
    return encode_query(column.slice(0, _SAMPLE)).profile.type is ColumnType.DATE


def _readings(column: pa.ChunkedArray, name: str) -> Iterator[Program]:
    """The parts of a column that are dates, except its whole text."""
    few = pa.table({name: column.slice(0, _SAMPLE).cast(pa.large_string())})
    seen = [few[name].to_pylist()]
    for part in readable_parts(name, seen[0]):
        texts = apply_program(Program((part,)), few)
        if 2 * texts.null_count < len(texts) and texts.to_pylist() not in seen and _is_date(texts):
            seen.append(texts.to_pylist())
            yield Program((part,))


def _date_key(
    task: JoinTask, side: str, program: Program, target: str, dates: ColumnData
) -> JoinKey:
    key = KeyColumn(dates)
    codes = key.codes_of(encode_query(task.text(side, program.columns, program)))
    words = side_words(side, str(program), target, "=")
    matched = int(np.count_nonzero(codes >= 0))
    share = format_percent(matched / max(1, len(codes)))
    why = f"{matched:,} rows ({share}) contain a date of {target}"
    rule = KeyRule("transform", program.columns, codes, words, 1.0, why, program)
    return JoinKey(side, (target,), key.codes, key.count, (rule,))


def _is_believed(task: JoinTask, join_key: JoinKey, program: Program, dates: ColumnData) -> bool:
    """Whether the dates are keys and match more often than by chance."""
    texts = task.text(join_key.source_side, program.columns, program)
    source = encode_query(texts)
    if min(source.profile.uniqueness, dates.profile.uniqueness) < _UNIQUE_DATES:
        return False
    fewer, more = sorted((source.tokens, dates.tokens), key=len)
    shared = len(np.unique(join_key.source_codes[join_key.rule_of >= 0]))
    share = shared / max(1, len(fewer))
    return share >= _SHARE and evidence(len(fewer), share, match_chance(fewer, more)) >= _NATS
