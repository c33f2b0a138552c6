"""What can be asked for, as the API's document has it."""

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
Far = Annotated[str, Field(max_length=40, description="such as 500m, 3d, 1% or 5")] | float


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)

    def plain(self) -> dict[str, Any]:
        """As JSON has it, without what was left out."""
        return self.model_dump(exclude_none=True)


class Search(_Asked):
    """Which tables join with this one? `on` are its columns, several of them a composite key."""

    table: TableIdText
    on: Annotated[list[ColumnName], Field(max_length=20)] | None = None
    by: SearchBy = "fused"
    k: Annotated[int, Field(ge=1, le=200)] | None = None
    min: Share | None = None
    tau: Share | Literal["auto"] | None = None
    within: Far | None = None
    others: bool = True


class Explain(_Asked):
    """One result of a search: the values that meet, and those that do not."""

    search: Search
    rank: Annotated[int, Field(ge=1, le=1_000)]
    way: Annotated[int, Field(ge=0, le=100)] = 0
    miss: bool = False
    limit: Annotated[int, Field(ge=1, le=1_000)] = 50


class Pair(_Asked):
    """A column of the left table and one of the right."""

    left: ColumnName
    right: ColumnName


class JoinSettings(_Asked):
    """How a table is joined with the one on the right."""

    right: TableIdText
    on: Annotated[list[Pair], Field(max_length=20)] | None = None
    how: How = "inner"
    by: JoinBy | None = None
    within: Far | None = None
    tau: Share | None = None
    precision: Annotated[float, Field(gt=0, le=1)] | None = None
    one_to_one: bool | None = None
    aggregate: Annotated[list[Annotated[str, Field(max_length=_NAME)]], Field(max_length=200)] = []
    columns: Annotated[list[ColumnName], Field(max_length=20_000)] | None = None


class Join(JoinSettings):
    """A preview of the join of two tables; nothing is kept."""

    left: TableIdText
    rows: Annotated[int, Field(ge=1, le=500)] = 40


class Predicate(_Asked):
    """Which columns of two tables to equate, for what is wanted of the result?"""

    left: TableIdText
    right: TableIdText
    prefer: Prefer = "compact"
    n: Annotated[int, Field(ge=1, le=50)] = 5


class Union(_Asked):
    """Which tables have rows to append to this one?"""

    table: TableIdText
    k: Annotated[int, Field(ge=1, le=100)] = 10


class Paths(_Asked):
    """How to get from one table to another by joins?"""

    table: TableIdText
    other_table: TableIdText
    k: Annotated[int, Field(ge=1, le=50)] = 5
    joins: Annotated[int, Field(ge=1, le=4)] = 4


class Sql(_Asked):
    """One SELECT-like statement over a table, which is called `result` in it."""

    table: TableIdText
    sql: Annotated[str, Field(min_length=1, max_length=_SQL)]


class JoinStep(JoinSettings):
    """A step that joins what was made so far with another table."""

    kind: Literal["join"]


class SqlStep(_Asked):
    """A step that reworks what was made so far, called `result`, with SQL."""

    kind: Literal["sql"]
    sql: Annotated[str, Field(min_length=1, max_length=_SQL)]


class Chain(_Asked):
    """A table and the steps that were made from it."""

    start: TableIdText
    steps: Annotated[
        list[Annotated[JoinStep | SqlStep, Field(discriminator="kind")]], Field(max_length=50)
    ] = []


class Code(_Asked):
    """A chain as code to take away."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    chain: Chain
    as_: Annotated[CodeAs, Field(alias="as")]


class Link(_Asked):
    """The state of a page, to be opened by a short link."""

    state: Annotated[str, Field(min_length=1, max_length=65_536, pattern=r"^[\x21-\x7e]*$")]
