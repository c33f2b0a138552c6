"""What takes a while: searching, joining, SQL, chains; by JSON or as events."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from lakejoin.app.server import answers, asked
from lakejoin.app.server.child import Listener
from lakejoin.app.server.ids import made_id
from lakejoin.app.server.services import Given, Services
from lakejoin.app.server.streaming import answered, nobody
from lakejoin.app.server.work.joined import JoinAsked

router = APIRouter(tags=["work"])

Told = dict[str, Any]


@router.post("/search", responses=answers.SEARCH)
async def search(request: Request, services: Given, body: asked.Search) -> Response:
    """The tables that join with one, the best first; as events, the answer gets better."""

    async def work(listener: Listener) -> Told:
        plain = body.plain()
        key = await services.quick(_search_key, services, plain)
        if (kept := await services.quick(services.desk.answer, key)) is not None:
            return {**kept, "cached": True}

        def told(what: str, said: Any) -> None:
            listener(what, {**said, "cached": False} if what == "partial" else said)

        partial = listener is not nobody
        answer = await services.job("search", told, search=plain, key=key, partial=partial)
        await services.quick(services.desk.keep_answer, key, answer)
        return {**answer, "cached": False}

    return await answered(request, work)


@router.post("/explain", responses=answers.EXPLAIN)
async def explain(request: Request, services: Given, body: asked.Explain) -> Response:
    """One result of a search: matched and unmatched values side by side."""

    async def work(listener: Listener) -> Any:
        plain = body.search.plain()
        key = await services.quick(_search_key, services, plain)
        about = body.model_dump(exclude={"search"})
        return await services.job("explain", listener, search=plain, key=key, **about)

    return await answered(request, work)


@router.post("/join", responses=answers.JOIN)
async def join(request: Request, services: Given, body: asked.Join) -> Response:
    """A preview of a join: how it is made, and some rows; nothing is kept."""

    async def work(listener: Listener) -> Told:
        plain = body.plain()
        key = await services.quick(_join_key, services, plain)
        if (kept := await services.quick(services.desk.answer, key)) is not None:
            return kept
        answer: Told = await services.job("preview", listener, join=plain)
        await services.quick(services.desk.keep_answer, key, answer)
        return answer

    return await answered(request, work)


@router.post("/predicate", responses=answers.PREDICATE)
async def predicate(request: Request, services: Given, body: asked.Predicate) -> Response:
    """Which columns of two tables to equate."""
    return await answered(
        request, lambda listener: services.job("predicate", listener, **body.plain())
    )


@router.post("/union", responses=answers.UNION)
async def union(request: Request, services: Given, body: asked.Union) -> Response:
    """Which tables have rows to append to this one."""
    return await answered(request, lambda listener: services.job("union", listener, **body.plain()))


@router.post("/paths", responses=answers.PATHS)
async def paths(request: Request, services: Given, body: asked.Paths) -> Response:
    """How to get from one table of the lake to another by joins."""
    return await answered(request, lambda listener: services.job("paths", listener, **body.plain()))


@router.post("/sql", responses=answers.SQL)
async def sql(request: Request, services: Given, body: asked.Sql) -> Response:
    """Runs one SELECT-like statement over a table, called `result`; what it gives is kept."""

    async def work(listener: Listener) -> Told:
        table = await asyncio.to_thread(services.desk.tables.open, body.table)
        made = await services.chains.made(table, {"kind": "sql", "sql": body.sql}, listener)
        return made.info()

    return await answered(request, work)


@router.post("/chains", responses=answers.CHAINS)
async def chains(request: Request, services: Given, body: asked.Chain) -> Response:
    """The tables of a chain; only what is not kept is made."""

    async def work(listener: Listener) -> Told:
        steps = [step.plain() for step in body.steps]
        return {"tables": await services.chains.tables(body.start, steps, listener)}

    return await answered(request, work)


@router.post("/code", responses=answers.CODE)
async def code(request: Request, services: Given, body: asked.Code) -> Response:
    """A chain as a Python script, a notebook, SQL or PySpark."""

    async def work(listener: Listener) -> Any:
        steps = [step.plain() for step in body.chain.steps]
        tables = await services.chains.tables(body.chain.start, steps, listener)
        about = {"start": body.chain.start, "steps": steps, "as": body.as_}
        return await services.job("code", listener, tables=[one["id"] for one in tables], **about)

    return await answered(request, work)


@router.get("/graph", responses=answers.GRAPH)
async def graph(
    request: Request,
    services: Given,
    table: Annotated[str | None, Query(min_length=1, max_length=4_100)] = None,
    hops: Annotated[int, Query(ge=1, le=4)] = 1,
    limit: Annotated[int, Query(ge=1, le=200)] = 30,
) -> Response:
    """All joins of the lake in figures; with a table, what lies around it."""

    async def work(listener: Listener) -> Any:
        if table is None:
            return await services.job("graph", listener)
        return await services.job("around", listener, table=table, hops=hops, limit=limit)

    return await answered(request, work)


def _search_key(services: Services, plain: Told) -> str:
    """The same for the same search of the same rows in the same version of the index."""
    desk = services.desk
    mine = desk.tables.open(plain["table"])
    rest = {key: value for key, value in plain.items() if key != "table"}
    return made_id("search", 2, mine.identity, rest, desk.version)


def _join_key(services: Services, plain: Told) -> str:
    left, right = (services.desk.tables.open(plain[side]) for side in ("left", "right"))
    settings = {**JoinAsked.of(plain).settings(), "rows": plain["rows"]}
    return made_id("preview", 1, left.identity, right.identity, settings)
