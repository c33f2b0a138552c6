"""Readings of a column: its text, and parts of it that other columns may agree with.

No program is learned here. A reading is one part of a column: the text between common separators,
a number, the first or last word, all but the first or last word, the text without titles.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from lakejoin.codegen.forms import Form, Runs, rewrite_text
from lakejoin.codegen.programs import Extract, Split

Array = np.ndarray[Any, Any]
Texts = Sequence[str | None]

NO_TEXT = -1
_LONG = 200  # mean characters from which on texts are only compared whole
_SEPARATORS = 6
_MOST = 0.6  # least share of texts that contain a separator
_INDEXES = (0, 1, -1)
_FORMS = (Form.NO_FIRST_WORD, Form.NO_LAST_WORD, Form.NO_TITLES)
_RUNS = ((Runs.DIGITS, (0, 1, 2, -1, -2)), (Runs.WORDS, (0, -1)))
_INSIDE = {runs: re.compile(runs.inside) for runs, _ in _RUNS}


class Reader:
    """Reads columns; equal texts get the same code in all of them, ignoring case.

    >>> parts, codes = Reader().read("name", ["Ada Lovelace", "ADA", None])
    >>> len(parts), codes.tolist()
    (3, [[0, 1, -1], [1, 1, -1], [2, 1, -1]])
    """

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def read(
        self, column: str, texts: Texts, only: Collection[Extract] | None = None
    ) -> tuple[list[Extract], Array]:
        """The distinct readings of a column, the simplest of equal ones, and their codes.

        `only` restricts which parts are read.
        """
        found: dict[bytes, tuple[Extract, Array]] = {}
        for part, read in _readings(column, texts):
            if only is not None and part not in only:
                continue
            codes = self._encode(read)
            if (codes != NO_TEXT).any():
                found.setdefault(codes.tobytes(), (part, codes))
        parts = [part for part, _ in found.values()]
        return parts, np.array([n for _, n in found.values()]).reshape(len(parts), len(texts))

    def _encode(self, texts: Texts) -> Array:
        known = self._codes
        plain = (text.strip().lower() if text else "" for text in texts)
        return np.array([known.setdefault(t, len(known)) if t else NO_TEXT for t in plain])


def readable_parts(column: str, texts: Texts) -> list[Extract]:
    """The parts that can be read from a column with such texts, simplest first.

    >>> [str(part.splits) for part in readable_parts("day", ["Mon, 5 May"])][:3]
    ['()', "((' ', 0),)", "((' ', 1),)"]
    """
    return [part for part, _ in _readings(column, texts)]


def _readings(column: str, texts: Texts) -> Iterator[tuple[Extract, Texts]]:
    """The parts of a column, simplest first, and the texts that each gives."""
    yield Extract(column), texts
    there = [text for text in texts if text]
    if not there or sum(map(len, there)) >= _LONG * len(there):
        return
    substrings: list[tuple[Split, Texts]] = []
    for separator in _separators(there):
        parts = [None if text is None else text.split(separator) for text in texts]
        substrings += [((separator, index), _nth_parts(parts, index)) for index in _INDEXES]
    for runs, indexes in _RUNS:
        parts = [None if text is None else _INSIDE[runs].findall(text) for text in texts]
        substrings += [((runs, index), _nth_parts(parts, index)) for index in indexes]
    for split, read in substrings:
        yield Extract(column, (split,)), read
    for form in _FORMS:
        yield Extract(column, form=form), [t and rewrite_text(t, form) for t in texts]
    words = _INSIDE[Runs.WORDS]
    for split, read in substrings:
        parts = [None if text is None else words.findall(text) for text in read]
        for index in (0, -1):
            yield Extract(column, (split, (Runs.WORDS, index))), _nth_parts(parts, index)


def _nth_parts(parts: list[list[str] | None], index: int) -> list[str | None]:
    """One part of every text; None if the text has fewer parts."""
    least = index + 1 if index >= 0 else -index
    return [of_text[index] if of_text and len(of_text) >= least else None for of_text in parts]


def _separators(texts: list[str]) -> list[str]:
    """The separators between words in most of the texts, most common first."""
    seen: Counter[str] = Counter()
    for text in texts:
        runs = set(re.findall(r"[^\w]+", text))
        seen.update(sorted(runs | {sign for run in runs for sign in run}))
    common = [sign for sign, count in seen.most_common() if count >= _MOST * len(texts)]
    return common[:_SEPARATORS]
