"""What is the target again, and what only predicts it well?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lakejoin.enrich.copies import copies_target
from lakejoin.enrich.gathering import Column, Gathered, Values
from lakejoin.enrich.linking import Link
from lakejoin.enrich.partners import ByEqual
from lakejoin.enrich.target import Target

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(0)
NUMBERS = RANDOM.normal(10, 3, 100)
CLASSES = RANDOM.integers(0, 3, 100)


def why(theirs: Array, target: Target, texts: tuple[str, ...] = ()) -> str:
    """What is said of a column, row by row."""
    rows = np.arange(len(theirs))
    link = Link("t.csv", ("key",), (ByEqual(("key",)),))
    values = Values(Column(0, "t.csv", 1, "c", "mean", "c"), theirs.astype(float), texts)
    gathered = Gathered((link,), rows, rows, {("key",): rows}, (values,), {})
    return copies_target(values, gathered, rows, target)


@pytest.mark.parametrize(
    ("theirs", "copy"),
    [
        (NUMBERS * 1.8 + 32, "it is the target in another unit"),
        (np.exp(NUMBERS), "it is the target by another scale"),
        (-(NUMBERS**3), "it is the target by another scale"),
        (NUMBERS + RANDOM.normal(0, 0.5, 100), ""),
        (RANDOM.normal(size=100), ""),
        (np.ones(100), ""),
    ],
)
def test_numbers(theirs: Array, copy: str) -> None:
    assert why(theirs, Target("y", NUMBERS)) == copy


@pytest.mark.parametrize(
    ("theirs", "copy"),
    [
        (np.array([7, 3, 5])[CLASSES], "it is the target by other names"),
        (np.where(np.arange(100) < 20, RANDOM.integers(0, 3, 100), CLASSES), ""),
        (CLASSES * 10 + RANDOM.integers(0, 10, 100), ""),  # finer: it predicts, and is no copy
        (np.minimum(CLASSES, 1), ""),
    ],
)
def test_classes(theirs: Array, copy: str) -> None:
    target = Target("y", CLASSES.astype(float), ("a", "b", "c"))
    assert why(theirs, target, tuple(map(str, range(40)))) == copy


def test_few_rows_tell_nothing() -> None:
    theirs = np.full(100, np.nan)
    theirs[:5] = NUMBERS[:5]
    assert why(theirs, Target("y", NUMBERS)) == ""
