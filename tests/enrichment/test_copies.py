"""What is the target again, and what only predicts it well?"""

from __future__ import annotations

import numpy as np
import pytest

from lakejoin.enrich.key_matches import EqualKeys
from lakejoin.enrich.lake_columns import ColumnValues, GatheredColumns, LakeColumn
from lakejoin.enrich.leakage import explain_target_copy, predicts_alone
from lakejoin.enrich.links import Link
from lakejoin.enrich.training_data import Target
from lakejoin.model import Array

RANDOM = np.random.default_rng(0)
NUMBERS = RANDOM.normal(10, 3, 100)
CLASSES = RANDOM.integers(0, 3, 100)


def why(theirs: Array, target: Target, texts: tuple[str, ...] = ()) -> str:
    """What is said of a column, row by row."""
    values, gathered = gathered_of(theirs, texts)
    return explain_target_copy(values, gathered, gathered.rows, target)


def gathered_of(theirs: Array, texts: tuple[str, ...] = ()) -> tuple[ColumnValues, GatheredColumns]:
    """A column as it was gathered, one row a key."""
    rows = np.arange(len(theirs))
    link = Link("t.csv", ("key",), (EqualKeys(("key",)),))
    values = ColumnValues(LakeColumn(0, "t.csv", 1, "c", "mean", "c"), theirs.astype(float), texts)
    return values, GatheredColumns((link,), rows, rows, {("key",): rows}, (values,), {})


@pytest.mark.parametrize(
    ("theirs", "copy"),
    [
        (NUMBERS * 1.8 + 32, "it is the target in another unit"),
        (np.exp(NUMBERS), "it is the target on another scale"),
        (-(NUMBERS**3), "it is the target on another scale"),
        (np.round(NUMBERS), "it is the target, rounded"),
        (np.floor(NUMBERS * 10) / 10, "it is the target, rounded"),
        (NUMBERS + RANDOM.normal(0, 0.5, 100), ""),
        (np.round(NUMBERS + RANDOM.normal(0, 0.5, 100)), ""),
        (RANDOM.normal(size=100), ""),
        (np.ones(100), ""),
    ],
)
def test_numbers(theirs: Array, copy: str) -> None:
    assert why(theirs, Target("y", NUMBERS)) == copy


def test_my_numbers_may_be_the_rounded_ones() -> None:
    assert why(NUMBERS, Target("y", np.round(NUMBERS))) == "it is the target, rounded"
    thousands = RANDOM.integers(10_000, 900_000, 100).astype(float)
    assert why(thousands, Target("y", np.round(thousands, -3))) != ""
    few = RANDOM.integers(0, 12, 100).astype(float)
    assert why(np.minimum(few, 1), Target("y", few)) == ""


def test_what_nearly_tells_numbers_is_told() -> None:
    rows = np.arange(100)
    for theirs, told in ((NUMBERS * 2 + RANDOM.normal(0, 0.3, 100), True), (NUMBERS[::-1], False)):
        values, gathered = gathered_of(theirs)
        assert predicts_alone(values, gathered, rows, Target("y", NUMBERS)) is told


@pytest.mark.parametrize(
    ("theirs", "copy"),
    [
        (np.array([7, 3, 5])[CLASSES], "it is the target under other names"),
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
