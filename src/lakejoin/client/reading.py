"""Base classes for what a server answers: JSON as frozen dataclasses and sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, TypeVar, overload

Json = dict[str, Any]
Item = TypeVar("Item", bound="Told")


@dataclass(frozen=True, eq=False, repr=False)
class ServerObject:
    """An object that a server sent: typed fields, and all of its JSON in `to_dict`."""

    raw: Json = field(default_factory=dict, kw_only=True)

    @classmethod
    def of(cls, data: Json, **others: Any) -> Self:
        """Read from JSON; `others` are fields that are passed instead. Unknown keys are only in
        `to_dict`; missing keys get the default of the field."""
        known = [field.name for field in fields(cls) if field.init and field.name in data]
        values = {name: _immutable(data[name]) for name in known if name not in others}
        return cls(**values, **others, raw=data)

    def to_dict(self) -> Json:
        """The JSON of this object."""
        return self.raw


@dataclass(frozen=True, eq=False, repr=False)
class ServerSequence(ServerObject, Sequence[Item]):
    """An object that a server sent and that is a sequence; a slice has the same type."""

    results: tuple[Item, ...] = ()

    _key = "results"  # the key of the list in the JSON

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.results)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Item | Self:
        if isinstance(index, slice):
            return replace(self, results=self.results[index])
        return self.results[index]

    def to_dict(self) -> Json:
        """The JSON of this object, with the results that are left in a slice."""
        return {**self.raw, self._key: [result.to_dict() for result in self.results]}


def read_each(of: Callable[[Json], Item], data: Any) -> tuple[Item, ...]:
    """Read each object of a JSON list."""
    return tuple(of(item) for item in data or ())


def _immutable(value: Any) -> Any:
    """Convert lists to tuples."""
    return tuple(_immutable(item) for item in value) if isinstance(value, list) else value
