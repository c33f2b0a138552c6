"""Find where each record and each cell of delimited text begins and ends.

The grammar is lenient, as real files need. A cell that begins with a quote ends at a quote followed
by a delimiter, a line end or the end of the text; two quotes inside it are one; any other quote
inside it is text. A quote that opens a cell but never closes it, or that runs into another such
quote on a later line, is text.
"""

from __future__ import annotations

from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

PLAIN, ESCAPED = 0, 1
CLEAN, STRAY = 0, 1

_LITERAL = -1
_MORE = -2
_LF, _CR, _SPACE, _TAB = 10, 13, 32, 9


@njit
def _at_delimiter(data: Array, at: int, delimiter: Array) -> bool:
    """Whether a delimiter begins here."""
    if at + delimiter.size > data.size:
        return False
    for i in range(delimiter.size):  # noqa: SIM110 (numba)
        if data[at + i] != delimiter[i]:
            return False
    return True


@njit
def _line_end(data: Array, at: int, lone_cr: bool) -> int:
    """Return how many bytes the line end at this offset takes; 0 if there is none."""
    if data[at] == _LF:
        return 1
    if data[at] != _CR:
        return 0
    after = at + 1
    while after < data.size and data[after] == _CR:
        after += 1
    if after < data.size and data[after] == _LF:
        return after + 1 - at
    return 1 if lone_cr else 0


@njit
def _closing_quote(
    data: Array,
    opening: int,
    delimiter: Array,
    quote: int,
    escape: int,
    lone_cr: bool,
    final: bool,
    reach: int,
) -> tuple[int, int, int]:
    """Find where the quoted cell ends (or why it does not), whether it has escapes, and strays."""
    at = opening + 1
    escaped = 0
    strays = 0
    crossed = False
    end = data.size
    blank_delimiter = delimiter[0] == _SPACE
    while at < end:
        c = data[at]
        if c == escape and escape != quote:
            escaped = 1
            at += 2
            continue
        if c == quote:
            if at + 1 < end and data[at + 1] == quote:
                escaped = 1
                at += 2
                continue
            after = at + 1
            if not blank_delimiter:
                while after < end and data[after] == _SPACE:
                    after += 1
            if after >= end:
                return (at, escaped, strays) if final else (_MORE, 0, 0)
            if _at_delimiter(data, after, delimiter) or _line_end(data, after, lone_cr) > 0:
                return at, escaped, strays
            if data[after] == _CR and after + 1 >= end and not final:
                return _MORE, 0, 0
            if crossed:
                return _LITERAL, 0, 1
            strays += 1
        elif c in (_LF, _CR):
            crossed = True
            if at - opening > reach:
                return _LITERAL, 0, 1
        at += 1
    if final or at - opening > reach:
        return _LITERAL, 0, 1
    return _MORE, 0, 0


@kernel
def tokenize(
    data: Array,
    delimiter: Array,
    quote: int,
    escape: int,
    lone_cr: bool,
    skip_blanks: bool,
    collapse: bool,
    final: bool,
    reach: int,
    starts: Array,
    ends: Array,
    kinds: Array,
    row_cell: Array,
    row_start: Array,
    row_kind: Array,
) -> tuple[int, int, int]:
    """Fill the offsets of all complete records; return records, cells, and the bytes consumed.

    `row_cell[r]` is the first cell of record `r` and `row_start[r]` its first byte; both have one
    entry more than there are records. A record cut off at the end of `data` is left for the next
    call unless `final`.
    """
    end = data.size
    at = 0
    rows = 0
    cells = 0
    used = 0
    blank_delimiter = delimiter[0] == _SPACE or delimiter[0] == _TAB
    while at < end:
        first_cell = cells
        record = at
        kind = CLEAN
        complete = False
        while True:
            if collapse:
                while at < end and _at_delimiter(data, at, delimiter):
                    at += 1
                if cells > first_cell and (at >= end or _line_end(data, at, lone_cr) > 0):
                    # blanks after the last cell do not begin another cell
                    complete = final if at >= end else True
                    if at < end:
                        at += _line_end(data, at, lone_cr)
                    break
            look = at
            if not blank_delimiter:
                while look < end and data[look] == _SPACE:
                    look += 1
            start = look if skip_blanks else at
            cell_end = -1
            cell_kind = PLAIN
            if quote >= 0 and look < end and data[look] == quote:
                close, escaped, strays = _closing_quote(
                    data, look, delimiter, quote, escape, lone_cr, final, reach
                )
                if close == _MORE:
                    break
                if strays > 0:
                    kind = STRAY
                if close >= 0:
                    start = look + 1
                    cell_end = close
                    cell_kind = ESCAPED if escaped else PLAIN
                    at = close + 1
                    if delimiter[0] != _SPACE:
                        while at < end and data[at] == _SPACE:
                            at += 1
            if cell_end < 0:
                at = start
                while at < end:
                    c = data[at]
                    if c == escape and escape != quote:
                        cell_kind = ESCAPED
                        at += 2
                        continue
                    if c == delimiter[0] and _at_delimiter(data, at, delimiter):
                        break
                    if c in (_LF, _CR) and _line_end(data, at, lone_cr) > 0:
                        break
                    at += 1
                at = min(at, end)
                cell_end = at
            if at >= end and not final:
                break
            if lone_cr and at < end and data[at] == _CR and at + 1 >= end and not final:
                break  # its line feed may still follow
            starts[cells] = start
            ends[cells] = cell_end
            kinds[cells] = cell_kind
            cells += 1
            if at >= end:
                if data[end - 1] == _CR and cell_end == end and cell_end > start:
                    ends[cells - 1] = end - 1
                complete = True
                break
            if _at_delimiter(data, at, delimiter):
                at += delimiter.size
                if at >= end and not collapse:
                    if not final:
                        break
                    starts[cells] = end
                    ends[cells] = end
                    kinds[cells] = PLAIN
                    cells += 1
                    complete = True
                    break
                continue
            at += _line_end(data, at, lone_cr)
            complete = True
            break
        if not complete:
            cells = first_cell
            break
        row_cell[rows] = first_cell
        row_start[rows] = record
        row_kind[rows] = kind
        rows += 1
        used = at
    row_cell[rows] = cells
    row_start[rows] = used
    return rows, cells, used


@kernel
def cell_bytes(
    data: Array, start: Array, end: Array, kind: Array, quote: int, escape: int, offsets: Array
) -> None:
    """Compute the offsets of a column's cells once doubled quotes and escapes are removed."""
    total = 0
    offsets[0] = 0
    for r in range(start.size):
        size = end[r] - start[r]
        if kind[r] == ESCAPED:
            at = start[r]
            while at < end[r]:
                if _escapes(data, at, end[r], quote, escape):
                    size -= 1
                    at += 1
                at += 1
        total += size
        offsets[r + 1] = total


@kernel
def copy_cells(
    data: Array, start: Array, end: Array, kind: Array, quote: int, escape: int, out: Array
) -> None:
    """Copy a column's cells one after the other, as measured by `cell_bytes`."""
    to = 0
    for r in range(start.size):
        if kind[r] == PLAIN:
            for at in range(start[r], end[r]):
                out[to] = data[at]
                to += 1
        else:
            at = start[r]
            while at < end[r]:
                if _escapes(data, at, end[r], quote, escape):
                    at += 1
                out[to] = data[at]
                to += 1
                at += 1


@njit
def _escapes(data: Array, at: int, end: int, quote: int, escape: int) -> bool:
    """Whether this byte only marks the next one as text."""
    if at + 1 >= end:
        return False
    if data[at] == escape:
        return True
    return data[at] == quote and data[at + 1] == quote
