"""Apply learned programs to other rows, such as the whole tables after samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.joins.row_keys import NO_KEY, KeyColumn, Keys
from lakejoin.values.column_encoder import encode_query
from lakejoin.model import ValueRules

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.learned.program_finder import LearnedJoin

Array = np.ndarray[Any, Any]


def apply_learned(learned: LearnedJoin, left: pa.Table, right: pa.Table, rules: ValueRules) -> Keys:
    """The keys of the rows of two tables; each row's by the first program that gives one.

    >>> import pyarrow as pa
    >>> from lakejoin.joins.learned.program_finder import find_programs
    >>> left = pa.table({"code": [f"{n * 7919 % 10_007:05}" for n in range(40)]})
    >>> right = pa.table({"id": [f"X-{n * 7919 % 10_007:05}" for n in range(10, 60)]})
    >>> learned = find_programs(left[:20], right[:20])
    >>> keys = apply_learned(learned, left, right, ValueRules())
    >>> len(set(keys.left.tolist()) & set(keys.right.tolist()) - {NO_KEY})
    30
    """
    assert learned.target is not None, "programs lead to a key"
    source, target = (left, right) if learned.source_side == "left" else (right, left)
    key = KeyColumn(encode_query(apply_program(learned.target, target), rules))
    exists = np.zeros(key.count + 1, bool)  # the last for `NO_KEY`
    exists[key.codes[key.codes >= 0]] = True
    codes = np.full(source.num_rows, NO_KEY, np.int64)
    for supported in learned.programs:
        waiting = np.flatnonzero(codes == NO_KEY)
        if not len(waiting):
            break
        texts = apply_program(supported.program, source.take(waiting))
        found = key.codes_of(encode_query(texts, rules))
        codes[waiting] = np.where(exists[found], found, NO_KEY)
    sides = (codes, key.codes) if learned.source_side == "left" else (key.codes, codes)
    return Keys(*sides, key.count)
