"""How much would a column tell of the target? A first cut, from the sampled keys alone.

The share of the target's variance that a column explains: by a line through ranks (Spearman), and
by groups, of which numbers have a few of equal size and texts one each; what as many groups explain
by accident is taken off. Of classes it is the share that is told better (Goodman and Kruskal's
tau). A key without a value is a group of its own: not to be in a table may tell something too.

Noise is made by giving each key the values of another one, the same other one in all tables: a
noise column tells keys apart as well as the true one, and has nothing to do with the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.enrich.target import ranks

if TYPE_CHECKING:
    from lakejoin.enrich.gathering import Gathered, Values

Array = np.ndarray[Any, Any]
Mixed = dict[tuple[str, ...], Array]  # by columns of mine, the line whose values each line gets

_BINS = 8  # of numbers
_TEXTS = 15  # texts that are groups of their own
_REDUNDANT = 0.95  # correlation with a column that was there before


class Sketches:
    """The columns that were gathered, in groups and ranks."""

    def __init__(self, gathered: Gathered) -> None:
        self._gathered = gathered
        self._groups = [_groups(one) for one in gathered.values]
        self._ranks = [_centred_ranks(one.of_line) for one in gathered.values]

    def mixed(self, random: np.random.Generator) -> Mixed:
        """Which values each key gets in a draw of noise."""
        lines = self._gathered.lines
        sizes = {one: int(of_row.max(initial=-1)) + 1 for one, of_row in lines.items()}
        return {one: random.permutation(size) for one, size in sizes.items()}

    def scores(
        self, places: Sequence[int], rows: Array, outputs: Array, mixed: Mixed | None = None
    ) -> Array:
        """How much some columns tell of a target in some rows, at most 1; or noise in their place.

        `outputs` are the centred columns of the target in these rows.
        """
        totals = (outputs**2).sum(axis=0)
        found = np.zeros(len(places))
        for number, place in enumerate(places):
            lines = self._lines(place, rows, mixed)
            groups = np.append(self._groups[place], self._groups[place].max(initial=0) + 1)[lines]
            line = np.append(self._ranks[place], 0.0)[lines]
            found[number] = max(
                _by_groups(groups, outputs, totals), _by_line(line, outputs, totals)
            )
        return found

    def at(self, places: Sequence[int], rows: Array, mixed: Mixed | None = None) -> Array:
        """The values of some columns in some rows, a column each; or noise in their place."""
        values = self._gathered.values
        columns = [
            np.append(values[place].of_line, np.nan)[self._lines(place, rows, mixed)]
            for place in places
        ]
        return np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0))

    def _lines(self, place: int, rows: Array, mixed: Mixed | None) -> Array:
        mine = self._gathered.mine(self._gathered.values[place])
        lines = self._gathered.lines[mine][rows]
        return lines if mixed is None else np.append(mixed[mine], -1)[lines]

    def without_redundant(self, places: Sequence[int], rows: Array) -> list[int]:
        """The columns without those that are nearly the same as one before them; the fullest
        first."""
        if not len(places):
            return []
        full = [np.isfinite(self._gathered.values[place].of_line).mean() for place in places]
        order = [places[i] for i in np.argsort(-np.round(full, 1), kind="stable")]
        lines = np.stack(
            [np.append(self._ranks[p], 0.0)[self._lines(p, rows, None)] for p in order]
        )
        lines -= lines.mean(axis=1, keepdims=True)
        lengths = np.sqrt((lines**2).sum(axis=1))
        lines /= np.where(lengths > 0, lengths, 1.0)[:, None]
        alike = np.abs(lines @ lines.T)
        kept: list[int] = []
        for i in range(len(order)):
            if lengths[i] > 0 and not (alike[i, kept] >= _REDUNDANT).any():
                kept.append(i)
        return [order[i] for i in kept]


def _groups(values: Values) -> Array:
    """The group of each line; lines without a value are one too."""
    there = np.isfinite(values.of_line)
    groups = np.zeros(len(there), np.int64)
    known = values.of_line[there]
    if values.texts:
        groups[there] = 1 + np.minimum(known, _TEXTS).astype(np.int64)
    elif len(known):
        edges = np.unique(np.quantile(known, np.linspace(0, 1, _BINS + 1)[1:-1]))
        groups[there] = 1 + np.searchsorted(edges, known, side="right")
    return groups


def _centred_ranks(values: Array) -> Array:
    """The ranks of numbers around 0, and 0 where there is none."""
    found = np.zeros(len(values))
    there = np.isfinite(values)
    if there.any():
        ranked = ranks(values[there])
        found[there] = ranked - ranked.mean()
    return found


def _by_groups(groups: Array, outputs: Array, totals: Array) -> float:
    """The share that groups explain, less what as many would by accident."""
    rows, count = len(groups), len(np.unique(groups))
    if rows <= count + 1:
        return 0.0
    sizes = np.maximum(np.bincount(groups), 1)
    sums = np.stack([np.bincount(groups, column) for column in outputs.T])
    share = _told((sums**2 / sizes).sum(axis=1), totals)
    return 1 - (1 - share) * (rows - 1) / (rows - count)


def _by_line(line: Array, outputs: Array, totals: Array) -> float:
    line = line - line.mean()
    length = (line**2).sum()
    if length <= 0:
        return 0.0
    share = _told((line @ outputs) ** 2 / length, totals)
    return 1 - (1 - share) * (len(line) - 1) / max(1, len(line) - 2)


def _told(explained: Array, totals: Array) -> float:
    """The larger share of a number and its rank, or that of all classes together: an output each,
    whose variances add up."""
    if len(totals) == 2:
        return float((explained / np.maximum(totals, 1e-300)).max())
    return float(explained.sum() / max(totals.sum(), 1e-300))
