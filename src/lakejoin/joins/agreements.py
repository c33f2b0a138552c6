"""Find other columns, or readings of them, that agree in the matching rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.codegen.programs import Extract, Form, Program, Runs, Split, identity, rewrite_text
from lakejoin.joins.join_key import JoinKey, JoinTask
from lakejoin.joins.row_keys import KeyColumn, count_rows, find_first_rows
from lakejoin.model import Array
from lakejoin.signals.chance import LEAST_CHANCE, evidence
from lakejoin.values.column_encoder import encode_query

_ROWS = 120  # pairs of rows to compare
_FIRST = 24  # pairs compared first; the rest only if these look promising
_COLUMNS = 12  # per table
_NATS = 25.0
_HALF = 0.5
_AS_MANY = 0.05  # a more selective agreement may hold in this share of rows less


@dataclass(frozen=True, slots=True)
class Agreement:
    """A reading of the source and one of the target that are equal in matching rows."""

    source: Program
    target: Program
    compared: int  # pairs of rows in which both have a value
    share: float  # of these that agree
    chance: float  # share that would agree if rows were paired at random
    nats: float

    @property
    def parts(self) -> int:
        """How many operations the readings take; fewer is simpler."""
        extracts = (*self.source.extracts, *self.target.extracts)
        return sum(len(extract.splits) + bool(extract.form) for extract in extracts)

    def codes(self, task: JoinTask, join_key: JoinKey) -> tuple[Array, Array]:
        """Codes of all source rows and all target rows; equal values have equal codes."""
        rules = task.options.rules
        texts = task.text(join_key.target_side, self.target.columns, self.target)
        key = KeyColumn(encode_query(texts, rules))
        texts = task.text(join_key.source_side, self.source.columns, self.source)
        return key.codes_of(encode_query(texts, rules)), key.codes


def find_agreements(task: JoinTask, join_key: JoinKey) -> list[Agreement]:
    """The readings that agree in the rows of a join, strongest first; cached in the task.

    A reading that agrees no more often than another and is less selective, or less simple, is
    dropped: if whole names nearly always agree, their last words add nothing.
    """
    cache_key = (
        join_key.source_side,
        join_key.columns,
        str(join_key.program),
        join_key.key_rules[0].words,
    )
    if cache_key not in task.agreement_cache:
        task.agreement_cache[cache_key] = _agreements(task, join_key)
    return task.agreement_cache[cache_key]


def _agreements(task: JoinTask, join_key: JoinKey) -> list[Agreement]:
    sources, targets = certain_pairs(join_key)
    if evidence(len(sources), 1.0, LEAST_CHANCE) < _NATS:
        return []
    few = slice(0, _FIRST)
    source_read, target_read = _read(task, join_key, (sources[few], targets[few]))
    likely = list(_equal_often(source_read, target_read, _HALF / 2))
    promising = {source_read[0][i] for i, _ in likely}, {target_read[0][j] for _, j in likely}
    source_read, target_read = _read(task, join_key, (sources, targets), promising)
    used = set(join_key.key_rules[0].columns), set(join_key.columns)
    ranked = []
    for i, j in _equal_often(source_read, target_read, _HALF):
        first, second = source_read[0][i], target_read[0][j]
        if first.column in used[0] and second.column in used[1]:
            continue
        agreement = _agreement(first, second, source_read[1][i], target_read[1][j])
        if agreement.nats >= _NATS:
            ranked.append(agreement)
    ranked.sort(key=lambda agreement: (-agreement.nats, agreement.parts))
    return [a for a in ranked if not any(_is_better(other, a) for other in ranked)]


def _is_better(other: Agreement, agreement: Agreement) -> bool:
    more_selective = (other.chance, other.parts) < (agreement.chance, agreement.parts)
    return more_selective and other.share >= agreement.share - _AS_MANY


Read = tuple[list[Extract], Array]
Parts = Collection[Extract] | None


def _read(
    task: JoinTask,
    join_key: JoinKey,
    rows: tuple[Array, Array],
    only: tuple[Parts, Parts] = (None, None),
) -> tuple[Read, Read]:
    """The readings of both tables' columns at these rows; all of them, or `only` some."""
    reader = Reader()
    sides = join_key.source_side, join_key.target_side
    made = [
        _read_table(task.table(side), at, parts, reader)
        for side, at, parts in zip(sides, rows, only, strict=True)
    ]
    return made[0], made[1]


def _read_table(table: pa.Table, rows: Array, only: Parts, reader: Reader) -> Read:
    plain = [name for name in table.column_names if _is_plain(table, name)][:_COLUMNS]
    parts: list[Extract] = []
    code_rows = [np.zeros((0, len(rows)), np.int64)]
    columns = None if only is None else {part.column for part in only}
    for name in plain if columns is None else [name for name in plain if name in columns]:
        texts = apply_program(identity(name), table.select([name]).take(rows)).to_pylist()
        extracts, codes = reader.read(name, texts, only)
        parts += extracts
        code_rows.append(codes)
    return parts, np.concatenate(code_rows)


def _equal_often(source: Read, target: Read, share: float) -> Iterator[tuple[int, int]]:
    """The pairs of readings that are equal in at least `share` of the rows."""
    first, second = source[1], target[1]
    equal = np.zeros((len(first), len(second)), np.int32)
    for left, right in zip(first.T, second.T, strict=True):
        equal += (left[:, None] == right) & (left[:, None] != NO_TEXT)
    for i, j in zip(*np.nonzero(equal >= max(1, share * first.shape[1])), strict=True):
        yield int(i), int(j)


def _agreement(first: Extract, second: Extract, left: Array, right: Array) -> Agreement:
    both = (left != NO_TEXT) & (right != NO_TEXT)
    compared = int(np.count_nonzero(both))
    share = float(np.count_nonzero(both & (left == right)) / max(1, compared))
    chance = _chance(left, right)
    nats = evidence(compared, share, max(LEAST_CHANCE, chance))
    return Agreement(Program((first,)), Program((second,)), compared, share, chance, nats)


def certain_pairs(join_key: JoinKey) -> tuple[Array, Array]:
    """Source rows with their only match, one per key; a sample if there are many keys.

    Keys with one row on either side are the safest; if they are few, the source may have several.
    """
    codes = join_key.source_codes, join_key.codes
    counts = [count_rows(keys, join_key.count) for keys in codes]
    once = (counts[0] == 1) & (counts[1] == 1)
    sure = once if 2 * np.count_nonzero(once) >= np.count_nonzero(counts[0]) else counts[1] == 1
    keys = np.flatnonzero(sure & (counts[0] > 0) & (counts[1] > 0))
    if len(keys) > _ROWS:
        keys = np.sort(np.random.default_rng(0).choice(keys, _ROWS, replace=False))
    sources, targets = (find_first_rows(of_rows, join_key.count)[keys] for of_rows in codes)
    return sources, targets


def _chance(left: Array, right: Array) -> float:
    """The share of rows that agree when paired differently."""
    equal = int(np.count_nonzero((left == right) & (left != NO_TEXT)))
    left, right = left[left != NO_TEXT], right[right != NO_TEXT]
    most = 1 + max(int(left.max(initial=0)), int(right.max(initial=0)))
    together = np.bincount(left, minlength=most) * np.bincount(right, minlength=most)
    others = len(left) * len(right) - min(len(left), len(right))
    return float((together.sum() - equal) / max(1, others))


def _is_plain(table: pa.Table, name: str) -> bool:
    """Whether a column has a unique name and holds scalar values."""
    if table.column_names.count(name) != 1:
        return False
    kind = table.schema.field(name).type
    return not (pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_null(kind))


Texts = Sequence[str | None]

NO_TEXT = -1
_LONG = 200  # mean characters from which on texts are only compared whole
_SEPARATORS = 6
_MOST = 0.6  # least share of texts that contain a separator
_INDEXES = (0, 1, -1)
_FORMS = (Form.NO_FIRST_WORD, Form.NO_LAST_WORD, Form.NO_TITLES)
_RUNS = ((Runs.DIGITS, (0, 1, 2, -1, -2)), (Runs.WORDS, (0, -1)))
_INSIDE = {runs: re.compile(runs.inside) for runs, _ in _RUNS}


class Reader:
    """Reads columns; equal texts get the same code in all of them, ignoring case.

    >>> parts, codes = Reader().read("name", ["Ada Lovelace", "ADA", None])
    >>> len(parts), codes.tolist()
    (3, [[0, 1, -1], [1, 1, -1], [2, 1, -1]])
    """

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def read(
        self, column: str, texts: Texts, only: Collection[Extract] | None = None
    ) -> tuple[list[Extract], Array]:
        """The distinct readings of a column, the simplest of equal ones, and their codes.

        `only` restricts which parts are read.
        """
        distinct: dict[bytes, tuple[Extract, Array]] = {}
        for part, read in _readings(column, texts):
            if only is not None and part not in only:
                continue
            codes = self._encode(read)
            if (codes != NO_TEXT).any():
                distinct.setdefault(codes.tobytes(), (part, codes))
        parts = [part for part, _ in distinct.values()]
        return parts, np.array([n for _, n in distinct.values()]).reshape(len(parts), len(texts))

    def _encode(self, texts: Texts) -> Array:
        known = self._codes
        plain = (text.strip().lower() if text else "" for text in texts)
        return np.array([known.setdefault(t, len(known)) if t else NO_TEXT for t in plain])


def readable_parts(column: str, texts: Texts) -> list[Extract]:
    """The parts that can be read from a column with such texts, simplest first.

    >>> [str(part.splits) for part in readable_parts("day", ["Mon, 5 May"])][:3]
    ['()', "((' ', 0),)", "((' ', 1),)"]
    """
    return [part for part, _ in _readings(column, texts)]


def _readings(column: str, texts: Texts) -> Iterator[tuple[Extract, Texts]]:
    """The parts of a column, simplest first, and the texts that each gives."""
    yield Extract(column), texts
    there = [text for text in texts if text]
    if not there or sum(map(len, there)) >= _LONG * len(there):
        return
    substrings: list[tuple[Split, Texts]] = []
    for separator in _separators(there):
        parts = [None if text is None else text.split(separator) for text in texts]
        substrings += [((separator, index), _nth_parts(parts, index)) for index in _INDEXES]
    for runs, indexes in _RUNS:
        parts = [None if text is None else _INSIDE[runs].findall(text) for text in texts]
        substrings += [((runs, index), _nth_parts(parts, index)) for index in indexes]
    for split, read in substrings:
        yield Extract(column, (split,)), read
    for form in _FORMS:
        yield Extract(column, form=form), [t and rewrite_text(t, form) for t in texts]
    words = _INSIDE[Runs.WORDS]
    for split, read in substrings:
        parts = [None if text is None else words.findall(text) for text in read]
        for index in (0, -1):
            yield Extract(column, (split, (Runs.WORDS, index))), _nth_parts(parts, index)


def _nth_parts(parts: list[list[str] | None], index: int) -> list[str | None]:
    """One part of every text; None if the text has fewer parts."""
    least = index + 1 if index >= 0 else -index
    return [of_text[index] if of_text and len(of_text) >= least else None for of_text in parts]


def _separators(texts: list[str]) -> list[str]:
    """The separators between words in most of the texts, most common first."""
    seen: Counter[str] = Counter()
    for text in texts:
        runs = set(re.findall(r"[^\w]+", text))
        seen.update(sorted(runs | {sign for run in runs for sign in run}))
    common = [sign for sign, count in seen.most_common() if count >= _MOST * len(texts)]
    return common[:_SEPARATORS]
