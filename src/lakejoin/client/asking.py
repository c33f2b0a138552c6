"""What a Python user gives, as a server takes it: columns, pairs of them, options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lakejoin.client.connection import Json
from lakejoin.errors import InputError

if TYPE_CHECKING:
    from lakejoin.search.choice import On

Names = Callable[[], Sequence[str]]  # of the columns of a table; asked for only where needed


def columns_asked(on: On, names: Names) -> list[str] | None:
    """Columns to search by: names, or `mine=theirs`; places are looked up.

    >>> columns_asked({"country": "land", "name": None}, list)
    ['country=land', 'name']
    >>> columns_asked([1, "a"], lambda: ["a", "b"])
    ['b', 'a']
    """
    from lakejoin.lake.names import find_column
    from lakejoin.search.choice import in_order

    asked: Any = in_order(on)
    if asked is None:
        return None
    if isinstance(asked, Mapping):
        asked = [one if fixed is None else f"{one}={fixed}" for one, fixed in asked.items()]
    several = asked if isinstance(asked, list) else [asked]
    for one in several:
        if isinstance(one, bool) or not isinstance(one, str | int):
            raise InputError(f"a column is named, or given by its place, and not by {one!r}")
    if all(isinstance(one, str) for one in several):
        return several
    known = names()
    places = [one if isinstance(one, str) else find_column(known, one, "it") for one in several]
    return [one if isinstance(one, str) else known[one] for one in places]


def pairs_asked(on: Any, left: Names, right: Names) -> list[Json] | None:
    """Pairs of columns to join by, in any form that `lakejoin.join` takes.

    >>> pairs_asked("code=iso", lambda: ["code"], lambda: ["iso"])
    [{'left': 'code', 'right': 'iso'}]
    """
    from lakejoin.joins.on import pairs_given

    if on is None:
        return None
    pairs = pairs_given(on, left(), right())
    return [{"left": mine, "right": theirs} for mine, theirs in pairs]


def aggregate_asked(given: str | Sequence[str] | Mapping[str, str]) -> list[str] | None:
    """What one row is made of by which function.

    >>> aggregate_asked({"price": "mean"}), aggregate_asked("first"), aggregate_asked(())
    (['price=mean'], ['first'], None)
    """
    if isinstance(given, Mapping):
        return [f"{column}={function}" for column, function in given.items()]
    return ([given] if isinstance(given, str) else list(given)) or None


def tau_asked(given: float | str | None) -> float | str | None:
    """How near is near, by meaning.

    >>> tau_asked("6%"), tau_asked("auto"), tau_asked(0.3), tau_asked(None)
    (0.06, 'auto', 0.3, None)
    """
    from lakejoin.search.near_options import AUTO, share_of

    return given if given is None or given == AUTO else share_of(given)


def refuse(**given: Any) -> None:
    """Raises for an option that a server does not take, if it was given.

    >>> refuse(algorithm=None, method="tree")
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: a server takes no method ('tree'): leave it out
    """
    for name, value in given.items():
        if value is not None:
            raise InputError(f"a server takes no {name} ({value!r}): leave it out")
