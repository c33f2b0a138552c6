"""The plan of a join as code, and helpers that all languages share."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.codegen.programs import Program
from lakejoin.values.column_names import make_names_unique

MOST_LISTED = 1000  # texts of one list

# A text, and its key; None: it has none. Numbers if numbers are compared.
Spellings = dict[Any, Any]


@dataclass(frozen=True, slots=True)
class TextForm:
    """A form in which texts are compared, with the same result in all systems; see `Casing`."""

    trim: bool = False  # blanks only
    lower: bool = False

    def of(self, texts: pa.Array) -> pa.Array:
        texts = pc.utf8_trim(texts, " ") if self.trim else texts
        return pc.utf8_lower(texts) if self.lower else texts


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """What one side compares: the result of a program, and texts that stand for another key."""

    program: Program
    cast: frozenset[str] = frozenset()  # columns that are not text yet
    whole: frozenset[str] = frozenset()  # integer columns among them
    respelt: Spellings = field(default_factory=dict)
    listed: bool = False  # only the listed texts have a key
    nulls: tuple[str, ...] | None = None  # null words, if the code computes canonical values


class NumberType(Enum):
    """The type that numbers are compared as; a double holds integers only up to 2^53."""

    WHOLE = "int64"
    UNSIGNED = "uint64"
    FLOATING = "double"


@dataclass(frozen=True, slots=True)
class PlanPart:
    """An equality of the join: the key, and the rules by which the source gets it.

    If `typed`, the two columns are compared with their own type, not as texts; `number` is the
    type for two numeric columns, which may differ in type. A part with `only` applies to rows
    whose first part has one of these keys: in all others both sides are an empty text.
    """

    key: ComparedSide
    sources: tuple[ComparedSide, ...]
    normal: TextForm
    typed: bool = False
    number: NumberType | None = None
    only: tuple[str, ...] = ()

    @property
    def is_simple(self) -> bool:
        """Whether a plain equality suffices."""
        sides = [self.key, *self.sources]
        return (
            len(self.sources) == 1
            and not self.only
            and not any(side.listed or side.respelt for side in sides)
        )


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """What the code of a join must do, in any language."""

    source_side: str
    how: str
    parts: tuple[PlanPart, ...]
    left: tuple[str, ...]  # the names of the left columns
    right: tuple[str, ...]
    names: tuple[str, ...]  # of the result
    comments: tuple[str, ...]

    def unused_name(self, name: str) -> str:
        """The name, or a similar one that no column has, ignoring case."""
        taken = (*self.left, *self.right, *self.names)
        return make_names_unique([name], taken, str.lower)[0]


def frame_names(plan: JoinPlan) -> tuple[str, str]:
    """The variables of the source and of the target, which has the key."""
    return ("left", "right") if plan.source_side == "left" else ("right", "left")
