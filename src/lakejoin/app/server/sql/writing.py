"""What a statement gives, as a file of simple columns: numbers, booleans, dates, times and text.

Only types that every reader of such a file knows leave the child. Whole numbers too large for 64
bits, and all nested or rare types, become text as DuckDB prints them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from lakejoin.app.server.problems import Problem
from lakejoin.app.server.sql.problem import SqlProblem, told_by_engine
from lakejoin.app.server.sql.typed import different_names

_BATCH = 65_536
_MOST_COLUMNS = 10_000

_WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
_LARGE = {"UBIGINT", "HUGEINT", "UHUGEINT"}  # whole numbers that may not fit into 64 bits
_TIMESTAMPS = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}
_TIMESTAMPS |= {"TIMESTAMP WITH TIME ZONE"}


class _TooLarge(Exception):
    """These columns hold whole numbers that do not fit into 64 bits."""

    def __init__(self, places: set[int]) -> None:
        super().__init__()
        self.places = places


@dataclass(frozen=True, slots=True)
class Most:
    """How much a statement may give."""

    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: the columns with DuckDB's names of their types, and how many rows."""

    columns: list[str]
    types: list[str]
    rows: int


def write(connection: duckdb.DuckDBPyConnection, sql: str, sink: Any, most: Most) -> Written:
    """Runs the statement and writes what it gives to the file, as it comes."""
    described = _run(connection, "DESCRIBE SELECT * FROM (\n", sql).fetchall()
    names, types = different_names([one[0] for one in described]), [one[1] for one in described]
    if len(names) > _MOST_COLUMNS:
        told = f"this gives {len(names):,} columns, and {_MOST_COLUMNS:,} is the most"
        raise Problem("too_large", told, limit="columns")
    as_text: set[int] = set()
    while True:
        try:
            rows = _write_once(connection, sql, sink, most, names, types, as_text)
        except _TooLarge as found:
            as_text |= found.places
            sink.seek(0)
            sink.truncate()
        else:
            return Written(names, types, rows)


def _run(connection: duckdb.DuckDBPyConnection, before: str, sql: str) -> Any:
    """Runs the statement within another, which begins with `before`."""
    try:
        return connection.execute(f"{before}{sql}\n)")
    except duckdb.Error as error:
        raise told_by_engine(error, sql, len(before.encode())) from None


def _write_once(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    sink: Any,
    most: Most,
    names: Sequence[str],
    types: Sequence[str],
    as_text: set[int],
) -> int:
    """One run of the statement. Beside a column of large numbers stands one that says which fit."""
    large = [p for p, kind in enumerate(types) if kind in _LARGE and p not in as_text]
    wanted = [_simple(place, kind, place in as_text) for place, kind in enumerate(types)]
    wanted += [f"#{p + 1} IS NOT NULL AND TRY_CAST(#{p + 1} AS BIGINT) IS NULL" for p in large]
    listed = ", ".join(f"{one} AS c{place}" for place, one in enumerate(wanted))
    before = f"SELECT {listed} FROM (\n"
    result = _run(connection, before, sql)
    rows = size = 0
    writer = None
    try:
        reader = result.to_arrow_reader(_BATCH)
        schema = pa.schema(
            [pa.field(name, reader.schema.field(p).type) for p, name in enumerate(names)]
        )
        writer = pa.ipc.new_file(sink, schema)
        for batch in reader:
            misfits = {p for at, p in enumerate(large, len(names)) if _any(batch.column(at))}
            if misfits:
                raise _TooLarge(misfits)
            rows, size = rows + batch.num_rows, size + batch.nbytes
            _refuse_more(rows, size, most)
            columns = batch.columns[: len(names)]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
        writer.close()
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise _told(error, sql, len(before.encode())) from None
    return rows


def _any(column: Any) -> bool:
    return bool(column.true_count)


def _simple(place: int, kind: str, as_text: bool) -> str:
    """The expression that makes a column simple."""
    column = f"#{place + 1}"
    if kind in ("BOOLEAN", "DATE", "DOUBLE", "BIGINT", "VARCHAR", "TIMESTAMP"):
        return column
    if kind in _WHOLE:
        return f"CAST({column} AS BIGINT)"
    if kind in _LARGE and not as_text:
        return f"TRY_CAST({column} AS BIGINT)"
    if kind == "FLOAT" or kind.startswith("DECIMAL"):
        return f"CAST({column} AS DOUBLE)"
    if kind in _TIMESTAMPS:
        return f"CAST({column} AS TIMESTAMP)"
    return f"CAST({column} AS VARCHAR)"


def _refuse_more(rows: int, size: int, most: Most) -> None:
    if rows > most.rows:
        told = f"this gives more than {most.rows:,} rows: end the statement with LIMIT {most.rows}"
        raise Problem("too_large", f"{told} or fewer", limit="rows")
    if size > most.bytes:
        told = f"this gives more than {most.bytes:,} bytes: choose fewer columns, or add a LIMIT"
        raise Problem("too_large", told, limit="bytes")


def _told(error: Exception, sql: str, before: int) -> Problem:
    if isinstance(error, duckdb.Error):
        return told_by_engine(error, sql, before)
    if isinstance(error, MemoryError) or "alloc" in str(error):
        return Problem("memory", "this query takes more memory than a query may", limit="memory")
    text = str(error)
    if "Error: " in text:  # DuckDB's, told through the stream of batches
        return told_by_engine(ValueError(text[text.index("{") :] if "{" in text else text), sql, 0)
    return SqlProblem(f"what this gives cannot be written: {text.splitlines()[0][:200]}")
