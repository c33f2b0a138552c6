"""The peers of exact search: DuckDB over the same inverted table, and SetSimilaritySearch.

DuckDB gets one table of (value hash, column), sorted by hash so that its zone maps can skip row
groups, in a database file of its own; both sides identify values by number, none handles text. The
query is a join with the query's hashes, grouped by column, the k largest counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numba import njit

from set_lakes import SetLake
from set_statistics import PARTS, hash_of, hashes_of, in_part

Array = np.ndarray[Any, Any]

JOIN = """
    SELECT "column", count(*) AS matched FROM postings JOIN query USING (hash)
    GROUP BY "column" ORDER BY matched DESC, "column" LIMIT {k}
"""


def make_duckdb(lake: SetLake) -> Path:
    """Writes the lake's pairs into a database file, sorted by hash, unless it is there."""
    path = lake.folder / "pairs.duckdb"
    if path.exists():
        return path
    partial = path.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    with duckdb.connect(str(partial)) as connection:
        connection.execute("SET threads = 1; SET memory_limit = '3GB'")
        connection.execute('CREATE TABLE postings (hash UBIGINT, "column" UINTEGER)')
        for hashes, columns in _sorted_pairs(lake):
            part = pa.table({"hash": hashes, "column": columns})  # noqa: F841 (named in the SQL)
            connection.execute("INSERT INTO postings SELECT * FROM part")
        connection.execute("CHECKPOINT")
    partial.rename(path)
    return path


def _sorted_pairs(lake: SetLake) -> Iterator[tuple[Array, Array]]:
    for part in range(PARTS):
        found = [
            _expand(*one.posting_lists(), one.array("tokens"), base, part)
            for one, base in zip(lake.segments(), lake.column_base, strict=True)
        ]
        hashes = np.concatenate([h for h, _ in found])
        columns = np.concatenate([c for _, c in found])
        order = np.argsort(hashes, kind="stable")
        yield hashes[order], columns[order]


@njit(cache=True)
def _expand(
    group_start: Array, list_start: Array, lists: Array, tokens: Array, base: int, part: int
) -> tuple[Array, Array]:
    """The (hash, column) pairs of a segment whose hash falls into a part."""
    hashes = np.empty(0, dtype=np.uint64)
    columns = np.empty(0, dtype=np.uint32)
    for turn in range(2):  # counted, then written
        n = 0
        for g in range(group_start.shape[0] - 1):
            length = list_start[g + 1] - list_start[g]
            for code in range(group_start[g], group_start[g + 1]):
                if in_part(tokens[code], part):
                    if turn == 1:
                        for i in range(length):
                            hashes[n + i] = hash_of(tokens[code])
                            columns[n + i] = base + lists[list_start[g] + i]
                    n += length
        if turn == 0:
            hashes, columns = np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.uint32)
    return hashes, columns


@dataclass(slots=True)
class DuckPeer:
    """DuckDB's answer to a query: (columns by lake-wide number, matched), best first."""

    path: Path
    threads: int = 1

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        """Opens the database file afresh, with an empty buffer pool."""
        self._connection = duckdb.connect(str(self.path), read_only=True)
        self._connection.execute(f"SET threads = {self.threads}; SET memory_limit = '4GB'")

    def close(self) -> None:
        """Lets the file go."""
        self._connection.close()

    def search(self, tokens: Array, k: int) -> tuple[Array, Array]:
        """The k columns with the most of the tokens."""
        query = pa.table({"hash": hashes_of(tokens)})
        self._connection.register("query", query)
        found = self._connection.execute(JOIN.format(k=k)).fetchnumpy()
        return found["column"], found["matched"]


def rows(path: Path) -> int:
    """How many pairs the database has."""
    with duckdb.connect(str(path), read_only=True) as connection:
        found = connection.execute("SELECT count(*) FROM postings").fetchone()
    assert found is not None
    return int(found[0])


def timed(path: Path) -> float:
    """Seconds to make the database (for curiosity, not part of the comparison)."""
    start = time.perf_counter()
    rows(path)
    return time.perf_counter() - start
