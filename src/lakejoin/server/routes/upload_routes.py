"""Routes for uploads and short links."""

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

from lakejoin.server import request_models, response_models
from lakejoin.server.api_problems import Problem
from lakejoin.server.child_pool import Listener
from lakejoin.server.event_stream import LongRequestDependency
from lakejoin.server.guard import UPLOADS
from lakejoin.server.request_services import ServicesDependency
from lakejoin.server.services import Services
from lakejoin.server.workspace import TableId, hash_id

router = APIRouter(tags=["uploads"])

_FORM = 1
_MAX_NAME = 200


@router.post(
    UPLOADS.removeprefix("/api/v1"),
    responses=response_models.UPLOAD,
    openapi_extra={
        "requestBody": {
            "content": {"application/octet-stream": {"schema": {"type": "string"}}},
            "required": True,
            "description": "the file itself: CSV, TSV, JSON, Parquet, Arrow, Excel, SQLite …",
        }
    },
)
async def upload(
    long: LongRequestDependency,
    name: Annotated[str, Query(min_length=1, max_length=1_000)] = "table.csv",
) -> Response:
    """Upload a file; each table in it gets an id, which is the same for the same file."""
    services, file_name = long.services, _plain_name(name)
    path = services.workspace.uploads.folder / f"making-{secrets.token_hex(8)}.upload"
    try:
        with services.count_upload():
            id = await _receive(long.request, path, file_name)
    except ClientDisconnect:
        path.unlink(missing_ok=True)
        raise Problem("stopped", "the caller disconnected") from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise

    async def work(listener: Listener) -> dict[str, Any]:
        try:
            return await _read(services, path, file_name, id, listener)
        finally:
            path.unlink(missing_ok=True)

    return await long.respond(work)


@router.post("/links", response_model=response_models.LinkId)
async def save_link(
    services: ServicesDependency, body: request_models.LinkRequest
) -> dict[str, Any]:
    """Store the state of the page under a short id."""
    id = hash_id("link", body.state)
    shelf = services.workspace.links
    data = json.dumps({"state": body.state}).encode()
    await services.run_quick(shelf.put, id, {shelf.suffixes[0]: data})
    return {"id": id}


@router.get("/links/{id}", response_model=response_models.LinkState)
async def open_link(services: ServicesDependency, id: str) -> dict[str, Any]:
    """The page state of a short link."""

    def read_state() -> dict[str, Any]:
        try:
            plain = TableId.parse(
                f"result:{id}"
            ).name  # checks the format, so that it cannot be a path
        except Problem:
            raise Problem("unknown", f"{id[:100]!r} is not a link of this server") from None
        data = services.workspace.links.read(plain)
        if data is None:
            raise Problem(
                "gone", "this link is no longer stored here; ask its sender for a new one"
            )
        state: dict[str, Any] = json.loads(data)
        return state

    return await services.run_quick(read_state)


async def _receive(request: Request, path: Path, name: str) -> str:
    """Write the body to a file; returns the id hashed from its content and name."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        async for chunk in request.stream():
            digest.update(chunk)
            await asyncio.to_thread(file.write, chunk)
    if not path.stat().st_size:
        raise Problem("input", f"{name} is empty")
    return hash_id("upload", _FORM, name, digest.hexdigest())


async def _read(
    services: Services, path: Path, name: str, id: str, listener: Listener
) -> dict[str, Any]:
    """The tables of the file, parsed unless they are stored already."""
    workspace = services.workspace
    key = hash_id("parts", _FORM, id)
    answer = await services.run_quick(workspace.read_answer, key)
    if answer and any(workspace.uploads.get(table) is None for table in answer["tables"]):
        answer = None
    if answer is None:
        job = {"path": str(path), "name": name, "id": id}
        try:
            answer = await run_reader(services, job, listener)
        except Problem as problem:
            raise _explain_failure(problem, name) from None
        await services.run_quick(workspace.store_answer, key, answer)
    ids = [TableId("upload", table) for table in answer["tables"]]

    def infos() -> list[dict[str, Any]]:
        return [workspace.open(id).info() for id in ids]

    return {"tables": await services.run_quick(infos), "skipped": answer["skipped"]}


async def run_reader(services: Services, job: dict[str, Any], listener: Listener) -> Any:
    """What a reader says of a file; asked once more if it died, since somebody else may have ended
    it: the file is to blame if the next one dies too."""
    seconds = services.settings.limits.upload_seconds
    try:
        return await services.readers.run(job, seconds, listener)
    except Problem as problem:
        if problem.kind != "died":
            raise
    return await services.readers.run(job, seconds, listener)


def _explain_failure(problem: Problem, name: str) -> Problem:
    """Say that a reader died or reached a limit because of the file."""
    if problem.kind == "died":
        way_out = "save it as CSV or Parquet and upload that"
        return Problem("input", f"{name} crashed its reader: {way_out}")
    if problem.kind in ("memory", "time"):
        way_out = "add it to the lake, or upload a part of it"
        return Problem("too_large", f"{name} is too large to read here ({problem}): {way_out}")
    return problem


def _plain_name(name: str) -> str:
    """The name of a file without its folders and without unprintable characters.

    >>> _plain_name("../../etc/pass\\x00wd.csv")
    'passwd.csv'
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(c for c in last if c.isprintable())[:_MAX_NAME].strip(". ") or "table"
