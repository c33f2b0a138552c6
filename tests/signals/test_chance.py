"""What chance gives: wrong values are such as the column might hold."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakejoin.signals.chance import LEAST_CHANCE, match_chance, wrong_values

RANDOM = random.Random(8)


def column(values: Sequence[str]) -> pa.LargeStringArray:
    return pa.array(sorted(set(values)), pa.large_string())


def checked(digits: str, weights: Sequence[int], modulus: int) -> str:
    """Digits with a check digit (`x` is ten)."""
    total = sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True))
    return digits + "0123456789x"[-total % modulus]


def luhn(digits: str) -> str:
    """Digits with a check digit as on payment cards."""
    doubled = [sum(divmod(2 * int(digit), 10)) for digit in digits[::-2]]
    total = sum(doubled) + sum(map(int, digits[-2::-2]))
    return digits + str(-total % 10)


# What fills the whole of its own kind: every value that it might hold is there.
FULL = {
    "even numbers": [str(n) for n in range(0, 4000, 2)],
    "numbers with a step of 5": [str(n) for n in range(20_000, 24_000, 5)],
    "numbers with a step of 35": [str(n) for n in range(7, 40_000, 35)],
    "letters of genes": [
        a + b + c + d for a in "acgt" for b in "acgt" for c in "acgt" for d in "ac"
    ],
    "hexadecimal": [f"x{n:03x}" for n in range(4096)],
    "payment cards": [luhn(f"{n:06}") for n in range(20_000, 24_000)],
    "articles": [checked(f"{n:05}", (3, 1, 3, 1, 3), 10) for n in range(20_000, 24_000)],
    "books": ["b" + checked(f"{n:05}", (6, 5, 4, 3, 2), 11) for n in range(20_000, 24_000)],
    "ships": ["imo" + checked(f"{n:05}", (7, 6, 5, 4, 3), 10) for n in range(20_000, 24_000)],
    "always the same end": [f"id-{n:03}-x0" for n in range(1000)],
    "days": [f"2015-{m:02}-{d:02}" for m in range(1, 13) for d in range(1, 29)],
}


@pytest.mark.parametrize("kind", list(FULL))
def test_where_all_are_taken_wrong_ones_meet(kind: str) -> None:
    theirs = column(FULL[kind])
    assert match_chance(theirs, theirs) > 0.9
    mine = column(RANDOM.sample(FULL[kind], len(FULL[kind]) // 4))
    assert match_chance(mine, theirs) > 0.9


@pytest.mark.parametrize("kind", list(FULL))
def test_where_few_are_taken_few_meet(kind: str) -> None:
    some = RANDOM.sample(FULL[kind], len(FULL[kind]) // 4)
    mine, theirs = some[: len(some) // 2], some[len(some) // 2 :]
    assert 0.1 < match_chance(column(mine), column(theirs)) < 0.4


def test_rare_ones_do_not_meet() -> None:
    cards = column([luhn(f"{n:09}") for n in RANDOM.sample(range(10**9), 500)])
    names = column(["bern", "ulm", "bonn", "zug", "graz", "oslo", "turin", "lyon"])
    genes = column(["".join(RANDOM.choices("acgt", k=12)) for _ in range(500)])
    two = column(["12345", "99881"])
    for rare in (cards, names, genes, two):
        assert match_chance(rare, rare) == LEAST_CHANCE


@given(st.lists(st.text("01aé-", max_size=6), unique=True, max_size=40), st.integers(1, 50))
def test_a_wrong_value_is_not_the_right_one(values: list[str], sample: int) -> None:
    texts = pa.array(values, pa.large_string())
    whole = [v for v in values if v.lstrip("-").isdecimal() and v.count("-") == v.startswith("-")]
    found = wrong_values(texts, sample)
    assert sum(one.share for one in found) == pytest.approx(1.0 if values else 0.0)
    for one in found:
        assert len({len(way) for way in one.variants}) == 1, "as many in every way"
        for way in one.variants:
            assert all(text is None or isinstance(text, str) for text in way)
    if len(values) <= sample and len(whole) == len(values):
        for way in found[0].variants if values else ():
            assert all(str(int(right)) != text for right, text in zip(values, way, strict=True))
    if len(values) <= sample and not whole:
        for way in found[0].variants[:3] if values else ():
            rights = [right for right in values for _ in range(3)]
            assert all(right != text for right, text in zip(rights, way, strict=True))
