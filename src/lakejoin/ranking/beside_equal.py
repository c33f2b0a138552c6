"""Find where rewriting values would match more than equal values do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.rewritten.engine import LikelyColumn, pair_by_rare_tokens

if TYPE_CHECKING:
    from lakejoin.ranking.join_candidates import JoinCandidate

_FEWEST = 2
_MORE = 0.02  # of the query values
_ALMOST = 2  # tables that join by equal values and may do better
_NEARLY_ALL = 0.98  # of the query values
_UNMET, _LOOKED_UP = 500, 50_000  # unmatched query values, and lake values to compare them with
_MANY = 0.3  # of the unmatched values


def find_almost_equal(candidates: Sequence[JoinCandidate], most: int = _ALMOST) -> list[LikelyColumn]:
    """Columns with many equal values whose other values share pieces: 10001 and 10001, but 01001
    and 1001."""
    some = [
        candidate
        for candidate in candidates
        if candidate.kind == "equal"
        and candidate.believed
        and len(candidate.columns) == 1
        and candidate.result.containment < _NEARLY_ALL
    ]
    likely = []
    for candidate in sorted(some, key=lambda candidate: candidate.order)[:most]:
        location = candidate.result.found
        assert location is not None, "a search result has a location"
        unmet = np.setdiff1d(np.arange(len(location.query)), location.meeting().places)
        mine = location.mine.query(location.places[0]).tokens.take(unmet[:_UNMET])
        codes = location.segment.postings.codes_of(location.columns[0])
        theirs = location.segment.dictionary.texts.take(codes[:_LOOKED_UP])
        met = len(np.unique(pair_by_rare_tokens(mine, theirs)[0]))
        if met >= max(_FEWEST, _MANY * len(mine)):
            likely.append(
                LikelyColumn(
                    location.places[0], location.number, location.columns[0], len(mine), met, 0.0, 0
                )
            )
    return likely


def keep_beyond_equal(candidates: Sequence[JoinCandidate], equal: Sequence[JoinCandidate]) -> list[JoinCandidate]:
    """The candidates that match clearly more query values than equal values of the same table do.

    They take over what is known about the same columns from equal values.
    """
    by_table: dict[str, list[JoinCandidate]] = {}
    for known in equal:
        by_table.setdefault(known.result.table, []).append(known)
    kept = []
    for candidate in candidates:
        beside = by_table.get(candidate.result.table, [])
        best = max((known.result.containment for known in beside if known.believed), default=0.0)
        if candidate.result.containment >= best + _MORE:
            kept.append(_with_equal(candidate, beside))
    return kept


def _with_equal(candidate: JoinCandidate, equal: Sequence[JoinCandidate]) -> JoinCandidate:
    columns = candidate.columns, candidate.result.columns
    same = next(
        (known for known in equal if (known.columns, known.result.columns) == columns), None
    )
    if same is None:
        return candidate
    equal_signals, signals = same.signals, candidate.signals
    signals = replace(
        signals,
        names=max(signals.names, equal_signals.names),
        rows=max(signals.rows, equal_signals.rows),
        rarity=equal_signals.rarity,
        ends=max(signals.ends, equal_signals.ends),
    )
    return replace(candidate, signals=signals, beside_equal=True)
