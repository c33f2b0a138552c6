"""Programs from examples, the plain way: pieces as texts, one example after the other.

What `lakejoin.joins.learned.program_learner` does with numbers, this does with texts and
dictionaries.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import inf

from lakejoin.codegen.programs import Constant, Form, Runs, Split, rewrite_text
from lakejoin.joins.learned.program_learner import ProgramStep, _Edge, _operators_of, _SubstringPart
from lakejoin.joins.learned.substrings import Substring, SubstringPath, fold_case

Rows = Sequence[dict[str, str | None]]
Texts = tuple[str, ...]
Node = tuple[int, ...]

MOST_OPERATORS = 16
_MOST_NODES = 240
_MOST_STRETCHES = 30
_LONGEST_CUT = 10
_MOST_PIECES = 5
_MOST_SEPARATORS = 8
_MOST_PATHS = 8
_MOST_ALSO = 4
_WIDEST = 12
_RUN = re.compile(r"[^\w]+|_+")
_PADDED = (Form.SAME, Form.NO_ZEROS, Form.MONTH_NUMBER)


def learn(
    rows: Rows, targets: Sequence[str], columns: Sequence[str]
) -> tuple[ProgramStep, ...] | None:
    """The steps that make each target from its row, or None if no short program does."""
    if not rows or any(not target for target in targets):
        return None
    goals = tuple(fold_case(target) for target in targets)
    useful = [column for column in columns if _useful(texts_of(rows, column), goals)]
    if not _possible(rows, goals, useful):
        return None
    edges = _best_path(rows, goals, targets, useful)
    if edges is None or all(isinstance(edge, Constant) for edge in edges):
        return None
    return tuple(ProgramStep(tuple(_operators_of(edge))) for edge in edges)


def _best_path(
    rows: Rows, goals: tuple[str, ...], targets: Sequence[str], columns: Sequence[str]
) -> list[_Edge] | None:
    pieces = with_forms(pieces_of(rows, columns, 1), goals)
    stores = _stores(rows, goals, columns, pieces)
    edges = _Search(goals, targets, pieces, stores).run()
    if edges is None or not all(isinstance(edge, Constant) or edge.whole for edge in edges):
        # Many need one split only, which is found sooner among fewer pieces. But whole pieces of
        # pieces are plainer than pieces that are cut.
        known = {piece.texts for piece in pieces}
        deeper = [piece for piece in pieces_of(rows, columns, 2) if piece.texts not in known]
        edges = _Search(goals, targets, [*pieces, *deeper], stores).run() or edges
    return edges


def _stores(
    rows: Rows, goals: tuple[str, ...], columns: Sequence[str], pieces: Sequence[Substring]
) -> list[list[str]]:
    """The texts that each example's target is made of: constants are in any other target."""
    rewritten = [piece.texts for piece in pieces if piece.is_rewritten]
    return [
        [*(fold_case(row[column] or "") for column in columns), goals[i - 1]]
        + [texts[i] for texts in rewritten]
        for i, row in enumerate(rows)
    ]


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
        store = [*(fold_case(rows[i][column] or "") for column in columns), goals[i - 1]]
        if stretches(goal, store) > min(MOST_OPERATORS, 3 + len(goal) / 4):
            return False
    return True


def stretches(goal: str, store: Sequence[str]) -> float:
    """How many stretches of the texts a text takes, the longest each time; inf: too many."""
    place = taken = 0
    while place < len(goal):
        size = 1
        while place + size <= len(goal) and _is_held(goal[place : place + size], store):
            size += 1
        if size == 1 or taken > _MOST_STRETCHES:
            return inf
        place += size - 1
        taken += 1
    return taken


def _is_held(stretch: str, store: Sequence[str]) -> bool:
    return any(stretch in text for text in store)


def _effort(part: _SubstringPart) -> float:
    cut = any(part.starts) + (part.length is not None or part.drop > 0)
    return part.substring.paths[0].effort + 2.0 * cut


class _Search:
    def __init__(
        self,
        goals: tuple[str, ...],
        targets: Sequence[str],
        pieces: list[Substring],
        stores: list[list[str]],
    ):
        self.goals = goals
        # The fewest steps to the end from every place of every target.
        self.bounds = [
            [stretches(goal[place:], store) for place in range(len(goal) + 1)]
            for goal, store in zip(goals, stores, strict=True)
        ]
        self.targets = targets
        # Where each character occurs in the first example's pieces.
        self.places: dict[str, list[tuple[Substring, int]]] = {}
        wanted = set(goals[0])
        for piece in pieces:
            first = piece.texts[0][:1] if piece.is_rewritten else piece.texts[0]
            for place, character in enumerate(first):
                if character in wanted:
                    self.places.setdefault(character, []).append((piece, place))

    def run(self) -> list[_Edge] | None:
        """The edges of the best path."""
        start: Node = (0,) * len(self.goals)
        end: Node = tuple(len(goal) for goal in self.goals)
        order = count()
        queue: list[tuple[float, float, int, Node, tuple[_Edge, ...]]] = []
        if self.bound(start) <= MOST_OPERATORS:
            queue.append((self.bound(start), 0.0, 0, start, ()))
        done: set[tuple[Node, bool]] = set()
        while queue and len(done) < _MOST_NODES:
            _, effort, _, node, path = heapq.heappop(queue)
            if node == end:
                return list(path)
            after_constant = bool(path) and isinstance(path[-1], Constant)
            if (node, after_constant) in done:
                continue
            done.add((node, after_constant))
            if any(place == len(goal) for place, goal in zip(node, self.goals, strict=True)):
                continue
            edges = list(self._parts(node))
            if not after_constant:
                edges += self._constants(node)
            for edge, following, more in edges:
                whole = len(path) + 1 + self.bound(following)
                if whole <= MOST_OPERATORS and (following, isinstance(edge, Constant)) not in done:
                    entry = (whole, effort + more, next(order), following, (*path, edge))
                    heapq.heappush(queue, entry)
        return None

    def bound(self, node: Node) -> float:
        """The fewest steps to the end: as many as the example that needs the most."""
        return max(bounds[place] for bounds, place in zip(self.bounds, node, strict=True))

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
                    if (moved, _effort(part)) not in seen:
                        seen.add((moved, _effort(part)))
                        yield part, moved, _effort(part)

    def _cuts(
        self, node: Node, piece: Substring, starts: tuple[int, ...]
    ) -> Iterator[tuple[_SubstringPart, Node]]:
        """The parts from these places on that fit every example, and where they lead."""
        shared, rests = [], []
        for goal, place, text, start in zip(self.goals, node, piece.texts, starts, strict=True):
            fitting = _shared_at(goal, place, text, start)
            if not fitting:
                return
            shared.append(fitting)
            rests.append(len(text) - start - fitting)
        if not any(rests):
            yield _SubstringPart(piece, starts, None), _moved(node, shared)
            return
        if piece.is_rewritten:
            return
        if len(set(rests)) == 1 and len(set(starts)) == 1 and len(set(shared)) > 1:
            yield _SubstringPart(piece, starts, None, rests[0]), _moved(node, shared)
        longest = min(size for size, rest in zip(shared, rests, strict=True) if rest)
        if longest > _LONGEST_CUT:
            return  # where a long text is cut is told by what stands there, not by counting
        for length in {longest, 1} if longest <= 3 else {longest}:
            taken = [min(size + rest, length) for size, rest in zip(shared, rests, strict=True)]
            yield _SubstringPart(piece, starts, length), _moved(node, taken)


def _moved(node: Node, taken: Sequence[int]) -> Node:
    return tuple(place + size for place, size in zip(node, taken, strict=True))


def _starts(piece: Substring, place: int) -> Iterator[tuple[int, ...]]:
    """The same place in every example: counted from the begin, and from the end."""
    if all(place < len(text) for text in piece.texts):
        yield (place,) * len(piece.texts)
    back = len(piece.texts[0]) - place
    from_end = tuple(len(text) - back for text in piece.texts)
    if min(from_end) >= 0 and len(set(from_end)) > 1:
        yield from_end


def _shared(one: str, other: str) -> int:
    return _shared_at(one, 0, other, 0)


def _shared_at(one: str, i: int, other: str, j: int) -> int:
    """How many characters are the same from these places on."""
    most = min(len(one) - i, len(other) - j)
    for k in range(most):
        if one[i + k] != other[j + k]:
            return k
    return most


@dataclass(eq=False)
class _Found:
    """The pieces so far, by their texts."""

    paths: dict[Texts, list[SubstringPath]] = field(default_factory=dict)

    def add(self, texts: Texts, path: SubstringPath) -> None:
        if all(texts):
            known = self.paths.setdefault(texts, [])
            if len(known) < _MOST_PATHS:
                known.append(path)

    def pieces(self) -> list[Substring]:
        return [Substring(texts, tuple(paths)) for texts, paths in self.paths.items()]


def pieces_of(rows: Rows, columns: Sequence[str], depth: int = 2) -> list[Substring]:
    """The pieces that every example has, not empty in any, after up to `depth` splits."""
    found = _Found()
    wholes = [(column, texts) for column in columns if (texts := texts_of(rows, column))]
    once = [(column, *way) for column, texts in wholes for way in _split_each(texts)]
    for column, texts in wholes:
        found.add(texts, SubstringPath(column))
    for column, split, texts in once:
        found.add(texts, SubstringPath(column, (split,)))
    for column, split, texts in once if depth > 1 else ():
        for second, smaller in _split_each(texts):
            if str(second[0]) not in str(split[0]):
                found.add(smaller, SubstringPath(column, (split, second)))
    for column, texts in wholes:
        for split, smaller in _stretches(texts):
            found.add(smaller, SubstringPath(column, (split,)))
    return found.pieces()


def with_forms(pieces: Sequence[Substring], goals: Texts) -> list[Substring]:
    """The pieces and what forms and padding make of them, where every example's target holds it."""
    found, also = _Found(), _Found()
    plain = {piece.texts for piece in pieces}
    for piece in pieces:
        for texts, form, width in _rewritings(piece.texts, goals):
            path = SubstringPath(piece.paths[0].column, piece.paths[0].splits, form, width)
            (also if texts in plain else found).add(texts, path)
    known = [replace(p, also=tuple(also.paths.get(p.texts, ())[:_MOST_ALSO])) for p in pieces]
    return known + found.pieces()


def _rewritings(texts: Texts, goals: Texts) -> Iterator[tuple[Texts, Form, int]]:
    for form in Form:
        if not _may_change(texts, form):
            continue
        made = tuple(fold_case(rewrite_text(text, form) or "") for text in texts)
        if not all(made):
            continue
        if form and made != texts and _held(made, goals):
            yield made, form, 0
        if form in _PADDED and (form is Form.SAME or made != texts):
            yield from ((wide, form, width) for wide, width in _padded(made, goals))


def _padded(texts: Texts, goals: Texts) -> Iterator[tuple[Texts, int]]:
    """With zeros in front, to each width at which the targets hold them."""
    if not all(text.isalnum() for text in texts):
        return
    for width in range(min(map(len, texts)) + 1, _WIDEST + 1):
        wide = tuple(text.rjust(width, "0") for text in texts)
        if _held(wide, goals):
            yield wide, width


def _held(texts: Texts, goals: Texts) -> bool:
    return all(text in goal for text, goal in zip(texts, goals, strict=True))


def _may_change(texts: Texts, form: Form) -> bool:
    """Whether it is worth rewriting them: most forms change few texts."""
    if form is Form.SAME:
        return any("0" <= text[0] <= "9" or len(text) < _WIDEST for text in texts)
    if form is Form.NO_ZEROS:
        return any(text[0] == "0" for text in texts)
    if form is Form.NO_COMMAS:
        return any("," in text for text in texts)
    if form is Form.MONTH_NUMBER:
        return all(text[:3].isalpha() for text in texts)
    if form in (Form.MONTH_NAME, Form.MONTH_SHORT):
        return all(len(text) <= 2 and text.isdigit() for text in texts)
    return any(not text.isalnum() for text in texts)


def texts_of(rows: Rows, column: str) -> Texts:
    """The column's texts in lower case, none if an example lacks it."""
    whole = [row[column] for row in rows]
    return tuple(fold_case(text) for text in whole if text) if all(whole) else ()


def _split_each(texts: Texts) -> list[tuple[Split, Texts]]:
    """Every way to split the examples by one separator, and the pieces."""
    found: list[tuple[Split, Texts]] = []
    for separator in _separators(texts):
        parts = [text.split(separator) for text in texts]
        found += [((separator, k), pieces) for k, pieces in _each(parts)]
    return found


def _stretches(texts: Texts) -> list[tuple[Split, Texts]]:
    """The stretches of digits, letters and words of the examples."""
    found: list[tuple[Split, Texts]] = []
    for runs in Runs:
        parts = [re.findall(runs.inside, text) for text in texts]
        if any(len(p) > 1 or p != [text] for p, text in zip(parts, texts, strict=True)):
            found += [((runs, k), pieces) for k, pieces in _each(parts)]
    return found


def _each(parts: list[list[str]]) -> Iterator[tuple[int, Texts]]:
    """The pieces that all have, counted from both ends."""
    fewest = min(_MOST_PIECES, *(len(p) for p in parts))
    for k in (*range(fewest), *range(-1, -fewest - 1, -1)):
        yield k, tuple(p[k] for p in parts)


def _separators(texts: Texts) -> list[str]:
    """What is neither letter nor digit: single characters and whole runs, the commonest first."""
    counts: dict[str, int] = {}
    for text in texts:
        runs = _RUN.findall(text)
        for separator in {c for run in runs for c in run} | {r for r in runs if len(r) <= 3}:
            counts[separator] = counts.get(separator, 0) + 1
    return sorted(counts, key=lambda s: (-counts[s], len(s), s))[:_MOST_SEPARATORS]
