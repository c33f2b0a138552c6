"""The distinct substrings that programs can take from a few example rows.

Many splits give the same substrings on three examples: these are one `Substring` with several paths.
Which path to use is decided later, by its results on all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lakejoin.joins.learned.examples import Examples
from lakejoin.codegen.forms import Form, Runs
from lakejoin.codegen.programs import Split

Array = np.ndarray[Any, Any]
Texts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubstringPath:
    """How to get a substring: a column, its splits, and the form of the result."""

    column: str
    splits: tuple[Split, ...] = ()
    form: Form = Form.SAME
    width: int = 0

    @property
    def effort(self) -> float:
        """The cost of the path; 0 for a whole column."""
        by_runs = any(isinstance(separator, Runs) for separator, _ in self.splits)
        return len(self.splits) + 0.5 * by_runs + 1.5 * bool(self.form) + 1.0 * bool(self.width)


@dataclass(frozen=True, slots=True)
class Substring:
    """A substring of every example in lower case, and the paths to it, simplest first.

    A rewritten substring is only taken whole. `also` are rewriting paths that give the same texts
    in these examples.
    """

    texts: Texts
    paths: tuple[SubstringPath, ...]
    also: tuple[SubstringPath, ...] = ()

    @property
    def formed(self) -> bool:
        return bool(self.paths[0].form or self.paths[0].width)


@dataclass(frozen=True, eq=False)
class ChosenExamples:
    """A few of the examples, and the columns that their targets may come from."""

    examples: Examples
    rows: Array
    columns: Array
    begins: Array  # of each row's columns
    ends: Array
    goals: Array

    def __len__(self) -> int:
        return len(self.rows)


def choose_examples(examples: Examples, rows: Array, columns: Array) -> ChosenExamples:
    """Select rows and columns of the examples by index."""
    begins, ends = examples.begins[rows][:, columns], examples.ends[rows][:, columns]
    return ChosenExamples(examples, rows, columns, begins, ends, examples.goals[rows])


@dataclass(frozen=True, eq=False)
class Substrings:
    """Substrings as arrays: their begins and ends, and the paths from `kernels.splitting`.

    >>> from lakejoin.joins.learned.examples import examples_of
    >>> towns = examples_of({"name": ["Obama, Barack", "Bush, George"]}, ["Barack", "George"])
    >>> substrings = find_substrings(choose_examples(towns, np.arange(2), np.arange(1)))
    >>> for index in range(3):
    ...     print(substrings.texts(index), substrings.paths(index)[0].splits)
    ('obama, barack', 'bush, george') ()
    ('obama,', 'bush,') ((' ', 0),)
    ('barack', 'george') ((' ', 1),)
    """

    of: ChosenExamples
    firsts: Array
    lasts: Array
    ways: Array  # paths, one per row: see `kernels.splitting`
    first_ways: Array  # position of the first path of each substring
    before: int = 0  # index of the first substring

    def __len__(self) -> int:
        return len(self.firsts)

    @cached_property
    def efforts(self) -> Array:
        """The effort of each substring's first path."""
        ways = self.ways[self.first_ways]
        split, again = ways[:, 3], ways[:, 6]
        return np.asarray((split != 0) + 0.5 * (split < 0) + 1.0 * (again != 0))

    def texts(self, index: int) -> Texts:
        ends = zip(self.firsts[index].tolist(), self.lasts[index].tolist(), strict=True)
        return tuple(self.of.examples.texts[first:last] for first, last in ends)

    def paths(self, index: int) -> tuple[SubstringPath, ...]:
        """The paths to a substring, simplest first."""
        ways = self.ways[self.ways[:, 0] == index + self.before]
        return tuple(self._path(way) for way in ways.tolist())

    def first_path(self, index: int) -> SubstringPath:
        return self._path(self.ways[self.first_ways[index]].tolist())

    def _path(self, way: list[int]) -> SubstringPath:
        _, column, *numbers = way
        splits = (self._split(*numbers[:3]), self._split(*numbers[3:]))
        name = self.of.examples.columns[self.of.columns[column]]
        return SubstringPath(name, tuple(split for split in splits if split))

    def _split(self, separator: int, length: int, part: int) -> Split | None:
        if length < 0:
            return _RUNS[-1 - length], part
        text = self.of.examples.texts[separator : separator + length]
        return (text, part) if length else None


_RUNS = (Runs.DIGITS, Runs.LETTERS, Runs.WORDS)  # as `kernels.splitting` numbers them


def find_substrings(few: ChosenExamples) -> Substrings:
    """The substrings after at most one split, non-empty in every example."""
    from lakejoin.kernels.example_splits import split_once

    examples = few.examples
    found = split_once(examples.chars, examples.alnum, few.begins, few.ends)
    return Substrings(few, *found)


def find_deeper_substrings(few: ChosenExamples, firsts: Array, lasts: Array) -> Substrings:
    """The further substrings after two splits."""
    from lakejoin.kernels.example_splits import split_twice

    examples = few.examples
    found = split_twice(examples.chars, examples.alnum, few.begins, few.ends, firsts, lasts)
    return Substrings(few, *found, before=len(firsts))
