"""What tasks do for a batch of queries. Nothing in here, or below it, knows of Spark.

First every part of the index says what it has for a chunk of queries: numbers of columns, and their
scores. These are put together for each query, and then, by another task, the evidence of what is
best is gathered from the few segments that hold it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import LakejoinError
from lakejoin.search.apart import set_apart
from lakejoin.search.choice import choose
from lakejoin.search.known_table import KnownElsewhere, KnownTable
from lakejoin.search.meant import also_a_table, file_table, table_of
from lakejoin.search.parted import CompletingSearcher, Gathered, PartSearcher, merged
from lakejoin.search.searcher import Searcher
from lakejoin.storage import Place
from lakejoin.store.snapshot import Snapshot

if TYPE_CHECKING:
    from lakejoin.discovery.fused.answer import FusedAnswer
    from lakejoin.search.answer import Answer
    from lakejoin.search.choice import On
    from lakejoin.search.mine import MyTable
    from lakejoin.search.options import SearchOptions
    from lakejoin.store.manifest import Manifest


@dataclass(frozen=True, slots=True)
class BatchQuery:
    """A table to search with: a file, at `path`, or the table `home` of the lake (the numbers of
    its segment and its own); a `problem` where it is neither. `name` is how the caller wrote it."""

    name: str
    on: On
    options: SearchOptions
    path: str = ""
    home: tuple[int, int] | None = None
    notes: tuple[str, ...] = ()
    problem: LakejoinError | None = None

    @property
    def in_parts(self) -> bool:
        """Whether parts of the index are searched by themselves."""
        return self.options.by != "fused" and self.problem is None


@dataclass(frozen=True, slots=True)
class Searched:
    """The index that a batch is searched in, by all tasks in the same version."""

    index: str
    manifest: Manifest


# What came of a query in one part, or why it cannot be answered.
Part = list[Gathered] | LakejoinError


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a query: answers set apart, or of a fused search its JSON and its text; or why
    it failed."""

    answers: tuple[Answer, ...] = ()
    fused: tuple[dict[str, Any], str] | None = None
    error: LakejoinError | None = None


def located(asked: Sequence[tuple[str, On, SearchOptions]], snapshot: Snapshot) -> list[BatchQuery]:
    """Each query with where its table is."""
    from lakejoin.lake.read import file_and_part

    known = _homes([name for name, _, _ in asked], snapshot)
    found: list[BatchQuery] = []
    for name, on, options in asked:
        path, part = file_and_part(name)
        home = known.get(name)
        if path:
            whole = Place.of(path).uri + (f"#{part}" if part else "")
            notes = (also_a_table(name),) if home else ()
            found.append(BatchQuery(name, on, options, path=whole, notes=notes))
        elif home:
            found.append(BatchQuery(name, on, options, home=home))
        else:
            problem = _why_not(name, snapshot)
            found.append(BatchQuery(name, on, options, problem=problem))
    return found


def _homes(names: Sequence[str], snapshot: Snapshot) -> dict[str, tuple[int, int]]:
    """The live tables of these names, by segment and number; as `Snapshot.find_table`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found: dict[str, tuple[int, int]] = {}
    left = pa.array(dict.fromkeys(names), pa.string())
    for number in reversed(range(len(snapshot.segments))):
        segment = snapshot.segments[number]
        places = pc.index_in(left, value_set=segment.catalog.tables["name"].combine_chunks())
        here = np.asarray(places.fill_null(-1))
        here = np.where(np.isin(here, segment.record.dead), -1, here)
        for at in np.flatnonzero(here >= 0).tolist():
            found[left[at].as_py()] = (number, int(here[at]))
        left = left.filter(pa.array(here < 0))
    return found


def _why_not(name: str, snapshot: Snapshot) -> LakejoinError:
    try:
        table_of(name, snapshot)
    except LakejoinError as problem:
        return problem
    return LakejoinError(f"{name} appeared while it was looked for; search again")


# -- what a task does ------------------------------------------------------------------------------


def find(searched: Searched, numbers: Sequence[int], queries: Sequence[BatchQuery]) -> list[Part]:
    """What the segments of these numbers have for each query."""
    return [_find_one(searched, tuple(numbers), query) for query in queries]


def _find_one(searched: Searched, numbers: tuple[int, ...], query: BatchQuery) -> Part:
    part = _opened(searched, numbers).part
    try:
        mine = _mine(searched, numbers, query)
        choice = choose(mine, query.on, searched.manifest.options.all_columns, query.options.by)
        return list(part.gather(mine, choice, query.options))
    except LakejoinError as problem:
        return problem


def put_together(
    query: BatchQuery, parts: Sequence[Part], numbers: Sequence[Sequence[int]]
) -> Part:
    """What all parts of the index have for a query."""
    for part in parts:
        if isinstance(part, LakejoinError):
            return part
    told = [np.array(own, dtype=np.int64) for own in numbers]
    by_search = zip(*[part for part in parts if isinstance(part, list)], strict=True)
    return [merged(one, told, query.options) for one in by_search]


def complete(searched: Searched, queries: Sequence[tuple[BatchQuery, Part]]) -> Iterator[Done]:
    """The answers, with their evidence."""
    for query, part in queries:
        if isinstance(part, LakejoinError):
            yield Done(error=part)
            continue
        try:
            mine = _mine(searched, None, query)
            yield _complete_one(searched, query, part, mine)
        except LakejoinError as problem:
            yield Done(error=problem)


def _complete_one(searched: Searched, query: BatchQuery, part: Any, mine: MyTable) -> Done:
    opened = _opened(searched)
    if not query.in_parts:
        answer = _fused(opened.plain, query, mine)
        return Done(fused=(answer.to_dict(), repr(answer)))
    choice = choose(mine, query.on, searched.manifest.options.all_columns, query.options.by)
    notes = (*query.notes, *([choice.said] if choice.said else []))
    answers = opened.whole.complete(mine, choice, query.options, notes, part)
    return Done(tuple(map(set_apart, answers)))


def _fused(searcher: Searcher, query: BatchQuery, mine: MyTable) -> FusedAnswer:
    from lakejoin.discovery.fused.searching import Asked, fused_search

    all_columns = searcher.snapshot.manifest.options.all_columns
    choice = None if query.on is None else choose(mine, query.on, all_columns)
    asked = Asked(choice, query.options.k, query.notes, time.perf_counter())
    return fused_search(searcher, mine, asked)


def _mine(searched: Searched, numbers: tuple[int, ...] | None, query: BatchQuery) -> MyTable:
    """The table of a query, for a search in the segments of these numbers, or in all."""
    if query.home is None:
        return file_table(query.path, searched.manifest.options.rules, query.name)
    number, table = query.home
    if numbers is not None and number not in numbers:
        one = _opened(searched, (number,)).snapshot
        return KnownElsewhere(one, 0, one.segments[0].catalog.table(table))
    some = _opened(searched, numbers).snapshot
    own = number if numbers is None else numbers.index(number)
    return KnownTable(some, own, some.segments[own].catalog.table(table))


class _Opened:
    """Some segments of an index, and what searches in them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    @cached_property
    def part(self) -> PartSearcher:
        return PartSearcher(self.snapshot)

    @cached_property
    def whole(self) -> CompletingSearcher:
        return CompletingSearcher(self.snapshot)

    @cached_property
    def plain(self) -> Searcher:
        return Searcher(self.snapshot)


# A worker's process serves many tasks, most of them with the same segments.
_KEPT = 8
_OPENED: dict[tuple[Any, ...], _Opened] = {}


def _opened(searched: Searched, numbers: tuple[int, ...] | None = None) -> _Opened:
    """The segments of these numbers, or all."""
    manifest = searched.manifest
    key = (searched.index, manifest.version, manifest.created, numbers)
    if key not in _OPENED:
        if numbers is not None:
            records = tuple(manifest.segments[number] for number in numbers)
            manifest = replace(manifest, segments=records)
        while len(_OPENED) >= _KEPT:
            _OPENED.pop(next(iter(_OPENED)))
        _OPENED[key] = _Opened(Snapshot(Place.of(searched.index), manifest))
    return _OPENED[key]
