"""Runs lakejoin on Spark: builds indexes and join graphs, searches in batches, joins DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakejoin.spark.batch_search import search
    from lakejoin.spark.dataframe_join import SparkJoin, join
    from lakejoin.spark.task_runner import Cluster, make_graph

__all__ = ["Cluster", "SparkJoin", "join", "make_graph", "search"]

_MODULES = {
    "Cluster": "task_runner",
    "SparkJoin": "dataframe_join",
    "join": "dataframe_join",
    "make_graph": "task_runner",
    "search": "batch_search",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use; no module may share its name."""
    if name in __all__:
        from importlib import import_module

        return getattr(import_module(f"lakejoin.spark.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'lakejoin.spark' has no attribute {name!r}")
