"""Would other values meet as many keys? Then a program meets them by accident.

Digits are few, so keys of digits lie close together (dates, codes, prices), and scraps of numbers
glued together meet many of them. Two trials with values that are certainly wrong tell:

- a program of several parts is run with the parts of different rows put together;
- a program of one part that has no letters is run with the last digit changed, one with letters
  with another letter.

If the wrong values meet nearly as many keys as the right ones, then what is met says nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.joins.autojoin.applying import apply
from lakejoin.joins.autojoin.forms import Casing
from lakejoin.joins.autojoin.keytable import hashes_of
from lakejoin.joins.autojoin.programs import (
    Constant,
    Extract,
    Operator,
    Program,
)
from lakejoin.joins.autojoin.scoring import Scorer
from lakejoin.signals.chance import LEAST, chance_by

if TYPE_CHECKING:
    import pyarrow as pa

MOST = 0.6  # of the rows that meet a key: from here on wrong values do as well
_TRIALS = 3
_DIGITS = "0123456789"
_LOOKED_AT = 100


def by_chance(program: Program, scorer: Scorer) -> float:
    """How many rows meet a key with wrong values, for each row that does with the right ones.

    >>> import pyarrow as pa
    >>> from lakejoin.joins.autojoin.keytable import KeyTable, hashes_of
    >>> numbers = pa.table({"price": [f"{7 * i % 100}.{i * 37 % 100:02}" for i in range(50)]})
    >>> keys = pa.array([f"{i:02}" for i in range(100) if i % 5], pa.large_string())
    >>> cents = Program((Extract("price", ((".", 1),)),))
    >>> by_chance(cents, Scorer(numbers, KeyTable(hashes_of(keys)))) > MOST
    True
    """
    _, rows = scorer.score(program)
    parts = program.extracts
    if len(parts) > 1:
        trials = [_mixed(program, scorer.source, seed) for seed in range(_TRIALS)]
    elif not rows:
        return 0.0
    elif _has_letters(parts[0], scorer.source):
        return _changed(program, scorer)
    else:
        trials = [_moved(program, scorer.source, by) for by in range(1, _TRIALS + 1)]
    met = [Scorer(source, scorer.keys).score(wrong)[1] for wrong, source in trials]
    return min(1.0, sum(met) / (rows * _TRIALS)) if rows else 0.0


def _mixed(program: Program, source: pa.Table, seed: int) -> tuple[Program, pa.Table]:
    """The program with each part from another row."""
    import pyarrow as pa

    rows = source.num_rows
    order = np.random.default_rng(seed).permutation(rows)
    step = 1 + seed % max(1, rows - 1)
    columns: dict[str, pa.Array] = {}
    operators: list[Operator] = []
    for place, operator in enumerate(program.operators):
        if isinstance(operator, Constant):
            operators.append(operator)
            continue
        name = str(place)
        # Turned by a step more for every part: no part meets its own row, also in tiny tables.
        turned = np.roll(order, step * len(columns))
        columns[name] = source[operator.column].take(pa.array(turned))
        operators.append(replace(operator, column=name, casing=Casing.SAME))
    return Program(tuple(operators)), pa.table(columns)


def _moved(program: Program, source: pa.Table, by: int) -> tuple[Program, pa.Table]:
    """The program of one part with the part's last digit changed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = apply(Program(program.extracts), source)
    head, last = pc.utf8_slice_codeunits(texts, 0, -1), pc.utf8_slice_codeunits(texts, -1)
    digits = pa.array(list(_DIGITS), pa.large_string())
    others = pa.array([_DIGITS[(i + by) % 10] for i in range(10)], pa.large_string())
    changed = pc.coalesce(others.take(pc.index_in(last, value_set=digits)), last)
    column = pc.binary_join_element_wise(head, changed, pa.scalar("", pa.large_string()))
    operators = [o if isinstance(o, Constant) else Extract("part") for o in program.operators]
    return Program(tuple(operators)), pa.table({"part": column})


def _changed(program: Program, scorer: Scorer) -> float:
    """The share of the texts that meet a key which still meet one with another letter."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = np.flatnonzero(scorer.met(program) >= 0)
    some = rows[np.linspace(0, len(rows) - 1, min(_LOOKED_AT, len(rows))).astype(np.int64)]
    texts = pc.utf8_lower(apply(program, scorer.source.take(some))).unique().drop_null()
    found = chance_by(texts, lambda wrong: pa.array(scorer.keys.places(hashes_of(wrong)) >= 0))
    return found if found > LEAST else 0.0


def _has_letters(part: Extract, source: pa.Table) -> bool:
    """Whether most of the part's texts have a letter."""
    import pyarrow.compute as pc

    found = pc.match_substring_regex(apply(Program((part,)), source), r"\p{L}")
    return bool((pc.mean(found).as_py() or 0.0) > 0.5)
