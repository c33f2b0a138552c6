"""From JSON to frozen dataclasses, and sequences of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, TypeVar, overload

Json = dict[str, Any]
Item = TypeVar("Item", bound="Told")


@dataclass(frozen=True, eq=False, repr=False)
class Told:
    """Something that a server told: fields with types, and `to_dict` with all that was said."""

    raw: Json = field(default_factory=dict, kw_only=True)

    @classmethod
    def of(cls, told: Json, **others: Any) -> Self:
        """What JSON says; `others` are fields that are not read from it. Keys that are not known
        are only in `to_dict`, those that are missing are as the field has them by itself."""
        known = [one.name for one in fields(cls) if one.init and one.name in told]
        values = {name: _fixed(told[name]) for name in known if name not in others}
        return cls(**values, **others, raw=told)

    def to_dict(self) -> Json:
        """As JSON has it."""
        return self.raw


@dataclass(frozen=True, eq=False, repr=False)
class Several(Told, Sequence[Item]):
    """Something that a server told and that is a sequence; a slice of it is one again."""

    results: tuple[Item, ...] = ()

    _key = "results"  # of the list in JSON

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.results)

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> Self: ...
    def __getitem__(self, place: int | slice) -> Item | Self:
        if isinstance(place, slice):
            return replace(self, results=self.results[place])
        return self.results[place]

    def to_dict(self) -> Json:
        """As JSON has it."""
        return {**self.raw, self._key: [one.to_dict() for one in self.results]}


def each(of: Callable[[Json], Item], told: Any) -> tuple[Item, ...]:
    """A list of JSON objects, each read."""
    return tuple(of(one) for one in told or ())


def _fixed(value: Any) -> Any:
    """Lists as tuples, so that nothing of what was told changes."""
    return tuple(_fixed(one) for one in value) if isinstance(value, list) else value
