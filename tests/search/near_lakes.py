"""Small lakes that are searched by meaning and by distance, and brute force over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakejoin.encoders import open_encoder
from lakejoin.encoders.mixed_encoder import Mix
from lakejoin.lake import Lake
from lakejoin.model import ColumnType
from lakejoin.search.tau_choice import LARGEST_DISTANCE
from lakejoin.store.index_records import MeaningOptions
from lakejoin.store.meaning_vectors import MeaningComponent
from lakejoin.store.postings import PostingsComponent
from lakejoin.store.segment import Segment
from oracle.lakes import PlainTable
from oracle.search import lake_of, set_of
from oracle.vectors import near

FEW = open_encoder("characters", mix=Mix(16))  # of few numbers: a small lake is made quickly
STREETS = ["12 Main St", "7 Oak Avenue", "3 Elm Road", "99 Station Road", "1 Market Square"]
LIKE_THEM = ["12 main street", "7 oak av", "3 Elm Rd.", "99 station road", "1 market sq"]


def meaning_lake(
    folder: Path,
    *groups: Sequence[PlainTable],
    encoder: Any = "characters",
    keep: bool = False,
    **options: Any,
) -> Lake:
    """An opened lake of these tables with vectors, one segment for each group of them."""
    opened = open_encoder(encoder)
    name = encoder if isinstance(encoder, str) else None
    component = MeaningComponent(lambda: opened, opened.identity, keep, name)
    return lake_of(
        folder,
        groups,
        components=(PostingsComponent(), component),
        meaning=MeaningOptions(name, opened.identity, keep),
        **options,
    )


def with_encoder(lake: Lake, encoder: Any) -> Lake:
    """The lake, opened with an encoder."""
    return Lake(lake.snapshot, encoder)


@dataclass(frozen=True)
class ByHand:
    """A column that is near a query by meaning: (hits, pairs), where it is and how large."""

    hits: int
    pairs: int
    size: int
    segment: int
    column: int


def by_hand(
    lake: Lake, values: Sequence[str], tau: float, encoder: Any = "characters"
) -> Iterator[ByHand]:
    """All text columns of a lake that have a value within tau of one of mine."""
    opened = open_encoder(encoder)
    mine = opened.encode(list(values))
    for number, segment in enumerate(lake.snapshot.segments):
        for column in text_columns(segment):
            theirs = sorted(set_of(segment, column))
            found = near(mine, opened.encode(theirs), LARGEST_DISTANCE * tau)
            if found.any():
                hits = int(found.any(axis=1).sum())
                yield ByHand(hits, int(found.sum()), len(theirs), number, column)


def text_columns(segment: Segment) -> list[int]:
    """The searched columns of texts."""
    types = segment.catalog.columns["type"].to_pylist()
    return [
        i
        for i, kind in enumerate(types)
        if segment.indexed[i] and kind in (ColumnType.TEXT, ColumnType.MIXED)
    ]
