"""The answer of a fused search: tables, how each can be joined, and what it would add."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, overload

from lakejoin.ranking.added_columns import AddedColumn
from lakejoin.ranking.join_candidates import JoinCandidate
from lakejoin.search.answer_display import format_percent


@dataclass(frozen=True, eq=False, repr=False)
class FusedResult:
    """A table of the lake and the ways to join it with the query table, best first.

    `adds` are the columns it would add, joined the first way, and how full they would be.
    `versions` are the names of its copies and other versions, which are no results of their own.
    """

    rank: int
    table: str
    ways: tuple[JoinCandidate, ...]
    adds: tuple[AddedColumn, ...]
    versions: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """The score of its best join, 0 to 1."""
        return self.ways[0].weighed.score

    @property
    def accidental(self) -> str:
        """Why this is no real join; empty if it is one."""
        return self.ways[0].weighed.accidental

    @property
    def reason(self) -> str:
        """In words: the joined columns, how many values match, and the evidence for or against."""
        candidate = self.ways[0]
        share = format_percent(candidate.result.containment)
        return f"{candidate.pairs}: {share} of your values match; {candidate.why}"

    def sql(self) -> str:
        """DuckDB SQL that joins the query table with this one in the first way."""
        return self.ways[0].result.sql()

    def to_dict(self) -> dict[str, Any]:
        """The result as a JSON object with stable keys."""
        return {
            "rank": self.rank,
            "table": self.table,
            "score": self.score,
            "ways": [candidate.to_dict() for candidate in self.ways],
            "adds": [asdict(column) for column in self.adds],
            "versions": list(self.versions),
            "accidental": self.accidental,
            "reason": self.reason,
        }

    def __repr__(self) -> str:
        from lakejoin.ranking.answer import format_result

        return format_result(self)


@dataclass(frozen=True, eq=False, repr=False)
class FusedAnswer(Sequence[FusedResult]):
    """The tables that join, at most `k`, best first; a sequence of `FusedResult`.

    `columns` are the query columns that were searched for, each by itself or together as a key.
    `misses` are tables with only coincidental overlap, the nearest first. `seconds` is how long the
    caller waited, `seconds_by` the time of each stage. An answer that is not `final` comes before
    the search is over; a better one follows.
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
    error: ClassVar[None] = None  # so that it can stand beside `Failed` in a batch

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[FusedResult]:
        return iter(self.results)

    @overload
    def __getitem__(self, position: int) -> FusedResult: ...
    @overload
    def __getitem__(self, position: slice) -> FusedAnswer: ...
    def __getitem__(self, position: int | slice) -> FusedResult | FusedAnswer:
        if isinstance(position, slice):
            return replace(self, results=self.results[position])
        return self.results[position]

    def to_dict(self) -> dict[str, Any]:
        """The answer as a JSON object with stable keys."""
        return {
            "query": {"table": self.table, "columns": [list(result) for result in self.columns]},
            "by": self.by,
            "k": self.k,
            "results": [result.to_dict() for result in self.results],
            "misses": [result.to_dict() for result in self.misses],
            "notes": list(self.notes),
            "seconds": self.seconds,
            "seconds_by": self.seconds_by,
        }

    def __repr__(self) -> str:
        from lakejoin.ranking.answer import format_fused_answer

        return format_fused_answer(self)

    def _repr_html_(self) -> str:
        from lakejoin.ranking.answer import format_fused_html

        return format_fused_html(self)
