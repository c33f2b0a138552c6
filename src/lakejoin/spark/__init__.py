"""The pipeline: a lake is indexed as a Spark job, and searched with many tables by another; tables
that live in Spark are joined there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakejoin.spark.graph import make_graph
    from lakejoin.spark.joining import SparkJoin, join
    from lakejoin.spark.searching import search

__all__ = ["SparkJoin", "join", "make_graph", "search"]

_MODULES = {"make_graph": "graph", "search": "searching"}  # the others are in joining


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used; no module may have the name of one."""
    if name in __all__:
        from importlib import import_module

        return getattr(import_module(f"lakejoin.spark.{_MODULES.get(name, 'joining')}"), name)
    raise AttributeError(f"module 'lakejoin.spark' has no attribute {name!r}")
