"""What can be taken from a few example rows? Texts of columns and pieces of them, each once.

Many ways of splitting give the same pieces on three examples: they are one `Piece` with several
paths. Which path is meant is decided later, by what it gives on all rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from lakejoin.joins.autojoin.forms import Form, Runs, rewritten
from lakejoin.joins.autojoin.programs import Split

Rows = Sequence[dict[str, str | None]]
Texts = tuple[str, ...]

_MOST_PIECES = 5  # counted from each end
_MOST_SEPARATORS = 8
_MOST_PATHS = 8
_MOST_ALSO = 4
_WIDEST = 12  # that a text is padded to
_RUN = re.compile(r"[^\w]+|_+")
_PADDED = (Form.SAME, Form.NO_ZEROS, Form.MONTH_NUMBER)


@dataclass(frozen=True, slots=True)
class Path:
    """A way to get a piece: a column, how it is split, and how the piece is rewritten."""

    column: str
    splits: tuple[Split, ...] = ()
    form: Form = Form.SAME
    width: int = 0


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

    @property
    def effort(self) -> float:
        """How far it is from a plain column."""
        path = self.paths[0]
        parted = any(isinstance(separator, Runs) for separator, _ in path.splits)
        return len(path.splits) + 0.5 * parted + 1.5 * bool(path.form) + 1.0 * bool(path.width)


@dataclass(eq=False)
class _Found:
    """The pieces so far, by their texts."""

    paths: dict[Texts, list[Path]] = field(default_factory=dict)

    def add(self, texts: Texts, path: Path) -> None:
        if all(texts):
            known = self.paths.setdefault(texts, [])
            if len(known) < _MOST_PATHS:
                known.append(path)

    def pieces(self) -> list[Piece]:
        return [Piece(texts, tuple(paths)) for texts, paths in self.paths.items()]


def pieces_of(rows: Rows, columns: Sequence[str], depth: int = 2) -> list[Piece]:
    """The pieces that every example has, not empty in any, after up to `depth` splits.

    >>> rows = [{"name": "Obama, Barack"}, {"name": "Bush, George"}]
    >>> for piece in pieces_of(rows, ["name"], depth=1)[:3]:
    ...     print(piece.texts, piece.paths[0].splits)
    ('obama, barack', 'bush, george') ()
    ('obama,', 'bush,') ((' ', 0),)
    ('barack', 'george') ((' ', 1),)
    """
    found = _Found()
    wholes = [(column, texts) for column in columns if (texts := texts_of(rows, column))]
    once = [(column, *way) for column, texts in wholes for way in _split_each(texts)]
    for column, texts in wholes:
        found.add(texts, Path(column))
    for column, split, texts in once:
        found.add(texts, Path(column, (split,)))
    for column, split, texts in once if depth > 1 else ():
        for second, smaller in _split_each(texts):
            if str(second[0]) not in str(split[0]):
                found.add(smaller, Path(column, (split, second)))
    for column, texts in wholes:
        for split, smaller in _stretches(texts):
            found.add(smaller, Path(column, (split,)))
    return found.pieces()


def with_forms(pieces: Sequence[Piece], goals: Texts) -> list[Piece]:
    """The pieces and what forms and padding make of them, where every example's target holds it.

    >>> rows = [{"day": "5 March"}, {"day": "12 June"}]
    >>> for piece in with_forms(pieces_of(rows, ["day"], 1), ("05-03", "12-06")):
    ...     if piece.formed:
    ...         print(piece.texts, piece.paths[0].form, piece.paths[0].width)
    ('05', '12')  2
    ('3', '6') month_number 0
    ('03', '06') month_number 2
    """
    found, also = _Found(), _Found()
    plain = {piece.texts for piece in pieces}
    for piece in pieces:
        for texts, form, width in _rewritings(piece.texts, goals):
            path = Path(piece.paths[0].column, piece.paths[0].splits, form, width)
            (also if texts in plain else found).add(texts, path)
    known = [replace(p, also=tuple(also.paths.get(p.texts, ())[:_MOST_ALSO])) for p in pieces]
    return known + found.pieces()


def _rewritings(texts: Texts, goals: Texts) -> Iterator[tuple[Texts, Form, int]]:
    for form in Form:
        if not _may_change(texts, form):
            continue
        made = tuple(folded(rewritten(text, form) or "") for text in texts)
        if not all(made):
            continue
        if form and made != texts and _held(made, goals):
            yield made, form, 0
        if form in _PADDED:
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
    return tuple(folded(text) for text in whole if text) if all(whole) else ()


def folded(text: str) -> str:
    """The text in lower case with every character in its place.

    >>> folded("İstanbul"), folded("ÉCOLE")
    ('İstanbul', 'école')
    """
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


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
