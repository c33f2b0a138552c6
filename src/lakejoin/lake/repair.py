"""A record that does not fit: the reading of its text with the least damage that does fit.

The text is cut at every delimiter. A cell is one piece; or several pieces between quotes; or, at a
price, several pieces whose delimiters were meant as text. A piece without text may be dropped and
a column left empty, at a price too. Pieces are assigned to columns in order so that the sum of the
prices, and of how badly each cell fits its column's kind, is least (dynamic programming).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lakejoin.lake.celltypes import Hints
from lakejoin.lake.grammar import Grammar

_DROP, _LEAVE, _LEAVE_END, _JOIN, _STRAY, _LITERAL = 0.9, 0.9, 0.8, 1.1, 0.8, 0.7
_MOST_WORK = 20_000
_MOST_PIECES = 1_000
_JOINED = 8
_CLOSERS = 4
_OTHER_DELIMITERS = (",", ";", "\t", "|", " ")

MANY = "row with too many cells was fitted"
FEW = "row with too few cells was filled up"
QUOTE = "row with a stray quote was fitted"
OTHER = "row with another delimiter was fitted"


@dataclass(frozen=True, slots=True)
class Fitted:
    """A record's cells, None where it has none for a column, and what was wrong with it."""

    cells: list[str | None]
    reason: str


def fit_record(
    text: str, cells: Sequence[str] | None, grammar: Grammar, width: int, hints: Hints | None
) -> Fitted:
    """The cells of a record that does not have `width` cells as it is written.

    `cells` are the record's cells where its quotes leave no doubt about them.

    >>> from lakejoin.model import Dialect
    >>> grammar = Grammar.of(Dialect())
    >>> hints = Hints.of([["1", "Ulm", "7.5"], ["2", "Bonn", "8.1"]], 3)
    >>> fit_record("3,,Aalen,2.5", ["3", "", "Aalen", "2.5"], grammar, 3, hints).cells
    ['3', 'Aalen', '2.5']
    >>> fit_record('4,"Kiel,3.5', None, grammar, 3, hints).cells
    ['4', '"Kiel', '3.5']
    """
    separator = grammar.separator.decode()
    doubtful = cells is None
    if cells is None:
        cells = text.split() if grammar.collapse else text.split(separator)
    if hints is not None and len(cells) != width:
        other = _other_delimiter(text, grammar, width, hints)
        if other is not None:
            return Fitted(other, OTHER)
    pieces = list(cells)
    if len(pieces) * width > _MOST_WORK or len(pieces) > _MOST_PIECES:
        fitted = _crude(pieces, separator, width)
    else:
        quote = chr(grammar.quote) if doubtful and grammar.quote >= 0 else ""
        fitted = _Alignment(pieces, separator, quote, width, hints).best()
    reason = QUOTE if doubtful else MANY if len(pieces) > width else FEW
    return Fitted(fitted, reason)


def _crude(pieces: list[str], separator: str, width: int) -> list[str | None]:
    """For very wide records: what is left over stays, as text, in the last column."""
    if len(pieces) > width:
        return [*pieces[: width - 1], separator.join(pieces[width - 1 :])]
    return [*pieces, *([None] * (width - len(pieces)))]


def _other_delimiter(
    text: str, grammar: Grammar, width: int, hints: Hints
) -> list[str | None] | None:
    """The cells where the record is flawless with another delimiter and looks like its table."""
    if width < 3 or grammar.quote < 0:
        return None
    for separator in _OTHER_DELIMITERS:
        if separator.encode() == grammar.separator or text.count(separator) < width - 1:
            continue
        cells = _strict_cells(text, separator, chr(grammar.quote))
        if cells is not None and len(cells) == width:
            misfit = sum(hints.surprise(k, cell) for k, cell in enumerate(cells))
            if misfit < 0.3 * width:
                return list(cells)
    return None


def _strict_cells(text: str, separator: str, quote: str) -> list[str] | None:
    """The cells of a record without any irregular quote; None where there is one."""
    cells: list[str] = []
    pending: list[str] = []
    for piece in text.split(separator):
        pending.append(piece)
        whole = separator.join(pending)
        if not whole.startswith(quote):
            if quote in whole:
                return None
            cells.append(whole)
        elif whole.count(quote) % 2:
            continue
        elif len(whole) > 1 and whole.endswith(quote):
            cells.append(whole[1:-1].replace(quote * 2, quote))
        else:
            return None
        pending = []
    return None if pending else cells


@dataclass(slots=True)
class _Alignment:
    pieces: list[str]
    separator: str
    quote: str
    width: int
    hints: Hints | None

    def best(self) -> list[str | None]:
        """The cheapest assignment of the pieces to the columns."""
        count, width = len(self.pieces), self.width
        spans = [self._spans(i) for i in range(count)]
        cost = [[math.inf] * (width + 1) for _ in range(count + 1)]
        back: list[list[tuple[int, int, str | None, bool]]] = [
            [(0, 0, None, False)] * (width + 1) for _ in range(count + 1)
        ]
        cost[0][0] = 0.0
        for i in range(count + 1):
            for k in range(width + 1):
                here = cost[i][k]
                if here == math.inf:
                    continue
                if k < width:
                    leave = (_LEAVE if i < count else _LEAVE_END) + self._fit(k, "")
                    self._offer(cost, back, (i, k), (i, k + 1), leave, None)
                if i == count:
                    continue
                if not self.pieces[i].strip():
                    step = (i + 1, k)
                    if here + _DROP < cost[i + 1][k]:
                        cost[i + 1][k] = here + _DROP
                        back[step[0]][step[1]] = (i, k, None, False)
                if k < width:
                    for j, text, price in spans[i]:
                        total = price + self._fit(k, text)
                        self._offer(cost, back, (i, k), (j, k + 1), total, text)
        return self._traced(back)

    def _offer(
        self,
        cost: list[list[float]],
        back: list[list[tuple[int, int, str | None, bool]]],
        here: tuple[int, int],
        there: tuple[int, int],
        price: float,
        text: str | None,
    ) -> None:
        total = cost[here[0]][here[1]] + price
        if total < cost[there[0]][there[1]]:
            cost[there[0]][there[1]] = total
            back[there[0]][there[1]] = (*here, text, True)

    def _traced(self, back: list[list[tuple[int, int, str | None, bool]]]) -> list[str | None]:
        cells: list[str | None] = []
        i, k = len(self.pieces), self.width
        while (i, k) != (0, 0):
            i, k, text, is_cell = back[i][k]
            if is_cell:
                cells.append(text)
        return cells[::-1]

    def _fit(self, column: int, text: str) -> float:
        return 0.0 if self.hints is None else self.hints.surprise(column, text)

    def _spans(self, first: int) -> list[tuple[int, str, float]]:
        """The cells that may begin at this piece: the piece after them, their text, their price."""
        piece = self.pieces[first]
        quote = self.quote
        found = []
        stripped = piece.strip()
        if not quote:
            found.append((first + 1, piece, 0.0))
            return found + self._joined(first)
        if stripped.startswith(quote):
            found += self._quoted(first, quote)
            if not (len(stripped) > 1 and stripped.endswith(quote)):
                found.append((first + 1, piece, _LITERAL))
        else:
            found.append((first + 1, piece, _LITERAL * (quote in piece) * 0.5))
        return found + self._joined(first)

    def _joined(self, first: int) -> list[tuple[int, str, float]]:
        """Cells of several pieces whose delimiters were meant as text, where there are too many."""
        found = []
        surplus = len(self.pieces) - self.width
        text = self.pieces[first]
        end = min(len(self.pieces), first + 1 + max(0, surplus))
        for last in range(first + 1, min(end, first + _JOINED)):
            text += self.separator + self.pieces[last]
            literal = _LITERAL if self.quote and self.quote in text else 0.0
            found.append((last + 1, text, _JOIN * (last - first) + literal))
        if end >= first + _JOINED:
            # All of a large surplus in one cell, so that there always is some way to fit.
            text = self.separator.join(self.pieces[first:end])
            found.append((end, text, _JOIN * (end - 1 - first)))
        return found

    def _quoted(self, first: int, quote: str) -> list[tuple[int, str, float]]:
        """Cells between the quote that opens this piece and each quote that may close it."""
        found: list[tuple[int, str, float]] = []
        text = ""
        for last in range(first, len(self.pieces)):
            text += (self.separator if last > first else "") + self.pieces[last]
            whole = text.strip()
            if len(whole) < 2 or not whole.endswith(quote):
                continue
            inner = whole[1:-1]
            strays = inner.replace(quote * 2, "").count(quote)
            found.append((last + 1, inner.replace(quote * 2, quote), _STRAY * strays))
            if strays == 0 or len(found) >= _CLOSERS:
                break
        return found
