"""How is this text file written? Delimiter, quote, header: decided by more than one opinion."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import dataclass

from lakejoin.lake.names import numbered_names, unique_names
from lakejoin.model import Dialect

DELIMITERS = (",", "\t", ";", "|", "^", ":", " ")


@dataclass(frozen=True, slots=True)
class Layout:
    """A dialect, and the columns it gives; `body` is where the rows begin in the UTF-8 sample."""

    dialect: Dialect
    names: tuple[str, ...]
    notes: tuple[str, ...]
    body: int


def detect_layout(sample: str) -> Layout:
    best, score = None, -1.0
    for delimiter in DELIMITERS:
        rows = [r for r in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter) if r]
        if not rows:
            continue
        width, count = Counter(map(len, rows)).most_common(1)[0]
        mark = count / len(rows) * (0.1 if width == 1 else 1 - 1 / (1 + width))
        if mark > score:
            best, score = delimiter, mark
    assert best is not None
    newline = "\r\n" if "\r\n" in sample else "\n" if "\n" in sample else "\r"
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=best)
    first = next(row for row in reader if row)
    has_header = not any(_number(c) for c in first)
    names, notes = unique_names(first) if has_header else (numbered_names(len(first)), ())
    body = 0
    if has_header:
        lines = sample.splitlines(keepends=True)
        body = len("".join(lines[: reader.line_num]).encode())
    return Layout(
        Dialect(delimiter=best, newline=newline, header=has_header, confidence=score),
        names,
        notes,
        body,
    )


def _number(text: str) -> bool:
    try:
        float(text)
        return True
    except ValueError:
        return False
