"""What the searches of all engines share: they name hits, and explain why there are none."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from lakejoin.engines.containment.engine import count_for_share
from lakejoin.search.evidence import MatchingPairs, SearchedValues, SharedValues
from lakejoin.search.result import NearResult, Result, ResultLocation
from lakejoin.text_format import format_percent

if TYPE_CHECKING:
    from lakejoin.engines.hits import ExcludedColumns
    from lakejoin.engines.meaning.hits import VectorHits
    from lakejoin.engines.query import QueryTable
    from lakejoin.search.options import SearchOptions
    from lakejoin.search.table_versions import Copies
    from lakejoin.search.tau_choice import Reach
    from lakejoin.store.segment_tables import SegmentTables
    from lakejoin.store.snapshot import Snapshot

AnyResult = TypeVar("AnyResult", bound=Result)


@dataclass(eq=False)
class EngineSearch(ABC):
    """One search for columns of a query table, with one engine."""

    snapshot: Snapshot
    segment_tables: Sequence[SegmentTables]
    query_table: QueryTable
    column_indexes: tuple[int, ...]
    options: SearchOptions
    excluded: ExcludedColumns

    @property
    @abstractmethod
    def query(self) -> SearchedValues:
        """What is searched for."""

    @property
    def reach(self) -> Reach | None:
        """How near a match must be; None if values must be equal."""
        return None

    @property
    def column_index(self) -> int:
        return self.column_indexes[0]

    @abstractmethod
    def hits(self) -> Any:
        """What the engine finds, best first."""

    @abstractmethod
    def results(self, hits: Any, copies: Copies) -> Sequence[Result]:
        """The hits as results with names."""

    @abstractmethod
    def notes(self, hits: Any, results: Sequence[Any]) -> list[str]:
        """Notes about the query, and why nothing was found."""

    def release(self) -> None:  # noqa: B027
        """Drop what is large; it is computed again when the evidence needs it."""

    @property
    def least(self) -> int:
        return max(1, count_for_share(self.query, self.options.min or 0.0))

    def locate(
        self,
        segment_index: int,
        columns: tuple[int, ...],
        find_shared_values: Callable[[], SharedValues],
        count_values: Callable[[], int],
    ) -> ResultLocation:
        """Where columns of a segment are, and how their evidence is found."""
        return ResultLocation(
            self.query,
            self.snapshot.segments[segment_index],
            segment_index,
            self.segment_tables[segment_index].table_of(columns[0]),
            columns,
            self.query_table,
            self.column_indexes,
            self.snapshot.manifest,
            find_shared_values,
            count_values,
        )

    def name_hit(
        self,
        kind: type[AnyResult],
        rank: int,
        matched: int,
        location: ResultLocation,
        copies: Copies,
        **figures: Any,
    ) -> AnyResult:
        """The result of a hit that has `matched` of the values, with other figures."""
        places, size = self.segment_tables[location.segment_index], len(self.query)
        usual = {"containment": matched / size, "query_size": size}
        return kind(
            rank=rank,
            table=places.table_name(location.table_index),
            columns=tuple(map(places.column_name, location.segment_columns)),
            matched=matched,
            copy=copies.kind(location.segment_index, location.table_index),
            found=location,
            **{**usual, **figures},
        )


class NearSearch(EngineSearch):
    """A search by meaning or distance; what it finds is a column or a set of points."""

    @abstractmethod
    def _columns(self, segment_index: int, found: int) -> tuple[int, ...]:
        """The columns of a hit."""

    @abstractmethod
    def _size(self, segment_index: int, found: int) -> int:
        """The number of distinct values of a hit."""

    @abstractmethod
    def _partners(self, segment_index: int, found: int) -> MatchingPairs:
        """The matching pairs with a hit."""

    def results(self, hits: VectorHits, copies: Copies) -> tuple[NearResult, ...]:
        return tuple(self._result(i, hits, copies) for i in range(len(hits)))

    def _result(self, i: int, hits: VectorHits, copies: Copies) -> NearResult:
        address = int(hits.segment[i]), int(hits.column[i])
        partners, size = partial(self._partners, *address), self._size(*address)
        location = self.locate(
            address[0],
            self._columns(*address),
            lambda: partners().shared_values,
            lambda: size,
        )
        return self.name_hit(
            NearResult,
            i + 1,
            int(hits.matched[i]),
            location,
            copies,
            _column_size=size,
            pairs=int(hits.pairs[i]),
            partners=partners,
        )

    def _why_no_match(self, noun: str) -> str:
        """Why no column, or whatever the noun is, has enough matches."""
        assert self.reach is not None
        near, size = self.reach.text, len(self.query)
        names = " and ".join(map(repr, self.query.columns))
        where = f"{'other ' if self.options.others else ''}{noun} in the lake"
        if size == 1:
            return f"the only value of {names} has no match {near} in any {where}"
        if self.options.min:
            share = f"{format_percent(self.options.min)} of the {size:,} values of {names}"
            return f"no {where} has matches {near} for {share}"
        return f"none of the {size:,} values of {names} has a match {near} in any {where}"
