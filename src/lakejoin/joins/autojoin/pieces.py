"""What can be taken from a few example rows? Texts of columns and pieces of them, each once.

Many ways of splitting give the same pieces on three examples: they are one `Piece` with several
paths. Which path is meant is decided later, by what it gives on all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lakejoin.joins.autojoin.examples import Examples
from lakejoin.joins.autojoin.forms import Form, Runs
from lakejoin.joins.autojoin.programs import Split

Array = np.ndarray[Any, Any]
Texts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Path:
    """A way to get a piece: a column, how it is split, and how the piece is rewritten."""

    column: str
    splits: tuple[Split, ...] = ()
    form: Form = Form.SAME
    width: int = 0

    @property
    def effort(self) -> float:
        """How far it is from a plain column."""
        parted = any(isinstance(separator, Runs) for separator, _ in self.splits)
        return len(self.splits) + 0.5 * parted + 1.5 * bool(self.form) + 1.0 * bool(self.width)


@dataclass(frozen=True, slots=True)
class Piece:
    """A text of every example in lower case, and the ways to get it, simplest first.

    A piece that is rewritten is only taken whole. `also` are ways to get it by rewriting that the
    examples do not tell from the plain ones.
    """

    texts: Texts
    paths: tuple[Path, ...]
    also: tuple[Path, ...] = ()

    @property
    def formed(self) -> bool:
        return bool(self.paths[0].form or self.paths[0].width)


@dataclass(frozen=True, eq=False)
class Chosen:
    """A few of the examples, and the columns that their targets may be made of."""

    examples: Examples
    rows: Array
    columns: Array
    begins: Array  # of each row's columns
    ends: Array
    goals: Array

    def __len__(self) -> int:
        return len(self.rows)


def chosen(examples: Examples, rows: Array, columns: Array) -> Chosen:
    """These rows and columns of the examples, by their numbers."""
    begins, ends = examples.begins[rows][:, columns], examples.ends[rows][:, columns]
    return Chosen(examples, rows, columns, begins, ends, examples.goals[rows])


@dataclass(frozen=True, eq=False)
class Pieces:
    """Pieces as numbers: where they begin and end, and the paths that `kernels.splitting` gives.

    >>> from lakejoin.joins.autojoin.examples import examples_of
    >>> towns = examples_of({"name": ["Obama, Barack", "Bush, George"]}, ["Barack", "George"])
    >>> pieces = pieces_of(chosen(towns, np.arange(2), np.arange(1)))
    >>> for number in range(3):
    ...     print(pieces.texts(number), pieces.paths(number)[0].splits)
    ('obama, barack', 'bush, george') ()
    ('obama,', 'bush,') ((' ', 0),)
    ('barack', 'george') ((' ', 1),)
    """

    of: Chosen
    firsts: Array
    lasts: Array
    ways: Array  # rows: see `kernels.splitting`
    first_ways: Array  # the place of each piece's first
    before: int = 0  # pieces that are numbered before these

    def __len__(self) -> int:
        return len(self.firsts)

    @cached_property
    def efforts(self) -> Array:
        """The effort of each piece's first path."""
        ways = self.ways[self.first_ways]
        split, again = ways[:, 3], ways[:, 6]
        return np.asarray((split != 0) + 0.5 * (split < 0) + 1.0 * (again != 0))

    def texts(self, piece: int) -> Texts:
        ends = zip(self.firsts[piece].tolist(), self.lasts[piece].tolist(), strict=True)
        return tuple(self.of.examples.texts[first:last] for first, last in ends)

    def paths(self, piece: int) -> tuple[Path, ...]:
        """The ways to get a piece, simplest first."""
        ways = self.ways[self.ways[:, 0] == piece + self.before]
        return tuple(self._path(way) for way in ways.tolist())

    def first_path(self, piece: int) -> Path:
        return self._path(self.ways[self.first_ways[piece]].tolist())

    def _path(self, way: list[int]) -> Path:
        _, column, *numbers = way
        splits = (self._split(*numbers[:3]), self._split(*numbers[3:]))
        name = self.of.examples.columns[self.of.columns[column]]
        return Path(name, tuple(split for split in splits if split))

    def _split(self, separator: int, length: int, part: int) -> Split | None:
        if length < 0:
            return _RUNS[-1 - length], part
        text = self.of.examples.texts[separator : separator + length]
        return (text, part) if length else None


_RUNS = (Runs.DIGITS, Runs.LETTERS, Runs.WORDS)  # as `kernels.splitting` numbers them


def pieces_of(few: Chosen) -> Pieces:
    """The pieces that every example has, not empty in any, after no split or one."""
    from lakejoin.kernels.splitting import split_once

    examples = few.examples
    found = split_once(examples.chars, examples.alnum, few.begins, few.ends)
    return Pieces(few, *found)


def deeper_pieces(few: Chosen, firsts: Array, lasts: Array) -> Pieces:
    """The pieces after two splits that are not among these."""
    from lakejoin.kernels.splitting import split_twice

    examples = few.examples
    found = split_twice(examples.chars, examples.alnum, few.begins, few.ends, firsts, lasts)
    return Pieces(few, *found, before=len(firsts))
