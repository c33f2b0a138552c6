"""Looking texts up in dictionaries: one hash for several of them, as without."""

from __future__ import annotations

import tempfile

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lakejoin.engines.query import ABSENT, find_codes
from lakejoin.store.dictionary import NOT_FOUND, hash_texts
from oracle.lakes import PlainTable
from store.checked_super_keys import QUICK, segment_of

TEXTS = st.lists(st.sampled_from(["a", "b", "bern", "zürich", "7", "07", "x" * 300]), max_size=8)


@QUICK
@given(held=TEXTS.filter(bool), asked=st.lists(st.text(max_size=3) | st.none()) | TEXTS)
def test_codes_of_texts(held: list[str], asked: list[str | None]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        segment = segment_of(folder, [PlainTable("t.csv", {"a": list(held)})], 128)
        dictionary = segment.dictionary
        known = dictionary.texts.take(np.arange(len(dictionary))).to_pylist()
        values = pa.array(asked, pa.large_string())
        expected = [known.index(one) if one in known else int(NOT_FOUND) for one in asked]
        assert dictionary.find(values).tolist() == expected
        for seed in (dictionary.seed, dictionary.seed + 1):  # another seed is not used
            assert dictionary.find(values, hash_texts(values, seed)).tolist() == expected
        codes = find_codes(segment, values).tolist()
        assert codes == [ABSENT if one == NOT_FOUND else one for one in expected]
