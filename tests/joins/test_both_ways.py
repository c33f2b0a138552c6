"""`join(a, b)` and `join(b, a)` give the same pairs of rows."""

from __future__ import annotations

import random
from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lakejoin

LETTERS = "abcdefghiklmnoprstuvw"
Respell = Callable[[str, random.Random], str]


def swap_names(text: str, _: random.Random) -> str:
    first, last = text.split()
    return f"{last}, {first}"


def typo(text: str, rng: random.Random) -> str:
    place = rng.randrange(1, len(text))
    return text[:place] + rng.choice(LETTERS) + text[place:]


RESPELL: dict[str, Respell] = {
    "equal": lambda text, _: text,
    "learned": swap_names,
    "fuzzy": typo,
    "any": lambda text, rng: rng.choice([swap_names, typo])(text, rng),
}


def pairs_of(left: pa.Table, right: pa.Table) -> list[tuple[int, int]]:
    pairs = lakejoin.join(left, right).pairs()
    rows = zip(pairs["left_row"].to_pylist(), pairs["right_row"].to_pylist(), strict=True)
    return sorted(rows)


@pytest.mark.parametrize("kind", RESPELL)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10**6), st.integers(3, 60), st.integers(0, 20), st.booleans())
def test_the_order_of_the_tables_does_not_matter(
    kind: str, seed: int, rows: int, strangers: int, repeated: bool
) -> None:
    rng = random.Random(seed)
    names = [
        " ".join("".join(rng.choices(LETTERS, k=rng.randint(4, 8))) for _ in range(2))
        for _ in range(rows + 2 * strangers)
    ]
    here, there = names[: rows + strangers], names[:rows] + names[rows + strangers :]
    if repeated:
        there += rng.choices(there, k=len(there) // 2)
    there = [RESPELL[kind](name, rng) for name in rng.sample(there, len(there))]
    left = pa.table({"name": here, "size": [rng.randint(1, 50) for _ in here]})
    right = pa.table({"who": there, "year": [rng.randint(1990, 2020) for _ in there]})
    assert pairs_of(left, right) == sorted((i, j) for j, i in pairs_of(right, left))
