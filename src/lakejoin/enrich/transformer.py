"""`LakeJoiner`, a scikit-learn transformer that adds predictive columns from a data lake."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from lakejoin.enrich.enrichment import prepare_chooser
from lakejoin.enrich.lake_columns import LakeColumn, join_columns, used_links
from lakejoin.enrich.links import EnrichOptions, Link, join_kinds
from lakejoin.enrich.training_data import (
    LEAST_TARGETS,
    add_columns,
    arrow_rows,
    drop_column,
    frame_columns,
    is_frame,
    make_target,
    normalize_input,
)
from lakejoin.errors import InputError, UnusableTarget
from lakejoin.inputs import index_location
from lakejoin.lake import Lake
from lakejoin.locations import Location
from lakejoin.store.snapshot import Snapshot
from lakejoin.values.column_names import find_column, make_names_unique

if TYPE_CHECKING:
    PathLike = str | os.PathLike[str]

_TARGET = "y"


class LakeJoiner(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Adds columns from tables in a data lake that help to predict the target.

    `fit` searches the lake for tables that join on the key `on`, and chooses the columns that
    predict the target better than noise does, out of fold. `transform` joins these columns onto any
    rows: the same number of rows, in the same order, each by its own key alone. If a key has
    several rows in a table, numbers become their mean and other values the most frequent one. Rows
    without a match get missing values. If no column helps, rows stay unchanged.

    Parameters
    ----------
    lake
        An opened `Lake`, or the path of its index; the default index if omitted.
    on
        The column or columns of X that tables are joined on: names or indexes. If omitted, every
        column that may be a key is tried.
    target
        The name of the target. If `fit` gets no y, this column of X is the target: new rows need
        not have it, and `transform` drops it, so that no model sees it. The name also helps to
        recognize the target in the lake.
    by
        How keys may match: "equal" values; "fuzzy", also values that programs rewrite or that are
        similar; "meaning", also texts that mean the same; "auto", everything that a search finds.
    tables, columns, sample
        How many tables are examined, how many columns are added at most, and how many rows are
        used to choose them.
    task
        "regression" or "classification"; "auto" decides by the target.
    exclude
        Names of tables to leave out. Versions of X itself are left out anyway.
    random_state
        The seed of folds and noise.

    Attributes
    ----------
    columns_ : the added columns; `table`, `name`, how they are aggregated (`made`), and their name
        in the result (`called`).
    links_ : the tables they come from, and how these join.
    left_out_ : columns and tables that copy the target or X, with the reason.
    notes_ : warnings about the chosen columns.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> model = make_pipeline(
    ...     LakeJoiner("data.index", on="country"), HistGradientBoostingRegressor()
    ... )
    """

    def __init__(
        self,
        lake: Lake | PathLike | None = None,
        on: str | int | Sequence[str | int] | None = None,
        target: str | None = None,
        *,
        by: str = "auto",
        tables: int = 30,
        columns: int = 20,
        sample: int = 2_000,
        task: str = "auto",
        exclude: Sequence[str] = (),
        random_state: int = 0,
    ) -> None:
        self.lake = lake
        self.on = on
        self.target = target
        self.by = by
        self.tables = tables
        self.columns = columns
        self.sample = sample
        self.task = task
        self.exclude = exclude
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> LakeJoiner:  # noqa: N803
        """Find the tables that join with X, and choose the columns that help to predict y."""
        join_kinds(self.by)
        self._check_numbers()
        self._opened: Lake | None = self._open_lake()
        X = self._checked(X)  # noqa: N806
        X, y = self._with_target(X, y)  # noqa: N806
        validate_data(self, X, reset=True, skip_check_array=True)
        mine, column = arrow_rows(X), y
        (name,) = make_names_unique([self.target or _TARGET], mine.column_names)
        target = make_target(column, name, self.task)
        exclude = [self.exclude] if isinstance(self.exclude, str) else self.exclude
        searched = self._key(mine), self.by, self.tables, tuple(exclude)
        options = EnrichOptions(*searched, self.sample, self.columns, _seed(self.random_state))
        lake = self._opened
        chooser = prepare_chooser(lake, mine, target, options, lambda message: None)
        choice = chooser.choose(np.arange(len(chooser.gathered.rows)))
        chosen = [chooser.gathered.values[position].column for position in choice.positions]
        links, columns = used_links(chooser.gathered.links, chosen)
        self.index_: str = lake.snapshot.location.uri
        self.links_: tuple[Link, ...] = tuple(links)
        self.columns_: tuple[LakeColumn, ...] = tuple(columns)
        self.worth_: tuple[float, ...] = choice.worth
        self.left_out_ = choice.left_out
        self.notes_: tuple[str, ...] = choice.notes
        for note in choice.notes:
            warnings.warn(note, UserWarning, stacklevel=2)
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        """Add the chosen lake columns to the rows of X."""
        check_is_fitted(self, "columns_")
        X = self._without_target(self._checked(X))  # noqa: N806
        validate_data(self, X, reset=False, skip_check_array=True)
        if not self.columns_:
            return X
        mine = arrow_rows(X)
        added = join_columns(self._lake().snapshot, self.links_, self.columns_, mine)
        return add_columns(X, [column.called for column in self.columns_], added)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The column names of `transform`'s result: those of X, then those of the lake."""
        check_is_fitted(self, "columns_")
        names = _check_feature_names_in(self, input_features)
        return np.array([*names, *(column.called for column in self.columns_)], dtype=object)

    # -- parameters and input ------------------------------------------------------------------

    def _open_lake(self) -> Lake:
        if isinstance(self.lake, Lake):
            return self.lake
        return Lake(Snapshot(index_location(self.lake)))

    def _lake(self) -> Lake:
        """The lake, reopened after unpickling."""
        opened: Lake | None = getattr(self, "_opened", None)
        if opened is None:
            opened = self._opened = Lake(Snapshot(Location.of(self.index_)))
        return opened

    def _check_numbers(self) -> None:
        least = {"tables": 1, "columns": 1, "sample": LEAST_TARGETS}
        for name, few in least.items():
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < few:
                raise InputError(f"{name} must be an integer of at least {few}, not {value!r}")

    def _checked(self, X: Any) -> Any:  # noqa: N803
        """X itself if it is a frame, else as an array."""
        X = normalize_input(X)  # noqa: N806
        if not is_frame(X):
            return check_array(X, dtype=None, ensure_all_finite=False)
        names = frame_columns(X)
        if repeated := sorted({str(name) for name in names if names.count(name) > 1}):
            listed = ", ".join(map(repr, repeated))
            raise InputError(f"X has several columns called {listed}: rename them first")
        return X

    def _with_target(self, X: Any, y: Any) -> tuple[Any, pa.Array]:  # noqa: N803
        names = arrow_rows(X[:0]).column_names
        self.target_in_x_ = y is None
        if y is None:
            if self.target is None:
                raise UnusableTarget(
                    "this LakeJoiner requires y to be passed, but the target y is None; or name "
                    "a column of X: target=..."
                )
            self._place = find_column(names, self.target, "X")
            return drop_column(X, self._place), arrow_rows(X).column(self._place)
        if self.target is not None and self.target in names:
            raise UnusableTarget(
                f"the target {self.target!r} is a column of X, and y is passed too: drop it from "
                "X, or pass no y"
            )
        if not isinstance(y, pa.Array | pa.ChunkedArray):
            if hasattr(y, "to_arrow"):  # polars
                y = y.to_arrow()
            else:
                y = column_or_1d(y)
                y = pa.array(y.tolist(), from_pandas=True)
        check_consistent_length(np.empty(len(X)), np.empty(len(y)))
        return X, y

    def _without_target(self, X: Any) -> Any:  # noqa: N803
        """Drop the target from new rows, if `fit` took it from X and they have it."""
        if not self.target_in_x_:
            return X
        if not is_frame(X):
            return drop_column(X, self._place) if X.shape[1] > self.n_features_in_ else X
        names = arrow_rows(X[:0]).column_names
        return drop_column(X, names.index(self.target)) if self.target in names else X

    def _key(self, mine: pa.Table) -> tuple[str, ...] | None:
        if self.on is None:
            return None
        on = [self.on] if isinstance(self.on, str | int) else list(self.on)
        if not on:
            raise InputError("on is empty: name a column, or omit it to try all")
        names = mine.column_names
        return tuple(names[find_column(names, name, "X")] for name in on)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_opened", None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _seed(random_state: Any) -> int:
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
