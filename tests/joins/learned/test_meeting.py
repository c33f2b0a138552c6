"""Keys that results meet: found by hashes where that is enough, and always as by reading them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.codegen.programs import Constant, Extract, Program
from lakejoin.joins.learned.plausibility import _match_exactly, match_keys
from lakejoin.joins.learned.program_cover import LearningTables
from lakejoin.joins.learned.row_samples import Sample, TextColumn
from lakejoin.joins.row_keys import KeyColumn
from lakejoin.model import ValueRules
from lakejoin.values.column_encoder import encode_query

KEYS = ["Byron, Ada", "Turing, Alan", "TURING, ALAN", None, "Curry, Haskell", ""]
PROGRAM = Program((Extract("last"), Constant(", "), Extract("first")))


@pytest.mark.parametrize(
    ("rows", "exact"),
    [
        ([("Ada", "Byron"), ("Alan", "Turing"), ("Alan", "Turing")], True),
        ([("Ada", "Byron"), (None, "Turing")], True),
        ([("ada", "Byron"), ("Haskell", "Curry")], False),  # another case
        ([("Ada", "Byron"), ("Kurt", "Goedel")], False),  # no key
    ],
)
def test_the_keys_are_those_of_the_values_read(
    rows: list[tuple[str | None, str]], exact: bool
) -> None:
    text = pa.large_string()
    first, last = pa.array([a for a, _ in rows], text), pa.array([b for _, b in rows], text)
    source, target = pa.table({"first": first, "last": last}), pa.array(KEYS, text)
    tables = LearningTables(source, target, Sample(source), TextColumn(target))
    key = KeyColumn(encode_query(target, ValueRules()))
    made = apply_program(PROGRAM, source)
    read = key.codes_of(encode_query(made, ValueRules()))
    assert match_keys(tables, PROGRAM, key, ValueRules()).tolist() == read.tolist()
    assert (_match_exactly(tables, PROGRAM, made, key) is not None) == exact
