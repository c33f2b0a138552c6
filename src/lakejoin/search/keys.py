"""Which tables join with a composite key? Runs the engine, names what it found, says why nothing.

The counterpart, for several columns together, of what `searcher.py` does for one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.lake.names import find_column
from lakejoin.search.containment import enough
from lakejoin.search.display import percent
from lakejoin.search.mine import unsearched
from lakejoin.search.options import INITIAL
from lakejoin.search.result import Found, Result

if TYPE_CHECKING:
    from lakejoin.search.choice import Choice
    from lakejoin.search.copies import Copies
    from lakejoin.search.hits import Excluded
    from lakejoin.search.mate.hits import KeyHits, Mapping
    from lakejoin.search.mate.key import MateOptions
    from lakejoin.search.mate.meeting import Meetings
    from lakejoin.search.mate.query import KeyQuery
    from lakejoin.search.mine import MyTable
    from lakejoin.search.options import SearchOptions
    from lakejoin.search.overlap.costs import ReadCosts
    from lakejoin.search.places import Places
    from lakejoin.store.snapshot import Snapshot

Array = np.ndarray[Any, Any]

_AT_FIRST = 64  # tables, where all that contain enough are wanted
_TIMES = 8
_WEAKEST = 3  # key columns that are told of where nothing was found


@dataclass(frozen=True, eq=False)
class KeySearch:
    """One search for several columns together."""

    snapshot: Snapshot
    places: Sequence[Places]
    mine: MyTable
    key: Choice
    options: SearchOptions
    costs: ReadCosts | None = None

    @cached_property
    def query(self) -> KeyQuery:
        """The combinations of values that are searched for."""
        from lakejoin.search.mate.query import key_query

        query = key_query(self.mine, self.key.places, self.key.fixed)
        if len(query) == 0:
            raise InputError(
                f"no row of {query.table} has a value in each of {_listed(query.columns)}: there "
                "is no combination to search for"
            )
        return query

    @cached_property
    def _meetings(self) -> Meetings:
        from lakejoin.search.mate.meeting import Meetings

        return Meetings(self.query)

    def hits(self, excluded: Excluded) -> KeyHits:
        """The tables with the most combinations, of which `kept` contain enough.

        Where every table is wanted that contains enough, ever more are searched for, until one of
        them contains less.
        """
        from lakejoin.search.mate.engine import Mate

        k = self.options.k or _AT_FIRST
        while True:
            hits = Mate(k, self._how).search(self.query, self.snapshot.segments, excluded)
            if self.options.k or len(hits) < k or self.kept(hits) < k:
                return hits
            k *= _TIMES

    @cached_property
    def _how(self) -> MateOptions:
        from lakejoin.search.mate.key import MateOptions

        return MateOptions("superkeys" if self._filtered else "none", initial=self._initial())

    def _initial(self) -> str | int:
        """The key column by which rows are fetched: its place in the key, or how it is chosen."""
        wanted, columns = self.options.initial, self.query.columns
        if wanted is None:
            return INITIAL[0]
        if isinstance(wanted, str) and wanted in INITIAL and wanted not in columns:
            return wanted
        if isinstance(wanted, bool) or not isinstance(wanted, str | Integral):
            raise InputError(
                f"initial is a column of the key, by its name or its place, or "
                f"{' or '.join(map(repr, INITIAL))}, and not {wanted!r}"
            )
        if isinstance(wanted, str) and columns.count(wanted) == 1:
            return columns.index(wanted)
        wanted = wanted if isinstance(wanted, str) else int(wanted)
        place = find_column(self.mine.names, wanted, self.mine.name)
        if place not in self.key.places:
            raise InputError(
                f"the initial column {self.mine.names[place]!r} is not one of the key: rows are "
                f"fetched by {_listed(columns, 'or')}"
            )
        return self.key.places.index(place)

    def forget(self) -> None:
        """Lets go of what the evidence kept of a segment."""
        self._meetings.forget()

    @cached_property
    def _filtered(self) -> bool:
        """Whether every segment has super keys; those of an index made before have none."""
        from lakejoin.store.superkeys import SuperKeyComponent

        name, version = SuperKeyComponent.name, SuperKeyComponent.version
        found = [segment.record.components.get(name) for segment in self.snapshot.segments]
        return all(one is not None and one.version >= version for one in found)

    def kept(self, hits: KeyHits) -> int:
        """How many of the hits, the first ones, contain what was asked for."""
        least = max(1, enough(self.query, self.options.min or 0.0))
        return int(np.count_nonzero(hits.matched >= least))

    def results(self, hits: KeyHits, copies: Copies) -> tuple[Result, ...]:
        """The hits that contain enough, by name."""
        return tuple(self._result(i, hits, copies) for i in range(self.kept(hits)))

    def _result(self, i: int, hits: KeyHits, copies: Copies) -> Result:
        from lakejoin.search.mate.meeting import combinations_in

        number, table = int(hits.segment[i]), int(hits.table[i])
        segment, places = self.snapshot.segments[number], self.places[number]
        columns, matched = hits.mapping[i].columns, int(hits.matched[i])
        return Result(
            rank=i + 1,
            table=places.table_name(table),
            columns=tuple(map(places.column_name, columns)),
            matched=matched,
            containment=matched / len(self.query),
            query_size=len(self.query),
            _column_size=None,
            copy=copies.kind(number, table),
            runner_up=_named(hits.runner_up[i], places),
            found=Found(
                self.query,
                segment,
                number,
                table,
                columns,
                self.mine,
                self.key.places,
                self.snapshot.manifest,
                partial(self._meetings.of, segment, columns),
                partial(combinations_in, segment, columns),
            ),
        )

    # -- what is said -----------------------------------------------------------------------------

    def notes(self, hits: KeyHits, results: Sequence[Result], excluded: Excluded) -> list[str]:
        """Sentences about the key, and why nothing was found."""
        query, totals = self.query, self.snapshot.manifest.totals
        all_columns = self.snapshot.manifest.options.all_columns
        notes = []
        for column, kind in zip(query.columns, query.types, strict=True):
            notes += unsearched(column, kind, all_columns)
        if not self._filtered:
            notes.append(
                "this index has no super keys, so every row is compared: lakejoin index adds them"
            )
        if cut := hits.counters.cut_short:
            notes.append(
                f"of {cut:,} {'table' if cut == 1 else 'tables'} not all ways to map the columns "
                "were tried, there are too many: their scores may be too low"
            )
        if results:
            return notes
        if not totals.tables:
            return [*notes, "the index holds no table"]
        if len(hits):
            share, best = self.options.min or 0.0, int(hits.matched[0])
            return [
                *notes,
                f"no {self._where} contains {percent(share)} of the {len(query):,} combinations of "
                f"{_listed(query.columns)}{self._under_names}: the best has {best:,} of them",
                *self._by_other_names(excluded, best),
            ]
        return [*notes, *self._why_nothing(excluded)]

    @property
    def _where(self) -> str:
        return "other table of the lake" if self.options.others else "table of the lake"

    def _why_nothing(self, excluded: Excluded) -> list[str]:
        parts = len(self.query.columns)
        widest = self._widest()
        if widest < parts:
            return [
                f"the key has {parts} columns, and no table of the lake has more than {widest} "
                "that are searched"
            ]
        unknown = [name for name in self.query.fixed if name is not None and not self._has(name)]
        if unknown:
            said = [
                f"no table of the lake has a column {name!r} that is searched" for name in unknown
            ]
            return [*said, *self._by_other_names(excluded)]
        together = "both parts" if parts == 2 else f"all {parts} parts"
        nowhere = f"no row of any {self._where} has {together} of the key together"
        return [
            nowhere + self._under_names,
            *(self._by_other_names(excluded) or self._alone(excluded)),
        ]

    @property
    def _under_names(self) -> str:
        """What the names that were fixed ask for; nothing where none was."""
        pairs = zip(self.query.columns, self.query.fixed, strict=True)
        asked = [f"{mine!r} in a column {name!r}" for mine, name in pairs if name is not None]
        return f" with {' and '.join(asked)}" if asked else ""

    def _by_other_names(self, excluded: Excluded, more_than: int = 0) -> list[str]:
        """Where names were fixed: the table that is best without, if it has more combinations."""
        from lakejoin.search.mate.engine import Mate

        if not self._under_names:
            return []
        free = replace(self.query, fixed=(None,) * len(self.query.columns))
        hits = Mate(1, self._how).search(free, self.snapshot.segments, excluded)
        if not len(hits) or hits.matched[0] <= more_than:
            return []
        places = self.places[int(hits.segment[0])]
        columns = list(map(places.column_name, hits.mapping[0].columns))
        return [
            f"whatever the columns are called, {places.table_name(int(hits.table[0]))} has "
            f"{int(hits.matched[0]):,} of the {len(free):,} combinations, in {_listed(columns)}"
        ]

    def _alone(self, excluded: Excluded) -> list[str]:
        """Which columns of the key find nothing even alone; else where those that find least do."""
        from lakejoin.search.overlap import Overlap

        missing, found = [], []
        for place in self.key.places:
            query = self.mine.query(place)
            size, name = len(query), repr(query.column)
            hits = Overlap(1, costs=self.costs).search(query, self.snapshot.segments, excluded)
            if len(hits):
                places, column = self.places[int(hits.segment[0])], int(hits.column[0])
                table, matched = places.table_name(places.table_of(column)), int(hits.matched[0])
                said = (
                    f"{name} alone: {matched:,} of its {size:,} distinct values are in {table} · "
                    f"{places.column_name(column)}"
                )
                found.append((matched / size, said))
            elif size == 1:
                missing.append(f"the one value of {name} is in no searched column")
            else:
                missing.append(f"none of the {size:,} values of {name} is in any searched column")
        least = sorted(found, key=lambda one: one[0])[:_WEAKEST]
        return missing or [said for _, said in least]

    def _widest(self) -> int:
        """The most searched columns that a live table has."""
        most = 0
        for searched, places in zip(self._searched(), self.places, strict=True):
            before = np.concatenate([[0], np.cumsum(searched)])
            widths = before[places.first + places.width] - before[places.first]
            most = max(most, int(widths.max(initial=0)))
        return most

    def _has(self, name: str) -> bool:
        """Whether a live table has a searched column of that name; case does not matter."""
        for searched, segment in zip(self._searched(), self.snapshot.segments, strict=True):
            names = segment.catalog.columns["name"].filter(searched).unique().to_pylist()
            if any(one.lower() == name.lower() for one in names):
                return True
        return False

    def _searched(self) -> Iterator[Array]:
        """By segment, which columns are searched and of a table that has not gone."""
        for segment, places in zip(self.snapshot.segments, self.places, strict=True):
            searched = np.array(segment.indexed, dtype=bool)
            searched[places.dead] = False
            yield searched


def _named(mapping: Mapping | None, places: Places) -> dict[str, Any] | None:
    if mapping is None:
        return None
    return {"columns": list(map(places.column_name, mapping.columns)), "matched": mapping.matched}


def _listed(columns: Sequence[str], last_by: str = "and") -> str:
    """Names for a sentence.

    >>> _listed(["a"]), _listed(["a", "b", "c"])
    ("'a'", "'a', 'b' and 'c'")
    """
    *most, last = map(repr, columns)
    return f"{', '.join(most)} {last_by} {last}" if most else last
