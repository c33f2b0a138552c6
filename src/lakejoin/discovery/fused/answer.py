"""The answer of a fused search: tables, the ways in which each joins, and what it would add."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, overload

from lakejoin.discovery.fused.adds import Added
from lakejoin.discovery.fused.ways import Way
from lakejoin.search.display import percent


@dataclass(frozen=True, eq=False, repr=False)
class FusedResult:
    """A table of the lake, and the ways in which it joins with mine; the first is the one to take.

    `adds` are its columns beside those of the first way, and how full they would be. `versions` are
    the names of tables that are copies or other versions of it, and no results of their own.
    """

    rank: int
    table: str
    ways: tuple[Way, ...]
    adds: tuple[Added, ...]
    versions: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """How good a partner it is, 0 to 1: as good as its best way."""
        return self.ways[0].weighed.score

    @property
    def accidental(self) -> str:
        """Why it is no join, or nothing if it is one."""
        return self.ways[0].weighed.accidental

    @property
    def reason(self) -> str:
        """In words: on which columns it joins, how many rows, and why it is believed or not."""
        way = self.ways[0]
        return f"{way.pairs}: {percent(way.result.containment)} of my values meet; {way.why}"

    def sql(self) -> str:
        """DuckDB SQL that makes the join of my table with this one, by its first way."""
        return self.ways[0].result.sql()

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON has it; the keys are stable."""
        return {
            "rank": self.rank,
            "table": self.table,
            "score": self.score,
            "ways": [way.to_dict() for way in self.ways],
            "adds": [asdict(one) for one in self.adds],
            "versions": list(self.versions),
            "accidental": self.accidental,
            "reason": self.reason,
        }

    def __repr__(self) -> str:
        from lakejoin.discovery.fused.display import result_text

        return result_text(self)


@dataclass(frozen=True, eq=False, repr=False)
class FusedAnswer(Sequence[FusedResult]):
    """The tables that join, at most `k`, the best first; a sequence of `FusedResult`.

    `columns` are those of mine that were searched for, each by itself, or several together as a
    key. `misses` are tables that share values with mine by accident, the nearest first. `seconds`
    is how long the caller waited, and `seconds_by` what each part of the search took of it. One
    that is not `final` comes before the search is over, and a better one after it.
    """

    table: str
    columns: tuple[tuple[str, ...], ...]
    results: tuple[FusedResult, ...]
    misses: tuple[FusedResult, ...]
    k: int = 10
    seconds: float = 0.0
    seconds_by: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    final: bool = True

    by: ClassVar[str] = "fused"
    error: ClassVar[None] = None  # beside `Failed`, where many are searched for

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[FusedResult]:
        return iter(self.results)

    @overload
    def __getitem__(self, place: int) -> FusedResult: ...
    @overload
    def __getitem__(self, place: slice) -> FusedAnswer: ...
    def __getitem__(self, place: int | slice) -> FusedResult | FusedAnswer:
        if isinstance(place, slice):
            return replace(self, results=self.results[place])
        return self.results[place]

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it; the keys are stable."""
        return {
            "query": {"table": self.table, "columns": [list(one) for one in self.columns]},
            "by": self.by,
            "k": self.k,
            "results": [one.to_dict() for one in self.results],
            "misses": [one.to_dict() for one in self.misses],
            "notes": list(self.notes),
            "seconds": self.seconds,
            "seconds_by": self.seconds_by,
        }

    def __repr__(self) -> str:
        from lakejoin.discovery.fused.display import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from lakejoin.discovery.fused.display import as_html

        return as_html(self)
