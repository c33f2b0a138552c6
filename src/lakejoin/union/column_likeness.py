"""Score how alike two columns are, that is whether their values could form one column.

As in Nargesian et al. (2018), several signals each say how likely it is, 0 to 1, that two columns
draw from one domain, and any of them may be enough:

- **values**: the share of the smaller column's values that both hold, beyond what chance would
  give. Rows to append often have other keys: sharing no value counts against two columns only if
  both hold a few values that repeat;
- **names**: equal or similar; more if few tables of the lake have such a column;
- **meaning**: the vectors of their texts are close, compared with other columns;
- **form**: texts have the same distinctive patterns, numbers have a similar distribution.

Columns of incompatible types (texts and numbers) are not alike. The likeness is 1 minus the product
of the doubts that the signals leave.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lakejoin.union.looks import (
    ColumnSample,
    pattern_share,
    number_overlap,
    shape_overlap,
    word_overlap,
)
from lakejoin.model import ColumnType
from lakejoin.search.answer_display import format_percent
from lakejoin.signals.chance import evidence
from lakejoin.signals.name_similarity import compare_names

OF_VALUES, OF_NAMES, OF_MEANING, OF_FORM = 0.9, 0.8, 0.6, 0.6  # the largest share of each signal
SURE = 12.0  # nats from which shared values are not a coincidence
_VAGUE = 0.45  # for equal but vague names: name, type, id
_UNLIKE = 0.4  # factor if the values of two categories, or their forms, differ
_FAR_APART = 0.1  # similarity below which two distributions of numbers are disjoint
_CONVENTION = 0.6  # share of equal names from which both tables follow one convention
_OTHER_NAME = 0.4  # factor, in that case, if only the form of the values is alike
_STRONG = ("values", "names", "meaning")
_MANY = 200  # values beyond which more are no further evidence
_NUMBERED = re.compile(r"^(column|col|c|field|f|v|x|var|unnamed)?[\W_]*\d*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SharedValues:
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
    """What names mean in this lake: how distinctive (`telling`) the lake column's name is, and how
    much of the whole `header` both tables share: `type` says little by itself, and much between
    `id` and `horsepower`. If most names are the same (`alike`), different names are intended."""

    telling: float = 1.0
    header: float = 0.0
    alike: float = 0.0


def score_likeness(
    mine: ColumnSample, theirs: ColumnSample, shared: SharedValues, named: NameContext, meaning: float = 0.0
) -> Likeness:
    """How alike two columns of compatible types are; `meaning` is how much the vectors of their
    texts agree beyond chance."""
    signals = [_of_values(shared), _of_names(mine.name, theirs.name, named)]
    if meaning > 0:
        signals.append(LikenessSign("meaning", OF_MEANING * meaning, "the texts have similar meanings"))
    signals += _of_form(mine, theirs)
    signs = tuple(sign for sign in signals if sign.says > 0)
    doubt = 1.0
    for sign in signs:
        doubt *= 1 - sign.says
    against = _against(mine, theirs, shared, meaning)
    if named.alike >= _CONVENTION and not any(sign.what in _STRONG for sign in signs):
        against *= _OTHER_NAME
    return Likeness((1 - doubt) * against, signs)


def compatible_types(one: ColumnType, other: ColumnType) -> bool:
    """Whether columns of two types could form one column.

    >>> compatible_types(ColumnType.INTEGER, ColumnType.DECIMAL)
    True
    >>> compatible_types(ColumnType.TEXT, ColumnType.INTEGER)
    False
    """
    if ColumnType.EMPTY in (one, other) or ColumnType.MIXED in (one, other):
        return True
    numbers = (ColumnType.INTEGER, ColumnType.DECIMAL)
    return one == other or (one in numbers and other in numbers)


def _of_values(shared: SharedValues) -> LikenessSign:
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


def _of_names(mine: str, theirs: str, named: NameContext) -> LikenessSign:
    one, other = plain_name(mine), plain_name(theirs)
    if not one or not other:
        return LikenessSign("names", 0.0, "")
    alike = compare_names(mine, theirs).alike
    if one == other:
        alike = max(max(alike, _VAGUE) * (0.7 + 0.3 * named.telling), named.header)
        return LikenessSign("names", OF_NAMES * alike, "the names are the same")
    return LikenessSign("names", OF_NAMES * alike * (0.5 + 0.5 * named.telling), "the names are similar")


def _of_form(mine: ColumnSample, theirs: ColumnSample) -> Iterator[LikenessSign]:
    if mine.is_number and theirs.is_number:
        alike = 2 * number_overlap(mine, theirs) - 1
        yield LikenessSign("form", OF_FORM * max(0.0, alike), "the numbers have a similar distribution")
    elif mine.is_text and theirs.is_text:
        words = 0.5 * min(1.0, 2 * word_overlap(mine, theirs))
        telling = 0.4 + 0.6 * min(pattern_share(mine), pattern_share(theirs))
        yield LikenessSign(
            "form", OF_FORM * telling * shape_overlap(mine, theirs), "the values have the same format"
        )
        yield LikenessSign("words", OF_FORM * words, "the values share words")
    elif mine.type == theirs.type == ColumnType.DATE:
        yield LikenessSign("form", OF_FORM / 2, "both hold dates")


def _against(mine: ColumnSample, theirs: ColumnSample, shared: SharedValues, meaning: float) -> float:
    """The factor by which values that should be the same, but differ, reduce the likeness."""
    if mine.is_number and theirs.is_number:
        # Rows to append may hold other numbers, but rarely under another name as well.
        renamed = plain_name(mine.name) != plain_name(theirs.name)
        return _UNLIKE if renamed and number_overlap(mine, theirs) < _FAR_APART else 1.0
    if shared.both or meaning > 0.3 or not (mine.is_text and theirs.is_text):
        return 1.0
    if mine.is_category and theirs.is_category:
        return _UNLIKE
    # Codes against words: one follows a pattern, the other does not.
    unlike = abs(pattern_share(mine) - pattern_share(theirs)) > 0.8
    return _UNLIKE if unlike else 1.0
