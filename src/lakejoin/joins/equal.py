"""Which rows hold equal values? The equi-join of two tables by their canonical values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lakejoin.errors import InputError
from lakejoin.joins.joined import HOWS, SUFFIX, Joined
from lakejoin.joins.keys import key_codes
from lakejoin.model import ValueRules

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class EqualJoin:
    """How two tables are joined: the pairs of columns that must be equal, and which rows stay.

    >>> import pyarrow as pa
    >>> towns = pa.table({"town": ["Bern", "Ulm"], "people": [134, 126]})
    >>> codes = pa.table({"town": ["ulm ", "Bonn"], "code": ["UL", "BN"]})
    >>> joined = EqualJoin((("town", "town"),)).join(towns, codes)
    >>> joined.table().to_pylist()
    [{'town': 'Ulm', 'people': 126, 'town_right': 'ulm ', 'code': 'UL'}]
    """

    on: tuple[tuple[str, str], ...]
    how: str = "inner"
    suffix: str = SUFFIX
    rules: ValueRules = field(default_factory=ValueRules)

    def __post_init__(self) -> None:
        if self.how not in HOWS:
            raise InputError(f"a join is one of {', '.join(HOWS)}, not {self.how!r}")
        if not self.on:
            raise InputError("a join needs at least one pair of columns")

    def join(self, left: pa.Table, right: pa.Table) -> Joined:
        """The join, of which nothing is made before it is asked for."""
        keys = key_codes(
            [left[name] for name, _ in self.on], [right[name] for _, name in self.on], self.rules
        )
        return Joined(left, right, keys, self.how, self.suffix)
