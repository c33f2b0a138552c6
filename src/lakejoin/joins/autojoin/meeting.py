"""Which keys do a program's results meet? By canonical values, in the end.

Learning compares hashes. Where every result is, letter by letter, the key of its hash, nothing more
is to be found out; else the results are read like any other column, and compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.joins.autojoin.applying import apply
from lakejoin.joins.autojoin.covering import Tables
from lakejoin.joins.autojoin.programs import Program
from lakejoin.joins.keys import NO_KEY, KeyColumn
from lakejoin.lake.columns import encode_query
from lakejoin.model import ValueRules

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]


def keys_met(tables: Tables, program: Program, key: KeyColumn, rules: ValueRules) -> Array:
    """The key that each source row meets, `NO_KEY` for none."""
    made = apply(program, tables.source)
    codes = _met_exactly(tables, program, made, key)
    return key.codes_of(encode_query(made, rules)) if codes is None else codes


def _met_exactly(
    tables: Tables, program: Program, made: pa.LargeStringArray, key: KeyColumn
) -> Array | None:
    """The keys that the results are letter by letter; None if any is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    hashes, met = tables.made(program), tables.met(program)
    if ((met < 0) & (hashes != 0)).any():
        return None
    rows = np.flatnonzero(met >= 0)
    partners = tables.keys.first_rows[met[rows]]
    some = made if len(rows) == len(made) else made.take(pa.array(rows))
    if not pc.all(pc.equal(some, tables.target.take(pa.array(partners)))).as_py():
        return None
    codes = np.full(len(made), NO_KEY, np.int64)
    codes[rows] = key.codes[partners]
    return codes
