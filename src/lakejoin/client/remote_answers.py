"""What answers fetch from a server when they are used: values that match, joined tables, the join
graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakejoin.client.connection import Connection, Json
from lakejoin.client.remote_table import RemoteTable, table_id
from lakejoin.errors import InputError, NoJoin
from lakejoin.render.answer_base import PrintedReport
from lakejoin.render.report import Report

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.graph.graph_statistics import GraphStatistics
    from lakejoin.graph.neighborhood import Neighborhood

MAX_VALUES = 1_000  # the most values that a server returns


@dataclass(frozen=True)
class RemoteValues:
    """Lists the values of a result of a search on a server; not of a preliminary one, which has no
    search."""

    connection: Connection
    search: Json | None
    rank: int
    miss: bool | None = None

    def matches(self, limit: int | None) -> pa.Table:
        """The values that match, as many as the server returns."""
        return _to_rows(self._explain(limit)["matches"])

    def unmatched(self, limit: int | None) -> pa.Table:
        """The query values without a match, as many as the server returns."""
        return _to_rows(self._explain(limit)["unmatched"])

    def sql(self) -> str:
        """DuckDB SQL that joins the query table with the result."""
        answer = self._explain(1)
        if not isinstance(answer["sql"], str):
            raise InputError(f"the join with {answer['result']['table']} cannot be written in SQL")
        return answer["sql"]

    def _explain(self, limit: int | None) -> Json:
        if self.search is None:
            raise InputError("this answer is preliminary: use the final one")
        body = {"rank": self.rank, "limit": limit or MAX_VALUES, "miss": self.miss}
        return self.connection.post("/explain", {"search": self.search, **body})


def _to_rows(items: list[Json]) -> pa.Table:
    """JSON objects as rows; the values of a composite key get a column each."""
    import pyarrow as pa

    rows = [
        {**item["value"], **{name: cell for name, cell in item.items() if name != "value"}}
        if isinstance(item.get("value"), dict)
        else item
        for item in items
    ]
    return pa.Table.from_pylist(rows)


@dataclass(frozen=True, eq=False, repr=False)
class RemoteJoin(PrintedReport):
    """How two tables join; false if no join was found.

    The figures of `lakejoin join --json` are attributes (`rows`, `left_joined`, `sure`, …). `run`
    makes the joined table on the server; `table`, `to_pandas` and `to_polars` download it.

    >>> with lakejoin.connect(server.url) as lake:
    ...     lake.join("mine.csv", "cities.csv", on="city=name").table().num_rows
    4
    """

    fields: Mapping[str, Any]
    _run: Callable[[Sequence[str] | None], RemoteTable]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "fields" or name not in self.fields:
            raise AttributeError(f"a join has no {name}")
        value = self.fields[name]
        return tuple(value) if isinstance(value, list) else value

    def __bool__(self) -> bool:
        return bool(self.fields.get("found", True))

    def __len__(self) -> int:
        return int(self.fields["rows"]) if self else 0

    def run(self, columns: Sequence[str] | None = None) -> RemoteTable:
        """Make the joined table, or some of its columns, and keep it on the server; raises `NoJoin`
        if no join was found."""
        if not self:
            raise NoJoin(self.fields["why"])
        return self._run(columns)

    def table(self) -> pa.Table:
        """The joined table as a `pyarrow.Table`."""
        return self.run().to_arrow()

    def to_pandas(self) -> Any:
        """The joined table as a `pandas.DataFrame`."""
        return self.run().to_pandas()

    def to_polars(self) -> Any:
        """The joined table as a `polars.DataFrame`."""
        return self.run().to_polars()

    def to_dict(self) -> dict[str, Any]:
        """The join with the keys of `lakejoin join --json`."""
        return dict(self.fields)

    def report(self) -> Report:
        """What the join shows: its steps, with examples, and how many rows match."""
        from lakejoin.joins.join_report import describe_join

        return describe_join(self.fields)


@dataclass(frozen=True)
class RemoteGraph:
    """The join graph of a server's lake."""

    connection: Connection = field(repr=False)

    def statistics(self) -> GraphStatistics:
        """Figures about the whole graph; an error if the index has no join graph."""
        from lakejoin.graph.graph_statistics import GraphStatistics

        return GraphStatistics.from_dict(self.connection.get("/graph"))

    def around(self, table: Any, hops: int = 1, limit: int | None = None) -> Neighborhood:
        """The tables within `hops` joins of a table, at most `limit`; they are searched for if the
        index has no join graph or the table is not in the lake."""
        from lakejoin.graph.neighborhood import Neighborhood

        start = table_id(self.connection, table)
        answer = self.connection.get("/graph", table=start, hops=hops, limit=limit)
        return Neighborhood.from_dict(answer)
