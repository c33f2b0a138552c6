"""Match a program's results with keys by canonical values.

Learning compares hashes. If every result equals the key of its hash exactly, these matches are
final; else the results are encoded like any other column and compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.joins.learned.program_cover import LearningTables
from lakejoin.codegen.programs import Program
from lakejoin.joins.row_keys import NO_KEY, KeyColumn
from lakejoin.values.column_encoder import encode_query
from lakejoin.model import ValueRules

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]


def match_keys(tables: LearningTables, program: Program, key: KeyColumn, rules: ValueRules) -> Array:
    """The key that each source row matches, `NO_KEY` for none."""
    texts = apply_program(program, tables.source)
    codes = _met_exactly(tables, program, texts, key)
    return key.codes_of(encode_query(texts, rules)) if codes is None else codes


def _met_exactly(
    tables: LearningTables, program: Program, made: pa.LargeStringArray, key: KeyColumn
) -> Array | None:
    """The keys that the results equal exactly; None if any result equals no key."""
    import pyarrow as pa
    import pyarrow.compute as pc

    hashes, key_codes = tables.made(program), tables.met(program)
    if ((key_codes < 0) & (hashes != 0)).any():
        return None
    rows = np.flatnonzero(key_codes >= 0)
    partners = tables.keys.first_rows[key_codes[rows]]
    some = made if len(rows) == len(made) else made.take(pa.array(rows))
    if not pc.all(pc.equal(some, tables.target.take(pa.array(partners)))).as_py():
        return None
    codes = np.full(len(made), NO_KEY, np.int64)
    codes[rows] = key.codes[partners]
    return codes
