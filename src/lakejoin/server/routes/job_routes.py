"""Routes for long requests: search, join, SQL and chains, as JSON or as events."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from lakejoin.server import request_models, response_models
from lakejoin.server.child_pool import Listener
from lakejoin.server.event_stream import LongRequestDependency, ignore_progress
from lakejoin.server.jobs.join_jobs import JoinRequest
from lakejoin.server.services import Services
from lakejoin.server.workspace import hash_id

router = APIRouter(tags=["work"])


@router.post("/search", responses=response_models.SEARCH)
async def search(long: LongRequestDependency, body: request_models.SearchRequest) -> Response:
    """Tables that join with this one, best first; as events, with partial answers on the way."""
    services = long.services

    async def work(listener: Listener) -> dict[str, Any]:
        plain = body.to_dict()
        key = await services.run_quick(_search_key, services, plain)
        if (stored := await services.run_quick(services.workspace.read_answer, key)) is not None:
            return {**stored, "cached": True}

        def forward(event: str, data: Any) -> None:
            listener(event, {**data, "cached": False} if event == "partial" else data)

        partial = listener is not ignore_progress
        search_key = await services.run_quick(_search_key, services, plain, True)
        answer = await services.run_job(
            "search", forward, search=plain, key=search_key, partial=partial
        )
        await services.run_quick(services.workspace.store_answer, key, answer)
        return {**answer, "cached": False}

    return await long.respond(work)


@router.post("/explain", responses=response_models.EXPLAIN)
async def explain(long: LongRequestDependency, body: request_models.ExplainRequest) -> Response:
    """Matched and unmatched values of one search result."""
    services = long.services

    async def work(listener: Listener) -> Any:
        plain = body.search.to_dict()
        key = await services.run_quick(_search_key, services, plain)
        search_key = await services.run_quick(_search_key, services, plain, True)
        about = body.model_dump(exclude={"search"})
        return await services.run_job(
            "explain", listener, search=plain, key=search_key, stored=key, **about
        )

    return await long.respond(work)


@router.post("/join", responses=response_models.JOIN)
async def join(long: LongRequestDependency, body: request_models.JoinPreviewRequest) -> Response:
    """Preview a join: how the tables join, and some rows; nothing is stored."""
    services = long.services

    async def work(listener: Listener) -> dict[str, Any]:
        plain = body.to_dict()
        key = await services.run_quick(_join_key, services, plain)
        if (stored := await services.run_quick(services.workspace.read_answer, key)) is not None:
            return stored
        answer: dict[str, Any] = await services.run_job("preview", listener, join=plain)
        await services.run_quick(services.workspace.store_answer, key, answer)
        return answer

    return await long.respond(work)


@router.post("/predicate", responses=response_models.PREDICATE)
async def predicate(long: LongRequestDependency, body: request_models.PredicateRequest) -> Response:
    """Suggest which columns of two tables to join on."""
    return await long.run_job("predicate", **body.to_dict())


@router.post("/union", responses=response_models.UNION)
async def union(long: LongRequestDependency, body: request_models.UnionRequest) -> Response:
    """Tables whose rows can be appended to this one."""
    return await long.run_job("union", **body.to_dict())


@router.post("/paths", responses=response_models.PATHS)
async def paths(long: LongRequestDependency, body: request_models.PathsRequest) -> Response:
    """Join paths from one table to another."""
    return await long.run_job("paths", **body.to_dict())


@router.post("/sql", responses=response_models.SQL)
async def sql(long: LongRequestDependency, body: request_models.SqlRequest) -> Response:
    """Run one SELECT-like statement over a table, called `result`, and store the result."""
    services = long.services

    async def work(listener: Listener) -> dict[str, Any]:
        table = await asyncio.to_thread(services.workspace.open, body.table)
        made = await services.chains.run_step(table, {"kind": "sql", "sql": body.sql}, listener)
        return made.info()

    return await long.respond(work)


@router.post("/chains", responses=response_models.CHAINS)
async def chains(long: LongRequestDependency, body: request_models.ChainRequest) -> Response:
    """The tables of a chain; only what is not stored is computed."""
    services = long.services

    async def work(listener: Listener) -> dict[str, Any]:
        steps = [step.to_dict() for step in body.steps]
        return {"tables": await services.chains.tables(body.start, steps, listener)}

    return await long.respond(work)


@router.post("/code", responses=response_models.CODE)
async def code(long: LongRequestDependency, body: request_models.CodeRequest) -> Response:
    """Export a chain as a Python script, a notebook, SQL or PySpark."""
    services = long.services

    async def work(listener: Listener) -> Any:
        steps = [step.to_dict() for step in body.chain.steps]
        tables = await services.chains.tables(body.chain.start, steps, listener)
        about = {"start": body.chain.start, "steps": steps, "as": body.as_}
        return await services.run_job(
            "code", listener, tables=[table["id"] for table in tables], **about
        )

    return await long.respond(work)


@router.get("/graph", responses=response_models.GRAPH)
async def graph(
    long: LongRequestDependency,
    table: Annotated[str | None, Query(min_length=1, max_length=4_100)] = None,
    hops: Annotated[int, Query(ge=1, le=4)] = 1,
    limit: Annotated[int, Query(ge=1, le=200)] = 30,
) -> Response:
    """Statistics of the join graph; with a table, the joins around it."""
    if table is None:
        return await long.run_job("graph")
    return await long.run_job("around", table=table, hops=hops, limit=limit)


def _search_key(services: Services, plain: dict[str, Any], any_page: bool = False) -> str:
    """Equal for the same search with the same rows in the same version of the index; for all its
    pages if `any_page`."""
    workspace = services.workspace
    query_table = workspace.open(plain["table"])
    left_out = {"table", "k", "start"} if any_page and plain["by"] == "fused" else {"table"}
    rest = {key: value for key, value in plain.items() if key not in left_out}
    return hash_id("search", 3, query_table.identity, rest, workspace.version)


def _join_key(services: Services, plain: dict[str, Any]) -> str:
    left, right = (services.workspace.open(plain[side]) for side in ("left", "right"))
    settings = {**JoinRequest.from_fields(plain).settings(), "rows": plain["rows"]}
    return hash_id("preview", 1, left.identity, right.identity, settings)
