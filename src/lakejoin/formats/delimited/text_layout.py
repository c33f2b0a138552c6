"""Detect the layout of a delimited text: its dialect, where the table begins, its header and
columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lakejoin.formats.delimited.cell_classes import (
    CODE,
    EMPTY,
    MEASURES,
    NUMBER,
    TEXT,
    WORD,
    ColumnHints,
    Row,
    cell_class,
    header_evidence,
)
from lakejoin.formats.delimited.grammar import Grammar, RecordSample, sample_records
from lakejoin.formats.delimited.record_repair import fit_record
from lakejoin.formats.delimited.sniffer import best_dialect, main_width
from lakejoin.model import Dialect
from lakejoin.values.column_names import numbered_names, unique_names

SCORED_TEXT = 16_000
_HINT_ROWS = 150
_REPAIRED = 20


@dataclass(frozen=True, slots=True)
class Layout:
    """A dialect and the columns of a text.

    `body` is the byte offset of the rows in the UTF-8 text. `hints` say what each column looks
    like, so that rows that do not fit are repaired the same way everywhere.
    """

    dialect: Dialect
    names: tuple[str, ...]
    notes: tuple[str, ...]
    body: int
    hints: ColumnHints
    preamble: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        return len(self.names)


def detect_layout(text: str, label: str = "") -> Layout | None:
    """Detect the layout of a delimited text from its beginning; None if it has no rows.

    >>> layout = detect_layout("Prices 2020\\n\\nitem;price\\nbread;2,40\\nmilk;1,10\\neggs;2,0\\n")
    >>> layout.names, layout.dialect.skip_rows, layout.dialect.delimiter
    (('item', 'price'), 2, ';')
    """
    newline = _newline(text)
    best = best_dialect(_first_lines(text, SCORED_TEXT), newline, label)
    if best is None:
        dialect = _one_column(text, newline)
        sample = sample_records(text, dialect)
        width = 1
    else:
        dialect, width = best.dialect, best.width
        sample = best.sample if len(text) <= SCORED_TEXT else sample_records(text, dialect)
        width = main_width([row for row in sample.rows if row])
    if not any(sample.rows):
        return None
    sample = _repaired(text, sample, width, Grammar.of(dialect))
    start = find_start(sample.rows, width, label)
    return _layout(text, dialect, sample, width, start)


def is_prose(layout: Layout, text: str, label: str) -> bool:
    """Whether a text without a delimiter is prose, not a list of values.

    A file named like a table is believed; others only if their lines are short.

    >>> text = "It was a dark and stormy night.\\nIt rained on all of the hills around.\\n" * 9
    >>> is_prose(detect_layout(text), text, "story.txt")
    True
    """
    ending = label.lower()
    if ending.endswith((".json", ".jsonl", ".ndjson", ".geojson")):
        return True
    if layout.width > 1 or ending.endswith((".csv", ".tsv", ".tab", ".psv", ".dat", ".data")):
        return False
    lines = [line.split() for line in text[:SCORED_TEXT].splitlines() if line.strip()]
    return 2 * sum(1 for words in lines if len(words) > 5) > len(lines)


def _first_lines(text: str, most: int) -> str:
    """The beginning of a text up to a line end, if there is one."""
    if len(text) <= most:
        return text
    cut = max(text.rfind("\n", 0, most), text.rfind("\r", 0, most))
    return text[: cut + 1] if cut > 0 else text[:most]


def _newline(text: str) -> str:
    pairs = text.count("\r\n")
    feeds, returns = text.count("\n") - pairs, text.count("\r") - pairs
    if returns > pairs + feeds:
        return "\r"
    return "\r\n" if pairs > feeds else "\n"


def _one_column(text: str, newline: str) -> Dialect:
    """A dialect whose delimiter splits no line, so that every record is one cell."""
    for delimiter in ",\t;|\x1f\x1e":
        dialect = Dialect(delimiter=delimiter, newline=newline, confidence=0.5)
        if delimiter not in text:
            return dialect
        if all(len(row) < 2 for row in sample_records(text, dialect).rows):
            return dialect
    return Dialect(delimiter="\x02", newline=newline, quote="", confidence=0.3)


def _layout(
    text: str, dialect: Dialect, sample: RecordSample, width: int, start: TableStart
) -> Layout:
    grammar = Grammar.of(dialect)
    head = sample.rows[start.skip] if start.skip < len(sample.rows) else []
    body = sample.rows[start.skip + start.header :]
    if start.header:
        if start.header > 1:
            raw = join_header_rows(sample.rows[start.skip : start.skip + start.header], width)
        else:
            raw, width = _header_cells(text, sample, start.skip, width, grammar, body)
        names, notes = unique_names(raw)
        if start.header > 1:
            notes = (f"the header is joined from {start.header} lines", *notes)
        first = sample.offsets[start.skip + start.header]
    else:
        width = max(width, len(head)) if len(body) <= 1 else width
        names, notes = numbered_names(width), ()
        first = sample.offsets[start.skip]
    skipped = [" ".join(" ".join(row).split()) for row in sample.rows[: start.skip]]
    dialect = replace(
        dialect,
        header=start.header > 0,
        skip_rows=start.skip,
        confidence=round(dialect.confidence * (0.5 + 0.5 * start.confidence), 3),
    )
    usual = main_width([row for row in body if row])
    alike = [row for row in body if len(row) == usual][:_HINT_ROWS] if usual <= width else []
    padded = [[*row, *[""] * (width - usual)] for row in alike]
    hints = ColumnHints.of(padded, width)
    return Layout(dialect, names, notes, first, hints, tuple(filter(None, skipped)))


def _header_cells(
    text: str, sample: RecordSample, at: int, width: int, grammar: Grammar, body: list[list[str]]
) -> tuple[list[str], int]:
    """The names in a header row, and the resulting number of columns."""
    head = sample.rows[at]
    if len(head) == width:
        return head, width
    filled = sum(1 for cell in head if cell.strip())
    if filled > width:
        return head, len(head)
    if len(head) == width - 1 and _last_filled(body, width):
        return ["", *head], width  # the first column contains row names, as R writes them
    raw = _record(text.encode(), sample, at)
    cells = fit_record(raw, None if at in sample.stray else head, grammar, width, None).cells
    return [cell or "" for cell in cells], width


def _record(data: bytes, sample: RecordSample, at: int) -> str:
    return data[sample.offsets[at] : sample.offsets[at + 1]].rstrip(b"\r\n").decode()


def _repaired(text: str, sample: RecordSample, width: int, grammar: Grammar) -> RecordSample:
    """The sample with records repaired that a stray quote had joined or cut."""
    wrong = [at for at in sample.stray if at < _REPAIRED and len(sample.rows[at]) != width]
    if not wrong:
        return sample
    data = text.encode()
    rows = list(sample.rows)
    for at in wrong:
        cells = fit_record(_record(data, sample, at), None, grammar, width, None).cells
        rows[at] = [cell or "" for cell in cells]
    return replace(sample, rows=rows)


def _last_filled(body: list[list[str]], width: int) -> bool:
    rows = [row for row in body if len(row) == width]
    return bool(rows) and sum(1 for row in rows if row[-1].strip()) > 0.5 * len(rows)


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
    TableStart(skip=2, header=1, confidence=1.0)
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
        below = [k for k in filled if hints.main_class(k) in MEASURES]
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
