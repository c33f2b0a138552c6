"""Every public name is exported, documented and has a runnable example; none takes many options."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import lakejoin

MOST_PARAMETERS = 7
NAMES = [name for name in lakejoin.__all__ if name != "__version__"]


def methods_of(owner: Any) -> Iterator[tuple[str, Any]]:
    """The public methods that lakejoin itself defines."""
    for name, member in inspect.getmembers(owner):
        is_own = str(getattr(member, "__module__", "")).startswith("lakejoin")
        if callable(member) and is_own and not name.startswith("_") and not inspect.isclass(member):
            yield f"{owner.__name__}.{name}", member


def parameters_of(function: Any) -> list[str]:
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind not in variable and p.name not in ("self", "cls")]


def test_what_is_exported_is_there() -> None:
    assert lakejoin.__all__ == sorted(lakejoin.__all__)
    assert dir(lakejoin) == sorted(lakejoin.__all__)
    assert set(lakejoin._MODULE_OF) | {"LakeJoiner", "__version__"} == set(lakejoin.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        lakejoin.nothing


def test_every_error_is_exported() -> None:
    from lakejoin import errors

    own = {
        name
        for name, member in vars(errors).items()
        if inspect.isclass(member) and issubclass(member, errors.LakejoinError)
    }
    assert own <= set(lakejoin.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_it_has_a_runnable_example(name: str) -> None:
    """The examples run with the other doctests, in the folder that example_lake.py makes."""
    text = inspect.getdoc(getattr(lakejoin, name)) or ""
    assert ">>> " in text, f"lakejoin.{name} has no example"
    assert "+SKIP" not in text


@pytest.mark.parametrize("name", NAMES)
def test_methods_are_documented_and_take_few_options(name: str) -> None:
    public = getattr(lakejoin, name)
    if not inspect.isclass(public):
        assert len(parameters_of(public)) <= MOST_PARAMETERS
        return
    for title, method in methods_of(public):
        assert inspect.getdoc(method), f"{title} has no docstring"
        assert "+SKIP" not in (inspect.getdoc(method) or ""), title
        assert len(parameters_of(method)) <= MOST_PARAMETERS, title


def test_a_server_has_the_methods_of_a_lake() -> None:
    for name in ("search", "overlap", "containment", "composite", "similar", "nearby", "union"):
        local, remote = getattr(lakejoin.Lake, name), getattr(lakejoin.RemoteLake, name)
        assert parameters_of(local) == parameters_of(remote), name
