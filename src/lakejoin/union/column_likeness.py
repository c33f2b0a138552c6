"""Score how alike two columns are, by values, names, meaning and form."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lakejoin.model import Array, ColumnProfile, ColumnType
from lakejoin.signals.chance import evidence
from lakejoin.signals.name_similarity import compare_names
from lakejoin.text_format import format_percent

OF_VALUES, OF_NAMES, OF_MEANING, OF_FORM = 0.9, 0.8, 0.6, 0.6  # the largest share of each signal
SURE = 12.0  # nats from which shared values are not a coincidence
_VAGUE = 0.45  # for equal but vague names: name, type, id
_UNLIKE = 0.4  # factor if the values of two categories, or their forms, differ
_DISJOINT = 0.1  # similarity below which two distributions of numbers are disjoint
_CONVENTION = 0.6  # share of equal names from which both tables follow one convention
_OTHER_NAME = 0.4  # factor, in that case, if only the form of the values is alike
_STRONG = ("values", "names", "meaning")
_MANY = 200  # values beyond which more are no further evidence
_NUMBERED = re.compile(r"^(column|col|c|field|f|v|x|var|unnamed)?[\W_]*\d*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ValueOverlap:
    """How many values two columns share (`both`), of the `fewer` in the smaller one; unrelated
    values would share a part `chance`."""

    both: int = 0
    fewer: int = 0
    chance: float = 0.0

    @property
    def share(self) -> float:
        """The share of the smaller column's values."""
        return self.both / max(1, self.fewer)


@dataclass(frozen=True, slots=True)
class LikenessSign:
    """One signal that two columns are alike: its kind, its strength (0 to 1), and a sentence."""

    what: str
    says: float
    words: str


@dataclass(frozen=True, slots=True)
class Likeness:
    """How alike two columns are, 0 to 1, and by which signals."""

    score: float
    signs: tuple[LikenessSign, ...]

    @property
    def why(self) -> str:
        """The sentences of all signals, the strongest first."""
        return "; ".join(s.words for s in sorted(self.signs, key=lambda s: -s.says))


NOT_ALIKE = Likeness(0.0, ())


@dataclass(frozen=True, slots=True)
class NameContext:
    """What names mean in this lake: how distinctive the lake column's name is (`telling`), and how
    much of the whole `header` both tables share: `type` says little by itself, and much between
    `id` and `horsepower`. If most names are the same (`alike`), different names are intended."""

    telling: float = 1.0
    header: float = 0.0
    alike: float = 0.0


def score_likeness(
    query: ColumnSample,
    lake: ColumnSample,
    shared: ValueOverlap,
    named: NameContext,
    meaning: float = 0.0,
) -> Likeness:
    """How alike two columns of compatible types are; `meaning` is how much the vectors of their
    texts agree beyond chance."""
    signals = [_compare_values(shared), _compare_names(query.name, lake.name, named)]
    if meaning > 0:
        signals.append(
            LikenessSign("meaning", OF_MEANING * meaning, "the texts have similar meanings")
        )
    signals += _compare_forms(query, lake)
    signs = tuple(sign for sign in signals if sign.says > 0)
    doubt = 1.0
    for sign in signs:
        doubt *= 1 - sign.says
    against = _doubt_factor(query, lake, shared, meaning)
    if named.alike >= _CONVENTION and not any(sign.what in _STRONG for sign in signs):
        against *= _OTHER_NAME
    return Likeness((1 - doubt) * against, signs)


def compatible_types(left: ColumnType, right: ColumnType) -> bool:
    """Whether columns of two types could form one column.

    >>> compatible_types(ColumnType.INTEGER, ColumnType.DECIMAL)
    True
    >>> compatible_types(ColumnType.TEXT, ColumnType.INTEGER)
    False
    """
    if ColumnType.EMPTY in (left, right) or ColumnType.MIXED in (left, right):
        return True
    numbers = (ColumnType.INTEGER, ColumnType.DECIMAL)
    return left == right or (left in numbers and right in numbers)


def _compare_values(shared: ValueOverlap) -> LikenessSign:
    nats = evidence(min(shared.fewer, _MANY), shared.share, max(shared.chance, 1e-3))
    says = OF_VALUES * min(1.0, nats / SURE) * shared.share**0.5
    return LikenessSign("values", says, f"{format_percent(shared.share)} of the values are in both")


def plain_name(name: str) -> str:
    """Normalize a column name; empty if it only numbers the column.

    >>> plain_name(" Team 1"), plain_name("column_7")
    ('team 1', '')
    """
    plain = name.strip().casefold()
    return "" if _NUMBERED.match(plain) else plain


def _compare_names(query_name: str, lake_name: str, named: NameContext) -> LikenessSign:
    query, lake = plain_name(query_name), plain_name(lake_name)
    if not query or not lake:
        return LikenessSign("names", 0.0, "")
    alike = compare_names(query_name, lake_name).similarity
    if query == lake:
        alike = max(max(alike, _VAGUE) * (0.7 + 0.3 * named.telling), named.header)
        return LikenessSign("names", OF_NAMES * alike, "the names are the same")
    return LikenessSign(
        "names", OF_NAMES * alike * (0.5 + 0.5 * named.telling), "the names are similar"
    )


def _compare_forms(query: ColumnSample, lake: ColumnSample) -> Iterator[LikenessSign]:
    if query.is_number and lake.is_number:
        alike = 2 * number_overlap(query, lake) - 1
        yield LikenessSign(
            "form", OF_FORM * max(0.0, alike), "the numbers have a similar distribution"
        )
    elif query.is_text and lake.is_text:
        words = 0.5 * min(1.0, 2 * word_overlap(query, lake))
        telling = 0.4 + 0.6 * min(pattern_share(query), pattern_share(lake))
        yield LikenessSign(
            "form",
            OF_FORM * telling * shape_overlap(query, lake),
            "the values have the same format",
        )
        yield LikenessSign("words", OF_FORM * words, "the values share words")
    elif query.type == lake.type == ColumnType.DATE:
        yield LikenessSign("form", OF_FORM / 2, "both hold dates")


def _doubt_factor(
    query: ColumnSample, lake: ColumnSample, shared: ValueOverlap, meaning: float
) -> float:
    """The factor by which values that should be the same, but differ, reduce the likeness."""
    if query.is_number and lake.is_number:
        # Rows to append may hold other numbers, but rarely under another name as well.
        renamed = plain_name(query.name) != plain_name(lake.name)
        return _UNLIKE if renamed and number_overlap(query, lake) < _DISJOINT else 1.0
    if shared.both or meaning > 0.3 or not (query.is_text and lake.is_text):
        return 1.0
    if query.is_category and lake.is_category:
        return _UNLIKE
    # Codes against words: one follows a pattern, the other does not.
    unlike = abs(pattern_share(query) - pattern_share(lake)) > 0.8
    return _UNLIKE if unlike else 1.0


SAMPLE = 200  # values sampled from a column
NUMBERS = (ColumnType.INTEGER, ColumnType.DECIMAL)
_TEXTS = (ColumnType.TEXT, ColumnType.MIXED)
_REPEATED = 5  # rows per value from which a column is a category
_RUNS = re.compile(r"[^\W\d_]+|\d+|\s+")
_WORDS = re.compile(r"[^\W\d_]{3,}")
_LONG_RUN = 4  # letters or digits beyond which the length of a run does not count


@dataclass(frozen=True, eq=False)
class ColumnSample:
    """A column by its name, its profile and some of its distinct canonical values."""

    name: str
    profile: ColumnProfile
    values: Sequence[str]

    @property
    def type(self) -> ColumnType:
        return self.profile.type

    @property
    def is_number(self) -> bool:
        return self.type in NUMBERS

    @property
    def is_text(self) -> bool:
        return self.type in _TEXTS

    @property
    def is_category(self) -> bool:
        """Whether each value stands in many rows, so that other rows would repeat them."""
        profile = self.profile
        filled = profile.rows - profile.nulls
        return profile.distinct > 0 and filled >= _REPEATED * profile.distinct

    @cached_property
    def shapes(self) -> Mapping[str, float]:
        return _shares(map(value_shape, self.values))

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(word for value in self.values for word in _WORDS.findall(value))

    @cached_property
    def numbers(self) -> Array:
        """The values that are numbers, ascending."""
        return np.sort(np.array([n for n in map(_number, self.values) if n is not None]))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def value_shape(text: str) -> str:
    """Replace letters by `a` and digits by `9`, shorten long runs, and keep the rest.

    >>> value_shape("AB-1234567"), value_shape("new york"), value_shape("2020-01-31")
    ('aa-9999', 'aaa aaaa', '9999-99-99')
    """
    return _RUNS.sub(_run, text)[:40]


def _run(match: re.Match[str]) -> str:
    run = match.group()
    sign = "9" if run.isdigit() else " " if run.isspace() else "a"
    return sign if sign == " " else sign * min(len(run), _LONG_RUN)


def _shares(shapes: Any) -> dict[str, float]:
    counts = Counter(shapes)
    total = max(1, sum(counts.values()))
    return {pattern: count / total for pattern, count in counts.items()}


def shape_overlap(left: ColumnSample, right: ColumnSample) -> float:
    """How much the shapes of two columns' values overlap, 0 to 1.

    >>> a, b = (ColumnSample("", None, v) for v in (["a1", "b2", "cc3"], ["x9", "y8"]))
    >>> round(shape_overlap(a, b), 2)
    0.67
    """
    return sum(min(share, right.shapes.get(s, 0.0)) for s, share in left.shapes.items())


def word_overlap(left: ColumnSample, right: ColumnSample) -> float:
    """The share of words that both have, of the column with fewer.

    >>> a, b = (ColumnSample("", None, v) for v in (["lake como", "lake garda"], ["lake lugano"]))
    >>> word_overlap(a, b)
    0.5
    """
    return len(left.words & right.words) / max(1, min(len(left.words), len(right.words)))


def pattern_share(column: ColumnSample) -> float:
    """The share of values whose shape is more distinctive than plain words or a number.

    >>> pattern_share(ColumnSample("", None, ["AB-12", "bern", "17"]))
    0.3333333333333333
    """
    return sum(share for s, share in column.shapes.items() if _is_distinctive(s))


def _is_distinctive(pattern: str) -> bool:
    letters_and_digits = "a" in pattern and "9" in pattern
    signs = set(pattern) - {"a", "9", " ", ".", "-", "'", ","}
    return letters_and_digits or bool(signs) or pattern.count("-") > 1


def number_overlap(left: ColumnSample, right: ColumnSample) -> float:
    """How similar two distributions of numbers are: 1 minus their Kolmogorov-Smirnov distance.

    >>> a, b, c = (ColumnSample("", None, v) for v in (["1", "2", "3"], ["2", "2.5"], ["700"]))
    >>> round(number_overlap(a, b), 2), number_overlap(a, c), number_overlap(a, a)
    (0.67, 0.0, 1.0)
    """
    columns = left.numbers, right.numbers
    if not all(map(len, columns)):
        return 0.0
    both = np.concatenate(columns)
    below = [np.searchsorted(column, both, side="right") / len(column) for column in columns]
    return float(1 - np.abs(below[0] - below[1]).max())
