"""The pipeline: a lake is indexed as a Spark job; tables that live in Spark are joined there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakejoin.spark.joining import SparkJoin, join

__all__ = ["SparkJoin", "join"]


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used; no module may have the name of one."""
    if name in __all__:
        from lakejoin.spark import joining

        return getattr(joining, name)
    raise AttributeError(f"module 'lakejoin.spark' has no attribute {name!r}")
