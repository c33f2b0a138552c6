"""Which program turns these sources into these targets? The one with the fewest operators.

A program makes the target from left to right, so its operators are the steps of a path: a place in
every example's target is a node, an operator that gives the next characters of all examples leads
to the node behind them. The path with the fewest steps, and among those the plainest, is found by
best-first search with backtracking (thesis, section 4.4.2, where it is greedy). Case is ignored.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from math import inf

from lakejoin.joins.autojoin.pieces import (
    Piece,
    Rows,
    folded,
    pieces_of,
    texts_of,
    with_forms,
)
from lakejoin.joins.autojoin.programs import Constant, Extract, Operator

MOST_OPERATORS = 8
_MOST_NODES = 120
_MOST_WAYS = 16
_MOST_STRETCHES = 30
_LONGEST_CUT = 10

Node = tuple[int, ...]


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

    @property
    def effort(self) -> float:
        """How far it is from a plain column; programs with as many operators compare by it."""
        return self.piece.effort + 2.0 * (
            any(self.starts) + (self.length is not None or self.drop > 0)
        )


_Edge = Constant | _Part


def learn(rows: Rows, targets: Sequence[str], columns: Sequence[str]) -> tuple[Step, ...] | None:
    """The steps that make each target from its row, or None if no short program does.

    >>> rows = [{"n": "Obama, Barack"}, {"n": "Bush, George W."}, {"n": "Clinton, Bill"}]
    >>> steps = learn(rows, ["Barack Obama", "George W. Bush", "Bill Clinton"], ["n"])
    >>> from lakejoin.joins.autojoin.programs import Program
    >>> print(Program(tuple(step.ways[0] for step in steps)))
    split(n, ", ")[1] + " " + split(n, ",")[0]
    """
    if not rows or any(not target for target in targets):
        return None
    goals = tuple(folded(target) for target in targets)
    useful = [column for column in columns if _useful(texts_of(rows, column), goals)]
    if not _possible(rows, goals, useful):
        return None
    edges = _best_path(rows, goals, targets, useful)
    if edges is None or all(isinstance(edge, Constant) for edge in edges):
        return None
    return tuple(Step(tuple(_ways(edge))) for edge in edges)


def _best_path(
    rows: Rows, goals: tuple[str, ...], targets: Sequence[str], columns: Sequence[str]
) -> list[_Edge] | None:
    pieces = with_forms(pieces_of(rows, columns, 1), goals)
    edges = _Search(goals, targets, pieces).run()
    if edges is None or not all(isinstance(edge, Constant) or edge.whole for edge in edges):
        # Many need one split only, which is found sooner among fewer pieces. But whole pieces of
        # pieces are plainer than pieces that are cut.
        known = {piece.texts for piece in pieces}
        deeper = [piece for piece in pieces_of(rows, columns, 2) if piece.texts not in known]
        edges = _Search(goals, targets, [*pieces, *deeper]).run() or edges
    return edges


def _useful(texts: tuple[str, ...], goals: tuple[str, ...]) -> bool:
    """Whether every example's target has two characters in a row, or the first one, of the text."""
    return bool(texts) and all(
        text[0] in goal or any(text[i : i + 2] in goal for i in range(len(text) - 1))
        for text, goal in zip(texts, goals, strict=True)
    )


def _possible(rows: Rows, goals: tuple[str, ...], columns: Sequence[str]) -> bool:
    """Whether each target can be put together from few stretches of its row and of constants.

    Taking the longest stretch each time takes the fewest; a constant is in every target.
    """
    if not columns:
        return False
    for i, goal in enumerate(goals):
        store = [*(folded(rows[i][column] or "") for column in columns), goals[i - 1]]
        if stretches(goal, store) > min(MOST_OPERATORS, 3 + len(goal) / 4):
            return False
    return True


def stretches(goal: str, store: Sequence[str]) -> float:
    """How many stretches of the store's texts a text takes, the longest each time; inf: too many.

    >>> stretches("obama, barack", ["barack obama", ", "]), stretches("obama", ["bush"])
    (3, inf)
    """
    place = taken = 0
    while place < len(goal):
        size = 1
        while place + size <= len(goal) and _held(goal[place : place + size], store):
            size += 1
        if size == 1 or taken > _MOST_STRETCHES:
            return inf
        place += size - 1
        taken += 1
    return taken


def _held(stretch: str, store: Sequence[str]) -> bool:
    return any(stretch in text for text in store)


class _Search:
    def __init__(self, goals: tuple[str, ...], targets: Sequence[str], pieces: list[Piece]):
        self.goals = goals
        self.targets = targets
        # Where each character occurs in the first example's pieces.
        self.places: dict[str, list[tuple[Piece, int]]] = {}
        wanted = set(goals[0])
        for piece in pieces:
            first = piece.texts[0][:1] if piece.formed else piece.texts[0]
            for place, character in enumerate(first):
                if character in wanted:
                    self.places.setdefault(character, []).append((piece, place))

    def run(self) -> list[_Edge] | None:
        """The edges of the best path."""
        start: Node = (0,) * len(self.goals)
        end: Node = tuple(len(goal) for goal in self.goals)
        order = count()
        queue: list[tuple[int, float, int, Node, tuple[_Edge, ...]]] = [(0, 0.0, 0, start, ())]
        done: set[tuple[Node, bool]] = set()
        while queue and len(done) < _MOST_NODES:
            steps, effort, _, node, path = heapq.heappop(queue)
            if node == end:
                return list(path)
            after_constant = bool(path) and isinstance(path[-1], Constant)
            if (node, after_constant) in done or steps == MOST_OPERATORS:
                continue
            done.add((node, after_constant))
            if any(place == len(goal) for place, goal in zip(node, self.goals, strict=True)):
                continue
            edges = list(self._parts(node))
            if not after_constant:
                edges += self._constants(node)
            for edge, following, more in edges:
                if (following, isinstance(edge, Constant)) not in done:
                    entry = (steps + 1, effort + more, next(order), following, (*path, edge))
                    heapq.heappush(queue, entry)
        return None

    def _constants(self, node: Node) -> Iterator[tuple[_Edge, Node, float]]:
        """What all targets have next, up to each end of a word."""
        rests = [goal[place:] for goal, place in zip(self.goals, node, strict=True)]
        longest = min(_shared(rests[0], rest) for rest in rests)
        written = self.targets[0][node[0] : node[0] + longest]
        for length in range(1, longest + 1):
            last, following = rests[0][length - 1], rests[0][length : length + 1]
            if length == longest or last.isalnum() != following.isalnum():
                letters = sum(c.isalnum() for c in written[:length])
                moved = tuple(place + length for place in node)
                yield Constant(written[:length]), moved, 0.5 + 1.0 * letters

    def _parts(self, node: Node) -> Iterator[tuple[_Edge, Node, float]]:
        """The parts of pieces that all targets have next."""
        seen: set[tuple[Node, float]] = set()
        for piece, place in self.places.get(self.goals[0][node[0]], ()):
            for starts in _starts(piece, place):
                for part, moved in self._cuts(node, piece, starts):
                    if (moved, part.effort) not in seen:
                        seen.add((moved, part.effort))
                        yield part, moved, part.effort

    def _cuts(
        self, node: Node, piece: Piece, starts: tuple[int, ...]
    ) -> Iterator[tuple[_Part, Node]]:
        """The parts from these places on that fit every example, and where they lead."""
        shared, rests = [], []
        for goal, place, text, start in zip(self.goals, node, piece.texts, starts, strict=True):
            fitting = _shared_at(goal, place, text, start)
            if not fitting:
                return
            shared.append(fitting)
            rests.append(len(text) - start - fitting)
        if not any(rests):
            yield _Part(piece, starts, None), _moved(node, shared)
            return
        if piece.formed:
            return
        if len(set(rests)) == 1 and len(set(starts)) == 1 and len(set(shared)) > 1:
            yield _Part(piece, starts, None, rests[0]), _moved(node, shared)
        longest = min(size for size, rest in zip(shared, rests, strict=True) if rest)
        if longest > _LONGEST_CUT:
            return  # where a long text is cut is told by what stands there, not by counting
        for length in {longest, 1} if longest <= 3 else {longest}:
            taken = [min(size + rest, length) for size, rest in zip(shared, rests, strict=True)]
            yield _Part(piece, starts, length), _moved(node, taken)


def _moved(node: Node, taken: Sequence[int]) -> Node:
    return tuple(place + size for place, size in zip(node, taken, strict=True))


def _starts(piece: Piece, place: int) -> Iterator[tuple[int, ...]]:
    """The same place in every example: counted from the begin, and from the end."""
    if all(place < len(text) for text in piece.texts):
        yield (place,) * len(piece.texts)
    back = len(piece.texts[0]) - place
    from_end = tuple(len(text) - back for text in piece.texts)
    if min(from_end) >= 0 and len(set(from_end)) > 1:
        yield from_end


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


def _shared(one: str, other: str) -> int:
    return _shared_at(one, 0, other, 0)


def _shared_at(one: str, i: int, other: str, j: int) -> int:
    """How many characters are the same from these places on."""
    most = min(len(one) - i, len(other) - j)
    for k in range(most):
        if one[i + k] != other[j + k]:
            return k
    return most
