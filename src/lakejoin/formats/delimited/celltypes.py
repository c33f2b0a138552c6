"""Coarse classes of cells, by which columns, headers and dialects are recognised."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

EMPTY, NUMBER, MONEY, DATE, TIME, ADDRESS, CODE, WORD, TEXT, OTHER = range(10)
CLASSES = 10
MEASURES = frozenset((NUMBER, MONEY, DATE, TIME))

_NUMBER = r"[+-]?(?:\d{1,3}(?:[, ]\d{3})+(?:\.\d+)?|\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_CLOCK = (
    r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?[ap]\.?m\.?)?(?:\s?(?:Z|UTC|[+-]\d{2}:?\d{2}))?"
)
_DAY = (
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}"
    rf"|\d{{1,2}}[-/. ]{_MONTH}[-/., ]\s?\d{{2,4}}|{_MONTH}[-/. ]\s?\d{{1,2}},?\s\d{{2,4}}"
    rf"|\d{{1,2}}[-/ ]{_MONTH}|{_MONTH}[-/ ]\d{{2,4}})"
)
_PATTERN = re.compile(
    r"\s*(?:"
    r"(?P<c0>|n/?a|nan|null|none|-+|\?|\.+|\\n)"
    rf"|(?P<c1>{_NUMBER})"
    rf"|(?P<c2>(?:[$€£¥]|[a-z]{{3}}\s)\s?{_NUMBER}|\(?[$€£¥]?{_NUMBER}\)?\s?[%$€£¥]|-?[$€£¥]{_NUMBER})"
    rf"|(?P<c3>{_DAY}(?:[T ]\s?{_CLOCK})?)"
    rf"|(?P<c4>{_CLOCK})"
    r"|(?P<c5>(?:https?|ftp)://\S+|www\.\S+|[\w.+-]+@[\w-]+\.[\w.-]+|\d+\.\d+\.\d+\.\d+)"
    r"|(?P<c6>(?=[^\s]*\d)[\w./#:+*&()@=-]+)"
    r"|(?P<c7>[^\W\d](?:[\w.'’/&()\[\]:+-]*))"
    r"|(?P<c8>[\w'‘’“”(\[@#&*+%$£€/<>=~.-][^;|\t^\"]*)"
    r")\s*",
    re.IGNORECASE | re.DOTALL,
)


@lru_cache(maxsize=8192)
def cell_class(text: str) -> int:
    """The class of a cell.

    >>> [cell_class(t) for t in ("", "1,200.5", "2020-01-31", "AB-12", "Ulm", "a b", 'x;"y')]
    [0, 1, 3, 6, 7, 8, 9]
    """
    match = _PATTERN.fullmatch(text[:200])
    return OTHER if match is None or match.lastgroup is None else int(match.lastgroup[1:])


@dataclass(frozen=True, slots=True)
class ColumnHints:
    """How often each class occurs in each column of the first rows."""

    counts: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(rows: Iterable[Sequence[str]], width: int) -> ColumnHints:
        """Count the classes in rows that have `width` cells.

        >>> ColumnHints.of([["1", "a"], ["2", "b"]], 2).main(0) == NUMBER
        True
        """
        columns = list(zip(*(row for row in rows if len(row) == width), strict=True))
        if not columns:
            return ColumnHints(((0,) * CLASSES,) * width)
        counts = (Counter(map(cell_class, column)) for column in columns)
        return ColumnHints(tuple(tuple(c.get(k, 0) for k in range(CLASSES)) for c in counts))

    def main(self, column: int) -> int:
        """The most frequent class of a column's filled cells; EMPTY if it has none."""
        filled = self.counts[column][1:]
        most = max(filled)
        return EMPTY if most == 0 else filled.index(most) + 1

    def surprise(self, column: int, text: str) -> float:
        """How badly a cell fits a column: 0 for the usual class, at most 1."""
        counts = self.counts[column]
        share = (counts[cell_class(text)] + 0.25) / (sum(counts) + 0.25 * CLASSES)
        usual = (max(counts) + 0.25) / (sum(counts) + 0.25 * CLASSES)
        return min(1.0, 0.25 * math.log(usual / share))
