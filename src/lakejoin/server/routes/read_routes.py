"""Routes that read: the lake, its tables, their columns and rows, downloads, health and metrics."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse

from lakejoin import __version__
from lakejoin.server import response_models
from lakejoin.server.api_problems import Problem
from lakejoin.server.metrics import render_metrics
from lakejoin.server.request_services import ServicesDependency
from lakejoin.server.services import Services
from lakejoin.server.table_finder import find_by_text
from lakejoin.server.table_output import (
    MEDIA_TYPES,
    ExportFormat,
    column_to_json,
    download_name,
    export_table,
    rows_to_json,
    summarize_column,
)
from lakejoin.server.workspace import ServedTable, hash_id

router = APIRouter(tags=["tables"])

TableParam = Annotated[
    str, Query(min_length=1, max_length=4_100, description="`lake:NAME`, `upload:ID`, `result:ID`")
]
ColumnIndex = Annotated[int, Query(ge=0, le=100_000, description="index of the column, from zero")]

_MAX_ROWS = 1_000
_MAX_CELLS = 500_000  # of one response, which the server builds in memory
_MAX_CELL = 1_000_000  # characters of a single cell


@router.get("/info", response_model=response_models.Info)
async def info(services: ServicesDependency) -> Response:
    """What is in the lake, and the limits of this server."""

    def read_info() -> dict[str, Any]:
        lake = services.workspace.lake()
        graph = lake.snapshot.manifest.graph is not None
        return {**lake.info(), "graph": graph, "limits": services.settings.limits.public_limits()}

    return await services.quick_response(read_info)


@router.get("/tables", response_model=response_models.TableList)
async def tables(
    services: ServicesDependency,
    pattern: Annotated[str | None, Query(max_length=1_000)] = None,
    begin: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Response:
    """The tables in the lake, all or those whose name matches a glob or contains a text."""

    def list_tables() -> dict[str, Any]:
        named = services.workspace.lake().snapshot.list_tables(pattern or None)
        shown = named[begin : begin + limit]
        entries = (segment.catalog.table(index) for _, segment, index in shown)
        rows = [
            {
                "id": f"lake:{entry.name}",
                "table": entry.name,
                "rows": entry.rows,
                "columns": entry.width,
            }
            for entry in entries
        ]
        return {"tables": rows, "total": len(named)}

    return await services.quick_response(list_tables)


@router.get("/find", response_model=response_models.FindAnswer)
async def find_tables(
    services: ServicesDependency,
    text: Annotated[str, Query(max_length=200)],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> Response:
    """Tables whose name, column names or values contain a text."""
    return await services.long_response(
        lambda: find_by_text(services.workspace.lake(), text, limit)
    )


@router.get("/table", response_model=response_models.Table)
async def table(services: ServicesDependency, table: TableParam) -> Response:
    """A table with the profiles of its columns."""
    return await services.quick_response(lambda: services.workspace.open(table).info())


@router.get("/rows", response_model=response_models.Rows)
async def rows(
    services: ServicesDependency,
    table: TableParam,
    begin: Annotated[int, Query(ge=0, le=10**12)] = 0,
    end: Annotated[int | None, Query(ge=0, le=10**12)] = None,
    column: Annotated[list[ColumnIndex] | None, Query(max_length=20_000)] = None,
) -> Response:
    """Some rows of a table; long cells are cut and end in `…`."""

    def read_rows() -> dict[str, Any]:
        opened = services.workspace.open(table)
        last = min(opened.rows, begin + _MAX_ROWS if end is None else min(end, begin + _MAX_ROWS))
        names = list(opened.column_names)
        indexes = None if column is None else [_check_index(names, i, opened) for i in column]
        width = len(names) if indexes is None else len(indexes)
        if width * max(0, last - begin) > _MAX_CELLS:
            message = f"more than {_MAX_CELLS:,} cells requested: ask for fewer rows or columns"
            raise Problem("too_large", message, limit="cells")
        cells = rows_to_json(opened.read_rows(begin, max(begin, last), indexes))
        shown = names if indexes is None else [names[index] for index in indexes]
        head = {"table": opened.name, "columns": shown, "rows": cells}
        return {**head, "total": opened.rows, "begin": begin}

    return await services.quick_response(read_rows)


@router.get("/cell", response_model=response_models.CellValue)
async def cell(
    services: ServicesDependency,
    table: TableParam,
    row: Annotated[int, Query(ge=0, le=10**12)],
    column: ColumnIndex,
) -> Response:
    """One cell in full length."""

    def read_cell() -> dict[str, Any]:
        opened = services.workspace.open(table)
        index = _check_index(list(opened.column_names), column, opened)
        if row >= opened.rows:
            raise Problem("input", f"row {row:,} not found: {opened.name} has {opened.rows:,} rows")
        return {
            "value": column_to_json(opened.read_rows(row, row + 1, [index]).column(0), _MAX_CELL)[0]
        }

    return await services.quick_response(read_cell)


@router.get("/distribution", response_model=response_models.Distribution)
async def column_distribution(
    services: ServicesDependency, table: TableParam, column: ColumnIndex
) -> Response:
    """The distribution of the values of a column."""
    return await services.long_response(_distribution, services, table, column)


@router.get("/export", response_class=StreamingResponse, responses=response_models.EXPORT)
async def export(
    request: Request,
    services: ServicesDependency,
    table: TableParam,
    format: ExportFormat = "csv",
) -> StreamingResponse:
    """Download a table. In CSV, texts that a spreadsheet would run as formulas start with `'`."""
    opened = await services.run_quick(services.workspace.open, table)
    name = download_name(opened.name, format)
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    client = request.client.host if request.client else ""
    produced = export_table(opened, format, services.workspace.run_unchanged)
    chunks = await services.downloads.stream(produced, client)
    return StreamingResponse(chunks, media_type=MEDIA_TYPES[format], headers=headers)


def _distribution(services: Services, table: str, column: int) -> dict[str, Any]:
    opened = services.workspace.open(table)
    key = hash_id("distribution", 1, opened.identity, column)
    if (stored := services.workspace.read_answer(key)) is not None:
        return stored
    _check_index(list(opened.column_names), column, opened)
    profile = opened.info()["columns"][column]
    summary = summarize_column(opened.read_rows(0, opened.rows, [column]).column(0), profile)
    services.workspace.store_answer(key, summary)
    return summary


def _check_index(names: list[str], index: int, table: ServedTable) -> int:
    if not 0 <= index < len(names):
        raise Problem(
            "input", f"no column at index {index}: {table.name} has {len(names):,} columns"
        )
    return index


health_router = APIRouter(tags=["server"])

_START = time.monotonic()


@health_router.get("/health", response_model=response_models.Health)
async def health(services: ServicesDependency) -> JSONResponse:
    """Whether the server is up, and which version of the index it serves."""
    manifest = services.workspace.lake().snapshot.manifest
    index = {"version": manifest.version, "tables": manifest.totals.tables}
    up = round(time.monotonic() - _START, 1)
    return JSONResponse({"status": "ok", "version": __version__, "index": index, "uptime": up})


@health_router.get("/metrics", response_class=PlainTextResponse)
async def metrics(services: ServicesDependency) -> Response:
    """Metrics in Prometheus text format."""
    text, kind = await services.run_quick(render_metrics, services)
    return Response(text, media_type=kind)
