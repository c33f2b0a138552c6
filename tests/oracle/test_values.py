"""The canonical values of the kernels against plain Python, on texts made to be difficult."""

from __future__ import annotations

import sys
import unicodedata
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lakejoin.model import ValueRules
from lakejoin.values.canonical_values import canonical, canonicalise
from oracle import values as oracle

_QUICK = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])

# Code points unassigned in this Python's Unicode may have been given a meaning in Arrow's.
_assigned = st.characters(exclude_categories=("Cs", "Cn"))
_exotic = st.text(st.sampled_from(
    "aAzZ09 \t\n\x00\x1c\x85\u00a0\u2003\u3000ßẞİıſKÅΣςΐᾳᾼŉǰǅ\u0300\u0301\u0307\u0327\u0338\u0345"
    "\u05b0\u0483\u09c7\u09be\u0e38\u0e49\u1100\u1161\u11a8가힣Ꭰꭰ\u0f73\u0344\u037e\u212b中𐐀𝄞\U0002f800😀ﬁ\u200d"
), max_size=12)  # fmt: skip
_numberish = st.from_regex(r"[+-]?[0-9]{0,4}\.?[0-9]{0,4}([eE][+-]?[0-9]{0,3})?", fullmatch=True)
_dateish = st.one_of(
    st.from_regex(
        r"[0-9]{1,4}[-/. ]([0-9]{1,2}|Jan|march|Sept|MAY)[-/. ,][0-9]{1,4}"
        r"([ T,]{1,2}[0-2]?[0-9]:[0-5][0-9](:[0-6][0-9](\.[0-9]{1,4})?)?( ?[ap]m)?"
        r"( ?(Z|UTC|[+-][01][0-9](:?[0-3]0)?))?)?",
        fullmatch=True,
    ),
    st.from_regex(
        r"(0?[1-9]|[12][0-9]|3[01])/(0?[1-9]|1[0-2])/(19|20)[0-9]{2}( 0?[0-9]:30( PM)?)?",
        fullmatch=True,
    ),
    st.from_regex(r"(Dec|june)\.? [0-3]?[0-9],? ?2[0-9]{3}( 10:00)?", fullmatch=True),
    st.from_regex(r"([0-3][0-9]\.){2}20[0-9]{2}", fullmatch=True),
)
_nullish = st.sampled_from(
    ["", " ", "NA", "na", "Na", "nan", "NaN", "Nan", "null", "NULL", "Null", "None", "N/A", "-",
     "--", ".", "..", "?", "+", "*", "\\N", "#N/A", "nil", "US", "DE", "FR", "IT", "us", "de", "fr",
     "LAX", "JFK", "SFO", "He", "Li", "Ca", "H", "A", "B", "not  available", "-999", "-999.0", "x"]
)  # fmt: skip
_cell = st.one_of(_exotic, _numberish, _dateish, _nullish, st.text(_assigned, max_size=8))


def _check(texts: list[str], rules: ValueRules) -> None:
    counts = Counter(texts)
    found = canonicalise(
        pa.array(list(counts), pa.large_string()), np.array(list(counts.values())), rules
    )
    expected = oracle.column(texts, exact=not rules.fold, extra=rules.extra_nulls)
    got = dict(zip(counts, found.text.to_pylist(), strict=True))
    assert got == expected.values
    assert found.type.value == expected.type
    changed = [v is not None and v != t for t, v in got.items()]
    assert found.changed.tolist() == changed


@_QUICK
@given(st.lists(_cell, min_size=1, max_size=12))
@example(["ᾳ\u0483"])
@example(["\u0345\u0301a"])
@example(["1/2/2020", "13/2/2020", "2/13/2020", "1-2-2020", "1-13-2020"])
def test_columns_of_anything(texts: list[str]) -> None:
    _check(texts, ValueRules())


@_QUICK
@given(st.lists(_nullish, min_size=1, max_size=14))
def test_null_words(texts: list[str]) -> None:
    _check(texts, ValueRules())
    _check(texts, ValueRules(extra_nulls=("-999.0", " X ")))
    _check(texts, ValueRules(fold=False, extra_nulls=("x",)))


@_QUICK
@given(
    st.lists(st.sampled_from(["Nan", "Null", "nan", "None", "Élodie", "x", "O'Hara", "Ab1", "Ab"])),
    st.integers(7, 12),
)
def test_names_that_are_null_words(texts: list[str], others: int) -> None:
    _check([*texts, *(f"Name{chr(97 + i)}" for i in range(others))], ValueRules())


@_QUICK
@given(st.lists(st.one_of(_dateish, _numberish), min_size=1, max_size=8))
def test_dates_and_numbers(texts: list[str]) -> None:
    _check(texts, ValueRules())


@_QUICK
@given(st.lists(_cell, min_size=1, max_size=6))
def test_exact_values(texts: list[str]) -> None:
    _check(texts, ValueRules(fold=False))


@_QUICK
@given(st.one_of(_cell, st.text(_assigned, max_size=20)))
def test_canonical_twice_is_canonical_once(text: str) -> None:
    once = canonical(text)
    assert once == oracle.column([text]).values[text]
    if once is not None:
        assert canonical(once) == once


@_QUICK
@given(st.lists(_cell, min_size=1, max_size=8))
def test_a_canonical_column_stays_as_it_is(texts: list[str]) -> None:
    first = canonicalise(
        pa.array(list(dict.fromkeys(texts)), pa.large_string()), np.ones(len(set(texts)), int),
        ValueRules(),
    )  # fmt: skip
    kept = list(dict.fromkeys(v for v in first.text.to_pylist() if v is not None))
    again = canonicalise(pa.array(kept, pa.large_string()), np.ones(len(kept), int), ValueRules())
    # A code such as `na` may become a null once its case is gone; nothing else may change.
    for before, after in zip(kept, again.text.to_pylist(), strict=True):
        assert after == before or (after is None and before in oracle.LETTER_NULLS)


@pytest.mark.parametrize("around", ["", "a{}", "{}a", "a{}\u0301b", "\u0300{}\u0323"])
def test_every_code_point(around: str) -> None:
    texts = [
        around.format(chr(point)) if around else chr(point)
        for point in range(sys.maxunicode + 1)
        if unicodedata.category(chr(point)) not in ("Cs", "Cn", "Co")
    ]
    texts = [text for text in texts if "\u0301" not in around or len(text) > 2][
        :: 1 if not around else 7
    ]
    found = canonicalise(pa.array(texts, pa.large_string()), np.ones(len(texts), int), ValueRules())
    values = found.text.to_pylist()
    wrong = [
        (text, value)
        for text, value in zip(texts, values, strict=True)
        if value != oracle.fold(text) and value is not None
    ]
    assert wrong == []


def test_a_very_long_cell() -> None:
    long = "Ä b\u3000" * 300_000
    short = ["x", "7.0"]
    found = canonicalise(pa.array([*short, long], pa.large_string()), np.ones(3, int), ValueRules())
    assert found.text.to_pylist() == ["x", "7", oracle.fold(long)]
    digits = "9" * 500_000
    assert canonical(digits + ".50") == digits + ".5"
