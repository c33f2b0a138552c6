"""Everyone who answers a query in `search_exact.py`: our algorithms and the peers."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import published.probe_set  # noqa: F401 (adds "probe")
from lakejoin.engines.overlap import OverlapIndex
from lakejoin.model import Array
from peer_sets import DuckPeer, PythonPeer, make_duckdb, make_tuned_duckdb
from set_lakes import SetLake
from set_queries import SetQuery

OURS = ("auto", "merge", "probe", "josie")


class Contender(Protocol):
    """One who answers queries; `counters` say what was read for the last answer."""

    name: str
    counters: Any

    def search(self, query: SetQuery, k: int) -> Array:
        """The k highest scores, falling."""

    def files(self) -> list[Path]:
        """The files that it reads."""

    def open(self) -> None:
        """Opens its files."""

    def close(self) -> None:
        """Lets its files go."""


@dataclass(slots=True)
class Ours:
    """One of our algorithms."""

    name: str
    lake: SetLake
    counters: Any = None
    _index: OverlapIndex | None = None

    def search(self, query: SetQuery, k: int) -> Array:
        """The k highest scores, falling."""
        assert self._index is not None
        hits = self._index.search(query.codes, k, self.name)
        self.counters = hits.counters
        return hits.matched

    def files(self) -> list[Path]:
        """The postings."""
        return self.lake.files()

    def open(self) -> None:
        """Maps the postings."""
        self._index = OverlapIndex(self.lake.postings())

    def close(self) -> None:
        """Lets its files go."""
        self._index = None
        gc.collect()


@dataclass(slots=True)
class Duck:
    """DuckDB, as it is or tuned."""

    name: str
    peer: DuckPeer
    counters: Any = None

    def search(self, query: SetQuery, k: int) -> Array:
        """The k highest scores, falling."""
        return self.peer.search(query, k)

    def files(self) -> list[Path]:
        """The database file."""
        return [self.peer.path]

    def open(self) -> None:
        """Opens it with an empty buffer pool."""
        self.peer.open()

    def close(self) -> None:
        """Lets its file go."""
        self.peer.close()


@dataclass(slots=True)
class SetSimilarity:
    """SetSimilaritySearch, told the k-th score; it holds its index in memory."""

    name: str
    peer: PythonPeer
    known: dict[tuple[int, int], int]  # by the query's identity and k
    counters: Any = None

    def search(self, query: SetQuery, k: int) -> Array:
        """The k highest scores, falling."""
        return self.peer.search(query, k, self.known[id(query), k])

    def files(self) -> list[Path]:
        """It has none."""
        return []

    def open(self) -> None:
        """It has no files."""

    def close(self) -> None:
        """It has no files."""


def ours(lake: SetLake, algorithms: Sequence[str]) -> list[Contender]:
    """Our algorithms over one lake, opened."""
    made = [Ours(name, lake) for name in algorithms]
    for one in made:
        one.open()
    return list(made)


def ducks(lake: SetLake) -> list[Contender]:
    """DuckDB over the same lake, as it is and tuned."""
    return [
        Duck("DuckDB", DuckPeer(make_duckdb(lake))),
        Duck("DuckDB tuned", DuckPeer(make_tuned_duckdb(lake), tuned=True)),
    ]
