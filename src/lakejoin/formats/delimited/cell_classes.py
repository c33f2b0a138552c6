"""Coarse classes of cells, and the votes by which they show whether a record is a header."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

Row = Sequence[str]

_YEAR = re.compile(r"\s*(?:1[5-9]|20|21)\d\d\s*")
_INTEGER = re.compile(r"\s*-?\d{1,9}\s*")
_PARTS = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+|[^\W\d_a-zA-Z]+")
_MARKS = {
    **dict.fromkeys(range(ord("0"), ord("9") + 1), "9"),
    **dict.fromkeys(range(ord("A"), ord("Z") + 1), "A"),
    **dict.fromkeys([*range(ord("a"), ord("z") + 1), *range(0xC0, 0x250)], "a"),
}
# Three patterns with plain replacements: a back-reference would be five times slower.
_RUNS = tuple((re.compile(f"{mark}{mark}+"), mark) for mark in "9Aa")
_SHAPED = 80  # characters that determine a text's shape
_WORDS = re.compile(r"(?:A?a )+(?=A?a)")
# Words that are far more frequent as column names than as values.
_COLUMN_WORDS = frozenset(  # easier to read as a text than as a list
    """id ids key code codes name names nom nombre title label type kind class category group status
    state country region city town county district address street zip postcode latitude longitude
    lat lon lng long date time year month day week timestamp start end begin from to value values
    count number no num nr total sum amount price cost rate percent pct share score rank population
    area gender sex age email phone url uri link website description desc comment comments note
    notes text source author language lang version size length width height weight color colour
    company organization organisation department unit units currency index idx row column field
    min max mean avg average median iso iata icao abbr abbreviation symbol parent user product item
    event place location station species term definition meaning alias first last""".split()  # noqa: SIM905
)


def header_evidence(head: Row, body: Sequence[Row], width: int, prior: float = 0.1) -> float:
    """Positive if the record names the columns of the rows below it, negative if it is a row.

    A word above numbers or dates is a name; a number above numbers is a value. Above texts, a name
    is a text that does not recur while values do, or differs in shape from all below.

    >>> header_evidence(["id", "town"], [["1", "Ulm"], ["2", "Bonn"]], 2) > 0
    True
    >>> header_evidence(["1", "Ulm"], [["2", "Bonn"], ["3", "Kiel"]], 2) > 0
    False
    """
    rows = [row for row in body if len(row) == width]
    filled = [cell for cell in head if cell.strip()]
    kinds = [cell_class(cell) for cell in head]
    if not rows:
        return -0.5 if any(kind in MEASURES for kind in kinds) else 0.5
    if not filled:
        return -1.0
    hints = ColumnHints.of(rows, width)
    series = _series(head, kinds, rows)
    votes = []
    for k, (cell, kind) in enumerate(zip(head[:width], kinds, strict=False)):
        votes.append(0.5 if k in series else _vote(cell, kind, k, rows, hints))
    if len(filled) > 1 and any(list(row) == list(head) for row in rows):
        # a record that recurs as a whole is a repeated header
        votes = [max(vote, 0.2) for vote in votes]
    repeats = len(filled) - len(set(filled))
    total = sum(votes) / max(1, len(votes)) - 0.5 * repeats / len(filled)
    # Nearly all files have a header, so without evidence there is one.
    return total + prior


def _vote(cell: str, kind: int, column: int, rows: Sequence[Row], hints: ColumnHints) -> float:
    main = hints.main_class(column)
    if main == EMPTY:
        return 0.1 if kind not in MEASURES else 0.0
    if kind == EMPTY:
        return -0.1
    if main in MEASURES:
        if kind not in MEASURES:
            return 1.0
        if kind in (DATE, TIME) and main == NUMBER:
            return 0.6
        return -1.0 if kind == main else -0.5
    if kind in MEASURES:
        return -0.6
    return _text_vote(cell, kind, [row[column] for row in rows if row[column].strip()])


def _text_vote(cell: str, kind: int, values: Sequence[str]) -> float:
    if not values:
        return 0.0
    vote = _looks_like_name(cell)
    if kind == OTHER:
        vote -= 0.2
    if cell in values:
        vote -= 0.6
    else:
        # If values recur, a text that does not is probably not a value.
        vote += 0.6 * (1 - len(set(values)) / len(values))
    shapes = Counter(map(_shape, values))
    share = shapes[_shape(cell)] / len(values)
    if len(values) >= 3:
        vote += 0.3 if share == 0 else -0.4 if share >= 0.3 else -0.2 if share >= 0.05 else 0.0
        lengths = sorted(map(len, values))
        vote += 0.0 if lengths[0] <= len(cell) <= lengths[-1] else 0.2
    words = {word for word in cell.split() if len(word) > 3}
    if len(words) > 1 and sum(1 for value in values if words & set(value.split())) >= 2:
        vote -= 0.3
    return max(-1.0, min(1.0, vote))


def _looks_like_name(cell: str) -> float:
    """How much a text looks like a column name."""
    words = [word.lower() for word in _PARTS.findall(cell)]
    if not words or len(words) > 6:
        return 0.4 if cell.rstrip().endswith(("?", ":")) else 0.0
    known = sum(1 for word in words if word in _COLUMN_WORDS)
    vote = 0.8 if known == len(words) else 0.5 if known else 0.0
    return vote + (0.3 if "_" in cell.strip("_") else 0.0)


def _shape(text: str) -> str:
    """The shape of a text, with one mark per run of capitals, small letters or digits."""
    marks = text[:_SHAPED].strip().translate(_MARKS)
    for run, mark in _RUNS:
        marks = run.sub(mark, marks)
    return _WORDS.sub("a ", marks) if " " in marks else marks


def _series(head: Row, kinds: Sequence[int], rows: Sequence[Row]) -> set[int]:
    """Columns named by a series, such as `1990,1991,1992` or `0,1,2,3` above other values."""
    whole = [k for k, cell in enumerate(head) if _INTEGER.fullmatch(cell)]
    if not whole or len(whole) < kinds.count(NUMBER):
        return set()
    values = [int(head[k]) for k in whole]
    years = all(_YEAR.fullmatch(head[k]) for k in whole)
    if len(values) > 1:
        steps = {b - a for a, b in pairwise(values)}
        rising = all(step > 0 for step in steps) or all(step < 0 for step in steps)
        if not rising or not (years or len(steps) == 1):
            return set()
    if len(values) < (1 if years else 3):
        return set()
    below = [row[k] for row in rows for k in whole if k < len(row) and row[k].strip()]
    alike = sum(1 for v in below if (_YEAR if years else _INTEGER).fullmatch(v))
    if alike < 0.2 * max(1, len(below)):
        return set(whole)
    return set() if years else _unlike_rows(values, whole, rows)


def _unlike_rows(values: list[int], columns: list[int], rows: Sequence[Row]) -> set[int]:
    """A series of integers above integers is a header only if no row is such a series."""
    for row in rows[:20]:
        numbers = [row[k] for k in columns if k < len(row)]
        if all(_INTEGER.fullmatch(n) for n in numbers):
            integers = list(map(int, numbers))
            if len({b - a for a, b in pairwise(integers)}) == 1:
                return set()
    return set(columns) if len(values) >= 5 else set()


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

        >>> ColumnHints.of([["1", "a"], ["2", "b"]], 2).main_class(0) == NUMBER
        True
        """
        columns = list(zip(*(row for row in rows if len(row) == width), strict=True))
        if not columns:
            return ColumnHints(((0,) * CLASSES,) * width)
        counts = (Counter(map(cell_class, column)) for column in columns)
        return ColumnHints(tuple(tuple(c.get(k, 0) for k in range(CLASSES)) for c in counts))

    def main_class(self, column: int) -> int:
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
