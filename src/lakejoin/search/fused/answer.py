"""The answer of a fused search: tables, the ways in which each joins, and what it would add."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lakejoin.search.display import percent
from lakejoin.search.fused.ways import Way


@dataclass(frozen=True, eq=False)
class FusedResult:
    """A table of the lake, and the ways in which it joins with mine, the best first."""

    rank: int
    table: str
    ways: tuple[Way, ...]
    adds: tuple[str, ...]

    @property
    def score(self) -> float:
        """How good a partner it is, 0 to 1."""
        return self.ways[0].weighed.score

    @property
    def accidental(self) -> str:
        """Why it is no join, or nothing if it is one."""
        return self.ways[0].weighed.accidental

    @property
    def reason(self) -> str:
        """In words: on which columns it joins, how many rows, and why it is believed or not."""
        way = self.ways[0]
        pairs = " and ".join(
            f"{mine} = {theirs}"
            for mine, theirs in zip(way.columns, way.result.columns, strict=True)
        )
        why = self.accidental or "; ".join(one.words for one in way.weighed.reasons)
        return f"{pairs}: {percent(way.result.containment)} of my values meet; {why}"

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON has it; the keys are stable."""
        return {
            "rank": self.rank,
            "table": self.table,
            "score": self.score,
            "ways": [way.to_dict() for way in self.ways],
            "adds": list(self.adds),
            "accidental": self.accidental,
            "reason": self.reason,
        }


@dataclass(frozen=True, eq=False)
class FusedAnswer:
    """The tables that join, the best first; `misses` are those that meet mine by accident.

    `seconds` tells the time of each part of the search.
    """

    table: str
    columns: tuple[tuple[str, ...], ...]
    results: tuple[FusedResult, ...]
    misses: tuple[FusedResult, ...]
    seconds: dict[str, float]
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[FusedResult]:
        return iter(self.results)

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it; the keys are stable."""
        return {
            "query": {"table": self.table, "columns": [list(one) for one in self.columns]},
            "by": "fused",
            "results": [one.to_dict() for one in self.results],
            "misses": [one.to_dict() for one in self.misses],
            "seconds": self.seconds,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        lines = [f"{self.table}: {len(self.results)} tables join"]
        lines += [
            f"{one.rank:>3} {one.score:.2f} {one.table}\n        {one.reason}" for one in self
        ]
        if not self.results:
            lines = [f"{self.table}: nothing was found that joins"]
        if self.misses:
            lines.append("by accident:")
            lines += [f"        {one.table}: {one.reason}" for one in self.misses[:3]]
        return "\n".join(lines)
