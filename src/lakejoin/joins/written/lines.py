"""Pieces that the code of every language is put together from."""

from __future__ import annotations

from collections.abc import Iterable

from lakejoin.joins.written.plan import Plan
from lakejoin.joins.written.spelling import Respelt

_LINE = 96


def comments(texts: Iterable[str], sign: str = "#") -> list[str]:
    """Lines of comments; no text can end its own.

    >>> comments(["a\\nb"])
    ['# a b']
    """
    lines = ("".join(c if c.isprintable() else " " for c in text) for text in texts)
    return [f"{sign} {line}" for line in lines]


def mapping(respelt: Respelt, indent: str) -> str:
    """A dictionary over as many lines as it takes.

    >>> print(mapping({"a": "b", "c": None}, ""))
    {'a': 'b', 'c': None}
    """
    items = [f"{text!r}: {key!r}" for text, key in respelt.items()]
    one = "{" + ", ".join(items) + "}"
    if len(indent) + len(one) <= _LINE:
        return one
    return "{\n" + "".join(f"{indent}    {item},\n" for item in items) + indent + "}"


def frames(plan: Plan) -> tuple[str, str]:
    """The variable of the source, and of the table that has the key."""
    return ("left", "right") if plan.source_side == "left" else ("right", "left")
