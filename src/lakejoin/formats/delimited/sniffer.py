"""Detect delimiter and quote: try every candidate on the first records, and score it."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lakejoin.formats.delimited.cell_classes import CODE, EMPTY, MEASURES, OTHER, TEXT, cell_class
from lakejoin.formats.delimited.grammar import BLANK_RUNS, RecordSample, sample_records
from lakejoin.model import Dialect

# Prior of each delimiter, all else being equal.
_PRIOR = {",": 1.0, "\t": 1.0, ";": 1.0, "|": 1.0, "^": 0.95, "~": 0.9, ":": 0.75, " ": 0.75}
_STRONG = frozenset(",\t;|")
_RARE = ("\x01", "\x1f", "\x1e", "\x02", "\x07", "¦", "§", "!", "#", "*", "@", "&")
_LONG = ("||", "::", ";;", "~~", "^^", "##", "|~|", "~|~", "^|^", "<|>", "|#|", "\t\t")
_ENDINGS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".psv": "|", ".ssv": ";"}
_LEAST_SCORE = 0.2
_SCORED_ROWS = 100
_SCORED_CELLS = 800
_QUOTED = re.compile(r'"(?:[^"\r\n]|"")*"')
_QUOTED_TEXT = re.compile(r'"(?:[^"]|"")*"')
_STRAY_DELIMITER = {
    d: re.compile(
        "[" + re.escape("".join(set(";|\t^~") - {d})) + "]" + ("" if d == "," else r"|,\S")
    )
    for d in (*_PRIOR, *_RARE)
}


@dataclass(frozen=True, slots=True)
class DialectCandidate:
    """A dialect, the records it produces, and how much they look like a table (0..1)."""

    dialect: Dialect
    sample: RecordSample
    width: int
    score: float


def best_dialect(text: str, newline: str, label: str) -> DialectCandidate | None:
    """The dialect that produces the best table; None if none produces two columns.

    >>> best_dialect("a;b\\n1,5;2\\n3,5;4\\n", "\\n", "x.csv").dialect.delimiter
    ';'
    """
    candidates = sorted(_candidates(text, newline), key=lambda c: -c.score)
    if not candidates or candidates[0].score < _LEAST_SCORE:
        return None
    best = _choose(candidates, text, label)
    if best.dialect.delimiter[0] not in _STRONG and _single_values(text):
        return None
    return best


def _single_values(text: str) -> bool:
    """Whether nearly every line is a single number, date or time."""
    lines = [line for line in text[:8192].replace("\r", "\n").split("\n")[1:] if line.strip()]
    whole = sum(1 for line in lines if cell_class(line) in MEASURES)
    return whole > 0.9 * len(lines)


def _candidates(text: str, newline: str) -> Iterable[DialectCandidate]:
    lines = _filled_lines(text)
    likely = _likely(_PRIOR, lines)
    if '"' in text:
        # Line ends inside quotes make delimiters look rare.
        bare = _filled_lines(_QUOTED_TEXT.sub('""', text))
        likely = list(dict.fromkeys([*likely, *_likely(_PRIOR, bare)]))
    flawless = _flawless(text, [d for d in likely if d in _STRONG], newline)
    if flawless is not None:
        return [flawless]
    candidates = list(_try_delimiters(text, likely, newline))
    if not candidates or max(c.score for c in candidates) < 0.6:
        candidates += _try_delimiters(text, _likely(_RARE, lines), newline)
    long = [d for d in _LONG if _in_every_line(d, lines)]
    candidates += _try_delimiters(text, long, newline)
    return candidates


def _filled_lines(text: str) -> list[str]:
    return [line for line in text.replace("\r", "\n").split("\n") if line.strip()]


def _flawless(text: str, delimiters: Sequence[str], newline: str) -> DialectCandidate | None:
    """The only common delimiter that gives every record the same width, if there is one.

    Most files have one, and need no closer look.
    """
    candidates: list[DialectCandidate] = []
    for delimiter in delimiters:
        dialects = list(_quotings(text, Dialect(delimiter=delimiter, newline=newline)))
        if len(dialects) > 1:
            return None
        sample = sample_records(text, dialects[0])
        rows = [row for row in sample.rows if row]
        widths = set(map(len, rows))
        if sample.stray or _spaced(text, dialects[0]):
            return None
        if len(widths) == 1 and len(rows) > 2 and widths != {1}:
            candidates.append(DialectCandidate(dialects[0], sample, widths.pop(), 0.95))
    return candidates[0] if len(candidates) == 1 else None


def _likely(delimiters: Iterable[str], lines: Sequence[str]) -> list[str]:
    """Delimiters that occur in enough lines to separate anything."""
    least = max(1, len(lines) // 8)
    return [d for d in delimiters if sum(1 for line in lines if d in line) >= least]


def _in_every_line(delimiter: str, lines: Sequence[str]) -> bool:
    """Whether a delimiter of several characters occurs in nearly every line."""
    return sum(1 for line in lines if delimiter in line) >= 0.8 * len(lines)


def _try_delimiters(
    text: str, delimiters: Iterable[str], newline: str
) -> Iterable[DialectCandidate]:
    for delimiter in delimiters:
        base = Dialect(delimiter=delimiter, newline=newline)
        for dialect in _quotings(text, base):
            candidate = _try_dialect(text, dialect)
            if candidate is not None:
                yield candidate


def _quotings(text: str, base: Dialect) -> Iterable[Dialect]:
    """The quoting styles worth trying on this text."""
    separator = re.escape(base.delimiter)
    before, after = rf"(?:^|[\r\n]|{separator}) ?", rf"(?= ?(?:$|[\r\n]|{separator}))"
    start = text[:8192]
    doubles = '"' in text
    if doubles:
        yield base
        if re.search(before + '"', start) and re.search(r'\\"(?!' + after[3:], text):
            yield replace(base, escape="\\")
    single = len(re.findall(before + r"'(?:[^'\r\n]|'')*'" + after, start))
    if single >= 2:
        double = len(re.findall(before + r'"(?:[^"\r\n]|"")*"' + after, start))
        sure = 1.0 if single > double else 0.9
        yield replace(base, quote="'", confidence=sure)
        if "\\'" in text:
            yield replace(base, quote="'", escape="\\", confidence=sure)
    if not doubles:
        yield base


def _try_dialect(text: str, dialect: Dialect) -> DialectCandidate | None:
    try:
        sample = sample_records(text, dialect)
    except csv.Error:
        return None
    rows = [row for row in sample.rows if row]
    width = main_width(rows)
    if width < 2:
        return None
    if dialect.delimiter == " ":
        runs = _blank_runs(text, dialect, rows, width)
        if runs is not None:
            return runs
    score = _score(rows, width, dialect)
    if dialect.quote == "'":
        score *= 1.05 if dialect.confidence == 1.0 else 1.0
    if _spaced(text, dialect):
        dialect = replace(dialect, delimiter=dialect.delimiter + " ")
        sample = sample_records(text, dialect)
        rows = [row for row in sample.rows if row]
        width = main_width(rows)
        score = max(score, _score(rows, width, dialect))
    return DialectCandidate(dialect, sample, width, score)


def _blank_runs(
    text: str, dialect: Dialect, rows: Sequence[Sequence[str]], width: int
) -> DialectCandidate | None:
    """A candidate for columns aligned by runs of blanks, if single blanks leave empty cells."""
    cells = [cell for row in rows for cell in row]
    if sum(1 for cell in cells if not cell) < 0.2 * len(cells):
        return None
    runs = replace(dialect, delimiter=BLANK_RUNS)
    sample = sample_records(text, runs)
    filled = [row for row in sample.rows if row]
    width = main_width(filled)
    if width < 2:
        return None
    return DialectCandidate(runs, sample, width, _score(filled, width, runs))


def _spaced(text: str, dialect: Dialect) -> bool:
    """Whether a blank follows every delimiter outside quotes, and so belongs to it."""
    delimiter = dialect.delimiter
    if delimiter not in (",", ";", "|", ":") or delimiter + " " not in text:
        return False
    bare = _QUOTED.sub("", text) if dialect.quote == '"' else text
    count = bare.count(delimiter)
    last = len(re.findall(re.escape(delimiter) + r"[\r\n]", bare))
    return count > last and bare.count(delimiter + " ") >= 0.97 * (count - last)


def main_width(rows: Sequence[Sequence[str]]) -> int:
    """The most frequent number of cells; the larger one of a tie."""
    if not rows:
        return 0
    widths = Counter(map(len, rows))
    most = max(widths.values())
    return max(width for width, count in widths.items() if count == most)


def _score(rows: Sequence[Sequence[str]], width: int, dialect: Dialect) -> float:
    """Score consistent widths, cells of known classes and columns of one class."""
    right = [i for i, row in enumerate(rows) if len(row) == width]
    if not right:
        return 0.0
    span = right[-1] - right[0] + 1
    consistency = len(right) / span * (0.4 + 0.6 * span / len(rows))
    step = max(1, len(right) // _SCORED_ROWS)
    chosen = [rows[i] for i in right[::step]][:_SCORED_ROWS]
    chosen = chosen[: max(4, _SCORED_CELLS // width)]
    known, alike = _cell_quality(chosen, width, dialect)
    prior = _PRIOR.get(dialect.delimiter[0], 0.7)
    if dialect.delimiter[0] not in _STRONG and (consistency < 0.8 or len(right) < 3):
        return 0.0
    if dialect.delimiter[0] in " :" and width == 2:
        prior *= 0.6
    if len(rows[0]) != width:
        prior *= 0.85
    return prior * consistency * (0.1 + 0.5 * known + 0.4 * alike) * (1 - 0.4 / width)


def _cell_quality(
    rows: Sequence[Sequence[str]], width: int, dialect: Dialect
) -> tuple[float, float]:
    """The share of cells of a known class, and of the main class in each column."""
    stray = _STRAY_DELIMITER.get(dialect.delimiter[0])
    known = 0.0
    alike = 0.0
    for column in zip(*rows, strict=True):
        kinds = [cell_class(cell) for cell in column]
        for cell, kind in zip(column, kinds, strict=True):
            known += _knownness(cell, kind, stray)
        filled = Counter(kind for kind in kinds[1:] if kind != EMPTY)
        alike += max(filled.values()) / sum(filled.values()) if filled else 0.7
    return known / (len(rows) * width), alike / width


def _knownness(cell: str, kind: int, stray: re.Pattern[str] | None) -> float:
    if kind == OTHER:
        return 0.0
    if kind == EMPTY:
        return 0.6
    if kind >= CODE and stray is not None and stray.search(cell):
        return 0.2
    return 0.8 if kind == TEXT else 1.0


# -- several opinions -------------------------------------------------------------------------


def _choose(candidates: list[DialectCandidate], text: str, label: str) -> DialectCandidate:
    """The best candidate; other opinions decide if scores are close."""
    best = candidates[0]
    opinions = [f"records say {_shown(best.dialect.delimiter)}"]
    by_name = _ENDINGS.get(label[label.rfind(".") :].lower()) if "." in label else None
    rivals = [c for c in candidates if c.dialect.delimiter[0] != best.dialect.delimiter[0]]
    close = [c for c in rivals if c.score > 0.85 * best.score]
    if by_name is not None:
        opinions.append(f"name says {_shown(by_name)}")
    if close:
        sniffed = _sniffer(text)
        if sniffed is not None:
            opinions.append(f"csv.Sniffer says {_shown(sniffed)}")
        votes = (by_name, sniffed)
        best = max([best, *close], key=lambda c: c.score * _agreement(c, votes))
    second = max((c.score for c in rivals if c is not best), default=0.0)
    margin = best.score / (best.score + second) if best.score else 0.0
    confidence = round(min(1.0, best.score) * (2 * margin - 1) ** 0.5 if margin > 0.5 else 0.0, 3)
    dialect = replace(best.dialect, confidence=confidence, opinions=tuple(opinions))
    return replace(best, dialect=dialect)


def _agreement(candidate: DialectCandidate, votes: Iterable[str | None]) -> float:
    return 1.0 + 0.08 * sum(1 for vote in votes if vote == candidate.dialect.delimiter[0])


def _sniffer(text: str) -> str | None:
    try:
        return csv.Sniffer().sniff(text[:4096], "".join(_PRIOR)).delimiter
    except csv.Error:
        return None


def _shown(delimiter: str) -> str:
    return {"\t": "tab", " ": "blank", BLANK_RUNS: "blanks"}.get(delimiter, repr(delimiter))
