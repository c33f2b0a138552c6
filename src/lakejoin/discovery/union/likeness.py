"""Could the values of two columns stand under one name? What speaks for it, weighed.

As in Nargesian et al. (2018), several signals each say how likely it is that two columns draw from
one domain, 0 to 1, and any of them may be enough:

- **values**: the share of the smaller column's values that both hold, if chance would not give as
  much (`signals/chance.py`). Rows that could be appended often have other keys: that no value is
  shared speaks against it only where both hold a few values that repeat;
- **names**: equal or alike, more where few tables of the lake have such a column;
- **meaning**: the vectors of their texts point the same way, compared with other columns;
- **form**: texts are written after the same peculiar patterns, numbers are spread alike.

Columns of types that do not go together (texts and numbers) are not alike. The likeness is 1 less
the product of what each signal leaves open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lakejoin.discovery.union.looks import Look, peculiar, same_numbers, same_shapes, same_words
from lakejoin.model import ColumnType
from lakejoin.search.display import percent
from lakejoin.signals.chance import evidence
from lakejoin.signals.likely_names import names_alike

OF_VALUES, OF_NAMES, OF_MEANING, OF_FORM = 0.9, 0.8, 0.6, 0.6  # the most that each may say
SURE = 12.0  # nats from which shared values are no chance
_VAGUE = 0.45  # equal names that say little: name, type, id
_UNLIKE = 0.4  # of the likeness stays where the values of two categories, or their forms, differ
_FAR_APART = 0.1  # numbers that are spread so little alike lie elsewhere
_CONVENTION = 0.6  # of the names are the same: both tables are named by one convention
_OTHER_NAME = 0.4  # of the likeness stays there where only the form of values is alike
_STRONG = ("values", "names", "meaning")
_MANY = 200  # values: more say no more
_NUMBERED = re.compile(r"^(column|col|c|field|f|v|x|var|unnamed)?[\W_]*\d*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Shared:
    """The values of two columns: `both` hold so many, of the `fewer` that the smaller one has; of
    wrong values a part `chance` would be shared."""

    both: int = 0
    fewer: int = 0
    chance: float = 0.0

    @property
    def share(self) -> float:
        """Of the smaller column's values."""
        return self.both / max(1, self.fewer)


@dataclass(frozen=True, slots=True)
class Sign:
    """One thing that says that two columns are alike: what, how much, 0 to 1, and in words."""

    what: str
    says: float
    words: str


@dataclass(frozen=True, slots=True)
class Likeness:
    """How alike two columns are, 0 to 1, and by which signs."""

    score: float
    signs: tuple[Sign, ...]

    @property
    def why(self) -> str:
        """In words, what says most first."""
        return "; ".join(s.words for s in sorted(self.signs, key=lambda s: -s.says))


NOT_ALIKE = Likeness(0.0, ())


@dataclass(frozen=True, slots=True)
class Named:
    """What names say in this lake: how `telling` the name of theirs is, and how much of the whole
    `header` both tables share: `type` says little, and much between `id` and `horsepower`. Where a
    part `alike` of the names is the same, other names are meant to be other ones."""

    telling: float = 1.0
    header: float = 0.0
    alike: float = 0.0


def likeness(
    mine: Look, theirs: Look, shared: Shared, named: Named, meaning: float = 0.0
) -> Likeness:
    """How alike two columns are whose types go together; `meaning` is how much the vectors of their
    texts agree beyond chance."""
    found = [_of_values(shared), _of_names(mine.name, theirs.name, named)]
    if meaning > 0:
        found.append(Sign("meaning", OF_MEANING * meaning, "their texts mean alike"))
    found += _of_form(mine, theirs)
    signs = tuple(sign for sign in found if sign.says > 0)
    left_open = 1.0
    for sign in signs:
        left_open *= 1 - sign.says
    against = _against(mine, theirs, shared, meaning)
    if named.alike >= _CONVENTION and not any(sign.what in _STRONG for sign in signs):
        against *= _OTHER_NAME
    return Likeness((1 - left_open) * against, signs)


def go_together(one: ColumnType, other: ColumnType) -> bool:
    """Whether columns of two types could be one.

    >>> go_together(ColumnType.INTEGER, ColumnType.DECIMAL)
    True
    >>> go_together(ColumnType.TEXT, ColumnType.INTEGER)
    False
    """
    if ColumnType.EMPTY in (one, other) or ColumnType.MIXED in (one, other):
        return True
    numbers = (ColumnType.INTEGER, ColumnType.DECIMAL)
    return one == other or (one in numbers and other in numbers)


def _of_values(shared: Shared) -> Sign:
    nats = evidence(min(shared.fewer, _MANY), shared.share, max(shared.chance, 1e-3))
    says = OF_VALUES * min(1.0, nats / SURE) * shared.share**0.5
    return Sign("values", says, f"{percent(shared.share)} of the values are in both")


def plain_name(name: str) -> str:
    """A name as names are compared; empty where it only numbers a column.

    >>> plain_name(" Team 1"), plain_name("column_7")
    ('team 1', '')
    """
    plain = name.strip().casefold()
    return "" if _NUMBERED.match(plain) else plain


def _of_names(mine: str, theirs: str, named: Named) -> Sign:
    one, other = plain_name(mine), plain_name(theirs)
    if not one or not other:
        return Sign("names", 0.0, "")
    alike = names_alike(mine, theirs).alike
    if one == other:
        alike = max(max(alike, _VAGUE) * (0.7 + 0.3 * named.telling), named.header)
        return Sign("names", OF_NAMES * alike, "the names are the same")
    return Sign("names", OF_NAMES * alike * (0.5 + 0.5 * named.telling), "the names are alike")


def _of_form(mine: Look, theirs: Look) -> Iterator[Sign]:
    if mine.is_number and theirs.is_number:
        alike = 2 * same_numbers(mine, theirs) - 1
        yield Sign("form", OF_FORM * max(0.0, alike), "the numbers are spread alike")
    elif mine.is_text and theirs.is_text:
        words = 0.5 * min(1.0, 2 * same_words(mine, theirs))
        telling = 0.4 + 0.6 * min(peculiar(mine), peculiar(theirs))
        yield Sign(
            "form", OF_FORM * telling * same_shapes(mine, theirs), "the values are written alike"
        )
        yield Sign("words", OF_FORM * words, "words are in both")
    elif mine.type == theirs.type == ColumnType.DATE:
        yield Sign("form", OF_FORM / 2, "both hold dates")


def _against(mine: Look, theirs: Look, shared: Shared, meaning: float) -> float:
    """What of the likeness stays where values that should be the same differ."""
    if mine.is_number and theirs.is_number:
        # Rows to append may hold other numbers, but hardly under another name too.
        renamed = plain_name(mine.name) != plain_name(theirs.name)
        return _UNLIKE if renamed and same_numbers(mine, theirs) < _FAR_APART else 1.0
    if shared.both or meaning > 0.3 or not (mine.is_text and theirs.is_text):
        return 1.0
    if mine.is_category and theirs.is_category:
        return _UNLIKE
    # Codes with words: one is written after a pattern, the other is not.
    unlike = abs(peculiar(mine) - peculiar(theirs)) > 0.8
    return _UNLIKE if unlike else 1.0
