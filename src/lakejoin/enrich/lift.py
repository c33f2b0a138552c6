"""Measures how much better the target is predicted with the lake than without.

Cross-validates the whole choice: in each fold, columns are chosen by the training rows alone, and a
forest is trained on these rows with and without the chosen columns. So neither the choice nor the
forest has seen the targets it is judged by. The search sees all keys but no target; columns that
copy the target are detected once, by all rows, which can only remove columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.enrich.evaluation import Forest, make_folds, score_predictions, fill_gaps
from lakejoin.errors import InputError

if TYPE_CHECKING:
    from lakejoin.enrich.column_choice import ColumnChooser
    from lakejoin.enrich.inputs import Target

Array = np.ndarray[Any, Any]

FOLDS = 5
_TREES = 100


@dataclass(frozen=True)
class Lift:
    """The scores of each fold without and with the lake: an error (`RMSE`; lower is better) or a
    share of correct classes (`micro-F1`). `keys` says whether folds are by key."""

    score: str
    without: tuple[float, ...]
    joined: tuple[float, ...]
    keys: bool

    @property
    def gains(self) -> Array:
        """The relative improvement of each fold."""
        before, after = np.array(self.without), np.array(self.joined)
        change = before - after if self.score == "RMSE" else after - before
        return np.asarray(change / np.maximum(before, 1e-12))

    @property
    def mean(self) -> float:
        """The relative improvement of the mean score."""
        before, after = float(np.mean(self.without)), float(np.mean(self.joined))
        change = before - after if self.score == "RMSE" else after - before
        return change / max(before, 1e-12)

    @property
    def spread(self) -> float:
        """The standard deviation of the folds' gains."""
        return float(self.gains.std(ddof=1))

    def to_dict(self) -> dict[str, Any]:
        """The lift as JSON."""
        return {
            "score": self.score,
            "folds": len(self.without),
            "folds_by_key": self.keys,
            "without": {"mean": float(np.mean(self.without)), "spread": _spread(self.without)},
            "with": {"mean": float(np.mean(self.joined)), "spread": _spread(self.joined)},
            "lift": self.mean,
            "lift_spread": self.spread,
        }


def check_folds(folds: int, rows: int) -> None:
    """Raise if a fold would have less than two rows."""
    if not 2 <= folds <= rows // 2:
        raise InputError(
            f"cannot make {folds} folds from {rows:,} rows: use 2 to {rows // 2:,} folds"
        )


def measure_lift(chooser: ColumnChooser, folds: int = FOLDS) -> Lift:
    """Measure the lift with the sampled rows."""
    target, keys = chooser.target, chooser.gathered.keys
    check_folds(folds, len(target.values))
    without, joined = [], []
    for fold, (learn, judge) in enumerate(make_folds(keys, target, folds, chooser.seed + 17)):
        chooser.tell(f"measuring the lift: fold {fold + 1} of {folds}")
        chosen = chooser.choose(learn).places
        without.append(_fold_score(chooser.own, target, learn, judge, chooser.seed))
        if chosen:
            added = chooser.gathered.matrix[:, list(chosen)]
            columns = np.concatenate([chooser.own, added], axis=1)
            joined.append(_fold_score(columns, target, learn, judge, chooser.seed))
        else:
            joined.append(without[-1])
    by_key = len(np.unique(keys)) < len(keys) and len(np.unique(keys)) >= 2 * folds
    name = "micro-F1" if target.is_classes else "RMSE"
    return Lift(name, tuple(without), tuple(joined), by_key)


def _fold_score(columns: Array, target: Target, learn: Array, judge: Array, seed: int) -> float:
    columns = fill_gaps(columns)
    forest = Forest(columns[learn], target.take(learn), seed, _TREES)
    return abs(score_predictions(target.values[judge], forest.told(columns[judge]), target))


def _spread(scores: tuple[float, ...]) -> float:
    return float(np.std(scores, ddof=1))
