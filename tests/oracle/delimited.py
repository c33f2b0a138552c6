"""The lenient grammar of delimited text, character by character: slow, short, and by itself."""

from __future__ import annotations


def records(text: str, delimiter: str = ",", quote: str = '"') -> list[list[str]]:
    """All records of a text; blank lines are records of one empty cell."""
    rows: list[list[str]] = []
    at = 0
    while at < len(text):
        row, at = _record(text, at, delimiter, quote)
        rows.append(row)
    return rows


def _record(text: str, at: int, delimiter: str, quote: str) -> tuple[list[str], int]:
    row: list[str] = []
    while True:
        cell, at = _cell(text, at, delimiter, quote)
        row.append(cell)
        if text.startswith(delimiter, at):
            at += len(delimiter)
            if at >= len(text):
                return [*row, ""], at
            continue
        return row, at + _line_end(text, at)


def _cell(text: str, at: int, delimiter: str, quote: str) -> tuple[str, int]:
    look = at
    while text[look : look + 1] == " ":
        look += 1
    if text[look : look + 1] == quote:
        found = _quoted(text, look, delimiter, quote)
        if found is not None:
            return found
    start = at
    while at < len(text) and not text.startswith(delimiter, at) and not _line_end(text, at):
        at += 1
    cell = text[start:at]
    return (cell[:-1] if at >= len(text) and cell.endswith("\r") else cell), at


def _quoted(text: str, opening: int, delimiter: str, quote: str) -> tuple[str, int] | None:
    """The cell that this quote opens and where it ends; None where it opens none."""
    at = opening + 1
    out: list[str] = []
    crossed = False
    while at < len(text):
        if text[at] != quote:
            crossed = crossed or text[at] in "\r\n"
            out.append(text[at])
            at += 1
        elif text[at + 1 : at + 2] == quote:
            out.append(quote)
            at += 2
        else:
            after = at + 1
            while text[after : after + 1] == " ":
                after += 1
            if after >= len(text) or text.startswith(delimiter, after) or _line_end(text, after):
                return "".join(out), after
            if crossed:
                return None
            out.append(quote)
            at += 1
    return None


def _line_end(text: str, at: int) -> int:
    """The length of the line end at this place; 0 where there is none."""
    if text[at : at + 1] == "\n":
        return 1
    end = at
    while text[end : end + 1] == "\r":
        end += 1
    return end + 1 - at if end > at and text[end : end + 1] == "\n" else 0
