"""Find the footer of a table: empty rows, and lines of text without a delimiter."""

from __future__ import annotations

from dataclasses import dataclass

from lakejoin.formats.delimited.grammar import Grammar

FOOTER_WINDOW = 1 << 16
_MOST_LINES = 60


@dataclass(frozen=True, slots=True)
class Footer:
    """The last `removed` bytes of a text, which do not belong to the table."""

    removed: int = 0
    empty_rows: int = 0
    lines: tuple[str, ...] = ()


def find_footer(tail: bytes, grammar: Grammar, width: int, at_start: bool) -> Footer:
    """Find the footer in the last lines of a text; `at_start` if `tail` begins with a whole line.

    A table of one column has no footer. A line with a quote, or with a delimiter between texts, is
    a row, even if it does not fit.

    >>> from lakejoin.model import Dialect
    >>> tail = b"1,2,3\\n4,5,6\\n,,\\n\\nSource: somebody\\n"
    >>> find_footer(tail, Grammar.of(Dialect()), 3, True)
    Footer(removed=21, empty_rows=1, lines=('Source: somebody',))
    """
    end_mark = b"\r" if grammar.lone_cr else b"\n"
    begin = 0 if at_start else tail.find(end_mark) + 1
    if width < 2 or grammar.collapse or (not at_start and begin == 0):
        return Footer()
    lines = tail[begin:].split(end_mark)
    quote = bytes((grammar.quote,)) if grammar.quote >= 0 else b"\x00"
    notes: list[str] = []
    empty_rows = 0
    best = (0, 0, 0)
    for taken, line in enumerate(reversed(lines[1:]), start=1):
        text = line.strip(b" \t\r" if grammar.separator != b"\t" else b" \r")
        cells = text.split(grammar.separator)
        # A single quote may close a cell that began lines above.
        empty = not b"".join(cells).replace(2 * quote, b"").strip()
        if empty:
            empty_rows += bool(text)
        elif len(cells) == 1 and quote not in text and len(notes) < _MOST_LINES:
            notes.append(text.decode("utf-8", "replace"))
        else:
            break
        # In a table of two columns, a line without a delimiter may be a row that lacks a cell,
        # unless a gap separates it from the table.
        if width >= 3 or empty or not notes:
            best = (taken, empty_rows, len(notes))
    count, empty_rows, note_count = best
    if count == 0:
        return Footer()
    removed = sum(len(line) for line in lines[len(lines) - count :]) + (count - 1) * len(end_mark)
    return Footer(removed, empty_rows, tuple(reversed(notes[:note_count])))
