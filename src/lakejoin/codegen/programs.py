"""Programs: expressions that build a new text from constants and substrings of columns.

A program is a concatenation of constants and of parts of columns: the logical operators Constant,
Substr, SplitSubstr and SplitSplitSubstr (thesis, section 4.4.2), of which the last three are one
`Extract` with zero, one or two splits; and forms, see `forms`. Their exact results:

- `split(text, separator)[k]` is the k-th substring counted from 0, or from the end if k is
  negative. A text without the separator is one substring. **A missing substring is null.**
  `digits`, `letters` and `words` split a text into runs of such characters; there may be none.
- `substring(text, start, length)` is the characters (Unicode code points) from `start`, counted
  from the end if negative: `length` of them, or all. Positions outside the text are ignored: a
  short text gives what it has, possibly the empty text.
- `drop_last(text, n)` drops the last n characters.
- Then the form, zero padding to a width (`padded`), and `lower` or `upper` are applied.
- A null in the column, from a missing substring or from an unknown month, makes the result null.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from lakejoin.errors import InputError
from lakejoin.codegen.forms import Casing, Form, Runs

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
