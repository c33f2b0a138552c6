"""Repair a record with the wrong number of cells: find the least damaging reading that fits.

The text is split at every delimiter. A cell is one field; or several fields between quotes; or, at
a cost, several fields whose delimiters are text. An empty field may be dropped and a column left
empty, also at a cost. Fields are assigned to columns in order so that the sum of these costs, and
of how badly each cell fits its column's class, is least (dynamic programming).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lakejoin.formats.delimited.cell_classes import ColumnHints
from lakejoin.formats.delimited.grammar import Grammar

_DROP, _LEAVE, _LEAVE_END, _JOIN, _STRAY, _LITERAL = 0.9, 0.9, 0.8, 1.1, 0.8, 0.7
_MOST_WORK = 20_000
_MOST_FIELDS = 1_000
_JOINED = 8
_CLOSERS = 4
_OTHER_DELIMITERS = (",", ";", "\t", "|", " ")

TOO_MANY_CELLS = "row with too many cells, repaired"
TOO_FEW_CELLS = "row with too few cells, filled with nulls"
STRAY_QUOTE = "row with a stray quote, repaired"
OTHER_DELIMITER = "row with another delimiter, repaired"


@dataclass(frozen=True, slots=True)
class FittedRecord:
    """A record's cells, None for a missing cell, and what was wrong with it."""

    cells: list[str | None]
    reason: str


def fit_record(
    text: str, cells: Sequence[str] | None, grammar: Grammar, width: int, hints: ColumnHints | None
) -> FittedRecord:
    """Fit a record that does not have `width` cells as written.

    `cells` are its cells if its quotes leave no doubt; otherwise None.

    >>> from lakejoin.model import Dialect
    >>> grammar = Grammar.of(Dialect())
    >>> hints = ColumnHints.of([["1", "Ulm", "7.5"], ["2", "Bonn", "8.1"]], 3)
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
            return FittedRecord(other, OTHER_DELIMITER)
    fields = list(cells)
    if len(fields) * width > _MOST_WORK or len(fields) > _MOST_FIELDS:
        fitted = _crude(fields, separator, width)
    else:
        quote = chr(grammar.quote) if doubtful and grammar.quote >= 0 else ""
        fitted = _Alignment(fields, separator, quote, width, hints).best()
    reason = STRAY_QUOTE if doubtful else TOO_MANY_CELLS if len(fields) > width else TOO_FEW_CELLS
    return FittedRecord(fitted, reason)


def _crude(fields: list[str], separator: str, width: int) -> list[str | None]:
    """For very wide records: keep the surplus as text in the last column."""
    if len(fields) > width:
        return [*fields[: width - 1], separator.join(fields[width - 1 :])]
    return [*fields, *([None] * (width - len(fields)))]


def _other_delimiter(
    text: str, grammar: Grammar, width: int, hints: ColumnHints
) -> list[str | None] | None:
    """The cells by another delimiter, if it fits without error and the cells fit the columns."""
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
    """The cells of a record; None if a quote is irregular."""
    cells: list[str] = []
    pending: list[str] = []
    for field_text in text.split(separator):
        pending.append(field_text)
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
    fields: list[str]
    separator: str
    quote: str
    width: int
    hints: ColumnHints | None

    def best(self) -> list[str | None]:
        """The cheapest assignment of fields to columns."""
        count, width = len(self.fields), self.width
        spans = [self._spans(i) for i in range(count)]
        cost = [[math.inf] * (width + 1) for _ in range(count + 1)]
        back: list[list[tuple[int, int, str | None, bool]]] = [
            [(0, 0, None, False)] * (width + 1) for _ in range(count + 1)
        ]
        cost[0][0] = 0.0
        for i in range(count + 1):
            for k in range(width + 1):
                if cost[i][k] == math.inf:
                    continue
                if k < width:
                    leave = (_LEAVE if i < count else _LEAVE_END) + self._fit(k, "")
                    self._offer(cost, back, (i, k), (i, k + 1), leave, None)
                if i == count:
                    continue
                if not self.fields[i].strip():
                    self._offer(cost, back, (i, k), (i + 1, k), _DROP, None)
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
            back[there[0]][there[1]] = (*here, text, there[1] > here[1])

    def _traced(self, back: list[list[tuple[int, int, str | None, bool]]]) -> list[str | None]:
        cells: list[str | None] = []
        i, k = len(self.fields), self.width
        while (i, k) != (0, 0):
            i, k, text, is_cell = back[i][k]
            if is_cell:
                cells.append(text)
        return cells[::-1]

    def _fit(self, column: int, text: str) -> float:
        return 0.0 if self.hints is None else self.hints.surprise(column, text)

    def _spans(self, first: int) -> list[tuple[int, str, float]]:
        """The cells that may begin at this field: the next field, their text, their cost."""
        field_text = self.fields[first]
        quote = self.quote
        cells = []
        stripped = field_text.strip()
        if not quote:
            cells.append((first + 1, field_text, 0.0))
            return cells + self._joined(first)
        if stripped.startswith(quote):
            cells += self._quoted(first, quote)
            if not (len(stripped) > 1 and stripped.endswith(quote)):
                cells.append((first + 1, field_text, _LITERAL))
        else:
            cells.append((first + 1, field_text, _LITERAL * (quote in field_text) * 0.5))
        return cells + self._joined(first)

    def _joined(self, first: int) -> list[tuple[int, str, float]]:
        """Cells of several fields whose delimiters are text, if there are too many fields."""
        cells = []
        surplus = len(self.fields) - self.width
        text = self.fields[first]
        end = min(len(self.fields), first + 1 + max(0, surplus))
        for last in range(first + 1, min(end, first + _JOINED)):
            text += self.separator + self.fields[last]
            literal = _LITERAL if self.quote and self.quote in text else 0.0
            cells.append((last + 1, text, _JOIN * (last - first) + literal))
        if end >= first + _JOINED:
            # All of a large surplus in one cell, so that some assignment always fits.
            text = self.separator.join(self.fields[first:end])
            cells.append((end, text, _JOIN * (end - 1 - first)))
        return cells

    def _quoted(self, first: int, quote: str) -> list[tuple[int, str, float]]:
        """Cells between the quote that opens this field and each quote that may close it."""
        cells: list[tuple[int, str, float]] = []
        text = ""
        for last in range(first, len(self.fields)):
            text += (self.separator if last > first else "") + self.fields[last]
            whole = text.strip()
            if len(whole) < 2 or not whole.endswith(quote):
                continue
            inner = whole[1:-1]
            strays = inner.replace(quote * 2, "").count(quote)
            cells.append((last + 1, inner.replace(quote * 2, quote), _STRAY * strays))
            if strays == 0 or len(cells) >= _CLOSERS:
                break
        return cells
