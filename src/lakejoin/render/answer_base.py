"""The base of all answers: a sequence of results that prints itself through its report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeVar, cast, overload

from lakejoin.render.report import Report

Item = TypeVar("Item")


class PrintedReport:
    """What prints itself, as text and in notebooks, through its report."""

    def report(self) -> Report:
        """What is shown."""
        raise NotImplementedError

    def __repr__(self) -> str:
        from lakejoin.render.text import render_text

        return render_text(self.report())

    def _repr_html_(self) -> str:
        from lakejoin.render.html import render_html

        return render_html(self.report())


class Detachable:
    """What never changes, and is pickled as its JSON: a copy in another process has all figures,
    but no index behind it. A copy in this process is the object itself."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON object with stable keys."""
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        return cast(Any, type(self)).from_dict, (self.to_dict(),)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self


class AnswerBase(PrintedReport, Sequence[Item]):
    """Results, best first; a slice is an answer of the same type.

    Subclasses are dataclasses with `results`, `notes` and `seconds`, and describe themselves as
    JSON (`to_dict`, `from_dict`) and as a `report`.
    """

    results: tuple[Item, ...]
    notes: tuple[str, ...]

    error: ClassVar[None] = None  # so that it can stand beside `Failed` in a batch

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.results)

    @overload
    def __getitem__(self, position: int) -> Item: ...
    @overload
    def __getitem__(self, position: slice) -> Self: ...
    def __getitem__(self, position: int | slice) -> Item | Self:
        if isinstance(position, slice):
            return cast(Self, replace(cast(Any, self), results=self.results[position]))
        return self.results[position]

    def to_dict(self) -> dict[str, Any]:
        """The answer as a JSON object with stable keys."""
        raise NotImplementedError
