"""Equal values and rewritten ones: where does rewriting add to what is equal as it is?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.search.rewritable import Likely, partners_by_pieces

if TYPE_CHECKING:
    from lakejoin.discovery.fused.ways import Way

_FEWEST = 2
_MORE = 0.02  # of my values
_ALMOST = 2  # tables that join by equal values, and may do better
_NEARLY_ALL = 0.98  # of my values
_UNMET, _LOOKED_UP = 500, 50_000  # values without a partner, and theirs that may be one
_MANY = 0.3  # of the values without a partner


def almost_equal(ways: Sequence[Way], most: int = _ALMOST) -> list[Likely]:
    """Columns of which many values are equal, and others of mine share a piece with theirs: 10001
    and 10001, but 01001 and 1001."""
    some = [
        way
        for way in ways
        if way.kind == "equal"
        and way.believed
        and len(way.columns) == 1
        and way.result.containment < _NEARLY_ALL
    ]
    found = []
    for way in sorted(some, key=lambda way: way.order)[:most]:
        place = way.result.found
        assert place is not None, "a result of a search has its place"
        unmet = np.setdiff1d(np.arange(len(place.query)), place.meeting().places)
        mine = place.mine.query(place.places[0]).tokens.take(unmet[:_UNMET])
        codes = place.segment.postings.codes_of(place.columns[0])
        theirs = place.segment.dictionary.texts.take(codes[:_LOOKED_UP])
        met = len(np.unique(partners_by_pieces(mine, theirs)[0]))
        if met >= max(_FEWEST, _MANY * len(mine)):
            found.append(
                Likely(place.places[0], place.number, place.columns[0], len(mine), met, 0.0, 0)
            )
    return found


def beyond_equal(ways: Sequence[Way], equal: Sequence[Way]) -> list[Way]:
    """The ways that meet clearly more of my values than equal ones of the same table do.

    What is known of the same columns by equal values holds for them as well.
    """
    by_table: dict[str, list[Way]] = {}
    for one in equal:
        by_table.setdefault(one.result.table, []).append(one)
    found = []
    for way in ways:
        beside = by_table.get(way.result.table, [])
        best = max((one.result.containment for one in beside if one.believed), default=0.0)
        if way.result.containment >= best + _MORE:
            found.append(_with_equal(way, beside))
    return found


def _with_equal(way: Way, equal: Sequence[Way]) -> Way:
    columns = way.columns, way.result.columns
    same = next((one for one in equal if (one.columns, one.result.columns) == columns), None)
    if same is None:
        return way
    known, signals = same.signals, way.signals
    signals = replace(
        signals,
        names=max(signals.names, known.names),
        rows=max(signals.rows, known.rows),
        rarity=known.rarity,
        ends=max(signals.ends, known.ends),
    )
    return replace(way, signals=signals, beside_equal=True)
