"""What is a program? Parts of texts and constants, one after the other, that make a new text.

Four operators, each giving a text (thesis, section 4.4.2): a constant, a part of a column, a part
of a piece of a column that is split, and a part of a piece of such a piece. A program is their
concatenation. What each gives, exactly:

- `split(text, separator)[k]` is the k-th piece counted from 0, or from the end if k is negative.
  A text without the separator is one piece. **A piece that does not exist is null.**
- `substring(text, start, length)` holds the characters (Unicode code points) from `start` on,
  counted from the end if it is negative, `length` of them or all that follow. Places outside the
  text are left out: a text that is too short gives what it has, down to the empty text.
- `lower` and `upper` change the case, see `casing`.
- A null, in the column or from a missing piece, makes the whole result null.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from lakejoin.errors import InputError

Split = tuple[str, int]


class Casing(StrEnum):
    """The case that a part is given."""

    SAME = ""
    LOWER = "lower"
    UPPER = "upper"


@dataclass(frozen=True, slots=True)
class Constant:
    """The same text for every row."""

    text: str


@dataclass(frozen=True, slots=True)
class Substr:
    """A part of a column: `length` characters from `start` on, or all that follow."""

    column: str
    start: int = 0
    length: int | None = None
    casing: Casing = Casing.SAME

    @property
    def splits(self) -> tuple[Split, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class SplitSubstr:
    """A part of one piece of a column that is split by a separator."""

    column: str
    separator: str
    piece: int
    start: int = 0
    length: int | None = None
    casing: Casing = Casing.SAME

    @property
    def splits(self) -> tuple[Split, ...]:
        return ((self.separator, self.piece),)


@dataclass(frozen=True, slots=True)
class SplitSplitSubstr:
    """A part of one piece of one piece of a column."""

    column: str
    separator: str
    piece: int
    second_separator: str
    second_piece: int
    start: int = 0
    length: int | None = None
    casing: Casing = Casing.SAME

    @property
    def splits(self) -> tuple[Split, ...]:
        return ((self.separator, self.piece), (self.second_separator, self.second_piece))


Extract = Substr | SplitSubstr | SplitSplitSubstr
Operator = Constant | Extract


def extract(
    column: str,
    splits: tuple[Split, ...] = (),
    start: int = 0,
    length: int | None = None,
    casing: Casing = Casing.SAME,
) -> Extract:
    """The operator with none, one or two splits."""
    if not splits:
        return Substr(column, start, length, casing)
    if len(splits) == 1:
        return SplitSubstr(column, *splits[0], start, length, casing)
    return SplitSplitSubstr(column, *splits[0], *splits[1], start, length, casing)


def window(part: Extract) -> tuple[int, int | None]:
    """Where the part begins and ends, as Python slices a text.

    >>> window(Substr("name", 2, 3)), window(Substr("name", -3, 2)), window(Substr("name", -3, 3))
    ((2, 5), (-3, -1), (-3, None))
    """
    if part.length is None or (part.start < 0 and part.start + part.length >= 0):
        return part.start, None
    return part.start, part.start + part.length


def takes_all(part: Extract) -> bool:
    """Whether the part is the whole text or piece."""
    return part.start == 0 and part.length is None


@dataclass(frozen=True, slots=True)
class Program:
    """Operators whose texts are put one after the other.

    >>> first = SplitSubstr("name", ", ", 1, 0, 1, Casing.LOWER)
    >>> print(Program((first, Constant("."), SplitSubstr("name", ", ", 0))))
    lower(substring(split(name, ", ")[1], 0, 1)) + "." + split(name, ", ")[0]
    """

    operators: tuple[Operator, ...]

    def __post_init__(self) -> None:
        if not self.columns:
            raise InputError("a program needs a column to take text from")
        for part in self.extracts:
            if any(not separator for separator, _ in part.splits):
                raise InputError(f"nothing to split {part.column!r} by: give a separator")
            if part.length is not None and part.length < 0:
                raise InputError(f"a part of {part.column!r} cannot have {part.length} characters")

    @property
    def extracts(self) -> tuple[Extract, ...]:
        """The operators that take text from a column."""
        return tuple(o for o in self.operators if not isinstance(o, Constant))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it takes text from, in the order of their first use."""
        return tuple(dict.fromkeys(part.column for part in self.extracts))

    @property
    def is_identity(self) -> bool:
        """Whether the result is a column as it is."""
        only = self.operators[0]
        return len(self.operators) == 1 and only == Substr(self.columns[0])

    def __str__(self) -> str:
        return " + ".join(_words(o) for o in self.operators)


def identity(column: str) -> Program:
    """The column as it is."""
    return Program((Substr(column),))


def simplified(operators: Iterable[Operator]) -> Program:
    """The program of these operators, neighbouring constants as one.

    >>> print(simplified([Constant("a"), Constant("b"), Substr("x")]))
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


def _words(operator: Operator) -> str:
    if isinstance(operator, Constant):
        return _quoted(operator.text)
    text = operator.column if operator.column.isidentifier() else f"[{operator.column}]"
    for separator, piece in operator.splits:
        text = f"split({text}, {_quoted(separator)})[{piece}]"
    if not takes_all(operator):
        length = "" if operator.length is None else f", {operator.length}"
        text = f"substring({text}, {operator.start}{length})"
    return f"{operator.casing}({text})" if operator.casing else text


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
