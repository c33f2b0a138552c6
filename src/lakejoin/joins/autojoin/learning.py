"""Which program turns these sources into these targets? The one with the fewest operators.

A program makes the target from left to right, so its operators are the steps of a path: a place in
every example's target is a node, an operator that gives the next characters of all examples leads
to the node behind them. The path with the fewest steps, and among those the plainest, is found by
best-first search with backtracking (thesis, section 4.4.2, where it is greedy). Case is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lakejoin.joins.autojoin.examples import Examples, examples_of
from lakejoin.joins.autojoin.pieces import (
    Chosen,
    Piece,
    Pieces,
    chosen,
    deeper_pieces,
    pieces_of,
)
from lakejoin.joins.autojoin.programs import Constant, Extract, Operator
from lakejoin.joins.autojoin.rewriting import Memory, Rewritten, rewritten_pieces

Array = np.ndarray[Any, Any]

MOST_OPERATORS = 8
_MOST_NODES = 120
_MOST_WAYS = 16
_MOST_STRETCHES = 31
_LONGEST_CUT = 10


@dataclass(frozen=True, slots=True)
class Step:
    """One operator of a learned program, in all the ways that the examples allow."""

    ways: tuple[Operator, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a piece: where it begins in each example, and its length (None: all the rest).

    `drop` characters at the end are left out.
    """

    piece: Piece
    starts: tuple[int, ...]
    length: int | None
    drop: int = 0

    @property
    def whole(self) -> bool:
        return self.length is None and not self.drop and not any(self.starts)


_Edge = Constant | _Part


def learn(columns: dict[str, list[str | None]], targets: Sequence[str]) -> tuple[Step, ...] | None:
    """The steps that make each target from its row, or None if no short program does.

    >>> names = ["Obama, Barack", "Bush, George W.", "Clinton, Bill"]
    >>> steps = learn({"n": names}, ["Barack Obama", "George W. Bush", "Bill Clinton"])
    >>> from lakejoin.joins.autojoin.programs import Program
    >>> print(Program(tuple(step.ways[0] for step in steps)))
    split(n, ", ")[1] + " " + split(n, ",")[0]
    """
    learner = Learner(examples_of(columns, targets))
    rows, every = np.arange(len(targets)), np.arange(len(columns))
    if not learner.possible(rows[None, :], every).all():
        return None
    return learner.steps(rows, every)


@dataclass(eq=False)
class Learner:
    """Learns from any few of many examples; rows and columns are told by their numbers."""

    examples: Examples
    memory: Memory = field(default_factory=Memory)

    def possible(self, sets: Array, columns: Array) -> Array:
        """For which sets of rows a short program is not ruled out; see `kernels.stretches`."""
        from lakejoin.kernels.stretches import possible_sets

        of = self.examples
        if not len(of):
            return np.zeros(len(sets), bool)
        found = possible_sets(
            of.chars, of.begins, of.ends, of.goals, self._sharing, sets, columns, MOST_OPERATORS
        )
        return np.asarray(found)

    def steps(self, rows: Array, columns: Array) -> tuple[Step, ...] | None:
        """The steps that make the targets of these rows from these columns, if that is possible."""
        useful = columns[self._sharing[rows][:, columns].all(axis=0)]
        edges = _best_path(chosen(self.examples, rows, useful), self.memory)
        if edges is None or all(isinstance(edge, Constant) for edge in edges):
            return None
        return tuple(Step(tuple(_ways(edge))) for edge in edges)

    @cached_property
    def _sharing(self) -> Array:
        from lakejoin.kernels.stretches import sharing

        of = self.examples
        return np.asarray(sharing(of.chars, of.begins, of.ends, of.goals))


def stretches(examples: Examples) -> Array:
    """How many stretches of its row, and of the target before, each target takes; inf: too many.

    >>> stretches(examples_of({"name": ["Barack Obama", "Bush"]}, ["Obama, B", ", "])).tolist()
    [3.0, 1.0]
    """
    from lakejoin.kernels.stretches import fewest_stretches

    of = examples
    found = fewest_stretches(of.chars, of.begins, of.ends, of.goals, _MOST_STRETCHES)
    return np.where(found < 0, np.inf, found)


def _best_path(few: Chosen, memory: Memory) -> list[_Edge] | None:
    pieces = pieces_of(few)
    search = _Search(few, pieces, rewritten_pieces(pieces, memory))
    edges = search.run()
    if edges is None or not all(isinstance(edge, Constant) or edge.whole for edge in edges):
        # Many need one split only, which is found sooner among fewer pieces. But whole pieces of
        # pieces are plainer than pieces that are cut.
        search.add_deeper()
        edges = search.run() or edges
    return edges


class _Search:
    """The search for a path, over pieces, what they are rewritten to, and pieces of pieces."""

    def __init__(self, few: Chosen, pieces: Pieces, made: Rewritten) -> None:
        self.few = few
        self.pieces = pieces
        self.made = made
        self.new = list(made.new.items())
        self.deeper: Pieces | None = None
        self.firsts, self.lasts, self.efforts = pieces.firsts, pieces.lasts, pieces.efforts
        if self.new:
            goals = few.goals[:, 0]
            whole = few.examples.texts
            held = [
                [whole.index(text, goal) for text, goal in zip(texts, goals, strict=True)]
                for texts, _ in self.new
            ]
            sizes = [[len(text) for text in texts] for texts, _ in self.new]
            efforts = [paths[0].effort for _, paths in self.new]
            self._add(np.array(held), np.array(held) + np.array(sizes), np.array(efforts))

    def add_deeper(self) -> None:
        self.deeper = deeper_pieces(self.few, self.firsts, self.lasts)
        self._add(self.deeper.firsts, self.deeper.lasts, self.deeper.efforts)

    def _add(self, firsts: Array, lasts: Array, efforts: Array) -> None:
        self.firsts = np.concatenate((self.firsts, firsts))
        self.lasts = np.concatenate((self.lasts, lasts))
        self.efforts = np.concatenate((self.efforts, efforts))

    def run(self) -> list[_Edge] | None:
        """The edges of the best path."""
        from lakejoin.kernels.shortest_program import best_path

        formed = np.zeros(len(self.firsts), np.bool_)
        formed[len(self.pieces) : len(self.pieces) + len(self.new)] = True
        of = self.few.examples
        found = best_path(
            of.chars, of.alnum, self.few.goals, self.firsts, self.lasts, self.efforts, formed,
            MOST_OPERATORS, _MOST_NODES, _LONGEST_CUT,
        )  # fmt: skip
        if not len(found):
            return None
        edges: list[_Edge] = []
        place = 0  # in the first example's target
        for number, start, back, length, drop in found.tolist():
            if number < 0:
                target = of.targets[self.few.rows[0]]
                edges.append(Constant(target[place : place + start]))
                place += start
            else:
                part = self._part(number, start, bool(back), length, drop)
                edges.append(part)
                size = len(part.piece.texts[0]) - start - drop
                place += min(size, length) if length >= 0 else size
        return edges

    def _part(self, number: int, start: int, back: bool, length: int, drop: int) -> _Part:
        piece = self._piece(number)
        sizes = [len(text) for text in piece.texts]
        starts = tuple(size - sizes[0] + start if back else start for size in sizes)
        return _Part(piece, starts, None if length < 0 else length, drop)

    def _piece(self, number: int) -> Piece:
        if number < len(self.pieces):
            texts = self.pieces.texts(number)
            return Piece(texts, self.pieces.paths(number), self.made.also_for(texts))
        number -= len(self.pieces)
        if number < len(self.new):
            texts, paths = self.new[number]
            return Piece(texts, tuple(paths))
        number -= len(self.new)
        assert self.deeper is not None
        return Piece(self.deeper.texts(number), self.deeper.paths(number))


def _ways(edge: _Edge) -> Iterator[Operator]:
    """The operators that give this edge, simplest first."""
    if isinstance(edge, Constant):
        yield edge
        return
    if edge.drop:
        for path in edge.piece.paths:
            yield Extract(path.column, path.splits, edge.starts[0], None, edge.drop)
        return
    backs = {start - len(text) for text, start in zip(edge.piece.texts, edge.starts, strict=True)}
    places: list[int] = []
    if len(set(edge.starts)) == 1:
        places.append(edge.starts[0])
    if len(backs) == 1 and edge.starts != (0,) * len(edge.starts):
        places.append(backs.pop())
    sizes = {len(text) - start for text, start in zip(edge.piece.texts, edge.starts, strict=True)}
    lengths: list[int | None] = [edge.length]
    if edge.length is None and len(sizes) == 1 and not edge.piece.formed:
        lengths.append(sizes.pop())
    made = 0
    for length in lengths:
        for place in places:
            for path in edge.piece.paths:
                yield Extract(
                    path.column, path.splits, place, length, form=path.form, width=path.width
                )
                made += 1
                if made == _MOST_WAYS:
                    return
    if edge.whole and not edge.piece.formed:
        yield from _widened(edge.piece)
        for path in edge.piece.also:
            yield Extract(path.column, path.splits, form=path.form, width=path.width)


def _widened(piece: Piece) -> Iterator[Operator]:
    """Numbers of one length may be padded ones: shorter ones elsewhere would then have zeros."""
    sizes = {len(text) for text in piece.texts}
    if len(sizes) == 1 and all(text.isdigit() for text in piece.texts):
        for path in piece.paths[:2]:
            yield Extract(path.column, path.splits, width=sizes.copy().pop())
