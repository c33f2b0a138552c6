"""What is a program? Parts of texts and constants, one after the other, that make a new text.

A program is a concatenation of constants and of parts of columns: the logical operators Constant,
Substr, SplitSubstr and SplitSplitSubstr (thesis, section 4.4.2), of which the last three are one
`Extract` with no, one or two splits; and forms, see `forms`. What each gives, exactly:

- `split(text, separator)[k]` is the k-th piece counted from 0, or from the end if k is negative.
  A text without the separator is one piece. **A piece that does not exist is null.** `digits`,
  `letters` and `words` part a text into stretches of such characters; there may be none.
- `substring(text, start, length)` holds the characters (Unicode code points) from `start` on,
  counted from the end if it is negative, `length` of them or all that follow. Places outside the
  text are left out: a text that is too short gives what it has, down to the empty text.
- `drop_last(text, n)` leaves out the last n characters.
- Then come the form, zeros in front up to a width (`padded`), and `lower` or `upper`.
- A null, in the column, from a missing piece or from a month that is none, makes the whole result
  null.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from lakejoin.errors import InputError
from lakejoin.joins.autojoin.forms import Casing, Form, Runs

Separator = str | Runs
Split = tuple[Separator, int]


@dataclass(frozen=True, slots=True)
class Constant:
    """The same text for every row."""

    text: str


@dataclass(frozen=True, slots=True)
class Extract:
    """A part of a column, or of a piece of it after up to two splits.

    `length` characters from `start` on, or all that follow, the last `drop` left out; then
    rewritten.

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


def window(part: Extract) -> tuple[int, int | None]:
    """Where the part begins and ends, as Python slices a text.

    >>> window(Extract("name", (), 2, 3)), window(Extract("name", (), -3, 2))
    ((2, 5), (-3, -1))
    >>> window(Extract("name", (), -3, 3)), window(Extract("name", (), 1, None, 4))
    ((-3, None), (1, -4))
    """
    if part.drop:
        return part.start, -part.drop
    if part.length is None or (part.start < 0 and part.start + part.length >= 0):
        return part.start, None
    return part.start, part.start + part.length


def takes_all(part: Extract) -> bool:
    """Whether the part is the whole text or piece."""
    return part.start == 0 and part.length is None and not part.drop


def is_cut(program: Program) -> bool:
    """Whether all that a program takes is a cut piece of one text.

    >>> is_cut(Program((Extract("code", (), 0, 2),))), is_cut(Program((Extract("code"),)))
    (True, False)
    """
    return len(program.extracts) == 1 and not takes_all(program.extracts[0])


def is_shorter(program: Program, other: Program) -> bool:
    """Whether a program is another one that takes fewer characters of one part.

    >>> whole, cut = Program((Extract("code"),)), Program((Extract("code", (), 0, 3),))
    >>> is_shorter(cut, whole), is_shorter(whole, cut), is_shorter(cut, cut)
    (True, False, False)
    """
    if len(program.operators) != len(other.operators):
        return False
    pairs = zip(program.operators, other.operators, strict=True)
    differ = [(mine, theirs) for mine, theirs in pairs if mine != theirs]
    if len(differ) != 1:
        return False
    [(mine, theirs)] = differ
    if not isinstance(mine, Extract) or not isinstance(theirs, Extract) or mine.length is None:
        return False
    fewer = theirs.length is None or mine.length < theirs.length
    return fewer and replace(mine, length=None) == replace(theirs, length=None)


@dataclass(frozen=True, slots=True)
class Program:
    """Operators whose texts are put one after the other.

    >>> first = Extract("name", ((", ", 1),), 0, 1, casing=Casing.LOWER)
    >>> print(Program((first, Constant("."), Extract("name", ((", ", 0),)))))
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
            if part.drop and (part.drop < 0 or part.start < 0 or part.length is not None):
                raise InputError(f"a part of {part.column!r} ends in two ways: give one of them")

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
        return len(self.operators) == 1 and only == Extract(self.columns[0])

    def __str__(self) -> str:
        return " + ".join(_words(o) for o in self.operators)


def identity(column: str) -> Program:
    """The column as it is."""
    return Program((Extract(column),))


def simplified(operators: Iterable[Operator]) -> Program:
    """The program of these operators, neighbouring constants as one.

    >>> print(simplified([Constant("a"), Constant("b"), Extract("x")]))
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
        if isinstance(separator, Runs):
            text = f"{separator.value}({text})[{piece}]"
        else:
            text = f"split({text}, {_quoted(separator)})[{piece}]"
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
