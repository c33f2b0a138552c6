"""Answers of a server about joins: `RemoteJoin` and `Predicates`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from lakejoin.client.reading import Json, ServerSequence, ServerObject, read_each
from lakejoin.errors import NoJoin

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.client.remote_table import RemoteTable


@dataclass(frozen=True, eq=False, repr=False)
class RemoteJoin(ServerObject):
    """How two tables join; false if no join was found. `run` makes the joined table on the server;
    `table`, `to_pandas` and `to_polars` download it."""

    left: str = ""
    right: str = ""
    on: tuple[Json, ...] = ()
    how: str = "inner"
    rows: int = 0
    left_rows: int = 0
    right_rows: int = 0
    left_joined: int = 0
    right_joined: int = 0
    pairs: int = 0
    fan_out: float | None = None
    left_columns: tuple[str, ...] = ()
    right_columns: tuple[str, ...] = ()
    steps: tuple[Json, ...] = ()
    sure: float = 0.0
    examples: tuple[Json, ...] = ()
    unmatched: Json = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    preview: Json = field(default_factory=dict)
    found: bool = True
    why: str = ""
    attempt: Json | None = None
    _run: Callable[[], RemoteTable] | None = field(default=None, kw_only=True)

    def __bool__(self) -> bool:
        return self.found

    def __len__(self) -> int:
        return self.rows

    def run(self) -> RemoteTable:
        """Make the joined table and keep it on the server; raises `NoJoin` if no join was found."""
        if not self.found or self._run is None:
            raise NoJoin(self.why or "no join found")
        return self._run()

    def table(self) -> pa.Table:
        """The joined table as a `pyarrow.Table`."""
        return self.run().to_arrow()

    def to_pandas(self) -> Any:
        """The joined table as a `pandas.DataFrame`."""
        return self.run().to_pandas()

    def to_polars(self) -> Any:
        """The joined table as a `polars.DataFrame`."""
        return self.run().to_polars()

    def __repr__(self) -> str:
        if not self.found:
            return f"<RemoteJoin {self.left} with {self.right}: {self.why}>"
        pairs = zip(self.left_columns, self.right_columns, strict=False)
        kinds = ", ".join(str(step.get("kind", "")) for step in self.steps)
        on = " and ".join(f"{one} = {other}" for one, other in pairs)
        return (
            f"<RemoteJoin {self.left} with {self.right} on {on} ({kinds}): {self.rows:,} rows, "
            f"{self.left_joined:,} of {self.left_rows:,} left rows have a partner>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class JoinPredicate(ServerObject):
    """Pairs of columns that must all be equal, and figures about their join."""

    pairs: tuple[tuple[str, str], ...] = ()
    enough: tuple[tuple[str, str], ...] = ()
    scores: dict[str, float] = field(default_factory=dict)
    inner_rows: int = 0
    outer_rows: int = 0
    groups: int = 0
    entropy: float = 0.0
    involved: tuple[int, ...] = ()
    columns: tuple[str, ...] = ()
    first: tuple[tuple[Any, ...], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The equalities as text."""
        return " and ".join(f"{one} = {other}" for one, other in self.pairs)

    def __repr__(self) -> str:
        return f"<JoinPredicate {self.words}: {self.inner_rows:,} rows>"


@dataclass(frozen=True, eq=False, repr=False)
class Predicates(ServerSequence[JoinPredicate]):
    """The best predicates for a preference; `why` explains why there is none."""

    tables: tuple[Json, ...] = ()
    prefer: str = ""
    looked_at: int = 0
    complete: bool = True
    why: str = ""
    notes: tuple[str, ...] = ()

    _key = "predicates"

    @classmethod
    def of(cls, data: Json, **others: Any) -> Self:
        """Read from JSON."""
        return super().of(data, results=read_each(JoinPredicate.of, data.get("predicates")), **others)

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.results)) or self.why
