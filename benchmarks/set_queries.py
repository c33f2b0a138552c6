"""Queries for a lake of sets: columns in the lake itself, sampled by size as in thesis 3.5.2.

A band of sizes has ten intervals of equal width, and each gives equally many queries, where the
lake has them. As in the thesis, the values that count for the size are those that some other column
holds too. Everything is drawn from one seed and kept in `queries-N.npz` beside the lake.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit

from lakejoin.model import Array
from set_lakes import NOWHERE, SetLake

BANDS = {
    "open-data": ((10, 1_000), (1_000, 10_000), (10_000, 100_000)),
    "web-table": ((10, 100), (100, 1_000), (1_000, 5_000)),
    "real": ((10, 1_000), (1_000, 10_000), (10_000, 100_000)),
}
INTERVALS = 10
_TRIED = 400  # columns looked at for every query wanted, before an interval is left short


@dataclass(frozen=True, slots=True, eq=False)
class SetQuery:
    """One query: a column in the lake, its tokens, and their codes in every segment."""

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
        np.savez(kept, **_with_codes(lake, _choose(lake, each, seed)))
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


def _choose(lake: SetLake, each: int, seed: int) -> list[tuple[int, int, int, int, Array]]:
    """(band, segment, column, shared size, tokens) of every query."""
    random = np.random.default_rng(seed)
    seen = _occurrences(lake)
    segments, postings = lake.segments(), lake.postings()
    size = np.concatenate([one.array("set_size") for one in segments])
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
                tokens = segments[segment].array("tokens")[postings[segment].codes_of(local)]
                shared = int((seen[tokens] > 1).sum())
                if edges[interval] <= shared < edges[interval + 1]:
                    chosen.append((band, segment, local, shared, np.sort(tokens)))
                    left[interval] -= 1
    return chosen


def _occurrences(lake: SetLake) -> Array:
    """In how many columns in the lake each token stands: none, one, or two and more."""
    seen = np.zeros(_most(lake) + 1, dtype=np.uint8)
    for one in lake.segments():
        _mark(one.array("group_start"), one.array("list_start"), one.array("tokens"), seen)
    return seen


def _most(lake: SetLake) -> int:
    return max(int(one.array("tokens").max()) for one in lake.segments())


@njit(cache=True)
def _mark(group_start: Array, list_start: Array, tokens: Array, seen: Array) -> None:
    for g in range(group_start.shape[0] - 1):
        length = list_start[g + 1] - list_start[g]
        for code in range(group_start[g], group_start[g + 1]):
            seen[tokens[code]] = min(2, seen[tokens[code]] + length)


def _with_codes(lake: SetLake, chosen: list[tuple[int, int, int, int, Array]]) -> dict[str, Array]:
    band, segment, column, shared, tokens = (list(part) for part in zip(*chosen, strict=True))
    codes: list[list[Array]] = [[] for _ in chosen]
    wanted = np.unique(np.concatenate(tokens))
    at = [np.searchsorted(wanted, mine) for mine in tokens]
    is_wanted = np.zeros(_most(lake) + 1, dtype=bool)
    is_wanted[wanted] = True
    for one in lake.segments():
        here = one.array("tokens")
        code = np.flatnonzero(is_wanted[here]).astype(np.uint32)
        code_of = np.full(len(wanted), NOWHERE, dtype=np.uint32)
        code_of[np.searchsorted(wanted, here[code])] = code
        for q, places in enumerate(at):
            found = code_of[places]
            codes[q].append(np.sort(found[found != NOWHERE]))
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
