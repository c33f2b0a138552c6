"""Programs: expressions that build a new text from constants and substrings of columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum

from lakejoin.errors import InputError


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
    """Rewrite one text; see `arrow_programs` for columns."""
    if form in LOOKUPS:
        key = text[:3].lower() if by_first_letters(form) else text
        return LOOKUPS[form].get(key)
    for pattern, by in _COMPILED.get(form, ()):
        text = pattern.sub(by, text)
    return text


Separator = str | Runs
Split = tuple[Separator, int]


@dataclass(frozen=True, slots=True)
class Constant:
    """The same text for every row."""

    text: str


@dataclass(frozen=True, slots=True)
class Extract:
    """A part of a column, after up to two splits.

    `length` characters from `start`, or all that follow without the last `drop`; then rewritten.

    >>> print(Program((Extract("name", ((", ", 1),), 0, 1, casing=Casing.LOWER),)))
    lower(substring(split(name, ", ")[1], 0, 1))
    """

    column: str
    splits: tuple[Split, ...] = ()
    start: int = 0
    length: int | None = None
    drop: int = 0
    form: Form = Form.SAME
    width: int = 0
    casing: Casing = Casing.SAME


Operator = Constant | Extract


def slice_bounds(part: Extract) -> tuple[int, int | None]:
    """The bounds of the part as a Python slice.

    >>> slice_bounds(Extract("name", (), 2, 3)), slice_bounds(Extract("name", (), -3, 2))
    ((2, 5), (-3, -1))
    >>> slice_bounds(Extract("name", (), -3, 3)), slice_bounds(Extract("name", (), 1, None, 4))
    ((-3, None), (1, -4))
    """
    if part.drop:
        return part.start, -part.drop
    if part.length is None or (part.start < 0 and part.start + part.length >= 0):
        return part.start, None
    return part.start, part.start + part.length


def takes_all(part: Extract) -> bool:
    """Whether the part is not cut."""
    return part.start == 0 and part.length is None and not part.drop


def is_cut(program: Program) -> bool:
    """Whether a program reads only a cut part of one text.

    >>> is_cut(Program((Extract("code", (), 0, 2),))), is_cut(Program((Extract("code"),)))
    (True, False)
    """
    return len(program.extracts) == 1 and not takes_all(program.extracts[0])


def is_shorter(program: Program, other: Program) -> bool:
    """Whether a program differs from another only by taking fewer characters of one part.

    >>> whole, cut = Program((Extract("code"),)), Program((Extract("code", (), 0, 3),))
    >>> is_shorter(cut, whole), is_shorter(whole, cut), is_shorter(cut, cut)
    (True, False, False)
    """
    if len(program.operators) != len(other.operators):
        return False
    pairs = zip(program.operators, other.operators, strict=True)
    differ = [(shorter, longer) for shorter, longer in pairs if shorter != longer]
    if len(differ) != 1:
        return False
    [(shorter, longer)] = differ
    if (
        not isinstance(shorter, Extract)
        or not isinstance(longer, Extract)
        or shorter.length is None
    ):
        return False
    fewer = longer.length is None or shorter.length < longer.length
    return fewer and replace(shorter, length=None) == replace(longer, length=None)


@dataclass(frozen=True, slots=True)
class Program:
    """Operators whose results are concatenated.

    >>> first = Extract("name", ((", ", 1),), 0, 1, casing=Casing.LOWER)
    >>> print(Program((first, Constant("."), Extract("name", ((", ", 0),)))))
    lower(substring(split(name, ", ")[1], 0, 1)) + "." + split(name, ", ")[0]
    """

    operators: tuple[Operator, ...]

    def __post_init__(self) -> None:
        if not self.columns:
            raise InputError("a program must read at least one column")
        for part in self.extracts:
            if any(not separator for separator, _ in part.splits):
                raise InputError(f"cannot split {part.column!r} by an empty separator")
            if part.length is not None and part.length < 0:
                raise InputError(f"a part of {part.column!r} cannot have {part.length} characters")
            if part.drop and (part.drop < 0 or part.start < 0 or part.length is not None):
                raise InputError(
                    f"drop of {part.column!r} cannot go with a length or a negative start"
                )

    @property
    def extracts(self) -> tuple[Extract, ...]:
        """The operators that read a column."""
        return tuple(o for o in self.operators if not isinstance(o, Constant))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, in order of first use."""
        return tuple(dict.fromkeys(part.column for part in self.extracts))

    @property
    def is_identity(self) -> bool:
        """Whether the result is an unchanged column."""
        only = self.operators[0]
        return len(self.operators) == 1 and only == Extract(self.columns[0])

    def __str__(self) -> str:
        return " + ".join(_words(o) for o in self.operators)


def identity(column: str) -> Program:
    """The program that returns the column unchanged."""
    return Program((Extract(column),))


def merge_constants(operators: Iterable[Operator]) -> Program:
    """The program of these operators, with adjacent constants merged.

    >>> print(merge_constants([Constant("a"), Constant("b"), Extract("x")]))
    "ab" + x
    """
    kept: list[Operator] = []
    for operator in operators:
        last = kept[-1] if kept else None
        if isinstance(operator, Constant) and isinstance(last, Constant):
            kept[-1] = Constant(last.text + operator.text)
        else:
            kept.append(operator)
    return Program(tuple(kept))


GLUE = "|"  # between the columns of a key of several columns


def glue(programs: Sequence[Program]) -> Program:
    """The program that writes the results of others, with `GLUE` between them.

    >>> print(glue([identity("state"), identity("county")]))
    state + "|" + county
    """
    operators: list[Operator] = []
    for program in programs:
        operators += [Constant(GLUE), *program.operators] if operators else program.operators
    return merge_constants(operators)


def unglue(program: Program) -> tuple[Program, ...]:
    """The programs that `glue` made one of; the program itself if one of them would read nothing.

    >>> county = Program((Extract("county"), Constant(" County")))
    >>> [str(part) for part in unglue(glue([county, identity("state")]))]
    ['county + " County"', 'state']
    """
    parts: list[list[Operator]] = [[]]
    for operator in program.operators:
        if not isinstance(operator, Constant):
            parts[-1].append(operator)
            continue
        first, *others = operator.text.split(GLUE)
        parts[-1] += [Constant(first)] if first else []
        parts += [[Constant(text)] if text else [] for text in others]
    if not all(any(isinstance(operator, Extract) for operator in part) for part in parts):
        return (program,)
    return tuple(Program(tuple(part)) for part in parts)


def _words(operator: Operator) -> str:
    if isinstance(operator, Constant):
        return _quoted(operator.text)
    text = operator.column if operator.column.isidentifier() else f"[{operator.column}]"
    for separator, index in operator.splits:
        if isinstance(separator, Runs):
            text = f"{separator.value}({text})[{index}]"
        else:
            text = f"split({text}, {_quoted(separator)})[{index}]"
    if operator.start or operator.length is not None:
        length = "" if operator.length is None else f", {operator.length}"
        text = f"substring({text}, {operator.start}{length})"
    if operator.drop:
        text = f"drop_last({text}, {operator.drop})"
    if operator.form:
        text = f"{operator.form}({text})"
    if operator.width:
        text = f"padded({text}, {operator.width})"
    return f"{operator.casing}({text})" if operator.casing else text


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
