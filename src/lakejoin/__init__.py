"""Find the tables in a data lake that join with yours, see why, and join them.

>>> lake = lakejoin.open("data.index")
>>> lake.search("mine.csv", on="city")[0].table
'cities.csv'
>>> lakejoin.join("mine.csv", lake.table("cities.csv"), on="city=name").table().num_rows
4
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# The module of each public name; it is imported when the name is first used.
_MODULES = {
    "api": ("history", "index", "join", "open", "predicates", "relations", "rollback"),
    "client.remote_lake": ("RemoteJoin", "RemoteLake", "connect"),
    "client.remote_table": ("RemoteTable",),
    "errors": (
        *("BuildFailed", "BusyIndex", "BusyServer", "DamagedIndex", "IndexProblem", "InputError"),
        *("LakejoinError", "MissingDependency", "MissingIndex", "NewerIndex", "NoJoin", "NoServer"),
        *("RetiredIndex", "ServerProblem", "UnknownTable", "UnreadableFile", "UnusableTarget"),
    ),
    "formats.file_reader": ("read",),
    "formats.table_stream": ("Table",),
    "graph.join_graph": ("JoinGraph",),
    "inputs": ("LakeTable",),
    "joins.join": ("Join",),
    "joins.options": ("MatchOptions",),
    "joins.predicates.database_relations": ("Relations",),
    "joins.predicates.join_predicate": ("JoinPredicate", "Predicates"),
    "joins.predicates.key_relations": ("Relation",),
    "lake": ("Lake",),
    "paths.answer": ("Path", "Paths"),
    "pipeline.build": ("BuildReport",),
    "pipeline.options": ("BuildOptions",),
    "ranking.answer": ("FusedAnswer", "FusedResult"),
    "ranking.join_candidates": ("JoinCandidate",),
    "search.answer": ("Answer", "Answers", "Failed"),
    "search.options": ("SearchOptions", "VectorDistance"),
    "search.result": ("NearResult", "Result"),
    "spark.task_runner": ("Cluster",),
    "union.answer": ("UnionAnswer", "UnionResult"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

if TYPE_CHECKING:
    from lakejoin.api import history, index, join, open, predicates, relations, rollback
    from lakejoin.client.remote_lake import RemoteJoin, RemoteLake, connect
    from lakejoin.client.remote_table import RemoteTable
    from lakejoin.enrich.transformer import LakeJoiner
    from lakejoin.errors import (
        BuildFailed,
        BusyIndex,
        BusyServer,
        DamagedIndex,
        IndexProblem,
        InputError,
        LakejoinError,
        MissingDependency,
        MissingIndex,
        NewerIndex,
        NoJoin,
        NoServer,
        RetiredIndex,
        ServerProblem,
        UnknownTable,
        UnreadableFile,
        UnusableTarget,
    )
    from lakejoin.formats.file_reader import read
    from lakejoin.formats.table_stream import Table
    from lakejoin.graph.join_graph import JoinGraph
    from lakejoin.inputs import LakeTable
    from lakejoin.joins.join import Join
    from lakejoin.joins.options import MatchOptions
    from lakejoin.joins.predicates.database_relations import Relations
    from lakejoin.joins.predicates.join_predicate import JoinPredicate, Predicates
    from lakejoin.joins.predicates.key_relations import Relation
    from lakejoin.lake import Lake
    from lakejoin.paths.answer import Path, Paths
    from lakejoin.pipeline.build import BuildReport
    from lakejoin.pipeline.options import BuildOptions
    from lakejoin.ranking.answer import FusedAnswer, FusedResult
    from lakejoin.ranking.join_candidates import JoinCandidate
    from lakejoin.search.answer import Answer, Answers, Failed
    from lakejoin.search.options import SearchOptions, VectorDistance
    from lakejoin.search.result import NearResult, Result
    from lakejoin.spark.task_runner import Cluster
    from lakejoin.union.answer import UnionAnswer, UnionResult

__all__ = [
    "Answer",
    "Answers",
    "BuildFailed",
    "BuildOptions",
    "BuildReport",
    "BusyIndex",
    "BusyServer",
    "Cluster",
    "DamagedIndex",
    "Failed",
    "FusedAnswer",
    "FusedResult",
    "IndexProblem",
    "InputError",
    "Join",
    "JoinCandidate",
    "JoinGraph",
    "JoinPredicate",
    "Lake",
    "LakeJoiner",
    "LakeTable",
    "LakejoinError",
    "MatchOptions",
    "MissingDependency",
    "MissingIndex",
    "NearResult",
    "NewerIndex",
    "NoJoin",
    "NoServer",
    "Path",
    "Paths",
    "Predicates",
    "Relation",
    "Relations",
    "RemoteJoin",
    "RemoteLake",
    "RemoteTable",
    "Result",
    "RetiredIndex",
    "SearchOptions",
    "ServerProblem",
    "Table",
    "UnionAnswer",
    "UnionResult",
    "UnknownTable",
    "UnreadableFile",
    "UnusableTarget",
    "VectorDistance",
    "__version__",
    "connect",
    "history",
    "index",
    "join",
    "open",
    "predicates",
    "read",
    "relations",
    "rollback",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that `import lakejoin` stays fast."""
    from importlib import import_module

    if name == "LakeJoiner":
        from lakejoin.enrich import joiner

        return joiner()
    if name in _MODULE_OF:
        return getattr(import_module(f"lakejoin.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'lakejoin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
