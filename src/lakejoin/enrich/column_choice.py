"""Chooses the columns that predict the target better than noise does, out of fold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.enrich.evaluation import Forest, fill_gaps, make_folds, score_folds
from lakejoin.enrich.leakage import (
    CopiedColumns,
    LeftOut,
    explain_target_copy,
    find_own_versions,
    predicts_alone,
)
from lakejoin.enrich.training_data import Target, mean_ranks
from lakejoin.model import Array

if TYPE_CHECKING:
    from lakejoin.enrich.lake_columns import ColumnValues, GatheredColumns


_MAX_FOREST_COLUMNS = 30  # columns that a forest gets
_DRAWS = 8  # draws of noise
_MIN_WINS = 7  # draws in which a column must be more important than noise
_FOLDS, _REPEATS, _TREES = 5, 2, 30  # of the final validation
_MIN_STANDARD_ERRORS = 1.0  # by which the gain must exceed zero
_MIN_NOISE_DEVIATIONS = 3.0  # standard deviations by which the gain must exceed that of noise


@dataclass(frozen=True, eq=False)
class ColumnChoice:
    """The chosen columns, as positions among those gathered, the best first, with the importance of
    each; the columns left out, notes, and the number of columns examined."""

    positions: tuple[int, ...]
    worth: tuple[float, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    examined: int = 0


@dataclass(frozen=True, eq=False)
class ColumnChooser:
    """Chooses columns by some rows of the sample. `own` are the query table's columns as numbers,
    `same` says which gathered columns copy them, and `columns` are their names."""

    gathered: GatheredColumns
    own: Array
    same: CopiedColumns
    columns: tuple[str, ...]
    target: Target
    most: int = 20
    seed: int = 0
    report: Callable[[str], None] = field(default=lambda message: None)

    def choose(self, rows: Array) -> ColumnChoice:
        """Choose the columns that help, judged by some rows of the sample, which need a target."""
        usable, left_out = self.usable(rows)
        sketches = ColumnSketches(self.gathered)
        pool = sketches.without_redundant(usable, rows)
        if not pool:
            return ColumnChoice((), left_out=left_out, examined=len(usable))
        outputs = self.target.take(rows).outputs()
        scores = sketches.scores(pool, rows, outputs)
        order = np.argsort(-scores, kind="stable")[:_MAX_FOREST_COLUMNS]
        best = [pool[i] for i in order if scores[i] > 0]
        if not best:
            return ColumnChoice((), left_out=left_out, examined=len(usable))
        trial = _Trial(self, sketches, pool, rows, outputs)
        worth = trial.worth(best)
        ranked = sorted(worth, key=lambda position: -worth[position])[: self.most]
        chosen = trial.validated(ranked)
        notes = [
            f"{values.column.called} alone predicts {self.target.name!r} in nearly all rows: check "
            "that it is known before the target is"
            for values in (self.gathered.values[position] for position in chosen)
            if predicts_alone(values, self.gathered, rows, self.target.take(rows))
        ]
        worths = tuple(worth[position] for position in chosen)
        return ColumnChoice(tuple(chosen), worths, left_out, tuple(notes), len(usable))

    def usable(self, rows: Array) -> tuple[list[int], tuple[LeftOut, ...]]:
        """The positions of columns that copy neither the query table nor the target."""
        copies = find_own_versions(
            self.same, self.gathered.links, (*self.columns, self.target.name)
        )
        left_out = list(copies.values())
        usable = []
        known = self.target.take(rows)
        for position, values in enumerate(self.gathered.values):
            column = values.column
            if column.link in copies:
                continue
            same = self.same.get((column.link, column.column_index), ())
            why = ""
            if self.target.name in same:
                why = "it is the target"
            elif not same:
                why = explain_target_copy(values, self.gathered, rows, known)
            if why:
                left_out.append(LeftOut(column.table, column.name, why))
            elif not same:
                usable.append(position)
        return usable, tuple(left_out)


@dataclass(eq=False)
class _Trial:
    """Compares columns with noise for one choice."""

    chooser: ColumnChooser
    sketches: ColumnSketches
    pool: Sequence[int]
    rows: Array
    outputs: Array

    def __post_init__(self) -> None:
        self._target = self.chooser.target.take(self.rows)
        self._own = self.chooser.own[self.rows]
        self._random = np.random.default_rng(self.chooser.seed)
        self._draws: list[tuple[NoiseDraw, list[int]]] = []
        self._best: list[list[int]] = []  # for each draw, the noise columns by falling importance

    def _noise(self, draw: int) -> tuple[NoiseDraw, list[int]]:
        """The best columns of a draw of noise: the values of each key, and their positions."""
        while len(self._draws) <= draw:
            mixed = self.sketches.draw_noise(self._random)
            scores = self.sketches.scores(self.pool, self.rows, self.outputs, mixed)
            order = np.argsort(-scores, kind="stable")[:_MAX_FOREST_COLUMNS]
            self._draws.append((mixed, [self.pool[i] for i in order]))
        return self._draws[draw]

    def worth(self, positions: Sequence[int]) -> dict[int, float]:
        """The columns that are more important than noise in nearly every draw, and how much."""
        true = self.sketches.values_at(positions, self.rows)
        hits, worth = np.zeros(len(positions), np.int64), np.zeros(len(positions))
        for draw in range(_DRAWS):
            self.chooser.report(f"comparing columns with noise: {draw + 1} of {_DRAWS}")
            mixed, noise = self._noise(draw)
            false = self.sketches.values_at(noise, self.rows, mixed)
            columns = fill_gaps(np.concatenate([true, false, self._own], axis=1))
            importance = Forest(columns, self._target, self.chooser.seed + draw).importance
            of_columns = importance[: len(positions)]
            of_noise = importance[len(positions) : len(positions) + len(noise)]
            self._best.append([noise[i] for i in np.argsort(-of_noise, kind="stable")])
            hits += of_columns > of_noise.max(initial=0.0)
            worth += of_columns / _DRAWS
        return {p: float(worth[i]) for i, p in enumerate(positions) if hits[i] >= _MIN_WINS}

    def validated(self, positions: Sequence[int]) -> list[int]:
        """All or the best of the columns, if they predict better out of fold."""
        count = len(positions)
        sizes = sorted({count, (count + 1) // 2, min(3, count)} - {0})
        if not sizes:
            return []
        self.chooser.report("validating the columns out of fold")
        alone = self._scores(self._own)
        best: list[int] = []
        scores, gained = alone, 0.0
        for size in sizes:
            chosen = list(positions[:size])
            with_chosen = self._scores(self._with(self.sketches.values_at(chosen, self.rows)))
            mean, error = _gain(with_chosen, alone)
            if mean > max(_MIN_STANDARD_ERRORS * error, gained):
                best, scores, gained = chosen, with_chosen, mean
        return best if best and self._beats_noise(len(best), scores, alone) else []

    def _beats_noise(self, size: int, scores: Array, alone: Array) -> bool:
        """Whether the first repeat gains more than as many of the best noise columns do."""
        gain = float((scores - alone)[:_FOLDS].mean())
        gains = []
        for draw, noise in enumerate(self._best):
            columns = self.sketches.values_at(noise[:size], self.rows, self._noise(draw)[0])
            gains.append(float((self._scores(self._with(columns), 1) - alone[:_FOLDS]).mean()))
            if gains[-1] >= gain:
                return False
        return gain > float(np.mean(gains) + _MIN_NOISE_DEVIATIONS * np.std(gains, ddof=1))

    def _with(self, columns: Array) -> Array:
        return np.concatenate([self._own, columns], axis=1)

    def _scores(self, columns: Array, repeats: int = _REPEATS) -> Array:
        """The score of each fold of each repeat; the same folds for all columns."""
        scores: list[float] = []
        keys = self.chooser.gathered.keys[self.rows]
        for repeat in range(repeats):
            seed = self.chooser.seed + repeat
            folds = make_folds(keys, self._target, _FOLDS, seed)
            scores += score_folds(fill_gaps(columns), self._target, folds, seed, _TREES)
        return np.array(scores)


def _gain(scores: Array, baseline: Array) -> tuple[float, float]:
    """The mean gain of scores over a baseline, and its standard error, corrected for folds that
    share rows (Nadeau and Bengio, 2003)."""
    gains = scores - baseline
    shared = 1 / len(gains) + 1 / (_FOLDS - 1)
    return float(gains.mean()), float(np.sqrt(shared * gains.var(ddof=1)))


NoiseDraw = dict[tuple[str, ...], Array]  # by query columns, the key whose values each key gets

_BINS = 8  # groups of numbers
_MAX_TEXT_GROUPS = 15  # most frequent texts, each a group of its own
_MAX_CORRELATION = 0.95  # with a column kept before


class ColumnSketches:
    """The groups and ranks of the gathered columns."""

    def __init__(self, gathered: GatheredColumns) -> None:
        self._gathered = gathered
        self._groups = [_groups(values) for values in gathered.values]
        self._ranks = [_centred_ranks(values.by_key) for values in gathered.values]

    def draw_noise(self, random: np.random.Generator) -> NoiseDraw:
        """Draw noise: the key whose values each key gets."""
        keys = self._gathered.keys_of_rows
        sizes = {on: int(of_row.max(initial=-1)) + 1 for on, of_row in keys.items()}
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

    def values_at(
        self, positions: Sequence[int], rows: Array, mixed: NoiseDraw | None = None
    ) -> Array:
        """The values of some columns, or noise instead, in some rows; one column each."""
        values = self._gathered.values
        columns = [
            np.append(values[position].by_key, np.nan)[self._keys(position, rows, mixed)]
            for position in positions
        ]
        return np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0))

    def _keys(self, position: int, rows: Array, mixed: NoiseDraw | None) -> Array:
        on = self._gathered.joined_on(self._gathered.values[position])
        keys = self._gathered.keys_of_rows[on][rows]
        return keys if mixed is None else np.append(mixed[on], -1)[keys]

    def without_redundant(self, positions: Sequence[int], rows: Array) -> list[int]:
        """Drop columns that are nearly the same as one before them; the fullest come first."""
        if not len(positions):
            return []
        full = [np.isfinite(self._gathered.values[p].by_key).mean() for p in positions]
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
            if lengths[i] > 0 and not (alike[i, kept] >= _MAX_CORRELATION).any():
                kept.append(i)
        return [order[i] for i in kept]


def _groups(values: ColumnValues) -> Array:
    """The group of each key; keys without a value are group 0."""
    present = np.isfinite(values.by_key)
    groups = np.zeros(len(present), np.int64)
    known = values.by_key[present]
    if values.texts:
        groups[present] = 1 + np.minimum(known, _MAX_TEXT_GROUPS).astype(np.int64)
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
