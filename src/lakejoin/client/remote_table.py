"""A table on a server: of its lake, brought there, or the result of a step."""

from __future__ import annotations

from functools import cached_property
from typing import IO, TYPE_CHECKING, Any

from lakejoin.client.connection import Connection, Json
from lakejoin.errors import ServerProblem, needed
from lakejoin.model import ColumnProfile, ColumnType, Loss

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.catalog import ColumnEntry

_FILE = b"ARROW1\0\0"  # how a file of Arrow begins; a stream of batches follows, and an index of it


class RemoteTable:
    """A table on a server; its rows are fetched when they are asked for.

    `id` is what the server calls it: `lake:NAME`, `upload:ID` or `result:ID`.
    """

    def __init__(self, connection: Connection, told: Json) -> None:
        self.connection = connection
        self._told = told

    def __repr__(self) -> str:
        return f"<RemoteTable {self.name}: {self.rows:,} rows, {self._width} columns>"

    def __len__(self) -> int:
        return self.rows

    @property
    def id(self) -> str:
        """What the server calls it."""
        return str(self._told["id"])

    @property
    def name(self) -> str:
        """Its name for people: of a table of the lake, its path there."""
        return str(self._told["table"])

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return int(self._told["rows"])

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about how it was read."""
        return tuple(self._info.get("notes", ()))

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What was left out when it was read."""
        return tuple(
            Loss(one["reason"], one["count"], one.get("detail", ""))
            for one in self._info.get("losses", ())
        )

    @property
    def suggested(self) -> tuple[str, ...]:
        """The columns that are like a key: good ones to search by."""
        return tuple(one["column"] for one in self._info["columns"] if one.get("suggested"))

    def columns(self) -> list[ColumnEntry]:
        """Its columns with their profiles."""
        from lakejoin.store.catalog import ColumnEntry

        return [
            ColumnEntry(place, one["column"], bool(one.get("indexed")), _profile(one))
            for place, one in enumerate(self._info["columns"])
        ]

    def to_arrow(self, begin: int = 0, end: int | None = None) -> pa.Table:
        """Rows [begin, end) as a `pyarrow.Table`; what comes after them is not fetched."""
        import pyarrow as pa

        begin, end, _ = slice(begin, end).indices(self.rows)
        with self.connection.download("/export", table=self.id, format="arrow") as body:
            try:
                return _read(body, begin, max(begin, end))
            except pa.ArrowException as problem:
                raise ServerProblem(f"{self.name} came incomplete ({problem})") from None

    def to_pandas(self) -> Any:
        """The rows as a `pandas.DataFrame`."""
        needed("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The rows as a `polars.DataFrame`."""
        return needed("polars").from_arrow(self.to_arrow())

    def to_dict(self) -> Json:
        """All that the server tells of it, as JSON has it."""
        return self._info

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return [one["column"] for one in self._info["columns"]]

    @property
    def _width(self) -> int:
        columns = self._told["columns"]
        return columns if isinstance(columns, int) else len(columns)

    @cached_property
    def _info(self) -> Json:
        """A list of tables tells only how many columns each has: then it is asked for."""
        if isinstance(self._told["columns"], list):
            return self._told
        return self.connection.get("/table", table=self.id)


def _read(body: IO[bytes], begin: int, end: int) -> pa.Table:
    """The rows [begin, end) of an Arrow file, read from its front and no further than needed."""
    import pyarrow as pa

    if body.read(len(_FILE)) != _FILE:
        raise pa.ArrowInvalid("this is no file of Arrow")
    batches, seen = [], 0
    with pa.ipc.open_stream(body) as stream:
        while seen < end:
            try:
                batch = stream.read_next_batch()
            except StopIteration:
                break
            here = max(0, begin - seen), min(batch.num_rows, end - seen)
            if here[0] < here[1]:
                batches.append(batch.slice(here[0], here[1] - here[0]))
            seen += batch.num_rows
        return pa.Table.from_batches(batches, stream.schema)


def _profile(told: Json) -> ColumnProfile:
    return ColumnProfile(
        type=ColumnType(told["type"]),
        rows=told["rows"],
        nulls=told["nulls"],
        distinct=told["distinct"],
        uniqueness=told["uniqueness"],
        min_length=told["min_length"],
        max_length=told["max_length"],
        mean_length=told["mean_length"],
        key_likeness=told["key_likeness"],
        examples=tuple(told.get("examples", ())),
        date_format=told.get("date_format") or "",
    )
