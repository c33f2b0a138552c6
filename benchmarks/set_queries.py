"""Queries for a lake of sets: columns of the lake itself, sampled by size as in thesis 3.5.2.

A band of sizes has ten intervals of equal width, and each gives equally many queries, where the
lake has them. As in the thesis, the values that count for the size are those that some other column
holds too. Everything is drawn from one seed and kept in `queries-N.npz` beside the lake.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from lakejoin.store.postings import Postings
from set_lakes import NOWHERE, SetLake

Array = np.ndarray[Any, Any]

BANDS = {
    "open-data": ((10, 1_000), (1_000, 10_000), (10_000, 100_000)),
    "web-table": ((10, 100), (100, 1_000), (1_000, 5_000)),
}
INTERVALS = 10
_TRIED = 400  # columns looked at for every query wanted, before an interval is left short


@dataclass(frozen=True, slots=True, eq=False)
class SetQuery:
    """One query: a column of the lake, its tokens, and their codes in every segment."""

    band: int
    size: int  # distinct values
    shared: int  # of them, those that another column holds too
    home: tuple[int, int]  # segment, column
    tokens: Array
    codes: list[Array]  # by segment, ascending, only those that it has


def band_name(band: tuple[int, int]) -> str:
    """A band as tables show it.

    >>> band_name((10, 1_000)), band_name((10_000, 100_000))
    ('10-1k', '10k-100k')
    """
    return "-".join(f"{n // 1000}k" if n >= 1000 else str(n) for n in band)


def sample(lake: SetLake, each: int, seed: int = 1) -> list[SetQuery]:
    """About `each` queries of every band, drawn once and then kept."""
    kept = lake.folder / f"queries-{each}.npz"
    if not kept.exists():
        postings = lake.postings()
        chosen = _choose(lake, postings, each, seed)
        np.savez(kept, **_with_codes(lake, postings, chosen))
    return load(kept)


def load(path: Path) -> list[SetQuery]:
    """Reads the queries that `sample` kept."""
    with np.load(path) as file:
        kept = {name: file[name] for name in file.files}
    token = kept["token_start"]
    code = kept["code_start"]  # queries x (segments + 1)
    queries = []
    for q in range(len(kept["band"])):
        codes = [
            kept["codes"][code[q, s] : code[q, s + 1]].copy() for s in range(code.shape[1] - 1)
        ]
        tokens = kept["tokens"][token[q] : token[q + 1]].copy()
        home = (int(kept["home_segment"][q]), int(kept["home_column"][q]))
        band, shared = int(kept["band"][q]), int(kept["shared"][q])
        queries.append(SetQuery(band, len(tokens), shared, home, tokens, codes))
    return queries


def _choose(
    lake: SetLake, postings: list[Postings], each: int, seed: int
) -> list[tuple[int, int, int, int, Array]]:
    """(band, segment, column, shared size, tokens) of every query."""
    random = np.random.default_rng(seed)
    frequency = _frequencies(lake, postings)
    size = np.concatenate([p.set_sizes() for p in postings]).astype(np.int64)
    chosen = []
    per_interval = max(1, each // INTERVALS)
    for band, (low, high) in enumerate(BANDS[lake.kind]):
        edges = np.linspace(low, high, INTERVALS + 1)
        left = [per_interval] * INTERVALS
        for interval in range(INTERVALS):
            fit = np.flatnonzero((size >= edges[interval]) & (size < 2 * edges[interval + 1]))
            tried = random.permutation(fit)[: _TRIED * per_interval]
            for column in tried.tolist():
                if not left[interval]:
                    break
                segment = int(np.searchsorted(lake.column_base, column, side="right")) - 1
                local = column - lake.column_base[segment]
                tokens = lake.tokens(segment)[postings[segment].codes_of(local)]
                shared = int((frequency[tokens] > 1).sum())
                if edges[interval] <= shared < edges[interval + 1]:
                    chosen.append((band, segment, local, shared, np.sort(tokens)))
                    left[interval] -= 1
    return chosen


def _frequencies(lake: SetLake, postings: list[Postings]) -> Array:
    """In how many columns of the lake each token stands."""
    most = max(int(lake.tokens(s).max()) for s in range(len(postings)))
    frequency = np.zeros(most + 1, dtype=np.uint32)
    for s, one in enumerate(postings):
        length = list_lengths(one)
        codes = np.diff(one.group_start().astype(np.int64))
        np.add.at(frequency, lake.tokens(s), np.repeat(length, codes))
    return frequency


def list_lengths(postings: Postings) -> Array:
    """The length of every group's posting list."""
    return _lengths(postings._list_start.all(), postings._lists.all())


@njit(cache=True)
def _lengths(start: Array, packed: Array) -> Array:
    out = np.zeros(start.shape[0] - 1, dtype=np.uint32)
    for g in range(start.shape[0] - 1):
        for i in range(start[g], start[g + 1]):
            out[g] += packed[i] < 128
    return out


def _with_codes(
    lake: SetLake, postings: list[Postings], chosen: list[tuple[int, int, int, int, Array]]
) -> dict[str, Array]:
    band, segment, column, shared, tokens = (list(part) for part in zip(*chosen, strict=True))
    codes: list[list[Array]] = [[] for _ in chosen]
    most = max(int(lake.tokens(s).max()) for s in range(len(postings)))
    code_of = np.full(most + 1, NOWHERE, dtype=np.uint32)
    for s in range(len(postings)):
        here = lake.tokens(s)
        code_of[here] = np.arange(len(here), dtype=np.uint32)
        for q, mine in enumerate(tokens):
            found = code_of[mine]
            codes[q].append(np.sort(found[found != NOWHERE]))
        code_of[here] = NOWHERE
    length = np.array([[len(part) for part in parts] for parts in codes])
    ends = np.cumsum(length).reshape(length.shape)
    starts = np.concatenate([np.concatenate([[0], ends[:-1, -1]])[:, None], ends], axis=1)
    return {
        "band": np.array(band),
        "home_segment": np.array(segment),
        "home_column": np.array(column),
        "shared": np.array(shared),
        "token_start": np.concatenate([[0], np.cumsum([len(t) for t in tokens])]),
        "tokens": np.concatenate(tokens),
        "code_start": starts,
        "codes": np.concatenate([part for parts in codes for part in parts]),
    }
