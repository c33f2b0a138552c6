"""Estimates how much a column explains of the target, for a preselection from the sampled keys.

The score is the share of the target's variance that a column explains: by a line through ranks
(Spearman), and by groups, a few of equal size for numbers and one each for texts, less what as many
groups explain by chance. For classes it is Goodman and Kruskal's tau. Keys without a value are a
group of their own, since absence from a table may be informative too.

Noise gives each key the values of another one, the same in all tables: a noise column distinguishes
keys as well as the true one, but is unrelated to the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.enrich.inputs import mean_ranks

if TYPE_CHECKING:
    from lakejoin.enrich.lake_columns import GatheredColumns, ColumnValues

Array = np.ndarray[Any, Any]
NoiseDraw = dict[tuple[str, ...], Array]  # by query columns, the key whose values each key gets

_BINS = 8  # groups of numbers
_TEXTS = 15  # most frequent texts, each a group of its own
_REDUNDANT = 0.95  # correlation with a column kept before


class ColumnSketches:
    """The groups and ranks of the gathered columns."""

    def __init__(self, gathered: GatheredColumns) -> None:
        self._gathered = gathered
        self._groups = [_groups(values) for values in gathered.values]
        self._ranks = [_centred_ranks(values.of_line) for values in gathered.values]

    def mixed(self, random: np.random.Generator) -> NoiseDraw:
        """Draw noise: the key whose values each key gets."""
        lines = self._gathered.lines
        sizes = {on: int(of_row.max(initial=-1)) + 1 for on, of_row in lines.items()}
        return {on: random.permutation(size) for on, size in sizes.items()}

    def scores(
        self, positions: Sequence[int], rows: Array, outputs: Array, mixed: NoiseDraw | None = None
    ) -> Array:
        """How much some columns, or noise instead, explain of the target in some rows, at most 1.

        `outputs` are the centred columns of the target in these rows.
        """
        totals = (outputs**2).sum(axis=0)
        scores = np.zeros(len(positions))
        for i, position in enumerate(positions):
            keys = self._keys(position, rows, mixed)
            own_groups = self._groups[position]
            groups = np.append(own_groups, own_groups.max(initial=0) + 1)[keys]
            ranked = np.append(self._ranks[position], 0.0)[keys]
            scores[i] = max(_by_groups(groups, outputs, totals), _by_line(ranked, outputs, totals))
        return scores

    def at(self, positions: Sequence[int], rows: Array, mixed: NoiseDraw | None = None) -> Array:
        """The values of some columns, or noise instead, in some rows; one column each."""
        values = self._gathered.values
        columns = [
            np.append(values[position].of_line, np.nan)[self._keys(position, rows, mixed)]
            for position in positions
        ]
        return np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0))

    def _keys(self, position: int, rows: Array, mixed: NoiseDraw | None) -> Array:
        """The key of each row for a column."""
        on = self._gathered.mine(self._gathered.values[position])
        keys = self._gathered.lines[on][rows]
        return keys if mixed is None else np.append(mixed[on], -1)[keys]

    def without_redundant(self, positions: Sequence[int], rows: Array) -> list[int]:
        """Drop columns that are nearly the same as one before them; the fullest come first."""
        if not len(positions):
            return []
        full = [np.isfinite(self._gathered.values[p].of_line).mean() for p in positions]
        order = [positions[i] for i in np.argsort(-np.round(full, 1), kind="stable")]
        ranked = np.stack(
            [np.append(self._ranks[p], 0.0)[self._keys(p, rows, None)] for p in order]
        )
        ranked -= ranked.mean(axis=1, keepdims=True)
        lengths = np.sqrt((ranked**2).sum(axis=1))
        ranked /= np.where(lengths > 0, lengths, 1.0)[:, None]
        alike = np.abs(ranked @ ranked.T)
        kept: list[int] = []
        for i in range(len(order)):
            if lengths[i] > 0 and not (alike[i, kept] >= _REDUNDANT).any():
                kept.append(i)
        return [order[i] for i in kept]


def _groups(values: ColumnValues) -> Array:
    """The group of each key; keys without a value are group 0."""
    present = np.isfinite(values.of_line)
    groups = np.zeros(len(present), np.int64)
    known = values.of_line[present]
    if values.texts:
        groups[present] = 1 + np.minimum(known, _TEXTS).astype(np.int64)
    elif len(known):
        edges = np.unique(np.quantile(known, np.linspace(0, 1, _BINS + 1)[1:-1]))
        groups[present] = 1 + np.searchsorted(edges, known, side="right")
    return groups


def _centred_ranks(values: Array) -> Array:
    """The ranks of numbers, centred at 0; 0 for missing ones."""
    centred = np.zeros(len(values))
    present = np.isfinite(values)
    if present.any():
        ranked = mean_ranks(values[present])
        centred[present] = ranked - ranked.mean()
    return centred


def _by_groups(groups: Array, outputs: Array, totals: Array) -> float:
    """The share that groups explain, less what as many would by chance."""
    rows, count = len(groups), len(np.unique(groups))
    if rows <= count + 1:
        return 0.0
    sizes = np.maximum(np.bincount(groups), 1)
    sums = np.stack([np.bincount(groups, column) for column in outputs.T])
    share = _explained_share((sums**2 / sizes).sum(axis=1), totals)
    return 1 - (1 - share) * (rows - 1) / (rows - count)


def _by_line(line: Array, outputs: Array, totals: Array) -> float:
    line = line - line.mean()
    length = (line**2).sum()
    if length <= 0:
        return 0.0
    share = _explained_share((line @ outputs) ** 2 / length, totals)
    return 1 - (1 - share) * (len(line) - 1) / max(1, len(line) - 2)


def _explained_share(explained: Array, totals: Array) -> float:
    """For numbers, the larger share of the value and its rank; for classes (one output each), the
    share of their total variance."""
    if len(totals) == 2:
        return float((explained / np.maximum(totals, 1e-300)).max())
    return float(explained.sum() / max(totals.sum(), 1e-300))
