"""Jobs about relations between tables: join predicates, unions, join paths and the join graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakejoin import api
from lakejoin.search.options import DEFAULT_K
from lakejoin.server.api_problems import Problem
from lakejoin.server.job_loop import ProgressReporter
from lakejoin.server.workspace import ServedTable, Workspace

if TYPE_CHECKING:
    from lakejoin.graph.join_graph import JoinGraph

_EXAMPLE_ROWS = 5  # joined rows that are shown of a predicate
_MOST_STEPS = 200
_MAX_PREDICATES = 20_000  # to consider; more would take too long
_graph: dict[tuple[int, str], JoinGraph] = {}  # of the current index version


def suggest_predicates(
    workspace: Workspace, job: dict[str, Any], tell: ProgressReporter
) -> dict[str, Any]:
    """Suggest columns to equate, with the keys of `lakejoin predicates --json`."""
    from lakejoin.joins.json_report import predicate_report

    tables = [workspace.tables.open(job[side]).as_input() for side in ("left", "right")]

    def progress(doing: str) -> None:
        tell("progress", {"doing": doing})

    prefer, number = job.get("prefer") or "compact", int(job.get("n") or 5)
    found = api.predicates(
        *tables, prefer=prefer, n=number, most=_MAX_PREDICATES, progress=progress
    )
    return predicate_report(found, _EXAMPLE_ROWS, None)


def find_unions(
    workspace: Workspace, job: dict[str, Any], tell: ProgressReporter
) -> dict[str, Any]:
    """Find tables with rows to append, with the keys of `lakejoin union --json`."""
    tell("progress", {"doing": "comparing columns"})
    table = workspace.tables.open(job["table"]).as_input()
    answer = workspace.lake().union(table, job.get("k") or DEFAULT_K)
    fields = answer.to_dict()
    for key in ("results", "misses"):
        fields[key] = [{**result, "id": f"lake:{result['table']}"} for result in fields[key]]
    return fields


def find_paths(workspace: Workspace, job: dict[str, Any], tell: ProgressReporter) -> dict[str, Any]:
    """Find join paths between two tables, with the keys of `lakejoin paths --json`."""
    ends = [workspace.tables.open(job[key]).as_input() for key in ("table", "other_table")]
    k, joins = int(job.get("k") or 5), int(job.get("joins") or 4)
    tell("progress", {"doing": "looking for joins"})
    return workspace.lake().paths(ends[0], ends[1], k, joins).to_dict()


def describe_graph(
    workspace: Workspace, job: dict[str, Any], tell: ProgressReporter
) -> dict[str, Any]:
    """Statistics of the join graph, with the keys of `lakejoin graph --json`."""
    del job
    tell("progress", {"doing": "reading the join graph"})
    return _stored_graph(workspace).statistics().to_dict()


def find_neighbors(
    workspace: Workspace, job: dict[str, Any], tell: ProgressReporter
) -> dict[str, Any]:
    """The joins around a table, from the stored join graph or by a search."""
    table = workspace.tables.open(job["table"])
    hops, limit = int(job.get("hops") or 1), min(_MOST_STEPS, int(job.get("limit") or 30))
    if table.id.kind != "lake" or workspace.lake().snapshot.manifest.graph is None:
        return _search_around(workspace, table, limit, tell)
    tell("progress", {"doing": "reading the join graph"})
    stored = _stored_graph(workspace)
    fields = stored.around(table.name, hops).to_dict()
    by_hop = sorted(fields["steps"], key=lambda step: (step["hop"], -step["containment"]))
    fields["steps"] = [_with_ids(step) for step in by_hop[:limit]]
    return {**fields, "id": str(table.id), "complete": stored.complete, "kept": True}


def _stored_graph(workspace: Workspace) -> JoinGraph:
    lake = workspace.lake()
    manifest = lake.snapshot.manifest
    if manifest.graph is None:
        raise Problem("unknown", "this index has no join graph: build it with lakejoin graph")
    key = (manifest.version, str(manifest.graph))
    if key not in _graph:
        _graph.clear()
        _graph[key] = lake.graph()
    return _graph[key]


def _search_around(
    workspace: Workspace, table: ServedTable, limit: int, tell: ProgressReporter
) -> dict[str, Any]:
    """Search for the joins around a table that is in no stored graph."""
    tell("progress", {"doing": "searching for tables that join"})
    name, table_id = table.name, str(table.id)
    results = workspace.lake().search(table.as_input(), k=limit)
    steps = [
        {
            "hop": 1,
            "table": name,
            "column": ", ".join(best.query_columns),
            "other_table": best.result.table,
            "other_column": ", ".join(best.lake_columns),
            "shared": best.result.matched,
            "containment": best.result.containment,
        }
        for best in (result.candidates[0] for result in results)
    ]
    steps = [{**_with_ids(step), "id": table_id} for step in steps]
    return {
        "table": name,
        "id": table_id,
        "reached": [len(steps)] if steps else [],
        "steps": steps,
        "complete": True,
        "kept": False,
    }


def _with_ids(step: dict[str, Any]) -> dict[str, Any]:
    return {**step, "id": f"lake:{step['table']}", "other_id": f"lake:{step['other_table']}"}
