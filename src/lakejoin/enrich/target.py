"""What is to be predicted: numbers, or classes? And is there enough of it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import UnusableTarget

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

TASKS = ("auto", "regression", "classification")
FEWEST = 10  # rows that have a target
_FEW_NUMBERS = 10  # whole numbers that are taken for classes
_MOST_CLASSES = 0.2  # classes for each row
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


@dataclass(frozen=True, eq=False)
class Target:
    """The target of each row: a number, or that of its class; NaN where it is not known.

    `classes` are the names of the classes; none for numbers.
    """

    name: str
    values: Array
    classes: tuple[str, ...] = ()

    @property
    def is_classes(self) -> bool:
        """Whether it is classes, and not numbers."""
        return bool(self.classes)

    @property
    def known(self) -> Array:
        """The rows that have one."""
        return np.flatnonzero(~np.isnan(self.values))

    def take(self, rows: Array) -> Target:
        """The same for some rows."""
        return Target(self.name, self.values[rows], self.classes)

    def texts(self) -> pa.Array:
        """The target as a column, to be compared with those of the lake."""
        import pyarrow as pa

        if not self.is_classes:
            return pa.array(self.values, from_pandas=True)
        missing = np.isnan(self.values)
        places = pa.array(np.where(missing, 0, self.values).astype(np.int64), mask=missing)
        return pa.array(self.classes, pa.large_string()).take(places)

    def outputs(self) -> Array:
        """What a column may explain, a column each: ranks of numbers, or the share of each class.
        The columns are centred; all rows must have a target."""
        if self.is_classes:
            lines = np.eye(len(self.classes))[self.values.astype(np.int64)]
            lines = lines[:, lines.any(axis=0)]
        else:
            lines = np.stack([ranks(self.values), self.values], axis=1)
        return np.asarray(lines - lines.mean(axis=0))


def ranks(values: Array) -> Array:
    """The mean rank of each number among all of them.

    >>> ranks(np.array([30.0, 10.0, 30.0])).tolist()
    [1.5, 0.0, 1.5]
    """
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts + 1) / 2)[inverse.reshape(-1)])


def target_of(column: pa.ChunkedArray | pa.Array, name: str, task: str = "auto") -> Target:
    """The target that a column makes; what nothing can be learned from is refused.

    >>> import pyarrow as pa
    >>> target_of(pa.array(["yes", "no"] * 20), "sold").classes
    ('no', 'yes')
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if task not in TASKS:
        raise UnusableTarget(f"a task is one of {', '.join(TASKS)}, not {task!r}")
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    known = len(column) - column.null_count
    if known < FEWEST:
        raise UnusableTarget(
            f"{name!r} is known of {known} sample{'' if known == 1 else 's'}: at least {FEWEST} "
            "are needed to tell what predicts it"
        )
    numbers = _numbers(column)
    if task == "regression" and numbers is None:
        raise UnusableTarget(f"{name!r} holds texts, which is no task for a regression")
    if numbers is not None and task != "classification" and not _few(numbers, task):
        if not np.isfinite(numbers[~np.isnan(numbers)]).all():
            raise UnusableTarget(f"{name!r} has infinite values, of which no mean can be taken")
        if len(np.unique(numbers[~np.isnan(numbers)])) < 2:
            raise UnusableTarget(_constant(name))
        return Target(name, numbers)
    return _classes(column, name)


def _classes(column: pa.Array, name: str) -> Target:
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.cast(column, pa.large_string())
    names = sorted(texts.drop_null().unique().to_pylist())
    if len(names) < 2:
        raise UnusableTarget(_constant(name))
    known = len(texts) - texts.null_count
    if len(names) > max(2, _MOST_CLASSES * known):
        raise UnusableTarget(
            f"{name!r} has {len(names):,} different values in {known:,} rows: too many classes to "
            "learn"
        )
    places = pc.index_in(texts, value_set=pa.array(names, pa.large_string()))
    values = places.to_numpy(zero_copy_only=False).astype(np.float64)
    return Target(name, values, tuple(names))


def _constant(name: str) -> str:
    return f"{name!r} has the same value in all rows: there is nothing to predict"


def _numbers(column: pa.Array) -> Array | None:
    """Numbers, also where they are written as text; None for anything else."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = pc.utf8_trim_whitespace(column)
        if not pc.all(pc.match_substring_regex(column, _NUMBER)).as_py():
            return None
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))


def _few(numbers: Array, task: str) -> bool:
    """Whether numbers are those of classes."""
    known = numbers[~np.isnan(numbers)]
    distinct = np.unique(known)
    whole = bool(np.isfinite(known).all()) and bool((known == np.round(known)).all())
    few = len(distinct) <= 2 or len(distinct) <= min(_FEW_NUMBERS, len(known) // 10)
    return task == "auto" and whole and few
