"""Convert what a Python user passes (columns, pairs, options) to fields of requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lakejoin.client.connection import Json
from lakejoin.errors import InputError

if TYPE_CHECKING:
    from lakejoin.search.query_columns import ColumnSelection

Names = Callable[[], Sequence[str]]  # fetches the column names of a table, only if needed


def column_fields(on: ColumnSelection, names: Names) -> list[str] | None:
    """Columns to search by: names, or `column=lake_column`; indices are looked up.

    >>> column_fields({"country": "land", "name": None}, list)
    ['country=land', 'name']
    >>> column_fields([1, "a"], lambda: ["a", "b"])
    ['b', 'a']
    """
    from lakejoin.values.column_names import find_column
    from lakejoin.search.query_columns import to_column_list

    ordered: Any = to_column_list(on)
    if ordered is None:
        return None
    if isinstance(ordered, Mapping):
        ordered = [
            column if lake_column is None else f"{column}={lake_column}"
            for column, lake_column in ordered.items()
        ]
    columns = ordered if isinstance(ordered, list) else [ordered]
    for column in columns:
        if isinstance(column, bool) or not isinstance(column, str | int):
            raise InputError(f"a column is a name or a zero-based index, not {column!r}")
    if all(isinstance(column, str) for column in columns):
        return columns
    known = names()
    return [
        column if isinstance(column, str) else known[find_column(known, column, "it")]
        for column in columns
    ]


def pair_fields(on: Any, left: Names, right: Names) -> list[Json] | None:
    """Pairs of columns to join on, in any form that `lakejoin.join` takes.

    >>> pair_fields("code=iso", lambda: ["code"], lambda: ["iso"])
    [{'left': 'code', 'right': 'iso'}]
    """
    from lakejoin.joins.join_inputs import parse_column_pairs

    if on is None:
        return None
    pairs = parse_column_pairs(on, left(), right())
    return [{"left": one, "right": other} for one, other in pairs]


def aggregate_fields(aggregate: str | Sequence[str] | Mapping[str, str]) -> list[str] | None:
    """The aggregate functions, as `column=function` or `function`.

    >>> aggregate_fields({"price": "mean"}), aggregate_fields("first"), aggregate_fields(())
    (['price=mean'], ['first'], None)
    """
    if isinstance(aggregate, Mapping):
        return [f"{column}={function}" for column, function in aggregate.items()]
    return ([aggregate] if isinstance(aggregate, str) else list(aggregate)) or None


def tau_field(tau: float | str | None) -> float | str | None:
    """The tau of a search by meaning, as a number or "auto".

    >>> tau_field("6%"), tau_field("auto"), tau_field(0.3), tau_field(None)
    (0.06, 'auto', 0.3, None)
    """
    from lakejoin.search.options import AUTO, parse_tau

    return tau if tau is None or tau == AUTO else parse_tau(tau)


def refuse_options(**options: Any) -> None:
    """Raise an error for any option that was passed but that servers do not support.

    >>> refuse_options(algorithm=None, metric="l1")
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: servers do not support metric (got 'l1'): leave it out
    """
    for name, value in options.items():
        if value is not None:
            raise InputError(f"servers do not support {name} (got {value!r}): leave it out")
