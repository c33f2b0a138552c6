"""Brute force over the sets of an index: every overlap by Python sets, and what a join would be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lakejoin.lake import Lake
from lakejoin.locations import Location
from lakejoin.search.options import SearchOptions, near_options
from lakejoin.store.index_records import MeaningOptions
from lakejoin.store.manifest import IndexOptions, Manifest, Totals
from lakejoin.store.postings import PostingsComponent
from lakejoin.store.segment import Component, Segment
from lakejoin.store.segment_builder import SegmentBuilder
from lakejoin.store.snapshot import Snapshot
from oracle.lakes import PlainTable, encoded


def set_of(segment: Segment, column: int) -> set[str]:
    """The canonical values of a searched column."""
    return set(segment.dictionary.texts.take(segment.postings.codes_of(column)).to_pylist())


def join_figures(mine: Sequence[str | None], theirs: Sequence[str | None]) -> tuple[float, float]:
    """(row coverage, fan-out) of the inner join of two columns of canonical values."""
    right = Counter(cell for cell in theirs if cell is not None)
    partners = [right[cell] if cell is not None else 0 for cell in mine]
    return sum(p > 0 for p in partners) / len(mine), sum(partners) / len(mine)


def search_by(
    lake: Lake,
    table: Any,
    on: Any = None,
    *,
    by: str,
    **options: Any,
) -> Any:
    """A search by an engine that is named, with options that it may not take, as a server does."""
    near = {name: options.pop(name) for name in ("tau", "within") if name in options}
    how = near_options(by, **near)
    if how is not None:
        names = {"encoder", "measure", "metric"} & options.keys()
        how = replace(how, **{name: options.pop(name) for name in names})
    return lake.search_with(table, on, SearchOptions(by, near=how, **options))


def lake_of(
    folder: Path,
    groups: Sequence[Sequence[PlainTable]],
    all_columns: bool = True,
    dead: Sequence[Sequence[int]] = (),
    components: Sequence[Component] = (PostingsComponent(),),
    meaning: MeaningOptions | None = None,
) -> Lake:
    """An opened lake of these tables, one segment for each group of them."""
    place = Location.of(folder)
    records = []
    for number, tables in enumerate(groups):
        builder = SegmentBuilder(place / "segments" / f"s{number}", all_columns=all_columns)
        for table in tables:
            builder.add(encoded(table))
        record = builder.finish(components)
        gone = tuple(dead[number]) if dead else ()
        records.append(replace(record, dead=gone))
    tables_left = sum(r.tables - len(r.dead) for r in records)
    manifest = Manifest(
        1,
        options=IndexOptions(all_columns=all_columns, meaning=meaning),
        segments=tuple(records),
        totals=Totals(tables=tables_left),
    )
    (place / "MANIFEST.json").replace(manifest.to_bytes())
    return Lake(Snapshot(place))
