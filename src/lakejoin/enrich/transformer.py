"""A scikit-learn transformer that adds columns of a data lake which help to predict the target."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from lakejoin.enrich.containers import as_given, beside, is_frame, names_of, rows_of, without
from lakejoin.enrich.gathering import Column
from lakejoin.enrich.joining import joined_columns, used
from lakejoin.enrich.linking import Link, Wanted, check_by
from lakejoin.enrich.preparing import Limits, prepared
from lakejoin.enrich.target import FEWEST, target_of
from lakejoin.errors import InputError, UnusableTarget
from lakejoin.lake.names import find_column
from lakejoin.opened import Lake, index_place
from lakejoin.storage import Place
from lakejoin.store.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

    PathLike = str | os.PathLike[str]

_TARGET = "y"


class LakeJoiner(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Adds to each row what tables of a lake know of its key, as far as it helps to predict.

    `fit` searches the lake for tables that join with the key `on`, and chooses columns of them that
    predict the target better out of fold than noise does; `transform` joins these columns onto any
    rows: the same number of rows, in the same order, and each by its own key alone. Where a key has
    many rows in a table, numbers become their mean and other values the most frequent one. What is
    not known is a missing value. Where nothing helps, rows are left as they are.

    Parameters
    ----------
    lake
        An opened `Lake`, or where its index is; left out, the usual place.
    on
        The column, or columns, of X that tables are joined by: names, or places. Left out, every
        column that may be a key is tried.
    target
        The name of the target. Where `fit` is given no y, it is that column of X, which new rows
        need not have, and which `transform` leaves out: no model is to see it. The name also tells
        which columns of the lake are called so.
    by
        How keys may meet: "equal" values; "fuzzy", also values that programs rewrite or that are
        alike; "meaning", also texts that mean the same; "auto", all that a search finds.
    tables, columns, sample
        How many tables are looked at, how many columns are added at most, and by how many rows
        columns are chosen.
    task
        "regression" or "classification"; "auto" tells by the target.
    exclude
        Names of tables that are left out. The table itself and its versions are left out anyway.
    random_state
        The seed of folds and noise.

    Attributes
    ----------
    columns_ : the columns that are added; `table`, `name`, what is `made` of it, and how it is
        `called`.
    links_ : the tables that they come from, and how these join.
    left_out_ : columns and tables that are the target, or X again, with the reason.
    notes_ : what should be known.

    Examples
    --------
    >>> from lakejoin import LakeJoiner
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> model = make_pipeline(
    ...     LakeJoiner("data.index", on="country"), HistGradientBoostingRegressor()
    ... )  # doctest: +SKIP
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
        """Finds the tables that join with X, and chooses the columns that help to predict y."""
        check_by(self.by)
        self._check_numbers()
        self._opened: Lake | None = self._lake_given()
        X = self._checked(X)  # noqa: N806
        X, y = self._with_target(X, y)  # noqa: N806
        validate_data(self, X, reset=True, skip_check_array=True)
        mine, column = rows_of(X), y
        name = self.target or _TARGET
        while name in mine.column_names:
            name += "_"
        target = target_of(column, name, self.task)
        exclude = [self.exclude] if isinstance(self.exclude, str) else self.exclude
        wanted = Wanted(self._key(mine), self.by, self.tables, tuple(exclude))
        limits = Limits(self.sample, self.columns, _seed(self.random_state))
        lake = self._opened
        chooser = prepared(lake, mine, target, wanted, limits, lambda doing: None)
        choice = chooser.choose(np.arange(len(chooser.gathered.rows)))
        values = [chooser.gathered.values[place].column for place in choice.places]
        links, columns = used(chooser.gathered.links, values)
        self.index_: str = lake.snapshot.place.uri
        self.links_: tuple[Link, ...] = tuple(links)
        self.columns_: tuple[Column, ...] = tuple(columns)
        self.worth_: tuple[float, ...] = choice.worth
        self.left_out_ = choice.left_out
        self.notes_: tuple[str, ...] = choice.notes
        for note in choice.notes:
            warnings.warn(note, UserWarning, stacklevel=2)
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        """The rows of X, as they are, with the columns of the lake that were chosen."""
        check_is_fitted(self, "columns_")
        X = self._without_target(self._checked(X))  # noqa: N806
        validate_data(self, X, reset=False, skip_check_array=True)
        if not self.columns_:
            return X
        mine = rows_of(X)
        added = joined_columns(self._lake().snapshot, self.links_, self.columns_, mine)
        return beside(X, [column.called for column in self.columns_], added)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the columns that `transform` gives: those of X, then those of the lake."""
        from sklearn.utils.validation import _check_feature_names_in

        check_is_fitted(self, "columns_")
        names = _check_feature_names_in(self, input_features)
        return np.array([*names, *(column.called for column in self.columns_)], dtype=object)

    # -- what was given ------------------------------------------------------------------------

    def _lake_given(self) -> Lake:
        if isinstance(self.lake, Lake):
            return self.lake
        return Lake(Snapshot(index_place(self.lake)))

    def _lake(self) -> Lake:
        """The lake, opened again where this was pickled."""
        opened: Lake | None = getattr(self, "_opened", None)
        if opened is None:
            opened = self._opened = Lake(Snapshot(Place.of(self.index_)))
        return opened

    def _check_numbers(self) -> None:
        least = {"tables": 1, "columns": 1, "sample": FEWEST}
        for name, few in least.items():
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < few:
                raise InputError(f"{name} is a whole number from {few} on, not {value!r}")

    def _checked(self, X: Any) -> Any:  # noqa: N803
        """X as it is if it is a frame, else as an array."""
        X = as_given(X)  # noqa: N806
        if not is_frame(X):
            return check_array(X, dtype=None, ensure_all_finite=False)
        names = names_of(X)
        if repeated := sorted({str(name) for name in names if names.count(name) > 1}):
            told = ", ".join(map(repr, repeated))
            raise InputError(f"X has several columns called {told}: rename them first")
        return X

    def _with_target(self, X: Any, y: Any) -> tuple[Any, pa.Array]:  # noqa: N803
        """X without the target, and the target."""
        import pyarrow as pa

        names = rows_of(X[:0]).column_names
        self.target_in_x_ = y is None
        if y is None:
            if self.target is None:
                raise UnusableTarget(
                    "this LakeJoiner requires y to be passed, but the target y is None; or name "
                    "a column of X: target=..."
                )
            self._place = find_column(names, self.target, "X")
            return without(X, self._place), rows_of(X).column(self._place)
        if self.target is not None and self.target in names:
            raise UnusableTarget(
                f"the target {self.target!r} is a column of X, and y is given too: leave it out of "
                "X, or give no y"
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
        """New rows without the target, where `fit` found it in X, and they have it."""
        if not self.target_in_x_:
            return X
        if not is_frame(X):
            return without(X, self._place) if X.shape[1] > self.n_features_in_ else X
        names = rows_of(X[:0]).column_names
        return without(X, names.index(self.target)) if self.target in names else X

    def _key(self, mine: pa.Table) -> tuple[str, ...] | None:
        if self.on is None:
            return None
        on = [self.on] if isinstance(self.on, str | int) else list(self.on)
        if not on:
            raise InputError("on names no column: leave it out to try every one")
        names = mine.column_names
        return tuple(names[find_column(names, one, "X")] for one in on)

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
    from sklearn.utils import check_random_state

    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
