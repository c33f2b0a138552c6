"""Which columns help to predict the target? Those that do better than noise, out of fold.

1. Columns that are mine again, the target itself, or nearly the same as others go.
2. A first cut by what each tells of the target (`sketching.py`). Noise columns, made of all of
   them, go through the same cut: the best of much noise looks good, and that is what a column has
   to beat.
3. A forest learns from my columns, those that are left and as many of noise; a column must be worth
   more to it than all noise, in nearly every draw of it (as Boruta does; Kursa and Rudnicki, 2010).
4. What is left must predict better out of fold than my columns alone, and gain more than the best
   of as much noise does in any draw, and clearly more than it does on average; else nothing is
   taken. The columns were chosen by the rows that now judge them, and so was the noise.

The work is bounded by the sampled rows and by the numbers below, and the same seed chooses the same
columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.enrich.copies import LeftOut, Same, copies_target, my_own_tables, tells_alone
from lakejoin.enrich.forests import Forest, folds_by_key, judged, without_gaps
from lakejoin.enrich.sketching import Mixed, Sketches

if TYPE_CHECKING:
    from lakejoin.enrich.gathering import Gathered
    from lakejoin.enrich.target import Target

Array = np.ndarray[Any, Any]

_CUT = 30  # columns that a forest is given
_DRAWS = 8  # of noise
_HITS = 7  # draws in which a column must be worth more
_FOLDS, _REPEATS, _TREES = 5, 2, 30  # of the last proof
_SURE = 1.0  # standard errors by which it must be better than without
_BEYOND = 3.0  # standard deviations of what draws of noise gain, beyond their mean


@dataclass(frozen=True, eq=False)
class Choice:
    """The columns that were chosen, by their places among those gathered, the best first, and what
    each is worth; what was left out, and what should be known."""

    places: tuple[int, ...]
    worth: tuple[float, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    looked_at: int = 0


@dataclass(frozen=True, eq=False)
class Chooser:
    """Chooses columns by the rows that it is given. `own` are my own columns as numbers, and
    `same` says which of the gathered ones are mine again; `columns` are the names of mine."""

    gathered: Gathered
    own: Array
    same: Same
    columns: tuple[str, ...]
    target: Target
    most: int = 20
    seed: int = 0
    tell: Callable[[str], None] = field(default=lambda doing: None)

    def choose(self, rows: Array) -> Choice:
        """The columns that help, as some rows of the sample tell; they must have a target."""
        usable, left_out = self.usable(rows)
        sketches = Sketches(self.gathered)
        pool = sketches.without_redundant(usable, rows)
        if not pool:
            return Choice((), left_out=left_out, looked_at=len(usable))
        outputs = self.target.take(rows).outputs()
        scores = sketches.scores(pool, rows, outputs)
        order = np.argsort(-scores, kind="stable")[:_CUT]
        best = [pool[i] for i in order if scores[i] > 0]
        if not best:
            return Choice((), left_out=left_out, looked_at=len(usable))
        trial = _Trial(self, sketches, pool, rows, outputs)
        worth = trial.worth(best)
        ranked = sorted(worth, key=lambda place: -worth[place])[: self.most]
        kept = trial.proven(ranked)
        notes = [
            f"{values.column.called} alone tells {self.target.name!r} in nearly all rows: see that "
            "it is known before the target is"
            for values in (self.gathered.values[place] for place in kept)
            if tells_alone(values, self.gathered, rows, self.target.take(rows))
        ]
        worths = tuple(worth[place] for place in kept)
        return Choice(tuple(kept), worths, left_out, tuple(notes), len(usable))

    def usable(self, rows: Array) -> tuple[list[int], tuple[LeftOut, ...]]:
        """The places of columns that are neither mine nor the target."""
        mine = my_own_tables(self.same, self.gathered.links, (*self.columns, self.target.name))
        left_out = list(mine.values())
        usable = []
        known = self.target.take(rows)
        for place, values in enumerate(self.gathered.values):
            column = values.column
            if column.link in mine:
                continue
            same = self.same.of(values)
            why = ""
            if self.target.name in same:
                why = "it is the target"
            elif not same:
                why = copies_target(values, self.gathered, rows, known)
            if why:
                left_out.append(LeftOut(column.table, column.name, why))
            elif not same:
                usable.append(place)
        return usable, tuple(left_out)


class _Trial:
    """One choice: columns against noise."""

    def __init__(
        self,
        chooser: Chooser,
        sketches: Sketches,
        pool: Sequence[int],
        rows: Array,
        outputs: Array,
    ) -> None:
        self._chooser = chooser
        self._sketches = sketches
        self._pool = pool
        self._rows = rows
        self._outputs = outputs
        self._target = chooser.target.take(rows)
        self._own = chooser.own[rows]
        self._random = np.random.default_rng(chooser.seed)
        self._draws: list[tuple[Mixed, list[int]]] = []
        self._best: list[list[int]] = []  # of each draw, the noise that was worth most

    def _noise(self, draw: int) -> tuple[Mixed, list[int]]:
        """The best columns of a draw of noise: the values that each key gets, and the places."""
        while len(self._draws) <= draw:
            mixed = self._sketches.mixed(self._random)
            scores = self._sketches.scores(self._pool, self._rows, self._outputs, mixed)
            order = np.argsort(-scores, kind="stable")[:_CUT]
            self._draws.append((mixed, [self._pool[i] for i in order]))
        return self._draws[draw]

    def worth(self, places: Sequence[int]) -> dict[int, float]:
        """The columns that are worth more than noise in nearly every draw, and how much."""
        true = self._sketches.at(places, self._rows)
        hits, worth = np.zeros(len(places), np.int64), np.zeros(len(places))
        for draw in range(_DRAWS):
            self._chooser.tell(f"comparing columns with noise: {draw + 1} of {_DRAWS}")
            mixed, noise = self._noise(draw)
            false = self._sketches.at(noise, self._rows, mixed)
            columns = without_gaps(np.concatenate([true, false, self._own], axis=1))
            found = Forest(columns, self._target, self._chooser.seed + draw).worth
            of_noise = found[len(places) : len(places) + len(noise)]
            self._best.append([noise[i] for i in np.argsort(-of_noise, kind="stable")])
            hits += found[: len(places)] > of_noise.max(initial=0.0)
            worth += found[: len(places)] / _DRAWS
        return {place: float(worth[i]) for i, place in enumerate(places) if hits[i] >= _HITS}

    def proven(self, places: Sequence[int]) -> list[int]:
        """The columns, all or the best of them, if they predict better out of fold."""
        sizes = sorted({len(places), (len(places) + 1) // 2, min(3, len(places))} - {0})
        if not sizes:
            return []
        self._chooser.tell("proving the columns out of fold")
        alone = self._scores(self._own)
        best: list[int] = []
        scores, gained = alone, 0.0
        for size in sizes:
            chosen = list(places[:size])
            these = self._scores(self._with(self._sketches.at(chosen, self._rows)))
            mean, error = _gain(these, alone)
            if mean > max(_SURE * error, gained):
                best, scores, gained = chosen, these, mean
        return best if best and self._beats_noise(len(best), scores, alone) else []

    def _beats_noise(self, size: int, scores: Array, alone: Array) -> bool:
        """Whether the first repeat gains more than so many of the best noise columns do."""
        gain = float((scores - alone)[:_FOLDS].mean())
        found = []
        for draw, noise in enumerate(self._best):
            beside = self._sketches.at(noise[:size], self._rows, self._noise(draw)[0])
            found.append(float((self._scores(self._with(beside), 1) - alone[:_FOLDS]).mean()))
            if found[-1] >= gain:
                return False
        return gain > float(np.mean(found) + _BEYOND * np.std(found, ddof=1))

    def _with(self, columns: Array) -> Array:
        return np.concatenate([self._own, columns], axis=1)

    def _scores(self, columns: Array, repeats: int = _REPEATS) -> Array:
        """The score of each fold of each repeat; the same folds for all columns."""
        found: list[float] = []
        keys = self._chooser.gathered.keys[self._rows]
        for repeat in range(repeats):
            seed = self._chooser.seed + repeat
            folds = folds_by_key(keys, self._target, _FOLDS, seed)
            found += judged(without_gaps(columns), self._target, folds, seed, _TREES)
        return np.array(found)


def _gain(one: Array, other: Array) -> tuple[float, float]:
    """By how much scores are better on average, and the standard error of that, of folds that
    share rows (Nadeau and Bengio, 2003)."""
    apart = one - other
    shared = 1 / len(apart) + 1 / (_FOLDS - 1)
    return float(apart.mean()), float(np.sqrt(shared * apart.var(ddof=1)))
