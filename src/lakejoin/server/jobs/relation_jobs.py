"""Jobs about relations between tables: join predicates, unions, join paths and the join graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakejoin import api
from lakejoin.quoting import lakejoin_command
from lakejoin.server.api_problems import Problem
from lakejoin.server.jobs.join_jobs import Job, Json
from lakejoin.server.workspace import ServedTable, Workspace

if TYPE_CHECKING:
    from lakejoin.graph.join_graph import JoinGraph

_EXAMPLE_ROWS = 5  # joined rows that are shown of a predicate
_MAX_PREDICATES = 20_000  # to consider; more would take too long
_graph: dict[tuple[int, str], JoinGraph] = {}  # of the current index version


def suggest_predicates(job: Job) -> Json:
    """Suggest columns to join on, with the keys of `lakejoin predicates --json`."""
    left, right = (job.open(side).as_input() for side in ("left", "right"))
    chosen = {key: job.fields[key] for key in ("prefer", "n")}
    found = api.predicates(left, right, **chosen, most=_MAX_PREDICATES, progress=job.progress)
    return found.to_dict(_EXAMPLE_ROWS)


def find_unions(job: Job) -> Json:
    """Find tables with rows to append, with the keys of `lakejoin union --json`."""
    job.progress("comparing columns")
    answer = job.workspace.lake().union(job.open().as_input(), job.fields["k"])
    fields = answer.to_dict()
    for key in ("results", "misses"):
        fields[key] = [{**result, "id": f"lake:{result['table']}"} for result in fields[key]]
    return fields


def find_paths(job: Job) -> Json:
    """Find join paths between two tables, with the keys of `lakejoin paths --json`."""
    start, end = (job.open(key).as_input() for key in ("table", "other_table"))
    job.progress("looking for joins")
    return job.workspace.lake().paths(start, end, job.fields["k"], job.fields["joins"]).to_dict()


def describe_graph(job: Job) -> Json:
    """Statistics of the join graph, with the keys of `lakejoin graph --json`."""
    job.progress("reading the join graph")
    return _stored_graph(job.workspace).statistics().to_dict()


def find_neighbors(job: Job) -> Json:
    """The joins around a table, from the stored join graph or by a search."""
    table, limit = job.open(), job.fields["limit"]
    if table.id.kind != "lake" or job.workspace.lake().snapshot.manifest.graph is None:
        return _search_around(job, table, limit)
    job.progress("reading the join graph")
    stored = _stored_graph(job.workspace)
    fields = stored.around(table.name, job.fields["hops"]).to_dict()
    by_hop = sorted(fields["steps"], key=lambda step: (step["hop"], -step["containment"]))
    fields["steps"] = [_with_ids(step) for step in by_hop[:limit]]
    return {**fields, "id": str(table.id), "complete": stored.complete, "kept": True}


def _stored_graph(workspace: Workspace) -> JoinGraph:
    lake = workspace.lake()
    manifest = lake.snapshot.manifest
    if manifest.graph is None:
        command = lakejoin_command("graph", lake.snapshot.location.uri)
        raise Problem("unknown", f"this index has no join graph: build it with: {command}")
    key = (manifest.version, str(manifest.graph))
    if key not in _graph:
        _graph.clear()
        _graph[key] = lake.graph()
    return _graph[key]


def _search_around(job: Job, table: ServedTable, limit: int) -> Json:
    """Search for the joins around a table that is in no stored graph."""
    job.progress("searching for tables that join")
    name, table_id = table.name, str(table.id)
    results = job.workspace.lake().search(table.as_input(), k=limit)
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


def _with_ids(step: Json) -> Json:
    return {**step, "id": f"lake:{step['table']}", "other_id": f"lake:{step['other_table']}"}
