"""What is there: the lake, its tables, their columns and rows; and downloads."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse

from lakejoin.app.server import answers
from lakejoin.app.server.cells import cells_of, rows_of
from lakejoin.app.server.distributions import distribution
from lakejoin.app.server.exporting import MEDIA, Format, exported, file_name
from lakejoin.app.server.finding import find
from lakejoin.app.server.ids import made_id
from lakejoin.app.server.problems import Problem
from lakejoin.app.server.services import Given, Services
from lakejoin.app.server.tables import OpenTable

router = APIRouter(tags=["tables"])

Told = dict[str, Any]
Table = Annotated[
    str, Query(min_length=1, max_length=4_100, description="`lake:NAME`, `upload:ID`, `result:ID`")
]
Place = Annotated[int, Query(ge=0, le=100_000, description="its place in the table, from zero")]

_ROWS = 1_000
_CELLS = 500_000  # of one answer, which is made in the server's own memory
_CELL = 1_000_000


@router.get("/info", response_model=answers.Info)
async def info(services: Given) -> Response:
    """What the lake holds, and the limits of this server."""

    def told() -> Told:
        lake = services.desk.lake()
        graph = lake.snapshot.manifest.graph is not None
        return {**lake.info(), "graph": graph, "limits": services.settings.limits.shown()}

    return await services.quick_answer(told)


@router.get("/tables", response_model=answers.Tables)
async def tables(
    services: Given,
    pattern: Annotated[str | None, Query(max_length=1_000)] = None,
    begin: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Response:
    """The tables of the lake, all or those whose names fit a glob or hold a text."""

    def told() -> Told:
        found = services.desk.lake().snapshot.named(pattern or None)
        entries = (part.catalog.table(number) for _, part, number in found[begin : begin + limit])
        rows = [
            {"id": f"lake:{one.name}", "table": one.name, "rows": one.rows, "columns": one.width}
            for one in entries
        ]
        return {"tables": rows, "total": len(found)}

    return await services.quick_answer(told)


@router.get("/find", response_model=answers.Found)
async def found(
    services: Given,
    text: Annotated[str, Query(max_length=200)],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> Response:
    """The tables of which the name, a column or a value holds a text."""
    return await services.long_answer(lambda: find(services.desk.lake(), text, limit))


@router.get("/table", response_model=answers.Table)
async def table(services: Given, table: Table) -> Response:
    """What a table is, and what its columns look like."""
    return await services.quick_answer(lambda: services.desk.tables.open(table).info())


@router.get("/rows", response_model=answers.Rows)
async def rows(
    services: Given,
    table: Table,
    begin: Annotated[int, Query(ge=0, le=10**12)] = 0,
    end: Annotated[int | None, Query(ge=0, le=10**12)] = None,
    column: Annotated[list[Place] | None, Query(max_length=20_000)] = None,
) -> Response:
    """Some rows of a table; long cells are cut, and end in `…`."""

    def told() -> Told:
        opened = services.desk.tables.open(table)
        last = min(opened.rows, begin + _ROWS if end is None else min(end, begin + _ROWS))
        names = list(opened.column_names)
        places = None if column is None else [_place(names, one, opened) for one in column]
        width = len(names) if places is None else len(places)
        if width * max(0, last - begin) > _CELLS:
            told = f"{_CELLS:,} cells can be asked for at once: ask for fewer rows or columns"
            raise Problem("too_large", told, limit="cells")
        found = rows_of(opened.part(begin, max(begin, last), places))
        shown = names if places is None else [names[place] for place in places]
        head = {"table": opened.name, "columns": shown, "rows": found}
        return {**head, "total": opened.rows, "begin": begin}

    return await services.quick_answer(told)


@router.get("/cell", response_model=answers.OneCell)
async def cell(
    services: Given, table: Table, row: Annotated[int, Query(ge=0, le=10**12)], column: Place
) -> Response:
    """One cell as a whole."""

    def told() -> Told:
        opened = services.desk.tables.open(table)
        place = _place(list(opened.column_names), column, opened)
        if row >= opened.rows:
            raise Problem("input", f"{opened.name} has {opened.rows:,} rows")
        return {"value": cells_of(opened.part(row, row + 1, [place]).column(0), _CELL)[0]}

    return await services.quick_answer(told)


@router.get("/distribution", response_model=answers.Distribution)
async def distributed(services: Given, table: Table, column: Place) -> Response:
    """How the values of a column are spread."""
    return await services.long_answer(_distribution, services, table, column)


@router.get("/export", response_class=StreamingResponse, responses=answers.EXPORT)
async def export(services: Given, table: Table, format: Format = "csv") -> StreamingResponse:
    """A table as a file. In CSV, texts that a spreadsheet would run as a formula get a `'`."""
    opened = await services.quick(services.desk.tables.open, table)
    name = file_name(opened.name, format)
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    pieces = await services.downloads.streamed(exported(opened, format))
    return StreamingResponse(pieces, media_type=MEDIA[format], headers=headers)


def _distribution(services: Services, table: str, column: int) -> Told:
    opened = services.desk.tables.open(table)
    key = made_id("distribution", 1, opened.identity, column)
    if (kept := services.desk.answer(key)) is not None:
        return kept
    _place(list(opened.column_names), column, opened)
    about = opened.info()["columns"][column]
    told = distribution(opened.part(0, opened.rows, [column]).column(0), about)
    services.desk.keep_answer(key, told)
    return told


def _place(names: list[str], place: int, table: OpenTable) -> int:
    if not 0 <= place < len(names):
        raise Problem("input", f"{table.name} has {len(names):,} columns, and none at {place}")
    return place
