"""What is asked: two tables, how they may be joined, and what was tried.

Each kind of join is tried by one function (`by_values`, `by_likeness`), which takes the task and
what those before it found, and gives what is now known: the same, or a better way, or one more;
None is nothing. What was looked at and not believed is left as an attempt, so that a join that is
not found can be explained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakejoin.joins.options import JoinOptions, Progress

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.agreeing import Agreement
    from lakejoin.joins.autojoin.programs import Program

On = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came nearest to a join that was not believed."""

    words: str
    left_rows: int
    right_rows: int
    why: str  # it is not believed


@dataclass(frozen=True, eq=False)
class Task:
    """Two tables and what is asked of their join."""

    left: pa.Table
    right: pa.Table
    options: JoinOptions
    tell: Progress
    names: tuple[str, str] = ("", "")  # of the tables, where they have any
    attempts: list[Attempt] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    agreed: dict[Any, list[Agreement]] = field(default_factory=dict)  # see `agreeing`

    def table(self, side: str) -> pa.Table:
        """The left or the right one."""
        return self.left if side == "left" else self.right

    def text(self, side: str, columns: Sequence[str], program: Program | None) -> pa.Array:
        """What is compared as text: a column, or what a program makes of some."""
        from lakejoin.joins.autojoin.applying import apply
        from lakejoin.joins.autojoin.programs import identity

        return apply(program or identity(columns[0]), self.table(side))


def sides(source_side: str, source: str, target: str, sign: str) -> str:
    """Both sides with the left one first."""
    first, second = (source, target) if source_side == "left" else (target, source)
    return f"{first} {sign} {second}"
