"""Accepts the tables and targets of scikit-learn users: frames, arrays, numbers and classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.errors import UnusableTarget, import_optional
from lakejoin.joins.join_inputs import plain_columns
from lakejoin.model import Array
from lakejoin.sources.frames import to_table

TASKS = ("auto", "regression", "classification")
LEAST_TARGETS = 10  # least rows with a target
_FEW_NUMBERS = 10  # most distinct integers that count as classes
_MOST_CLASSES = 0.2  # most classes per row
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


@dataclass(frozen=True, eq=False)
class Target:
    """The target of each row: a number, or the index of its class; NaN if unknown.

    `classes` are the names of the classes; empty for numbers.
    """

    name: str
    values: Array
    classes: tuple[str, ...] = ()

    @property
    def is_classes(self) -> bool:
        return bool(self.classes)

    @property
    def known(self) -> Array:
        return np.flatnonzero(~np.isnan(self.values))

    def take(self, rows: Array) -> Target:
        return Target(self.name, self.values[rows], self.classes)

    def texts(self) -> pa.Array:
        """The target as a column, to compare it with lake columns."""
        if not self.is_classes:
            return pa.array(self.values, from_pandas=True)
        missing = np.isnan(self.values)
        indexes = pa.array(np.where(missing, 0, self.values).astype(np.int64), mask=missing)
        return pa.array(self.classes, pa.large_string()).take(indexes)

    def outputs(self) -> Array:
        """What a column may explain: the ranks and values of numbers, or an indicator per class.
        The outputs are centred; all rows must have a target."""
        if self.is_classes:
            outputs = np.eye(len(self.classes))[self.values.astype(np.int64)]
            outputs = outputs[:, outputs.any(axis=0)]
        else:
            outputs = np.stack([mean_ranks(self.values), self.values], axis=1)
        return np.asarray(outputs - outputs.mean(axis=0))


def mean_ranks(values: Array) -> Array:
    """The rank of each number; equal numbers get their mean rank.

    >>> mean_ranks(np.array([30.0, 10.0, 30.0])).tolist()
    [1.5, 0.0, 1.5]
    """
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts + 1) / 2)[inverse.reshape(-1)])


def make_target(column: pa.ChunkedArray | pa.Array, name: str, task: str = "auto") -> Target:
    """Make a target from a column; raises if nothing can be learned from it.

    >>> make_target(pa.array(["yes", "no"] * 20), "sold").classes
    ('no', 'yes')
    """
    if task not in TASKS:
        raise UnusableTarget(f"the task must be one of {', '.join(TASKS)}, not {task!r}")
    column = combine_column(column)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    known = len(column) - column.null_count
    if known < LEAST_TARGETS:
        raise UnusableTarget(
            f"{name!r} is known for {known} sample{'' if known == 1 else 's'}: at least "
            f"{LEAST_TARGETS} are needed to find what predicts it"
        )
    numbers = _numbers(column)
    if task == "regression" and numbers is None:
        raise UnusableTarget(f"{name!r} contains texts, so it cannot be a regression target")
    if numbers is not None and task != "classification" and not _few(numbers, task):
        if not np.isfinite(numbers[~np.isnan(numbers)]).all():
            raise UnusableTarget(f"{name!r} has infinite values; replace or remove them")
        if len(np.unique(numbers[~np.isnan(numbers)])) < 2:
            raise UnusableTarget(_constant(name))
        return Target(name, numbers)
    return _classes(column, name)


def combine_column(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _classes(column: pa.Array, name: str) -> Target:
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
    indexes = pc.index_in(texts, value_set=pa.array(names, pa.large_string()))
    values = indexes.to_numpy(zero_copy_only=False).astype(np.float64)
    return Target(name, values, tuple(names))


def _constant(name: str) -> str:
    return f"{name!r} has the same value in all rows: there is nothing to predict"


def _numbers(column: pa.Array) -> Array | None:
    """The numbers of a column, also if written as text; None for anything else."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return parse_numbers(column)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))


def parse_numbers(texts: pa.Array, least: float = 1.0) -> Array | None:
    """The numbers of texts, NaN for others; None if a smaller share than `least` are numbers.

    >>> parse_numbers(pa.array([" 1.5", None, "?"])), parse_numbers(pa.array(["2", "?"]), 0.5)
    (None, array([ 2., nan]))
    """
    texts = pc.utf8_trim_whitespace(texts)
    known, fits = len(texts) - texts.null_count, pc.match_substring_regex(texts, _NUMBER)
    if not known or pc.sum(fits).as_py() < least * known:
        return None
    numbers = pc.if_else(fits, texts, pa.scalar(None, texts.type)).cast(pa.float64())
    return np.asarray(numbers.to_numpy(zero_copy_only=False))


def number_texts(texts: pa.LargeStringArray) -> tuple[Array, tuple[str, ...]]:
    """Number texts by falling frequency, NaN for nulls; returns the texts in that order too."""
    counted = pc.value_counts(texts.drop_null()).to_pylist()
    ordered = sorted(counted, key=lambda text: (-text["counts"], text["values"]))
    names = [text["values"] for text in ordered]
    ranks = pc.index_in(texts, value_set=pa.array(names, pa.large_string()))
    return ranks.to_numpy(zero_copy_only=False).astype(np.float64), tuple(names)


def _few(numbers: Array, task: str) -> bool:
    """Whether numbers are few enough to be classes."""
    known = numbers[~np.isnan(numbers)]
    distinct = np.unique(known)
    whole = bool(np.isfinite(known).all()) and bool((known == np.round(known)).all())
    few = len(distinct) <= 2 or len(distinct) <= min(_FEW_NUMBERS, len(known) // 10)
    return task == "auto" and whole and few


def is_frame(thing: Any) -> bool:
    """Whether it is a frame of pandas, polars or Arrow, not an array or a list."""
    return hasattr(thing, "columns") or hasattr(thing, "column_names")


def normalize_input(thing: Any) -> Any:
    """Return frames and arrays unchanged; convert other tables, such as a mapping of columns, a
    polars LazyFrame or a DuckDB relation, to an Arrow table."""
    if hasattr(thing, "collect"):  # lazy, not read yet
        return to_table(thing)
    # A sparse matrix may be a mapping too, from positions to numbers.
    columns = isinstance(thing, Mapping) and not hasattr(thing, "shape")
    if not (is_frame(thing) or columns):
        return thing
    kinds = ("iloc", "append_column", "get_columns")  # pandas, Arrow, polars
    return thing if any(hasattr(thing, kind) for kind in kinds) else to_table(thing)


def frame_columns(thing: Any) -> list[Any]:
    """The column names of a frame; empty for an array."""
    if not is_frame(thing):
        return []
    return list(thing.column_names if hasattr(thing, "column_names") else thing.columns)


def drop_column(thing: Any, column_index: int) -> Any:
    """Drop one column.

    >>> drop_column(np.array([[1, 2, 3]]), 1).tolist()
    [[1, 3]]
    """
    if not is_frame(thing):
        return np.delete(thing, column_index, axis=1)
    if hasattr(thing, "iloc"):
        return thing.iloc[:, [i for i in range(thing.shape[1]) if i != column_index]]
    return thing.select([name for i, name in enumerate(frame_columns(thing)) if i != column_index])


def arrow_rows(thing: Any) -> pa.Table:
    """A frame or array as an Arrow table; the columns of an array are called x0, x1, …

    >>> arrow_rows(np.array([[1.5, 2.0], [2.5, 4.0]])).column_names
    ['x0', 'x1']
    """
    if is_frame(thing):
        return plain_columns(to_table(thing))
    columns = {f"x{i}": thing[:, i] for i in range(thing.shape[1])}
    return pa.table({name: _column(values) for name, values in columns.items()})


def _column(values: Array) -> pa.Array:
    if values.dtype.kind in "biuf":
        return pa.array(values, from_pandas=True)
    texts = [None if _is_missing(value) else str(value) for value in values.tolist()]
    return pa.array(texts, pa.large_string())


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def add_columns(thing: Any, names: Sequence[str], columns: Sequence[pa.Array]) -> Any:
    """Add columns to a frame or array, keeping its type."""
    if not is_frame(thing):
        return _beside_array(thing, columns)
    if hasattr(thing, "with_columns"):  # polars
        return _beside_polars(thing, names, columns)
    if hasattr(thing, "append_column"):  # Arrow
        for name, column in zip(names, columns, strict=True):
            thing = thing.append_column(name, column)
        return thing
    copy = thing.copy()
    for name, column in zip(names, columns, strict=True):
        copy[name] = _as_array(column)
    return copy


def _beside_array(thing: Array, columns: Sequence[pa.Array]) -> Array:
    if not columns:
        return thing
    added = [_as_array(column)[:, None] for column in columns]
    if any(column.dtype == object for column in added):
        added, thing = [column.astype(object) for column in added], thing.astype(object)
    return np.concatenate([thing, *added], axis=1)


def _beside_polars(thing: Any, names: Sequence[str], columns: Sequence[pa.Array]) -> Any:
    polars = import_optional("polars")
    series = [
        polars.Series(name, polars.from_arrow(column))
        for name, column in zip(names, columns, strict=True)
    ]
    return thing.with_columns(series)


def _as_array(column: pa.Array) -> Array:
    return np.asarray(column.to_numpy(zero_copy_only=False))
