"""Where does the table begin, and is its first row a header?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lakejoin.lake.celltypes import (
    CODE,
    EMPTY,
    MEASURES,
    NUMBER,
    OTHER,
    TEXT,
    WORD,
    Hints,
    cell_class,
)

_LOOK_AHEAD = 60
_BODY_ROWS = 100
_MOST_HEADER_LINES = 5
_YEAR = re.compile(r"\s*(?:1[5-9]|20|21)\d\d\s*")
_COMMENT = ("#", "%", "//", "--", "!")

Row = Sequence[str]


@dataclass(frozen=True, slots=True)
class Start:
    """The first `skip` records are no part of the table; the next `header` ones name columns."""

    skip: int
    header: int
    confidence: float


def find_start(rows: Sequence[Row], width: int) -> Start:
    """Looks for the first record of the table among the first records of a file.

    >>> find_start([["Report"], [], ["id", "n"], ["1", "5"], ["2", "6"], ["3", "7"]], 2)
    Start(skip=2, header=1, confidence=1.0)
    """
    skip = _preamble(rows, width)
    rest = [row for row in rows[skip:] if row]
    if not rest:
        return Start(skip, 1, 0.5)
    lines = _header_lines(rows[skip:], width)
    if lines > 1:
        return Start(skip, lines, 0.8)
    evidence = header_evidence(rest[0], rest[1 : 1 + _BODY_ROWS], width)
    return Start(skip, int(evidence >= 0), min(1.0, 0.5 + abs(evidence)))


def _header_lines(rows: Sequence[Row], width: int) -> int:
    """How many records the header takes where it takes several; 0 where it does not.

    The second and third record belong to it where they are words above columns of measures.
    """
    lines = 0
    for at in range(1, min(_MOST_HEADER_LINES, len(rows) - 3)):
        row, body = rows[at], [r for r in rows[at + 1 : at + 1 + _BODY_ROWS] if len(r) == width]
        if len(row) != width or len(body) < 3:
            break
        filled = [k for k, cell in enumerate(row) if cell.strip()]
        if not filled:
            continue
        hints = Hints.of(body, width)
        below = [k for k in filled if hints.main(k) in MEASURES]
        words = [k for k in filled if cell_class(row[k]) in (CODE, WORD, TEXT)]
        if len(words) < len(filled) or 2 * len(below) < len(filled) or not _steady(hints, below):
            break
        lines = at + 1
    if lines > 1 and any(cell_class(cell) in MEASURES - {NUMBER} for cell in rows[0]):
        return 0
    return lines


def _steady(hints: Hints, columns: Sequence[int]) -> bool:
    """Whether these columns hold hardly anything but measures and gaps."""
    for k in columns:
        counts = hints.counts[k]
        words = sum(counts) - counts[EMPTY] - sum(counts[m] for m in MEASURES)
        if words > 0.1 * sum(counts):
            return False
    return True


def joined_header(rows: Sequence[Row], width: int) -> list[str]:
    """The names that a header of several records gives: a gap takes the name to its left.

    >>> joined_header([["", "Men", ""], ["Year", "n", "%"]], 3)
    ['Year', 'Men n', 'Men %']
    """
    parts: list[list[str]] = [[] for _ in range(width)]
    for number, row in enumerate(rows):
        lower = rows[number + 1 :]
        group = ""
        for k in range(width):
            cell = row[k].strip() if k < len(row) else ""
            divided = any(k < len(r) and r[k].strip() for r in lower)
            group = cell or (group if divided else "")
            if group and (cell or divided):
                parts[k].append(group)
    return [" ".join(part) for part in parts]


def _preamble(rows: Sequence[Row], width: int) -> int:
    """How many records stand before the table: titles, notes and blank lines."""
    if width < 2:
        return _blank_lead(rows)
    last = min(len(rows), _LOOK_AHEAD)
    start = _blank_lead(rows)
    for at in range(start, last):
        if not rows[at]:
            continue
        if _fits(rows[at], width) and _holds(rows, at, width):
            return at
    return start


def _blank_lead(rows: Sequence[Row]) -> int:
    return next((i for i, row in enumerate(rows) if any(c.strip() for c in row)), 0)


def _fits(row: Row, width: int) -> bool:
    """Whether a record can be a row of the table rather than a title above it."""
    filled = sum(1 for cell in row if cell.strip())
    if row and row[0].lstrip().startswith(_COMMENT) and len(row) != width:
        return False
    if len(row) == width:
        # one text alone is a title, padded with delimiters; `,x` may be a header
        return filled > 1 or (filled == 1 and width == 2 and not row[0].strip())
    return abs(len(row) - width) <= max(1, width // 4) and filled >= max(2, 0.6 * width)


def _holds(rows: Sequence[Row], at: int, width: int) -> bool:
    """Whether the records after this one go on as a table.

    A record of another width is only believed to be a damaged header where what follows is not
    itself a header.
    """
    following = [row for row in rows[at + 1 : at + 6] if row]
    if not following:
        return True
    if len(rows[at]) == width:
        right = sum(1 for row in following if len(row) == width)
        return right * 2 >= len(following)
    if len(following[0]) != width:
        return False
    return header_evidence(following[0], following[1:], width) < 0.25


def header_evidence(head: Row, body: Sequence[Row], width: int) -> float:
    """Positive where the record names the columns of the rows below it, negative where it is one.

    Each column votes: a word above numbers or dates is a name, a number above numbers is a value;
    among texts, one that differs in shape from all below is a name, one that recurs is a value.
    """
    rows = [row for row in body if len(row) == width]
    filled = [cell for cell in head if cell.strip()]
    kinds = [cell_class(cell) for cell in head]
    if not rows:
        return -0.5 if any(kind in MEASURES for kind in kinds) else 0.5
    if not filled:
        return -1.0
    hints = Hints.of(rows, width)
    votes = [
        _vote(cell, kind, column, rows, hints)
        for column, (cell, kind) in enumerate(zip(head, kinds, strict=True))
        if column < width
    ]
    if any(list(row) == list(head) for row in rows) and len(filled) > 1:
        # a whole record that comes again is a header that is repeated
        votes = [max(vote, 0.2) for vote in votes]
    total = sum(votes) / max(1, len(votes))
    repeats = len(filled) - len(set(filled))
    total -= 0.5 * repeats / len(filled)
    if _years(head, kinds, rows):
        total += 0.6
    if any(len(cell) > 120 for cell in filled):
        total -= 0.2
    # Nearly all files have a header, so that no evidence either way means one.
    return total + 0.05


def _vote(cell: str, kind: int, column: int, rows: Sequence[Row], hints: Hints) -> float:
    main = hints.main(column)
    if main == EMPTY:
        return 0.1 if kind in (WORD, TEXT) else 0.0
    if kind == EMPTY:
        return -0.1
    if main in MEASURES:
        if kind in MEASURES:
            return -1.0 if kind == main or {kind, main} <= MEASURES else -0.5
        return 1.0
    if kind in MEASURES:
        return -0.6
    values = [row[column] for row in rows]
    if cell in values:
        return -0.6
    if main == CODE:
        return _shape_vote(cell, values)
    if kind == OTHER:
        return -0.3
    if main == TEXT and kind == WORD:
        return 0.4
    if main == WORD and kind in (WORD, CODE):
        return _shape_vote(cell, values)
    return 0.1


def _shape_vote(cell: str, values: Sequence[str]) -> float:
    """Names differ from codes in shape: `IATA` above `ATL`, `id` above `Q42`."""
    shapes = Counter(_shape(v) for v in values if v.strip())
    if not shapes:
        return 0.0
    common, count = shapes.most_common(1)[0]
    if count < 0.8 * sum(shapes.values()):
        lengths = [len(v) for v in values if v.strip()]
        return 0.1 if min(lengths) <= len(cell) <= max(lengths) else 0.3
    return -0.7 if _shape(cell) == common else 0.7


def _shape(text: str) -> str:
    text = re.sub(r"\d", "9", text.strip())
    text = re.sub(r"[A-Z]", "A", text)
    return re.sub(r"[^\W\d_A]", "a", text)


def _years(head: Row, kinds: Sequence[int], rows: Sequence[Row]) -> bool:
    """`Country,1990,1991,1992`: rising years above values that are none."""
    years = [i for i, cell in enumerate(head) if _YEAR.fullmatch(cell)]
    if len(years) < 2 or len(years) < kinds.count(NUMBER):
        return False
    values = [int(head[i]) for i in years]
    if sorted(set(values)) != values and sorted(set(values), reverse=True) != values:
        return False
    below = [row[i] for row in rows for i in years if i < len(row) and row[i].strip()]
    return sum(1 for v in below if _YEAR.fullmatch(v)) < 0.2 * max(1, len(below))
