"""Bringing a table, and short links."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from starlette.requests import ClientDisconnect

from lakejoin.app.server import answers, asked
from lakejoin.app.server.child import Listener
from lakejoin.app.server.guard import UPLOADS
from lakejoin.app.server.ids import TableId, made_id
from lakejoin.app.server.problems import Problem
from lakejoin.app.server.services import Given, Services
from lakejoin.app.server.streaming import answered

router = APIRouter(tags=["bringing"])

Told = dict[str, Any]

_FORM = 1
_LONGEST = 200


@router.post(
    UPLOADS.removeprefix("/api/v1"),
    responses=answers.UPLOAD,
    openapi_extra={
        "requestBody": {
            "content": {"application/octet-stream": {"schema": {"type": "string"}}},
            "required": True,
            "description": "the bytes of the file: CSV, TSV, JSON, Parquet, Arrow, Excel, SQLite …",
        }
    },
)
async def upload(
    request: Request,
    services: Given,
    name: Annotated[str, Query(min_length=1, max_length=1_000)] = "table.csv",
) -> Response:
    """Brings a file; each table in it gets an id, which is the same for the same file."""
    called = _plain_name(name)
    path = services.desk.uploads.folder / f"making-{secrets.token_hex(8)}.upload"
    try:
        with services.arriving():
            id = await _received(request, path, called)
    except ClientDisconnect:
        path.unlink(missing_ok=True)
        raise Problem("stopped", "the caller has gone") from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise

    async def work(listener: Listener) -> Told:
        try:
            return await _read(services, path, called, id, listener)
        finally:
            path.unlink(missing_ok=True)

    return await answered(request, work)


@router.post("/links", response_model=answers.LinkId)
async def link(services: Given, body: asked.Link) -> Told:
    """Keeps the state of a page under a short name."""
    id = made_id("link", body.state)
    shelf = services.desk.links
    data = json.dumps({"state": body.state}).encode()
    await services.quick(shelf.put, id, {shelf.endings[0]: data})
    return {"id": id}


@router.get("/links/{id}", response_model=answers.LinkState)
async def linked(services: Given, id: str) -> Told:
    """The state that a short link stands for."""

    def told() -> Told:
        try:
            plain = TableId.of(f"result:{id}").name  # of the same form, so no path is made of it
        except Problem:
            raise Problem("unknown", f"{id[:100]!r} is no link of this server") from None
        kept = services.desk.links.read(plain)
        if kept is None:
            raise Problem("gone", "this link is no longer stored here: ask for it again")
        state: Told = json.loads(kept)
        return state

    return await services.quick(told)


async def _received(request: Request, path: Path, name: str) -> str:
    """Writes the body to a file; the id that its content and name make."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        async for chunk in request.stream():
            digest.update(chunk)
            await asyncio.to_thread(file.write, chunk)
    if not path.stat().st_size:
        raise Problem("input", f"{name} is empty: there is nothing to read")
    return made_id("upload", _FORM, name, digest.hexdigest())


async def _read(services: Services, path: Path, name: str, id: str, listener: Listener) -> Told:
    """The tables of the file; read again only if they are not kept."""
    desk = services.desk
    key = made_id("parts", _FORM, id)
    told = await services.quick(desk.answer, key)
    if told and any(desk.uploads.get(one) is None for one in told["tables"]):
        told = None
    if told is None:
        job = {"path": str(path), "name": name, "id": id}
        told = await services.readers.run(job, services.settings.limits.upload_seconds, listener)
        await services.quick(desk.keep_answer, key, told)
    ids = [TableId("upload", one) for one in told["tables"]]

    def infos() -> list[Told]:
        return [desk.tables.open(one).info() for one in ids]

    return {"tables": await services.quick(infos), "skipped": told["skipped"]}


def _plain_name(name: str) -> str:
    """The name of a file without its folders, or anything that is no letter to be seen.

    >>> _plain_name("../../etc/pass\\x00wd.csv")
    'passwd.csv'
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(c for c in last if c.isprintable())[:_LONGEST].strip(". ") or "table"
