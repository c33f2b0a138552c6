"""The grammar of a dialect, and the records and cells of a text by it."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

import numpy as np

from lakejoin.model import Array, Dialect

BLANK_RUNS = " +"
_LF, _CR = 10, 13
_SAMPLED = 400  # records


@dataclass(frozen=True, slots=True)
class Grammar:
    """A dialect as the parser needs it: delimiter " +" is a run of blanks, ", " a comma and blanks.

    >>> Grammar.of(Dialect(delimiter=", ")).separator
    b','
    """

    separator: bytes
    quote: int
    escape: int
    lone_cr: bool
    skip_blanks: bool
    collapse: bool

    @staticmethod
    def of(dialect: Dialect) -> Grammar:
        text = dialect.delimiter
        collapse = text == BLANK_RUNS
        skip = len(text) == 2 and text[1] == " " and text[0] != " "
        separator = " " if collapse else text[0] if skip else text
        return Grammar(
            separator.encode(),
            ord(dialect.quote) if dialect.quote else -1,
            ord(dialect.escape) if dialect.escape else -1,
            dialect.newline == "\r",
            skip,
            collapse,
        )

    @property
    def simple(self) -> bool:
        """Whether ordinary CSV readers support this grammar."""
        plain = len(self.separator) == 1 and not (self.collapse or self.skip_blanks)
        return plain and self.escape < 0 and not self.lone_cr


@dataclass(frozen=True, slots=True)
class Tokens:
    """Positions of records and cells in `data`; see `lakejoin.kernels.delimited_text`."""

    data: Array
    starts: Array
    ends: Array
    kinds: Array
    row_cell: Array
    row_start: Array
    row_kind: Array
    used: int

    @property
    def rows(self) -> int:
        return len(self.row_kind)

    def raw(self, row: int) -> bytes:
        """The text of a record without its line end."""
        text = bytes(self.data[self.row_start[row] : self.row_start[row + 1]])
        return text.removesuffix(b"\n").rstrip(b"\r")


def tokenize(data: bytes, grammar: Grammar, final: bool, reach: int = 1 << 25) -> Tokens:
    """Tokenize the complete records of `data`; bytes after `used` belong to the next block."""
    from lakejoin.kernels import delimited_text as kernel

    array = np.frombuffer(data, dtype=np.uint8)
    separator = np.frombuffer(grammar.separator, dtype=np.uint8)
    lines = data.count(b"\n") + data.count(b"\r") + 2
    most = data.count(grammar.separator[:1]) + lines + 2
    starts, ends = np.empty(most, np.int64), np.empty(most, np.int64)
    kinds = np.empty(most, np.uint8)
    row_cell, row_start = np.empty(lines + 1, np.int64), np.empty(lines + 1, np.int64)
    row_kind = np.empty(lines + 1, np.uint8)
    rows, cells, used = kernel.tokenize(
        array,
        separator,
        grammar.quote,
        grammar.escape,
        grammar.lone_cr,
        grammar.skip_blanks,
        grammar.collapse,
        final,
        reach,
        starts,
        ends,
        kinds,
        row_cell,
        row_start,
        row_kind,
    )
    return Tokens(
        array,
        starts[:cells],
        ends[:cells],
        kinds[:cells],
        row_cell[: rows + 1],
        row_start[: rows + 1],
        row_kind[:rows],
        int(used),
    )


def quotes_are_regular(data: Array, grammar: Grammar) -> bool:
    """Whether every quote of complete records opens or closes a cell or is doubled.

    Only then do quotes alternate, so that their parity shows where records end.

    >>> data = np.frombuffer(b'a,"b ""c"" d"', dtype=np.uint8)
    >>> quotes_are_regular(data, Grammar.of(Dialect()))
    True
    """
    at = quote_positions(data, grammar)
    return at.size % 2 == 0 and regular_quotes(data, grammar, at)[0]


def quote_positions(data: Array, grammar: Grammar) -> Array:
    return np.flatnonzero(data == grammar.quote) if grammar.quote >= 0 else np.zeros(0, np.int64)


def regular_quotes(data: Array, grammar: Grammar, at: Array) -> tuple[bool, bool]:
    """Whether quotes are regular if the lines begin outside a quoted cell, and if inside one."""
    if at.size == 0:
        return True, grammar.quote >= 0
    first = np.flatnonzero(np.diff(at, prepend=at[0] - 2) != 1)
    length = np.diff(first, append=at.size)
    left = _separates(data, at[first] - 1, grammar)
    right = _separates(data, at[first] + length, grammar)
    odd_position = first % 2 == 1
    odd = length % 2 == 1
    # Inside a cell, an even run is text and an odd run closes it. Outside, a run opens a cell; an
    # even one closes it at once.
    within = ~odd | right
    without = left & (odd | right)
    from_outside = np.where(odd_position, within, without)
    from_inside = np.where(odd_position, without, within)
    return bool(from_outside.all()), bool(from_inside.all())


def _separates(data: Array, at: Array, grammar: Grammar) -> Array:
    outside = (at < 0) | (at >= data.size)
    byte = data[np.clip(at, 0, data.size - 1)]
    separates: Array = outside | (byte == grammar.separator[0]) | (byte == _LF) | (byte == _CR)
    return separates


def record_end(data: bytes, grammar: Grammar) -> int:
    """Where the last complete record ends, if quotes are regular; 0 if none is complete.

    >>> record_end(b'1,2\\n3,"x\\ny', Grammar.of(Dialect()))
    4
    """
    at = data.rfind(b"\n")
    if at < 0 or grammar.quote < 0 or data.count(grammar.quote, 0, at) % 2 == 0:
        return at + 1
    outside = _lines_outside(data, grammar, inside=False)
    return int(outside[-1]) + 1 if outside.size else 0


def first_record(lines: bytes, grammar: Grammar, inside: bool) -> int | None:
    """Where the first record begins in whole lines; None if none does."""
    if not inside or grammar.quote < 0:
        return 0
    outside = _lines_outside(lines, grammar, inside)
    return int(outside[0]) + 1 if outside.size else None


def _lines_outside(data: bytes, grammar: Grammar, inside: bool) -> Array:
    """The line feeds outside quoted cells."""
    array = np.frombuffer(data, dtype=np.uint8)
    feeds = np.flatnonzero(array == _LF)
    quotes = np.searchsorted(np.flatnonzero(array == grammar.quote), feeds)
    outside: Array = feeds[(quotes + inside) % 2 == 0]
    return outside


@dataclass(frozen=True, slots=True)
class RecordSample:
    """The first records of a file as texts, with the byte offset of each."""

    rows: list[list[str]]
    offsets: list[int]
    stray: frozenset[int] = frozenset()


def sample_records(text: str, dialect: Dialect) -> RecordSample:
    """The first records of a text, including blank ones.

    Regular text is parsed by the `csv` module, which avoids loading a compiled kernel.

    >>> sample_records("a;b\\n1;2\\n", Dialect(delimiter=";")).rows
    [['a', 'b'], ['1', '2']]
    """
    grammar = Grammar.of(dialect)
    data = text.encode()
    if grammar.simple and quotes_are_regular(np.frombuffer(data, dtype=np.uint8), grammar):
        return _by_csv(text, dialect)
    tokens = tokenize(data, grammar, final=True)
    rows = [cells_of(tokens, row, grammar) for row in range(min(_SAMPLED, tokens.rows))]
    rows = [[] if row == [""] else row for row in rows]
    offsets = [int(start) for start in tokens.row_start[: len(rows) + 1]]
    stray = np.flatnonzero(tokens.row_kind[: len(rows)])
    return RecordSample(rows, offsets, frozenset(stray.tolist()))


def _by_csv(text: str, dialect: Dialect) -> RecordSample:
    lines = list(io.StringIO(text, newline=""))
    csv.field_size_limit(1 << 30)
    reader = csv.reader(
        lines,
        delimiter=dialect.delimiter,
        quotechar=dialect.quote or None,
        quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
    )
    sizes = [len(line) for line in lines] if text.isascii() else [len(x.encode()) for x in lines]
    rows: list[list[str]] = []
    offsets = [0]
    done = 0
    for row in reader:
        rows.append(row)
        offsets.append(offsets[-1] + sum(sizes[done : reader.line_num]))
        done = reader.line_num
        if len(rows) >= _SAMPLED:
            break
    return RecordSample(rows, offsets)


def cells_of(tokens: Tokens, row: int, grammar: Grammar) -> list[str]:
    cells = range(tokens.row_cell[row], tokens.row_cell[row + 1])
    return [_cell(tokens, cell, grammar) for cell in cells]


def _cell(tokens: Tokens, cell: int, grammar: Grammar) -> str:
    text = bytes(tokens.data[tokens.starts[cell] : tokens.ends[cell]])
    if tokens.kinds[cell]:
        text = unescape(text, grammar)
    return text.decode("utf-8", "replace")


def unescape(text: bytes, grammar: Grammar) -> bytes:
    """A cell's text without the quotes and escapes that only protect the next byte."""
    out = bytearray()
    at, end = 0, len(text)
    while at < end:
        byte = text[at]
        if at + 1 < end and (
            byte == grammar.escape or (byte == grammar.quote and text[at + 1] == byte)
        ):
            at += 1
        out.append(text[at])
        at += 1
    return bytes(out)
