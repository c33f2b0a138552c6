"""Request models of the REST API."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

_NAME = 4_100
_SQL = 100_000

TableIdText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=_NAME,
        description="`lake:NAME`, `upload:ID` or `result:ID`",
        examples=["lake:airports.csv"],
    ),
]
ColumnName = Annotated[str, Field(max_length=_NAME)]
Share = Annotated[float, Field(ge=0, le=1)]
How = Literal["inner", "left", "right", "full"]
JoinBy = Literal["auto", "equal", "transform", "fuzzy", "meaning", "nearest"]
SearchBy = Literal["fused", "overlap", "containment", "meaning", "distance"]
Prefer = Literal["coverage", "groups", "compact", "balanced", "strength"]
CodeAs = Literal["python", "notebook", "sql", "pyspark"]
Distance = Annotated[str, Field(max_length=40, description="e.g. 500m, 3d, 1% or 5")] | float


class _RequestBody(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)

    def to_dict(self) -> dict[str, Any]:
        """As JSON, without omitted fields."""
        return self.model_dump(exclude_none=True)


class SearchRequest(_RequestBody):
    """Search for tables that join with this one. `on` names its columns; several are a composite
    key. `start` skips the first results of a fused search: the next ones come from the same search,
    as long as the server remembers it."""

    table: TableIdText
    on: Annotated[list[ColumnName], Field(max_length=20)] | None = None
    by: SearchBy = "fused"
    k: Annotated[int, Field(ge=1, le=200)] | None = None
    start: Annotated[int, Field(ge=0, le=100_000)] = 0
    min: Share | None = None
    tau: Share | Literal["auto"] | None = None
    sure: Annotated[float, Field(gt=0, lt=1)] | None = None
    within: Distance | None = None
    others: bool = True


class ExplainRequest(_RequestBody):
    """List matched and unmatched values of one search result."""

    search: SearchRequest
    rank: Annotated[int, Field(ge=1, le=1_000)]
    way: Annotated[int, Field(ge=0, le=100)] = 0
    miss: bool = False
    limit: Annotated[int, Field(ge=1, le=1_000)] = 50


class ColumnPair(_RequestBody):
    """A column of the left table and one of the right table."""

    left: ColumnName
    right: ColumnName


class JoinSettings(_RequestBody):
    """How to join a table with the `right` one."""

    right: TableIdText
    on: Annotated[list[ColumnPair], Field(max_length=20)] | None = None
    how: How = "inner"
    by: JoinBy | None = None
    within: Distance | None = None
    tau: Share | None = None
    precision: Annotated[float, Field(gt=0, le=1)] | None = None
    one_to_one: bool | None = None
    aggregate: Annotated[list[Annotated[str, Field(max_length=_NAME)]], Field(max_length=200)] = []
    columns: Annotated[list[ColumnName], Field(max_length=20_000)] | None = None


class JoinPreviewRequest(JoinSettings):
    """Preview the join of two tables; nothing is stored."""

    left: TableIdText
    rows: Annotated[int, Field(ge=1, le=500)] = 40


class PredicateRequest(_RequestBody):
    """Suggest which columns of two tables to join on, for the result you want."""

    left: TableIdText
    right: TableIdText
    prefer: Prefer = "compact"
    n: Annotated[int, Field(ge=1, le=50)] = 5


class UnionRequest(_RequestBody):
    """Search for tables whose rows can be appended to this one."""

    table: TableIdText
    k: Annotated[int, Field(ge=1, le=100)] = 10


class PathsRequest(_RequestBody):
    """Find join paths from one table to another."""

    table: TableIdText
    other_table: TableIdText
    k: Annotated[int, Field(ge=1, le=50)] = 5
    joins: Annotated[int, Field(ge=1, le=4)] = 4


class SqlRequest(_RequestBody):
    """Run one SELECT-like statement over a table, which it calls `result`."""

    table: TableIdText
    sql: Annotated[str, Field(min_length=1, max_length=_SQL)]


class JoinStep(JoinSettings):
    """A step that joins the previous table with another one."""

    kind: Literal["join"]


class SqlStep(_RequestBody):
    """A step that runs SQL over the previous table, called `result`."""

    kind: Literal["sql"]
    sql: Annotated[str, Field(min_length=1, max_length=_SQL)]


class ChainRequest(_RequestBody):
    """A table and the steps applied to it."""

    start: TableIdText
    steps: Annotated[
        list[Annotated[JoinStep | SqlStep, Field(discriminator="kind")]], Field(max_length=50)
    ] = []


class CodeRequest(_RequestBody):
    """Export a chain as code."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    chain: ChainRequest
    as_: Annotated[CodeAs, Field(alias="as")]


class LinkRequest(_RequestBody):
    """Store the state of the page under a short link."""

    state: Annotated[str, Field(min_length=1, max_length=65_536, pattern=r"^[\x21-\x7e]*$")]
