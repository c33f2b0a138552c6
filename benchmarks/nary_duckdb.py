"""The peer of the search for composite keys: DuckDB over an inverted table of cells.

One table `cells` (value hash, table, row, column) with a row for every cell of a searched column,
sorted by hash so that zone maps can skip, in a database file of its own. Both sides know values by
number (DuckDB gets the hashes of a query ready made). The query, on one thread:

- the cells of every key column's values are fetched and joined on (table, row); columns must
  differ, and after each join only beginnings of combinations remain (a semi-join with the distinct
  prefixes of the query);
- combinations are counted by table and mapping, the best mapping is taken, and the best k tables.

Formulations tried, median CPU ms on planted web tables (2 columns), open data (2 columns; 5): this
28, 203; 468. The parts ordered by their number of cells, known in advance: 33, 236; 521 (every
part's cells are fetched first, so that the order hardly matters, and counting costs). Without the
prefixes, combinations joined last: 28, 234; 572. Cells joined with the combinations first, then on
(combination, table, row): 34, 2,079; 2,274.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from lakejoin.engines.composite import KeyQuery
from lakejoin.kernels.hashes import hash_strings
from lakejoin.model import Array, string_buffers
from lakejoin.store.rows import NULL
from lakejoin.store.segment import Segment
from lakejoin.store.segment_tables import SegmentTables

_SOME = 1_000_000  # cells that are handed over at once, about


def make_cells(segments: Sequence[Segment], path: Path) -> Path:
    """Writes the cells of all searched columns into a database file, unless it is there."""
    if path.exists():
        return path
    partial = path.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1; SET memory_limit = '4GB'")
        connection.execute(f"ATTACH '{partial}' AS made")
        connection.execute(
            "CREATE TEMP TABLE drawn (hash UBIGINT, tbl UINTEGER, row UINTEGER, col USMALLINT)"
        )
        for base, segment in _with_base(segments):
            for part in _cells_of(segment, base):  # noqa: B007 (in the SQL)
                connection.execute("INSERT INTO drawn SELECT * FROM part")
        connection.execute("CREATE TABLE made.cells AS SELECT * FROM drawn ORDER BY ALL")
        connection.execute("CHECKPOINT made")
    partial.rename(path)
    return path


def _with_base(segments: Sequence[Segment]) -> list[tuple[int, Segment]]:
    """The segments, with the number of their first table among all."""
    tables = [segment.record.tables for segment in segments]
    return list(zip((np.cumsum(tables) - tables).tolist(), segments, strict=True))


def _cells_of(segment: Segment, base: int) -> Iterator[pa.Table]:
    """The cells of a segment, some million at a time; tables are numbered from `base` on."""
    hashes, places = segment.dictionary.hashes(), SegmentTables(segment)
    table = np.repeat(np.arange(segment.record.tables), places.width)
    waiting: list[tuple[Array, ...]] = []
    for column in np.flatnonzero(segment.indexed).tolist():
        codes = segment.rows.codes(column, int(segment.column_rows[column]))
        row = np.flatnonzero(codes != NULL)
        number = np.full(len(row), base + table[column])
        place = np.full(len(row), column - places.first[table[column]])
        waiting.append((hashes[codes[row]], number, row, place))
        if sum(len(cells[0]) for cells in waiting[-100:]) > _SOME or len(waiting) > _SOME // 100:
            yield _joined(waiting)
            waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(waiting: Sequence[tuple[Array, ...]]) -> pa.Table:
    hashes, number, row, place = (np.concatenate(part) for part in zip(*waiting, strict=True))
    return pa.table(
        {
            "hash": hashes,
            "tbl": number.astype(np.uint32),
            "row": row.astype(np.uint32),
            "col": place.astype(np.uint16),
        }
    )


@dataclass(frozen=True, slots=True)
class HashedKey:
    """A key query as DuckDB gets it: `n`, and the hashes of every part as v0, v1 …"""

    table: pa.Table
    parts: int
    own: int | None = None  # a table that must not be found

    @classmethod
    def of(cls, query: KeyQuery, own: int | None = None) -> HashedKey:
        """From a query; the hashes are those of the index."""
        columns: dict[str, Any] = {"n": np.arange(len(query), dtype=np.uint32)}
        for j, tokens in enumerate(query.tokens):
            offsets, data = string_buffers(tokens)
            hashes = np.empty(len(tokens), dtype=np.uint64)
            hash_strings(offsets, data, np.uint64(0), hashes)
            columns[f"v{j}"] = hashes[query.combinations[:, j]]
        return cls(pa.table(columns), len(query.tokens), own)


def statement(parts: int, k: int, own: int | None) -> str:
    """The SQL for a key of so many parts."""
    hidden = "" if own is None else f" AND tbl <> {own}"
    steps = [
        f"i{j} AS MATERIALIZED (SELECT hash AS v{j}, tbl, row, col AS c{j} FROM cells "
        f"WHERE hash IN (SELECT v{j} FROM query){hidden})"
        for j in range(parts)
    ]
    previous = "i0"
    for j in range(1, parts):
        apart = " AND ".join(f"c{before} <> c{j}" for before in range(j))
        prefix = ", ".join(f"v{before}" for before in range(j + 1))
        steps.append(
            f"s{j} AS (SELECT * FROM {previous} JOIN i{j} USING (tbl, row) WHERE {apart} "
            f"AND ({prefix}) IN (SELECT DISTINCT ({prefix}) FROM query))"
        )
        previous = f"s{j}"
    values = ", ".join(f"v{j}" for j in range(parts))
    columns = ", ".join(f"c{j}" for j in range(parts))
    return (
        f"WITH {', '.join(steps)}, "
        f"scored AS (SELECT tbl, {columns}, count(DISTINCT n) AS matched "
        f"FROM {previous} JOIN query USING ({values}) GROUP BY tbl, {columns}) "
        f"SELECT tbl, max(matched) AS matched FROM scored GROUP BY tbl "
        f"ORDER BY matched DESC, tbl LIMIT {k}"
    )


@dataclass(slots=True)
class DuckKeys:
    """DuckDB on one thread."""

    path: Path
    _connection: duckdb.DuckDBPyConnection = field(init=False)

    def __post_init__(self) -> None:
        self._connection = duckdb.connect(str(self.path), read_only=True)
        self._connection.execute("SET threads = 1; SET memory_limit = '6GB'")

    def search(self, key: HashedKey, k: int) -> Array:
        """The k highest scores, falling."""
        self._connection.register("query", key.table)
        found = self._connection.execute(statement(key.parts, k, key.own)).fetchnumpy()
        return np.asarray(found["matched"], dtype=np.int64)

    def items(self, key: HashedKey, segments: Sequence[Segment]) -> Array:
        """How many cells hold a value of each part of a key, by part and segment."""
        self._connection.register("query", key.table)
        counted = np.zeros((key.parts, len(segments)), dtype=np.int64)
        for s, (base, segment) in enumerate(_with_base(segments)):
            own = "" if key.own is None else f" AND tbl <> {key.own}"
            here = f"tbl >= {base} AND tbl < {base + segment.record.tables}{own}"
            for j in range(key.parts):
                found = self._connection.execute(
                    f"SELECT count(*) FROM cells WHERE hash IN (SELECT v{j} FROM query) AND {here}"
                ).fetchone()
                counted[j, s] = found[0] if found else 0
        return counted

    def close(self) -> None:
        """Lets the file go."""
        self._connection.close()
