"""Find where a table begins, and which of its first rows are the header."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lakejoin.formats.delimited.celltypes import (
    CODE,
    EMPTY,
    MEASURES,
    NUMBER,
    TEXT,
    WORD,
    ColumnHints,
    cell_class,
)
from lakejoin.formats.delimited.cell_classes import Row, header_evidence

_LOOK_AHEAD = 60
_BODY_ROWS = 60
_MOST_HEADER_LINES = 5
# Files that usually have no header.
_BARE = (".dat", ".data")
_WORDS = frozenset((CODE, WORD, TEXT))
_LETTER = re.compile(r"[^\W\d_]")
_COMMENT = ("#", "%", "//", "--", "!")


@dataclass(frozen=True, slots=True)
class TableStart:
    """The first `skip` records precede the table; the next `header` ones name its columns."""

    skip: int
    header: int
    confidence: float


def find_start(rows: Sequence[Row], width: int, label: str = "") -> TableStart:
    """Find the start of the table in the first records of a file.

    >>> find_start([["Report"], [], ["id", "n"], ["1", "5"], ["2", "6"], ["3", "7"]], 2)
    Start(skip=2, header=1, confidence=1.0)
    """
    skip = _preamble(rows, width)
    rest = [row for row in rows[skip:] if row]
    if not rest:
        return TableStart(skip, 1, 0.5)
    lines = _header_lines(rows[skip:], width)
    if lines > 1:
        return TableStart(skip, lines, 0.8)
    prior = -0.1 if label.lower().endswith(_BARE) else 0.1
    evidence = header_evidence(rest[0], rest[1 : 1 + _BODY_ROWS], width, prior)
    return TableStart(skip, int(evidence >= 0), min(1.0, 0.5 + abs(evidence)))


def _header_lines(rows: Sequence[Row], width: int) -> int:
    """The number of records in a header of several; 0 if it has only one.

    A further record belongs to the header if it contains words, mostly above columns of measures,
    and either fills gaps of the first record or is complete (units, for example).
    """
    lines = 0
    gaps = {k for k, cell in enumerate(rows[0]) if not cell.strip()}
    for at in range(1, min(_MOST_HEADER_LINES, len(rows) - 3)):
        row, body = rows[at], [r for r in rows[at + 1 : at + 1 + _BODY_ROWS] if len(r) == width]
        if len(row) != width or len(body) < 3:
            break
        filled = [k for k, cell in enumerate(row) if cell.strip()]
        if not filled:
            continue
        if not all(_LETTER.search(row[k]) and cell_class(row[k]) in _WORDS for k in filled):
            break
        hints = ColumnHints.of(body, width)
        below = [k for k in filled if hints.main(k) in MEASURES]
        divides = not gaps.isdisjoint(filled) and 2 * len(below) >= len(filled)
        complete = len(filled) == width and len(below) >= 3
        if not (divides or complete or (lines > 1 and below)) or not _steady(hints, below):
            break
        lines = at + 1
    if lines > 1 and any(cell_class(cell) in MEASURES - {NUMBER} for cell in rows[0]):
        return 0
    return lines


def _steady(hints: ColumnHints, columns: Sequence[int]) -> bool:
    """Whether these columns contain almost only measures and gaps."""
    for k in columns:
        counts = hints.counts[k]
        words = sum(counts) - counts[EMPTY] - sum(counts[m] for m in MEASURES)
        if words > 0.1 * sum(counts):
            return False
    return True


def join_header_rows(rows: Sequence[Row], width: int) -> list[str]:
    """The column names of a header of several records: a gap takes the name to its left.

    >>> join_header_rows([["", "Men", ""], ["Year", "n", "%"]], 3)
    ['Year', 'Men n', 'Men %']
    """
    words: list[list[str]] = [[] for _ in range(width)]
    for index, row in enumerate(rows):
        lower = rows[index + 1 :]
        group = ""
        for k in range(width):
            cell = row[k].strip() if k < len(row) else ""
            divided = any(k < len(r) and r[k].strip() for r in lower)
            group = cell or (group if divided else "")
            if group and (cell or divided):
                words[k].append(group)
    return [" ".join(column) for column in words]


def _preamble(rows: Sequence[Row], width: int) -> int:
    """The number of records before the table: titles, notes and blank lines."""
    start = _blank_lead(rows)
    if width < 2:
        return start
    usual = sorted(_filled(row) for row in rows[:_LOOK_AHEAD] if len(row) == width)
    least = 0.25 * usual[len(usual) // 2] if usual else 0.0
    fitting = [
        at
        for at in range(start, min(len(rows), _LOOK_AHEAD))
        if rows[at] and _filled(rows[at]) >= least and _fits(rows[at], width)
    ]
    exact = [at for at in fitting if len(rows[at]) == width or at == fitting[0]]
    return next((at for at in exact if _continues(rows, at, width)), (*fitting, start)[0])


def _blank_lead(rows: Sequence[Row]) -> int:
    return next((i for i, row in enumerate(rows) if any(c.strip() for c in row)), 0)


def _filled(row: Row) -> int:
    return sum(1 for cell in row if cell.strip())


def _fits(row: Row, width: int) -> bool:
    """Whether a record can be a row of the table rather than a title above it."""
    filled = _filled(row)
    if row and row[0].lstrip().startswith(_COMMENT) and len(row) != width:
        return False
    if len(row) == width:
        # a single text is a title padded with delimiters; `,x` may be a header
        return filled > 1 or (filled == 1 and width == 2 and not row[0].strip())
    return abs(len(row) - width) <= max(1, width // 4) and filled >= max(2, 0.6 * width)


def _continues(rows: Sequence[Row], at: int, width: int) -> bool:
    """Whether the records after this one continue as a table.

    A record of another width counts as a damaged header only if the next record is not a header.
    """
    following = [row for row in rows[at + 1 : at + 6] if row]
    if not following:
        return False
    if len(rows[at]) == width:
        right = sum(1 for row in following if len(row) == width)
        return right * 3 >= len(following)
    if len(following[0]) != width:
        return False
    return header_evidence(following[0], following[1:], width) < 0.25
