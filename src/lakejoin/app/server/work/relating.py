"""Jobs over two tables or more: which columns to equate, rows to append, paths, the join graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakejoin import api
from lakejoin.app.server.child_side import Tell
from lakejoin.app.server.desk import Desk
from lakejoin.app.server.problems import Problem
from lakejoin.app.server.tables import OpenTable

if TYPE_CHECKING:
    from lakejoin.discovery.graph.joingraph import JoinGraph

Told = dict[str, Any]

_FIRST = 5  # joined rows that are shown of a predicate
_MOST_STEPS = 200
_LOOKED_AT = 20_000  # predicates; more takes too long for somebody who waits
_graph: dict[tuple[int, str], JoinGraph] = {}  # the one of this version, once it was asked for


def predicate(desk: Desk, job: Told, tell: Tell) -> Told:
    """Which columns of two tables to equate, as `lakejoin predicate --json` has it."""
    from lakejoin.app.predicate_answers import report_of

    tables = [desk.tables.open(job[side]).given() for side in ("left", "right")]

    def progress(doing: str) -> None:
        tell("progress", {"doing": doing})

    prefer, number = job.get("prefer") or "compact", int(job.get("n") or 5)
    found = api.predicates(*tables, prefer=prefer, n=number, most=_LOOKED_AT, progress=progress)
    return report_of(found, _FIRST, None)


def union(desk: Desk, job: Told, tell: Tell) -> Told:
    """Which tables have rows to append, as `lakejoin union --json` has it."""
    tell("progress", {"doing": "comparing columns"})
    answer = desk.lake().union(desk.tables.open(job["table"]).given(), job.get("k"))
    told = answer.to_dict()
    for key in ("results", "misses"):
        told[key] = [{**one, "id": f"lake:{one['table']}"} for one in told[key]]
    return told


def paths(desk: Desk, job: Told, tell: Tell) -> Told:
    """How to get from one table to another, as `lakejoin paths --json` has it."""
    ends = [desk.tables.open(job[key]).given() for key in ("table", "other_table")]
    k, joins = int(job.get("k") or 5), int(job.get("joins") or 4)
    tell("progress", {"doing": "looking for joins"})
    found = desk.lake().paths(ends[0], ends[1], k, joins)
    return found.to_dict()


def graph(desk: Desk, job: Told, tell: Tell) -> Told:
    """The figures of the join graph, as `lakejoin graph --json` has them."""
    del job
    tell("progress", {"doing": "reading the join graph"})
    return _kept_graph(desk).statistics().to_dict()


def around(desk: Desk, job: Told, tell: Tell) -> Told:
    """What lies around a table: by the join graph that is kept, or searched for just now."""
    mine = desk.tables.open(job["table"])
    hops, limit = int(job.get("hops") or 1), min(_MOST_STEPS, int(job.get("limit") or 30))
    if mine.id.kind != "lake" or desk.lake().snapshot.manifest.graph is None:
        return _searched(desk, mine, limit, tell)
    tell("progress", {"doing": "reading the join graph"})
    kept = _kept_graph(desk)
    told = kept.around(mine.name, hops).to_dict()
    by_hop = sorted(told["steps"], key=lambda step: (step["hop"], -step["containment"]))
    told["steps"] = [_with_ids(step) for step in by_hop[:limit]]
    return {**told, "id": str(mine.id), "complete": kept.complete, "kept": True}


def _kept_graph(desk: Desk) -> JoinGraph:
    lake = desk.lake()
    manifest = lake.snapshot.manifest
    if manifest.graph is None:
        raise Problem("unknown", "this index has no join graph yet: lakejoin graph makes it")
    key = (manifest.version, str(manifest.graph))
    if key not in _graph:
        _graph.clear()
        _graph[key] = lake.graph()
    return _graph[key]


def _searched(desk: Desk, mine: OpenTable, limit: int, tell: Tell) -> Told:
    """The tables that join with one that is not in the graph, or where none is kept."""
    tell("progress", {"doing": "searching for tables that join"})
    name, own = mine.name, str(mine.id)
    found = desk.lake().search(mine.given(), k=limit, by="fused")
    steps = [
        {
            "hop": 1,
            "table": name,
            "column": ", ".join(one.ways[0].columns),
            "other_table": one.table,
            "other_column": ", ".join(one.ways[0].result.columns),
            "shared": one.ways[0].result.matched,
            "containment": one.ways[0].result.containment,
        }
        for one in found
    ]
    told: Told = {"table": name, "id": own, "reached": [len(steps)] if steps else []}
    steps = [{**_with_ids(step), "id": own} for step in steps]
    return {**told, "steps": steps, "complete": True, "kept": False}


def _with_ids(step: Told) -> Told:
    return {**step, "id": f"lake:{step['table']}", "other_id": f"lake:{step['other_table']}"}
