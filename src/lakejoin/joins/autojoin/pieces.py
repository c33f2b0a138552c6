"""What can be taken from a few example rows? Texts of columns and pieces of them, each once.

Many ways of splitting give the same pieces on three examples: they are one `Piece` with several
paths. Which path is meant is decided later, by what it gives on all rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lakejoin.joins.autojoin.programs import Split

Path = tuple[str, tuple[Split, ...]]
Rows = Sequence[dict[str, str | None]]

_MOST_PIECES = 5  # counted from each end
_MOST_SEPARATORS = 8
_MOST_PATHS = 8
_RUN = re.compile(r"[^\w]+|_+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A text of every example in lower case, and the ways to get it, simplest first."""

    texts: tuple[str, ...]
    paths: tuple[Path, ...]


def pieces_of(rows: Rows, columns: Sequence[str], depth: int = 2) -> list[Piece]:
    """The pieces that every example has, not empty in any, after up to `depth` splits.

    >>> rows = [{"name": "Obama, Barack"}, {"name": "Bush, George"}]
    >>> for piece in pieces_of(rows, ["name"], depth=1)[:3]:
    ...     print(piece.texts, piece.paths[0])
    ('obama, barack', 'bush, george') ('name', ())
    ('obama,', 'bush,') ('name', ((' ', 0),))
    ('barack', 'george') ('name', ((' ', 1),))
    """
    found: dict[tuple[str, ...], list[Path]] = {}
    wholes = [(column, texts) for column in columns if (texts := texts_of(rows, column))]
    once = [(column, *way) for column, texts in wholes for way in _split_each(texts)]
    for column, texts in wholes:
        _add(found, texts, (column, ()))
    for column, split, texts in once:
        _add(found, texts, (column, (split,)))
    for column, split, texts in once if depth > 1 else ():
        for second, smaller in _split_each(texts):
            if str(second[0]) not in str(split[0]):
                _add(found, smaller, (column, (split, second)))
    return [Piece(texts, tuple(paths)) for texts, paths in found.items()]


def texts_of(rows: Rows, column: str) -> tuple[str, ...]:
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


def _add(found: dict[tuple[str, ...], list[Path]], texts: tuple[str, ...], path: Path) -> None:
    if all(texts):
        paths = found.setdefault(texts, [])
        if len(paths) < _MOST_PATHS:
            paths.append(path)


def _split_each(texts: tuple[str, ...]) -> list[tuple[Split, tuple[str, ...]]]:
    """Every way to split the examples by one separator, and the pieces."""
    found: list[tuple[Split, tuple[str, ...]]] = []
    for separator in _separators(texts):
        parts = [text.split(separator) for text in texts]
        fewest = min(_MOST_PIECES, *(len(p) for p in parts))
        for k in (*range(fewest), *range(-1, -fewest - 1, -1)):
            found.append(((separator, k), tuple(p[k] for p in parts)))
    return found


def _separators(texts: tuple[str, ...]) -> list[str]:
    """What is neither letter nor digit: single characters and whole runs, the commonest first."""
    counts: dict[str, int] = {}
    for text in texts:
        runs = _RUN.findall(text)
        for separator in {c for run in runs for c in run} | {r for r in runs if len(r) <= 3}:
            counts[separator] = counts.get(separator, 0) + 1
    return sorted(counts, key=lambda s: (-counts[s], len(s), s))[:_MOST_SEPARATORS]
