"""Response models and examples for the OpenAPI document; responses are checked against them only in
tests."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from lakejoin.model import ColumnType
from lakejoin.server.event_stream import EVENTS
from lakejoin.server.table_output import MEDIA_TYPES

Count = Annotated[int, Field(ge=0)]
Cell = str | int | float | bool | None
Document = dict[str, Any]
Responses = dict[int | str, Document]


class IndexHealth(BaseModel):
    """The version of the index that is served."""

    version: int
    tables: Count


class Health(BaseModel):
    """The server is up."""

    status: Literal["ok"]
    version: str
    index: IndexHealth
    uptime: Annotated[float, Field(ge=0, description="seconds")]


class Info(BaseModel):
    """The content of the lake, with the keys of `lakejoin info --json`, and the server's limits."""

    tables: Count
    columns: Count
    rows: Count
    cells: Count
    values: Annotated[int, Field(ge=0, description="distinct values")]
    values_exact: bool
    bytes: Count
    segments: Count
    version: int
    created: str
    parts: list[str]
    encoder: dict[str, Any] | None
    lakes: list[str]
    index: str
    graph: Annotated[bool, Field(description="whether the index has a join graph")]
    limits: dict[str, float]


class TableSummary(BaseModel):
    """A table in the lake in a list."""

    id: str
    table: str
    rows: Count
    columns: Count


class TableList(BaseModel):
    """A page of tables, and how many there are in all."""

    tables: list[TableSummary]
    total: Count


class FindResult(TableSummary):
    """A table, and where it contains the text."""

    where: Literal["name", "column", "value"]
    column: str | None
    match: str


class FindAnswer(BaseModel):
    """Tables that contain a text; `complete` is false if time ran out before all values were
    searched."""

    tables: list[FindResult]
    complete: bool


class Column(BaseModel):
    """The profile of a column."""

    column: str
    type: ColumnType
    indexed: bool
    rows: Count
    nulls: Count
    distinct: Count
    uniqueness: float
    min_length: Count
    max_length: Count
    mean_length: float
    key_likeness: float
    examples: list[str]
    date_format: str
    suggested: Annotated[bool, Field(description="a good column to search by")]


class Loss(BaseModel):
    """Content of a file that could not be read."""

    reason: str
    count: Count
    detail: str


class Table(BaseModel):
    """A table in the lake, an upload or a result."""

    id: str
    table: Annotated[str, Field(description="its display name")]
    rows: Count
    format: str
    source: str
    notes: list[str]
    losses: list[Loss]
    columns: list[Column]
    made: Annotated[
        dict[str, Any] | None, Field(description="the step that produced it, with `left`")
    ]


class Skipped(BaseModel):
    """Something that was not read, and why."""

    name: str
    reason: str
    detail: str


class UploadAnswer(BaseModel):
    """The tables of a file; a workbook has one per sheet."""

    tables: list[Table]
    skipped: list[Skipped]


class ChainTables(BaseModel):
    """The table at the start of a chain, and the table of each step."""

    tables: list[Table]


class Rows(BaseModel):
    """Some of `total` rows, starting at row `begin`."""

    table: str
    columns: list[str]
    rows: list[list[Cell]]
    total: Count
    begin: Count


class CellValue(BaseModel):
    """A cell in full length."""

    value: Cell


class Bin(BaseModel):
    """Values from `from` up to, but not including, `to`."""

    begin: Annotated[float | str, Field(alias="from")]
    to: float | str
    rows: Count


class ValueCount(BaseModel):
    """A frequent value."""

    value: str
    rows: Count


class Distribution(BaseModel):
    """The distribution of the values of a column."""

    column: str
    kind: Literal["numbers", "dates", "values", "none"]
    bins: Annotated[list[Bin], Field(max_length=20)]
    values: Annotated[list[ValueCount], Field(max_length=10)]
    others: Annotated[int, Field(ge=0, description="rows of other values")]
    distinct: Count
    nulls: Count
    rows: Count


class LinkId(BaseModel):
    """The id of a stored page state."""

    id: str


class LinkState(BaseModel):
    """A stored page state."""

    state: str


class ChainCode(BaseModel):
    """A chain as code."""

    code: str
    filename: str
    notes: list[str]


# -- long requests ----------------------------------------------------------------------------

_EVENTS_TEXT = (
    "With `Accept: text/event-stream`: `progress` events, for a search also `partial` events with "
    "the answer so far, and finally `done` with the body or `problem` with the error."
)
_EVENTS_EXAMPLE = (
    'event: progress\ndata: {"doing":"reading the table","seconds":0.012}\n\n'
    'event: done\ndata: {"…":"the body"}\n\n'
)


def long_responses(
    text: str, example: Document, model: type[BaseModel] | None = None, required: bool = True
) -> Responses:
    """The JSON and event responses of a long request; without a model, the keys of the example are
    always present, if `required`."""
    schema: Document = {"type": "object"}
    if required:
        schema["required"] = sorted(example)
    body: Document = {"example": example} if model else {"schema": schema, "example": example}
    events = {"schema": {"type": "string"}, "example": _EVENTS_EXAMPLE}
    answer: Document = {
        "description": f"{text} {_EVENTS_TEXT}",
        "content": {"application/json": body, EVENTS: events},
    }
    return {200: {**answer, "model": model} if model else answer}


_WAY = {
    "kind": "equal",
    "how": "",
    "program": None,
    "tau": None,
    "radius": None,
    "mine": ["iata"],
    "theirs": ["code"],
    "matched": 812,
    "containment": 0.97,
    "join": {"right": "lake:routes.csv", "on": [{"left": "iata", "right": "code"}], "by": None},
}
SEARCH = long_responses(
    "The tables that join, best first, with the keys of `lakejoin search --json`; each with its "
    "id, and each of its `ways` with the `join` to request.",
    {
        "query": {"table": "airports.csv", "columns": [["iata"]], "id": "lake:airports.csv"},
        "by": "fused",
        "k": 10,
        "results": [
            {
                "rank": 1,
                "table": "routes.csv",
                "id": "lake:routes.csv",
                "score": 0.93,
                "ways": [_WAY],
            }
        ],
        "notes": [],
        "seconds": 0.41,
        "final": True,
        "cached": False,
    },
)
EXPLAIN = long_responses(
    "Matched and unmatched values.",
    {
        "result": {"rank": 1, "table": "routes.csv", "id": "lake:routes.csv"},
        "matches": [{"value": "FRA", "mine": 1, "theirs": 497}],
        "unmatched": [{"value": "XXA", "mine": 1}],
        "matched": 812,
        "unmatched_total": 25,
        "sql": "select …",
    },
)
JOIN = long_responses(
    "How the tables join, with the keys of `lakejoin join --json`, and some rows as `preview`; "
    "if there is no join, `found` is false and `why` gives the reason.",
    {"left": "airports.csv", "right": "routes.csv", "found": True, "notes": []},
)
PREDICATE = long_responses(
    "Pairs of columns to join on, with the keys of `lakejoin predicates --json`.",
    {
        "tables": [{"table": "airports.csv", "rows": 837, "columns": 14}],
        "prefer": "compact",
        "predicates": [{"pairs": [["iata", "code"]], "inner_rows": 812, "outer_rows": 900}],
        "notes": [],
    },
)
UNION = long_responses(
    "Tables with rows to append, with the keys of `lakejoin union --json`, each with its id.",
    {
        "query": {"table": "airports.csv", "columns": ["iata", "town"]},
        "k": 10,
        "results": [
            {
                "rank": 1,
                "table": "more_airports.csv",
                "id": "lake:more_airports.csv",
                "score": 0.8,
                "rows": 90,
                "new_rows": 31,
            }
        ],
        "misses": [],
        "notes": [],
        "seconds": 0.2,
    },
)
PATHS = long_responses(
    "Join paths from one table to the other, with the keys of `lakejoin paths --json`.",
    {
        "table": "airports.csv",
        "other_table": "airlines.csv",
        "paths": [{"rank": 1, "joins": [{"table": "airports.csv", "column": "iata"}]}],
        "notes": [],
        "seconds": 0.3,
    },
)
GRAPH = long_responses(
    "Without a table, the keys of `lakejoin graph --json`; with one, the joins around it as "
    "`steps`, and how many tables each hop reached.",
    {
        "table": "airports.csv",
        "id": "lake:airports.csv",
        "reached": [3],
        "steps": [],
        "complete": True,
        "kept": True,
    },
    required=False,
)
EXPORT: Responses = {
    200: {
        "description": "The file.",
        "content": {
            kind.partition(";")[0]: {"schema": {"type": "string", "format": "binary"}}
            for kind in MEDIA_TYPES.values()
        },
    }
}
TABLE = {
    "id": "result:aaaaaaaaaaaaaaaaaaaaaaaaaa",
    "table": "SQL of airports",
    "rows": 12,
    "format": "arrow",
    "source": "",
    "notes": [],
    "losses": [],
    "columns": [],
    "made": {"kind": "sql", "sql": "select count(*) from result", "left": "lake:airports.csv"},
}
SQL = long_responses("The result of the statement.", TABLE, Table)
CHAINS = long_responses("The tables of the chain.", {"tables": [TABLE]}, ChainTables)
CODE = long_responses(
    "The chain as code.",
    {"code": "import lakejoin\n…", "filename": "lakejoin_chain.py", "notes": []},
    ChainCode,
)
UPLOAD = long_responses("The tables of the file.", {"tables": [TABLE], "skipped": []}, UploadAnswer)

# -- errors ------------------------------------------------------------------------------------

_AT = {
    "type": "object",
    "properties": {name: {"type": "integer"} for name in ("line", "column", "offset")},
}
_PROBLEM: Document = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["kind", "message"],
            "properties": {
                "kind": {"type": "string"},
                "message": {"type": "string", "description": "one sentence to show to a person"},
                "at": {**_AT, "description": "position of the error in the SQL"},
                "limit": {"type": "string"},
                "retry_after": {"type": "number"},
            },
        }
    },
}
PROBLEMS: Responses = {
    code: {"description": text, "content": {"application/json": {"schema": _PROBLEM}}}
    for code, text in {
        400: "Invalid request",
        401: "Token required",
        403: "Not allowed",
        404: "Table not found",
        408: "The request took too long to arrive",
        410: "No longer stored",
        413: "Too large",
        422: "Malformed request, or no join found",
        500: "Internal error",
        501: "The index or this machine lacks something that this needs",
        503: "Server busy",
        504: "Time limit exceeded",
        507: "Memory limit exceeded, or the server's disk is full",
    }.items()
}
