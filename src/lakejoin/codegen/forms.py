r"""Forms: how a substring is rewritten, with the same result in every system.

A form is a replacement by regular expressions, or a lookup of months. The expressions contain only
ASCII characters, as systems disagree about which others are letters: everything beyond ASCII
counts as a letter. Months are English, and recognised by their first three letters.

>>> rewrite_text("0042", Form.NO_ZEROS), rewrite_text("(415) 555-0199", Form.DIGITS)
('42', '4155550199')
>>> rewrite_text("John Fitzgerald Kennedy", Form.INITIALS), rewrite_text("Sept.", Form.MONTH_NUMBER)
('JFK', '9')
"""

from __future__ import annotations

import re
from enum import Enum, StrEnum


class Casing(StrEnum):
    """The case that a substring is converted to."""

    SAME = ""
    LOWER = "lower"
    UPPER = "upper"


class Runs(Enum):
    """Runs of one kind of character, which split a text like a separator."""

    DIGITS = "digits"
    LETTERS = "letters"
    WORDS = "words"

    @property
    def inside(self) -> str:
        """The regular expression of a run."""
        return _RUNS[self][0]

    @property
    def between(self) -> str:
        """The regular expression of what is between two runs."""
        return _RUNS[self][1]


_RUNS = {
    Runs.DIGITS: ("[0-9]+", "[^0-9]+"),
    Runs.LETTERS: (r"[^\x00-@\[-`{-\x7f]+", r"[\x00-@\[-`{-\x7f]+"),
    Runs.WORDS: (r"[^\x00-/:-@\[-`{-\x7f]+", r"[\x00-/:-@\[-`{-\x7f]+"),
}


class Form(StrEnum):
    """How a substring is rewritten after it is cut."""

    SAME = ""
    NO_ZEROS = "without_leading_zeros"
    NO_COMMAS = "without_commas"
    DIGITS = "only_digits"
    NO_MARKS = "without_punctuation"
    NO_BLANKS = "without_blanks"
    BLANKS_TO_HYPHENS = "blanks_to_hyphens"
    BLANKS_TO_UNDERSCORES = "blanks_to_underscores"
    HYPHENS_TO_BLANKS = "hyphens_to_blanks"
    UNDERSCORES_TO_BLANKS = "underscores_to_blanks"
    NO_FIRST_WORD = "without_first_word"
    NO_LAST_WORD = "without_last_word"
    INITIALS = "initials"
    NO_TITLES = "without_titles"
    MONTH_NUMBER = "month_number"
    MONTH_NAME = "month_name"
    MONTH_SHORT = "month_short"


_TITLES = (
    "mr|mrs|ms|miss|dr|prof|professor|sir|dame|lord|lady|rev|reverend|hon|gov|governor|sen|senator|"
    "rep|representative|pres|president|capt|captain|col|colonel|gen|general|lt|maj|major|sgt"
)
_SUFFIXES = (
    "jr|sr|ii|iii|iv|ph\\.?d|m\\.?d|esq|mba|inc|incorporated|ltd|limited|llc|llp|lp|corp|"
    "corporation|co|company|plc|gmbh|ag|sa|nv|bv|oy|ab"
)

# Every match of an expression is replaced: by a text, or by the group with that number.
REPLACEMENTS: dict[Form, tuple[tuple[str, str | int], ...]] = {
    Form.NO_ZEROS: (("^0+([0-9])", 1),),
    Form.NO_COMMAS: ((",", ""),),
    Form.DIGITS: (("[^0-9]+", ""),),
    Form.NO_MARKS: ((r"[!-/:-@\[-`{-~]+", ""),),
    Form.NO_BLANKS: ((r"[\t-\r ]+", ""),),
    Form.BLANKS_TO_HYPHENS: ((" +", "-"),),
    Form.BLANKS_TO_UNDERSCORES: ((" +", "_"),),
    Form.HYPHENS_TO_BLANKS: (("-+", " "),),
    Form.UNDERSCORES_TO_BLANKS: (("_+", " "),),
    Form.NO_FIRST_WORD: (("^[^ ]* +", ""),),
    Form.NO_LAST_WORD: ((" +[^ ]*$", ""),),
    Form.INITIALS: (("^[ .-]+", ""), ("([^ .-])[^ .-]*[ .-]*", 1)),
    Form.NO_TITLES: (
        (f"(?i)^(?:(?:{_TITLES})\\.? +)+", ""),
        (f"(?i)(?:,? +(?:{_SUFFIXES})\\.?)+$", ""),
    ),
}

_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_BY_NAME = {name[:3].lower(): str(i + 1) for i, name in enumerate(_NAMES)}
_NUMBERS = {str(i + 1): name for i, name in enumerate(_NAMES)}
_NUMBERS |= {number.zfill(2): name for number, name in _NUMBERS.items()}

# Lookup tables for the text, or its first three letters in lower case; null if missing.
LOOKUPS: dict[Form, dict[str, str]] = {
    Form.MONTH_NUMBER: _BY_NAME,
    Form.MONTH_NAME: _NUMBERS,
    Form.MONTH_SHORT: {number: name[:3] for number, name in _NUMBERS.items()},
}


def replacement_text(by: str | int, group: str) -> str:
    """The replacement of a pattern, with `group` as the system's syntax for groups.

    >>> replacement_text("-", "${}"), replacement_text(1, "${}")
    ('-', '$1')
    """
    return group.format(by) if isinstance(by, int) else by


_COMPILED = {
    form: [(re.compile(pattern), replacement_text(by, "\\{}")) for pattern, by in each]
    for form, each in REPLACEMENTS.items()
}


def by_first_letters(form: Form) -> bool:
    """Whether the first three letters are looked up instead of the whole text."""
    return form is Form.MONTH_NUMBER


def rewrite_text(text: str, form: Form) -> str | None:
    """Rewrite one text; see `applying` for columns."""
    if form in LOOKUPS:
        key = text[:3].lower() if by_first_letters(form) else text
        return LOOKUPS[form].get(key)
    for pattern, by in _COMPILED.get(form, ()):
        text = pattern.sub(by, text)
    return text
