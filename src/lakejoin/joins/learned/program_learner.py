"""Learn the shortest program that turns the examples' sources into their targets.

A program builds the target from left to right, so its operators are the steps of a path: a node is
a position in every example's target, and an operator that gives the next characters of all
examples leads to the node behind them. The path with the fewest steps, and among those the
simplest, is found by best-first search with backtracking (thesis, section 4.4.2, where it is
greedy). Case is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lakejoin.codegen.programs import Constant, Extract, Operator
from lakejoin.joins.learned.substrings import (
    ChosenExamples,
    Examples,
    RewriteCache,
    RewrittenSubstrings,
    Substring,
    Substrings,
    choose_examples,
    find_deeper_substrings,
    find_substrings,
    rewrite_substrings,
)
from lakejoin.kernels.shared_substrings import (
    count_fewest_substrings,
    find_possible_sets,
    find_shared_columns,
)
from lakejoin.kernels.shortest_program import find_shortest_program
from lakejoin.model import Array

MOST_OPERATORS = 8
_MOST_NODES = 120
_MOST_VARIANTS = 16
_MOST_STRETCHES = 31
_LONGEST_CUT = 10


# One operator of a learned program: all variants that the examples allow.
ProgramStep = tuple[Operator, ...]


@dataclass(frozen=True, slots=True)
class _SubstringPart:
    """A part of a substring: its start in each example, and its length (None: all the rest).

    The last `drop` characters are dropped.
    """

    substring: Substring
    starts: tuple[int, ...]
    length: int | None
    drop: int = 0

    @property
    def whole(self) -> bool:
        return self.length is None and not self.drop and not any(self.starts)


_Edge = Constant | _SubstringPart


@dataclass(eq=False)
class Learner:
    """Learns from any few of many examples; rows and columns are given by index.

    >>> from lakejoin.joins.learned.substrings import examples_of
    >>> from lakejoin.codegen.programs import Program
    >>> names = ["Obama, Barack", "Bush, George W.", "Clinton, Bill"]
    >>> targets = ["Barack Obama", "George W. Bush", "Bill Clinton"]
    >>> steps = Learner(examples_of({"n": names}, targets)).steps(np.arange(3), np.arange(1))
    >>> print(Program(tuple(step[0] for step in steps)))
    split(n, ", ")[1] + " " + split(n, ",")[0]
    """

    examples: Examples
    memory: RewriteCache = field(default_factory=RewriteCache)

    def possible(self, sets: Array, columns: Array) -> Array:
        """The sets of rows for which a short program may exist; see `find_possible_sets`."""
        if not len(self.examples):
            return np.zeros(len(sets), bool)
        options = sets, columns, MOST_OPERATORS
        return np.asarray(find_possible_sets(*self.examples.arrays, self._sharing, *options))

    def steps(self, rows: Array, columns: Array) -> tuple[ProgramStep, ...] | None:
        """The steps that make these rows' targets from these columns; None if impossible."""
        useful = columns[self._sharing[rows][:, columns].all(axis=0)]
        edges = _best_path(choose_examples(self.examples, rows, useful), self.memory)
        if edges is None or all(isinstance(edge, Constant) for edge in edges):
            return None
        return tuple(tuple(_operators_of(edge)) for edge in edges)

    @cached_property
    def _sharing(self) -> Array:
        return np.asarray(find_shared_columns(*self.examples.arrays))


def fewest_substrings(examples: Examples) -> Array:
    """The fewest substrings of its row and of the previous target that make up each target.

    >>> from lakejoin.joins.learned.substrings import examples_of
    >>> examples = examples_of({"name": ["Barack Obama", "Bush"]}, ["Obama, B", ", "])
    >>> fewest_substrings(examples).tolist()
    [3.0, 1.0]
    """
    counts = count_fewest_substrings(*examples.arrays, _MOST_STRETCHES)
    return np.where(counts < 0, np.inf, counts)


def _best_path(few: ChosenExamples, memory: RewriteCache) -> list[_Edge] | None:
    substrings = find_substrings(few)
    search = _Search(few, substrings, rewrite_substrings(substrings, memory))
    edges = search.run()
    if edges is None or not all(isinstance(edge, Constant) or edge.whole for edge in edges):
        # Many programs need only one split, which is found faster among fewer substrings. But
        # whole substrings after two splits are simpler than cut ones.
        search.add_deeper()
        edges = search.run() or edges
    return edges


class _Search:
    """The search for a path over substrings, their rewritten forms, and deeper substrings."""

    def __init__(
        self, few: ChosenExamples, substrings: Substrings, made: RewrittenSubstrings
    ) -> None:
        self.few = few
        self.substrings = substrings
        self.made = made
        self.new = list(made.new.items())
        self.deeper: Substrings | None = None
        self.firsts, self.lasts, self.efforts = (
            substrings.firsts,
            substrings.lasts,
            substrings.efforts,
        )
        if self.new:
            goals = few.goals[:, 0]
            whole = few.examples.texts
            begins = [
                [whole.index(text, goal) for text, goal in zip(texts, goals, strict=True)]
                for texts, _ in self.new
            ]
            sizes = [[len(text) for text in texts] for texts, _ in self.new]
            efforts = [paths[0].effort for _, paths in self.new]
            self._add(np.array(begins), np.array(begins) + np.array(sizes), np.array(efforts))

    def add_deeper(self) -> None:
        self.deeper = find_deeper_substrings(self.few, self.firsts, self.lasts)
        self._add(self.deeper.firsts, self.deeper.lasts, self.deeper.efforts)

    def _add(self, firsts: Array, lasts: Array, efforts: Array) -> None:
        self.firsts = np.concatenate((self.firsts, firsts))
        self.lasts = np.concatenate((self.lasts, lasts))
        self.efforts = np.concatenate((self.efforts, efforts))

    def run(self) -> list[_Edge] | None:
        formed = np.zeros(len(self.firsts), np.bool_)
        formed[len(self.substrings) : len(self.substrings) + len(self.new)] = True
        examples = self.few.examples
        path = find_shortest_program(
            examples.chars, examples.alnum, self.few.goals, self.firsts, self.lasts, self.efforts,
            formed, MOST_OPERATORS, _MOST_NODES, _LONGEST_CUT,
        )  # fmt: skip
        if not len(path):
            return None
        edges: list[_Edge] = []
        position = 0  # in the first example's target
        for index, start, back, length, drop in path.tolist():
            if index < 0:
                target = examples.targets[self.few.rows[0]]
                edges.append(Constant(target[position : position + start]))
                position += start
            else:
                part = self._part(index, start, bool(back), length, drop)
                edges.append(part)
                size = len(part.substring.texts[0]) - start - drop
                position += min(size, length) if length >= 0 else size
        return edges

    def _part(self, index: int, start: int, back: bool, length: int, drop: int) -> _SubstringPart:
        substring = self._substring(index)
        sizes = [len(text) for text in substring.texts]
        starts = tuple(size - sizes[0] + start if back else start for size in sizes)
        return _SubstringPart(substring, starts, None if length < 0 else length, drop)

    def _substring(self, index: int) -> Substring:
        if index < len(self.substrings):
            texts = self.substrings.texts(index)
            return Substring(texts, self.substrings.paths(index), self.made.also_for(texts))
        index -= len(self.substrings)
        if index < len(self.new):
            texts, paths = self.new[index]
            return Substring(texts, tuple(paths))
        index -= len(self.new)
        assert self.deeper is not None
        return Substring(self.deeper.texts(index), self.deeper.paths(index))


def _operators_of(edge: _Edge) -> Iterator[Operator]:
    """The operators that produce this edge, simplest first."""
    if isinstance(edge, Constant):
        yield edge
        return
    if edge.drop:
        for path in edge.substring.paths:
            yield Extract(path.column, path.splits, edge.starts[0], None, edge.drop)
        return
    backs = {
        start - len(text) for text, start in zip(edge.substring.texts, edge.starts, strict=True)
    }
    offsets: list[int] = []
    if len(set(edge.starts)) == 1:
        offsets.append(edge.starts[0])
    if len(backs) == 1 and edge.starts != (0,) * len(edge.starts):
        offsets.append(backs.pop())
    sizes = {
        len(text) - start for text, start in zip(edge.substring.texts, edge.starts, strict=True)
    }
    lengths: list[int | None] = [edge.length]
    if edge.length is None and len(sizes) == 1 and not edge.substring.is_rewritten:
        lengths.append(sizes.pop())
    made = 0
    for length in lengths:
        for offset in offsets:
            for path in edge.substring.paths:
                yield Extract(
                    path.column, path.splits, offset, length, form=path.form, width=path.width
                )
                made += 1
                if made == _MOST_VARIANTS:
                    return
    if edge.whole and not edge.substring.is_rewritten:
        yield from _pad_with_zeros(edge.substring)
        for path in edge.substring.also:
            yield Extract(path.column, path.splits, form=path.form, width=path.width)


def _pad_with_zeros(substring: Substring) -> Iterator[Operator]:
    """Numbers of one length may be zero-padded; then shorter ones elsewhere need zeros."""
    sizes = {len(text) for text in substring.texts}
    if len(sizes) == 1 and all(text.isdigit() for text in substring.texts):
        for path in substring.paths[:2]:
            yield Extract(path.column, path.splits, width=sizes.copy().pop())
