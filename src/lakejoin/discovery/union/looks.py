"""What does a column look like? Some of its values, their shapes, their numbers."""

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

SAMPLE = 200  # values of a column
NUMBERS = (ColumnType.INTEGER, ColumnType.DECIMAL)
_TEXTS = (ColumnType.TEXT, ColumnType.MIXED)
_REPEATED = 5  # rows for each value: a category
_RUNS = re.compile(r"[^\W\d_]+|\d+|\s+")
_WORDS = re.compile(r"[^\W\d_]{3,}")
_LONG_RUN = 4  # of letters or digits: from here on, one is as long as another


@dataclass(frozen=True, eq=False)
class Look:
    """A column by its name, its profile and some of its distinct canonical values."""

    name: str
    profile: ColumnProfile
    values: Sequence[str]

    @property
    def type(self) -> ColumnType:
        """What kind of values it holds."""
        return self.profile.type

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers."""
        return self.type in NUMBERS

    @property
    def is_text(self) -> bool:
        """Whether it holds texts, or texts among others."""
        return self.type in _TEXTS

    @property
    def is_category(self) -> bool:
        """Whether few values stand in many rows each: other rows would have the same ones."""
        one = self.profile
        return one.distinct > 0 and one.rows - one.nulls >= _REPEATED * one.distinct

    @cached_property
    def shapes(self) -> Mapping[str, float]:
        """The share of the values that have each shape."""
        return _shares(map(shape, self.values))

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


def shape(text: str) -> str:
    """Letters as `a` and digits as `9`, long runs cut short, all else as it is.

    >>> shape("AB-1234567"), shape("new york"), shape("2020-01-31")
    ('aa-9999', 'aaa aaaa', '9999-99-99')
    """
    return _RUNS.sub(_run, text)[:40]


def _run(found: re.Match[str]) -> str:
    run = found.group()
    sign = "9" if run.isdigit() else " " if run.isspace() else "a"
    return sign if sign == " " else sign * min(len(run), _LONG_RUN)


def _shares(shapes: Any) -> dict[str, float]:
    counts = Counter(shapes)
    total = max(1, sum(counts.values()))
    return {shape: count / total for shape, count in counts.items()}


def same_shapes(one: Look, other: Look) -> float:
    """How much the shapes of two columns' values overlap, 0 to 1.

    >>> a, b = (Look("", None, v) for v in (["a1", "b2", "cc3"], ["x9", "y8"]))
    >>> round(same_shapes(a, b), 2)
    0.67
    """
    return sum(min(share, other.shapes.get(s, 0.0)) for s, share in one.shapes.items())


def same_words(one: Look, other: Look) -> float:
    """The share of the words of the column with fewer that both have.

    >>> a, b = (Look("", None, v) for v in (["lake como", "lake garda"], ["lake lugano"]))
    >>> same_words(a, b)
    0.5
    """
    return len(one.words & other.words) / max(1, min(len(one.words), len(other.words)))


def peculiar(one: Look) -> float:
    """The share of the values whose shape tells more than that they are words, or a number.

    >>> peculiar(Look("", None, ["AB-12", "bern", "17"]))
    0.3333333333333333
    """
    return sum(share for s, share in one.shapes.items() if _says_something(s))


def _says_something(shape: str) -> bool:
    kinds = {"a": "a" in shape, "9": "9" in shape}
    signs = set(shape) - {"a", "9", " ", ".", "-", "'", ","}
    return (kinds["a"] and kinds["9"]) or bool(signs) or shape.count("-") > 1


def same_numbers(one: Look, other: Look) -> float:
    """How alike numbers are spread: 1 less the largest distance of their distributions.

    >>> a, b, c = (Look("", None, v) for v in (["1", "2", "3"], ["2", "2.5"], ["700"]))
    >>> round(same_numbers(a, b), 2), same_numbers(a, c), same_numbers(a, a)
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
