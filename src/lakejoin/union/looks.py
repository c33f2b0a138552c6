"""Samples of columns (shapes, words, numbers of their values), and how similar two are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.model import ColumnType

if TYPE_CHECKING:
    from lakejoin.model import ColumnProfile

Array = np.ndarray[Any, Any]

SAMPLE = 200  # values sampled from a column
NUMBERS = (ColumnType.INTEGER, ColumnType.DECIMAL)
_TEXTS = (ColumnType.TEXT, ColumnType.MIXED)
_REPEATED = 5  # rows per value from which a column is a category
_RUNS = re.compile(r"[^\W\d_]+|\d+|\s+")
_WORDS = re.compile(r"[^\W\d_]{3,}")
_LONG_RUN = 4  # letters or digits beyond which the length of a run does not count


@dataclass(frozen=True, eq=False)
class ColumnSample:
    """A column by its name, its profile and some of its distinct canonical values."""

    name: str
    profile: ColumnProfile
    values: Sequence[str]

    @property
    def type(self) -> ColumnType:
        """The type of its values."""
        return self.profile.type

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers."""
        return self.type in NUMBERS

    @property
    def is_text(self) -> bool:
        """Whether it holds texts, or texts among other values."""
        return self.type in _TEXTS

    @property
    def is_category(self) -> bool:
        """Whether each value stands in many rows, so that other rows would repeat them."""
        profile = self.profile
        filled = profile.rows - profile.nulls
        return profile.distinct > 0 and filled >= _REPEATED * profile.distinct

    @cached_property
    def shapes(self) -> Mapping[str, float]:
        """The share of the values with each shape."""
        return _shares(map(value_shape, self.values))

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the values."""
        return frozenset(word for value in self.values for word in _WORDS.findall(value))

    @cached_property
    def numbers(self) -> Array:
        """The values that are numbers, ascending."""
        return np.sort(np.array([n for n in map(_number, self.values) if n is not None]))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def value_shape(text: str) -> str:
    """Replace letters by `a` and digits by `9`, shorten long runs, and keep the rest.

    >>> value_shape("AB-1234567"), value_shape("new york"), value_shape("2020-01-31")
    ('aa-9999', 'aaa aaaa', '9999-99-99')
    """
    return _RUNS.sub(_run, text)[:40]


def _run(match: re.Match[str]) -> str:
    run = match.group()
    sign = "9" if run.isdigit() else " " if run.isspace() else "a"
    return sign if sign == " " else sign * min(len(run), _LONG_RUN)


def _shares(shapes: Any) -> dict[str, float]:
    counts = Counter(shapes)
    total = max(1, sum(counts.values()))
    return {pattern: count / total for pattern, count in counts.items()}


def shape_overlap(one: ColumnSample, other: ColumnSample) -> float:
    """How much the shapes of two columns' values overlap, 0 to 1.

    >>> a, b = (ColumnSample("", None, v) for v in (["a1", "b2", "cc3"], ["x9", "y8"]))
    >>> round(shape_overlap(a, b), 2)
    0.67
    """
    return sum(min(share, other.shapes.get(s, 0.0)) for s, share in one.shapes.items())


def word_overlap(one: ColumnSample, other: ColumnSample) -> float:
    """The share of words that both have, of the column with fewer.

    >>> a, b = (ColumnSample("", None, v) for v in (["lake como", "lake garda"], ["lake lugano"]))
    >>> word_overlap(a, b)
    0.5
    """
    return len(one.words & other.words) / max(1, min(len(one.words), len(other.words)))


def pattern_share(one: ColumnSample) -> float:
    """The share of values whose shape is more distinctive than plain words or a number.

    >>> pattern_share(ColumnSample("", None, ["AB-12", "bern", "17"]))
    0.3333333333333333
    """
    return sum(share for s, share in one.shapes.items() if _is_distinctive(s))


def _is_distinctive(pattern: str) -> bool:
    letters_and_digits = "a" in pattern and "9" in pattern
    signs = set(pattern) - {"a", "9", " ", ".", "-", "'", ","}
    return letters_and_digits or bool(signs) or pattern.count("-") > 1


def number_overlap(one: ColumnSample, other: ColumnSample) -> float:
    """How similar two distributions of numbers are: 1 minus their Kolmogorov-Smirnov distance.

    >>> a, b, c = (ColumnSample("", None, v) for v in (["1", "2", "3"], ["2", "2.5"], ["700"]))
    >>> round(number_overlap(a, b), 2), number_overlap(a, c), number_overlap(a, a)
    (0.67, 0.0, 1.0)
    """
    mine, theirs = one.numbers, other.numbers
    if not len(mine) or not len(theirs):
        return 0.0
    both = np.concatenate([mine, theirs])
    below = np.searchsorted(mine, both, side="right") / len(mine)
    return float(
        1 - np.abs(below - np.searchsorted(theirs, both, side="right") / len(theirs)).max()
    )
