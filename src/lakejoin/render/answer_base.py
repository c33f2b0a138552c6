"""The base of all answers: a sequence of results that prints itself through its report."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast, overload

from lakejoin.model import FrameSource
from lakejoin.render.report import Report

if TYPE_CHECKING:
    import pyarrow as pa

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


def _result_column(values: list[Any]) -> pa.Array:
    import pyarrow as pa

    if any(map(_is_nested, values)):
        values = [v if v is None else json.dumps(v, ensure_ascii=False) for v in values]
    return pa.array(values)


def _is_nested(value: Any) -> bool:
    """Whether a value is more than a list of texts."""
    if isinstance(value, list):
        return not all(isinstance(item, str) for item in value)
    return isinstance(value, dict)


class AnswerBase(FrameSource, PrintedReport, Sequence[Item]):
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

    def to_arrow(self) -> pa.Table:
        """One row per result with the keys of its `to_dict`; what is nested in these is JSON."""
        import pyarrow as pa

        rows = [self._row(result) for result in self.results]
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: [row.get(name) for row in rows] for name in names}
        return pa.table({name: _result_column(values) for name, values in columns.items()})

    def _row(self, result: Item) -> dict[str, Any]:
        row: dict[str, Any] = cast(Any, result).to_dict()
        return row
