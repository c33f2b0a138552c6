"""Forests that judge columns out of fold, and the lift of the lake over the query table alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakejoin.enrich.training_data import Target, combine_column, number_texts, parse_numbers
from lakejoin.errors import InputError
from lakejoin.model import Array

if TYPE_CHECKING:
    from lakejoin.enrich.column_choice import ColumnChooser


Folds = list[tuple[Array, Array]]

TREES = 60
_MIN_LEAF_ROWS = 3  # least rows of a leaf
_SPLIT_COLUMNS = 0.4  # share of the columns tried at each split
_MAX_TEXT_UNIQUENESS = 0.5  # distinct texts per row above which a column is left out


def table_numbers(table: pa.Table) -> Array:
    """The query table's columns as numbers; columns that only identify rows are left out.

    >>> table_numbers(pa.table({"name": ["a", "b", "c"], "n": [1, None, 3]})).shape
    (3, 1)
    """
    columns = []
    for name in table.column_names:
        column = combine_column(table[name])
        kind = column.type
        if pa.types.is_temporal(kind):
            column = column.cast(pa.timestamp("us")).cast(pa.int64())
        elif pa.types.is_boolean(kind):
            column = column.cast(pa.int8())
        elif pa.types.is_nested(kind) or pa.types.is_binary(kind):
            continue
        kind = column.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            numbers = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        else:
            texts = column.cast(pa.large_string())
            numbers = parse_numbers(texts)
            if numbers is None:
                numbers, names = number_texts(texts)
                if len(names) > _MAX_TEXT_UNIQUENESS * max(1, len(texts) - texts.null_count):
                    continue
        columns.append(np.asarray(numbers, np.float64))
    return np.stack(columns, axis=1) if columns else np.zeros((table.num_rows, 0))


def fill_gaps(columns: Array) -> Array:
    """Fill gaps with a number below all others; returns at least one column."""
    if not columns.shape[1]:
        return np.zeros((len(columns), 1))
    columns = np.where(np.isfinite(columns), columns, np.nan)
    with np.errstate(invalid="ignore"):
        low = np.nanmin(np.where(np.isnan(columns), np.inf, columns), axis=0)
        high = np.nanmax(np.where(np.isnan(columns), -np.inf, columns), axis=0)
    low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
    filled = np.where(np.isnan(columns), low - 0.1 * (high - low) - 1e-3, columns)
    limit = float(np.finfo(np.float32).max) / 4  # the range of a tree's float32
    return np.clip(filled, -limit, limit)


def make_folds(keys: Array, target: Target, folds: int, seed: int) -> Folds:
    """The (training rows, test rows) of each fold, with all rows of a key together, or each row by
    itself if there are few keys. Classes are spread evenly."""
    distinct, groups = np.unique(keys, return_inverse=True)
    groups = groups.reshape(-1)
    if len(distinct) < 2 * folds:
        groups = np.arange(len(keys))
    random = np.random.default_rng(seed)
    count = int(groups.max(initial=-1)) + 1
    first = np.zeros(count, np.int64)
    first[groups[::-1]] = np.arange(len(groups))[::-1]
    stratum = target.values[first] if target.is_classes else np.zeros(count)
    order = random.permutation(count)
    order = order[np.argsort(stratum[order], kind="stable")]
    fold_of = np.empty(count, np.int64)
    fold_of[order] = np.arange(count) % folds
    by_row = fold_of[groups]
    return [(np.flatnonzero(by_row != f), np.flatnonzero(by_row == f)) for f in range(folds)]


class Forest:
    """Extremely randomized trees (Geurts et al., 2006), trained on these rows.

    The trees are scikit-learn's, but not the forest: its overhead per tree exceeds the time to
    train a tree on a few hundred rows.
    """

    def __init__(self, columns: Array, target: Target, seed: int, trees: int = TREES) -> None:
        from sklearn import config_context
        from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor

        kind = ExtraTreeClassifier if target.is_classes else ExtraTreeRegressor
        rows = np.ascontiguousarray(columns, np.float32)
        self._classes, values = None, target.values
        if target.is_classes:
            self._classes, values = np.unique(values, return_inverse=True)
        self._trees = []
        with config_context(skip_parameter_validation=True, assume_finite=True):
            for number in range(trees):
                tree = kind(
                    min_samples_leaf=_MIN_LEAF_ROWS,
                    max_features=_SPLIT_COLUMNS,
                    random_state=np.random.RandomState(seed * 1_000_003 % 2**31 + number),
                )
                self._trees.append(tree.fit(rows, values, check_input=False).tree_)

    @property
    def importance(self) -> Array:
        """The importance of each column; the sum is 1."""
        return np.asarray(
            np.mean([tree.compute_feature_importances() for tree in self._trees], axis=0)
        )

    def predict(self, columns: Array) -> Array:
        rows = np.ascontiguousarray(columns, np.float32)
        mean = sum(tree.predict(rows) for tree in self._trees) / len(self._trees)
        if self._classes is None:
            return np.asarray(mean.reshape(len(rows)))
        return np.asarray(self._classes[mean.reshape(len(rows), -1).argmax(axis=1)])


def score_folds(
    columns: Array, target: Target, folds: Folds, seed: int, trees: int = TREES
) -> Iterator[float]:
    """The score of each fold: the share of correct classes (micro-F1), or the negative root mean
    squared error; higher is better."""
    for learn, judge in folds:
        forest = Forest(columns[learn], target.take(learn), seed, trees)
        yield score_predictions(target.values[judge], forest.predict(columns[judge]), target)


def score_predictions(true: Array, predicted: Array, target: Target) -> float:
    """The score of predictions; higher is better."""
    if target.is_classes:
        return float(np.mean(true == predicted))
    return -float(np.sqrt(np.mean((true - predicted) ** 2)))


_TREES = 100


@dataclass(frozen=True)
class Lift:
    """The scores of each fold without and with the lake: an error (`RMSE`; lower is better) or a
    share of correct classes (`micro-F1`). `keys` says whether folds are by key."""

    score: str
    without: tuple[float, ...]
    joined: tuple[float, ...]
    keys: bool

    def _improvement(self, before: Any, after: Any) -> Array:
        change = before - after if self.score == "RMSE" else after - before
        return np.asarray(change / np.maximum(before, 1e-12))

    @property
    def gains(self) -> Array:
        """The relative improvement of each fold."""
        return self._improvement(np.array(self.without), np.array(self.joined))

    @property
    def mean(self) -> float:
        """The relative improvement of the mean score."""
        return float(self._improvement(np.mean(self.without), np.mean(self.joined)))

    @property
    def spread(self) -> float:
        """The standard deviation of the folds' gains."""
        return float(self.gains.std(ddof=1))

    def to_dict(self) -> dict[str, Any]:
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


def measure_lift(chooser: ColumnChooser, folds: int) -> Lift:
    target, keys = chooser.target, chooser.gathered.keys
    check_folds(folds, len(target.values))
    without, joined = [], []
    for fold, (learn, judge) in enumerate(make_folds(keys, target, folds, chooser.seed + 17)):
        chooser.report(f"measuring the lift: fold {fold + 1} of {folds}")
        chosen = chooser.choose(learn).positions
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
    (score,) = score_folds(fill_gaps(columns), target, [(learn, judge)], seed, _TREES)
    return abs(score)


def _spread(scores: tuple[float, ...]) -> float:
    return float(np.std(scores, ddof=1))
