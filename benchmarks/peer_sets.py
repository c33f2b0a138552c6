"""The peers of exact search: DuckDB over the same inverted table, and SetSimilaritySearch.

DuckDB gets one table of (value hash, column), sorted by hash so that its zone maps can skip row
groups, in a database file of its own; both sides identify values by number, none handles text. The
query is a join with the query's hashes, grouped by column, the k largest counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from numba import njit

from lakejoin.model import Array
from set_lakes import SetLake
from set_queries import SetQuery
from set_statistics import PARTS, hash_of, hashes_of, in_part

TUNED_ROWS = 8_192  # rows of a row group; by default 122,880
TUNED_VALUES = 10_000
JOIN = """
    SELECT "column", count(*) AS matched FROM postings JOIN query USING (hash)
    GROUP BY "column" ORDER BY matched DESC, "column" LIMIT {k}
"""


def make_duckdb(lake: SetLake) -> Path:
    """Writes the lake's pairs into a database file, sorted by hash, unless it is there."""
    path = lake.folder / "pairs.duckdb"
    if not path.exists():
        with _making(path) as connection:
            connection.execute('CREATE TABLE made.postings (hash UBIGINT, "column" UINTEGER)')
            for hashes, columns in _sorted_pairs(lake):
                part = pa.table({"hash": hashes, "column": columns})  # noqa: F841 (in the SQL)
                connection.execute("INSERT INTO made.postings SELECT * FROM part")
    return path


def make_tuned_duckdb(lake: SetLake) -> Path:
    """The same table in smaller row groups, so that a few values leave most of it unread."""
    path = lake.folder / "pairs-tuned.duckdb"
    if not path.exists():
        source = make_duckdb(lake)
        with _making(path, f"(ROW_GROUP_SIZE {TUNED_ROWS})") as connection:
            connection.execute(f"ATTACH '{source}' AS source (READ_ONLY)")
            connection.execute("CREATE TABLE made.postings AS SELECT * FROM source.postings")
    return path


@contextmanager
def _making(path: Path, options: str = "") -> Iterator[duckdb.DuckDBPyConnection]:
    partial = path.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1; SET memory_limit = '3GB'")
        connection.execute(f"ATTACH '{partial}' AS made {options}")
        yield connection
        connection.execute("CHECKPOINT made")
    partial.rename(path)


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
    """DuckDB on one thread. Tuned, it also hands up to `TUNED_VALUES` values down to the scan as a
    filter, so that zone maps leave row groups unread; by default it does so up to 50.
    """

    path: Path
    tuned: bool = False
    _connection: duckdb.DuckDBPyConnection = field(init=False)

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        """Opens the database file afresh, with an empty buffer pool."""
        self._connection = duckdb.connect(str(self.path), read_only=True)
        self._connection.execute("SET threads = 1; SET memory_limit = '4GB'")
        if self.tuned:
            self._connection.execute(f"SET dynamic_or_filter_threshold = {TUNED_VALUES}")

    def close(self) -> None:
        """Lets the file go."""
        self._connection.close()

    def search(self, query: SetQuery, k: int) -> Array:
        """The k highest scores, falling."""
        hashes = pa.table({"hash": hashes_of(query.tokens)})
        self._connection.register("query", hashes)
        found = self._connection.execute(JOIN.format(k=k)).fetchnumpy()
        return np.asarray(found["matched"], dtype=np.int64)


class PythonPeer:
    """`SetSimilaritySearch.SearchIndex` by containment.

    It searches by threshold and has no top k, so it is told the k-th score in advance, which a
    user would not know. It is pure Python, and holds everything in memory.
    """

    def __init__(self, lake: SetLake) -> None:
        from SetSimilaritySearch import SearchIndex

        start = time.perf_counter()
        sets = []
        for one, postings in zip(lake.segments(), lake.postings(), strict=True):
            tokens = one.array("tokens")
            sets += [tokens[postings.codes_of(c)].tolist() for c in range(one.column_count)]
        self.index = SearchIndex(sets, "containment", 0.5)
        self.seconds = time.perf_counter() - start

    def search(self, query: SetQuery, k: int, known: int) -> Array:
        """The k highest scores, falling; `known` is the k-th of them."""
        self.index.similarity_threshold = (known - 0.5) / query.size
        found = self.index.query(query.tokens.tolist())
        scores = np.sort([round(share * query.size) for _, share in found])[::-1]
        return scores[:k].astype(np.int64)
