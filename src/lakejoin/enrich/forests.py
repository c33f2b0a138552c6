"""The model that judges columns: a forest of random trees, out of fold.

Trees take numbers of any scale, with gaps, and texts as numbers; nothing has to be tuned, and they
are quick. Folds are by key: all rows of a key are in the same one, so that a column has to help
with keys that the model has not seen, and cannot just tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.enrich.target import Target

Array = np.ndarray[Any, Any]
Folds = list[tuple[Array, Array]]

TREES = 60
_LEAF = 3  # rows of a leaf at least
_SHARE = 0.4  # of the columns that are tried at each split
_TEXTS = 0.5  # distinct texts for each row, from which on a column of mine is left out


def own_numbers(mine: pa.Table) -> Array:
    """My own columns as numbers, a column each; those that only name rows are left out.

    >>> import pyarrow as pa
    >>> own_numbers(pa.table({"name": ["a", "b", "c"], "n": [1, None, 3]})).shape
    (3, 1)
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for name in mine.column_names:
        column = mine[name].combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks) if column.num_chunks else column
        kind = column.type
        if pa.types.is_temporal(kind):
            column = column.cast(pa.timestamp("us")).cast(pa.int64())
            kind = column.type
        numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if numeric or pa.types.is_decimal(kind) or pa.types.is_boolean(kind):
            if pa.types.is_boolean(kind):
                column = column.cast(pa.int8())
            numbers = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        elif pa.types.is_nested(kind) or pa.types.is_binary(kind):
            continue
        else:
            texts = column.cast(pa.large_string())
            numbers = _numbers_of(texts)
            if numbers is None:
                counted = pc.value_counts(texts.drop_null()).to_pylist()
                if len(counted) > _TEXTS * max(1, len(texts) - texts.null_count):
                    continue
                ordered = sorted(counted, key=lambda one: (-one["counts"], one["values"]))
                names = pa.array([one["values"] for one in ordered], pa.large_string())
                places = pc.index_in(texts, value_set=names)
                numbers = places.to_numpy(zero_copy_only=False).astype(np.float64)
        columns.append(np.asarray(numbers, np.float64))
    return np.stack(columns, axis=1) if columns else np.zeros((mine.num_rows, 0))


def _numbers_of(texts: pa.LargeStringArray) -> Array | None:
    """Texts that are all numbers, as such."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(texts)
    fits = pc.match_substring_regex(trimmed, r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
    if texts.null_count == len(texts) or not pc.all(fits).as_py():
        return None
    return np.asarray(trimmed.cast(pa.float64()).to_numpy(zero_copy_only=False))


def without_gaps(columns: Array) -> Array:
    """The same with a number below all others where there is none; one column at least."""
    if not columns.shape[1]:
        return np.zeros((len(columns), 1))
    columns = np.where(np.isfinite(columns), columns, np.nan)
    with np.errstate(invalid="ignore"):
        low = np.nanmin(np.where(np.isnan(columns), np.inf, columns), axis=0)
        high = np.nanmax(np.where(np.isnan(columns), -np.inf, columns), axis=0)
    low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
    filled = np.where(np.isnan(columns), low - 0.1 * (high - low) - 1e-3, columns)
    limit = float(np.finfo(np.float32).max) / 4  # what a tree can hold
    return np.clip(filled, -limit, limit)


def folds_by_key(keys: Array, target: Target, folds: int, seed: int) -> Folds:
    """Places of rows to learn from and to be judged by, all rows of a key together; of few keys,
    each row by itself. Classes are spread evenly."""
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
    found = fold_of[groups]
    return [(np.flatnonzero(found != one), np.flatnonzero(found == one)) for one in range(folds)]


class Forest:
    """Random trees (Geurts et al., 2006) that have learned from all these rows.

    Each tree is scikit-learn's; the forest around them is not, as its own takes longer to make a
    tree of a few hundred rows than the tree takes to grow.
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
                    min_samples_leaf=_LEAF,
                    max_features=_SHARE,
                    random_state=np.random.RandomState(seed * 1_000_003 % 2**31 + number),
                )
                self._trees.append(tree.fit(rows, values, check_input=False).tree_)

    @property
    def worth(self) -> Array:
        """How much each column was worth to the trees, 1 together."""
        return np.asarray(
            np.mean([tree.compute_feature_importances() for tree in self._trees], axis=0)
        )

    def told(self, columns: Array) -> Array:
        """The target of some rows, as the trees tell it."""
        rows = np.ascontiguousarray(columns, np.float32)
        mean = sum(tree.predict(rows) for tree in self._trees) / len(self._trees)
        if self._classes is None:
            return np.asarray(mean.reshape(len(rows)))
        return np.asarray(self._classes[mean.reshape(len(rows), -1).argmax(axis=1)])


def judged(
    columns: Array, target: Target, folds: Folds, seed: int, trees: int = TREES
) -> Iterator[float]:
    """The score of each fold: the share of classes that are told (micro-F1), or the negative root
    of the mean squared error; more is better."""
    for learn, judge in folds:
        forest = Forest(columns[learn], target.take(learn), seed, trees)
        yield score(target.values[judge], forest.told(columns[judge]), target)


def score(true: Array, told: Array, target: Target) -> float:
    """How well values are told; more is better."""
    if target.is_classes:
        return float(np.mean(true == told))
    return -float(np.sqrt(np.mean((true - told) ** 2)))
