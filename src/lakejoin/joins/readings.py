"""What can be read in a column? Its text, and the parts of it that other columns may agree with.

No program is learned here. A reading is one part of one column: a piece between separators that
most texts have, a number, the first or last word, all but the first or last word, no titles.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from lakejoin.joins.autojoin.forms import Form, Runs, rewritten
from lakejoin.joins.autojoin.programs import Extract, Split

Array = np.ndarray[Any, Any]
Texts = Sequence[str | None]

NOTHING = -1
_LONG = 200  # characters on average: such texts are only compared whole
_SEPARATORS = 6
_MOST = 0.6  # of the texts have a separator that is looked at
_PIECES = (0, 1, -1)
_FORMS = (Form.NO_FIRST_WORD, Form.NO_LAST_WORD, Form.NO_TITLES)
_RUNS = ((Runs.DIGITS, (0, 1, 2, -1, -2)), (Runs.WORDS, (0, -1)))
_INSIDE = {runs: re.compile(runs.inside) for runs, _ in _RUNS}


class Reader:
    """Reads columns of rows; equal texts get the same number in all of them, whatever their case.

    >>> parts, numbers = Reader().read("name", ["Ada Lovelace", "ADA", None])
    >>> len(parts), numbers.tolist()
    (3, [[0, 1, -1], [1, 1, -1], [2, 1, -1]])
    """

    def __init__(self) -> None:
        self._number: dict[str, int] = {}

    def read(
        self, column: str, texts: Texts, only: Collection[Extract] | None = None
    ) -> tuple[list[Extract], Array]:
        """All readings of a column that differ, the plainest of equal ones, and their numbers.

        `only` says which parts are to be read.
        """
        found: dict[bytes, tuple[Extract, Array]] = {}
        for part, read in _readings(column, texts):
            if only is not None and part not in only:
                continue
            numbers = self._numbers(read)
            if (numbers != NOTHING).any():
                found.setdefault(numbers.tobytes(), (part, numbers))
        parts = [part for part, _ in found.values()]
        return parts, np.array([n for _, n in found.values()]).reshape(len(parts), len(texts))

    def _numbers(self, texts: Texts) -> Array:
        known = self._number
        plain = (text.strip().lower() if text else "" for text in texts)
        return np.array([known.setdefault(t, len(known)) if t else NOTHING for t in plain])


def parts_of(column: str, texts: Texts) -> list[Extract]:
    """The parts that can be read in a column with texts like these, the plainest first.

    >>> [str(part.splits) for part in parts_of("day", ["Mon, 5 May"])][:3]
    ['()', "((' ', 0),)", "((' ', 1),)"]
    """
    return [part for part, _ in _readings(column, texts)]


def _readings(column: str, texts: Texts) -> Iterator[tuple[Extract, Texts]]:
    """The parts of a column, the plainest first, and what each gives."""
    yield Extract(column), texts
    there = [text for text in texts if text]
    if not there or sum(map(len, there)) >= _LONG * len(there):
        return
    pieces: list[tuple[Split, Texts]] = []
    for separator in _separators(there):
        parted = [None if text is None else text.split(separator) for text in texts]
        pieces += [((separator, piece), _each(parted, piece)) for piece in _PIECES]
    for runs, places in _RUNS:
        parted = [None if text is None else _INSIDE[runs].findall(text) for text in texts]
        pieces += [((runs, place), _each(parted, place)) for place in places]
    for split, read in pieces:
        yield Extract(column, (split,)), read
    for form in _FORMS:
        yield Extract(column, form=form), [t and rewritten(t, form) for t in texts]
    words = _INSIDE[Runs.WORDS]
    for split, read in pieces:
        parted = [None if text is None else words.findall(text) for text in read]
        for place in (0, -1):
            yield Extract(column, (split, (Runs.WORDS, place))), _each(parted, place)


def _each(parted: list[list[str] | None], place: int) -> list[str | None]:
    """One piece of every text; None where it has none such."""
    least = place + 1 if place >= 0 else -place
    return [pieces[place] if pieces and len(pieces) >= least else None for pieces in parted]


def _separators(texts: list[str]) -> list[str]:
    """What stands between words in most of the texts, the commonest first."""
    seen: Counter[str] = Counter()
    for text in texts:
        runs = set(re.findall(r"[^\w]+", text))
        seen.update(sorted(runs | {sign for run in runs for sign in run}))
    common = [sign for sign, count in seen.most_common() if count >= _MOST * len(texts)]
    return common[:_SEPARATORS]
