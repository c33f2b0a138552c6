"""The task of joining two tables: the tables, the options and what was tried.

Each kind of matching is one function (`by_values`, `by_likeness`) that takes the task and what the
earlier ones found, and returns the same, something better, or the same with one more rule; None if
nothing was found. Rejected candidates are kept as attempts, to explain why no join was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakejoin.joins.options import JoinOptions, Progress

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.agreements import Agreement
    from lakejoin.codegen.programs import Program

ColumnPairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RejectedJoin:
    """A candidate join that was rejected."""

    words: str
    left_rows: int
    right_rows: int
    why: str  # it was rejected


@dataclass(frozen=True, eq=False)
class JoinTask:
    """Two tables to join, the options, and what was tried."""

    left: pa.Table
    right: pa.Table
    options: JoinOptions
    tell: Progress
    names: tuple[str, str] = ("", "")  # of the tables, if known
    attempts: list[RejectedJoin] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    agreed: dict[Any, list[Agreement]] = field(default_factory=dict)  # see `agreeing`

    def table(self, side: str) -> pa.Table:
        """The left or the right table."""
        return self.left if side == "left" else self.right

    def text(self, side: str, columns: Sequence[str], program: Program | None) -> pa.Array:
        """The texts to compare: a column, or the result of a program."""
        from lakejoin.codegen.arrow_programs import apply_program
        from lakejoin.codegen.programs import identity

        return apply_program(program or identity(columns[0]), self.table(side))


def side_words(source_side: str, source: str, target: str, sign: str) -> str:
    """Source and target as text, the left side first."""
    first, second = (source, target) if source_side == "left" else (target, source)
    return f"{first} {sign} {second}"
