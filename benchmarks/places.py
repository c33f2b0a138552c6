"""How fast are columns of places and of numbers found that lie near mine, on one core?

    python benchmarks/places.py [--sets 200 600 2000] [--size 5500] [--queries 1000 5500]
        [--taus 2 4 6 8] [--min 0.6] [--repeats 3] [--numbers 1000] [--out FILE]

Places: a made-up city of 40 km with sixty busy spots and a fifth of everything spread out, as taxi
rides are. A set has about `--size` places, half of the sets from the whole city and half from some
of its quarters, so that some sets join and some do not. A query is drawn from the whole city. `tau`
is in percent of the city's extent; wanted are the sets where at least `--min` of my places have a
partner. Peers: one scipy cKDTree a set, of unit vectors, made before (`query` for a nearest partner
within reach; `count_neighbors` for pairs), and numpy (products of unit vectors, on a few sets, told
for all). All give the same answer, which is checked.

Numbers: sets of 10,000 prices and counts, a query of 2,000, within 0.1 %. Peer: a range join in
DuckDB, on one thread.

Figures are CPU seconds on one thread, the median of the repeats.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from harness import alternate, median_run, record
from lakejoin.model import Array

EXTENT = 40_000.0  # metres
_CENTRE, _DEGREES = np.array([40.75, -73.95]), np.array([0.36, 0.475])
_SPOTS = 60
_BY_NUMPY = 3  # sets
_SHARE = 0.001


class City:
    """Draws places, to the sixth decimal."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._spots = _CENTRE + (self._random.random((_SPOTS, 2)) - 0.5) * _DEGREES
        self._busy = self._random.dirichlet(np.full(_SPOTS, 0.5))

    def places(self, count: int, quarter: bool = False) -> Array:
        """Distinct places of the whole city, or of the spots around one."""
        random, busy = self._random, self._busy
        if quarter:
            around = self._spots[random.integers(_SPOTS)]
            near = np.hypot(*((self._spots - around) / _DEGREES).T) < 0.35
            busy = (busy * near + 1e-9 * near) / (busy * near + 1e-9 * near).sum()
        spots = self._spots[random.choice(_SPOTS, count, p=busy)]
        found = spots + random.normal(size=(count, 2)) * _DEGREES * 0.02
        if not quarter:
            spread = random.random(count) < 0.2
            anywhere = random.random((int(spread.sum()), 2)) - 0.5
            found[spread] = _CENTRE + anywhere * _DEGREES
        return np.unique(np.round(found, 6), axis=0)

    def set_of(self, size: int) -> Array:
        """A set of about so many."""
        count = int(self._random.integers(size // 2, size * 3 // 2 + 1))
        return self.places(max(1, count), quarter=bool(self._random.random() < 0.5))


def opened(kind: str, sets: list[Array], folder: Path) -> Any:
    """The sets as a segment of an index keeps them."""
    from lakejoin.locations import Location
    from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
    from lakejoin.store.point_detection import PointSet, distinct_points
    from lakejoin.store.point_sets import PointSets, PointsWriter

    place = Location.of(folder) / f"{kind}-{len(sets)}.lj"
    with ArrayFileWriter(place) as out:
        writer = PointsWriter(out)
        for i, points in enumerate(sets):
            distinct = distinct_points(points, np.ones(len(points), dtype=np.int64))
            writer.add(PointSet(kind, (2 * i, 2 * i + 1)[: points.shape[1]], *distinct))
        writer.finish()
    found = PointSets(ArrayFile(place, out.record))
    found.pool.all()
    return found


def timed(work: Callable[[], dict[int, int]]) -> Callable[[], dict[str, Any]]:
    """Runs it once, in CPU seconds of this process."""

    def once() -> dict[str, Any]:
        begin = time.process_time()
        answer = work()
        return {"seconds": time.process_time() - begin, "answer": answer}

    return once


def measured(runs: dict[str, Callable[[], dict[int, int]]], repeats: int) -> dict[str, float]:
    """The median seconds of each; all must give the same answer, as far as they give one."""
    found = alternate({name: timed(run) for name, run in runs.items()}, repeats)
    first = next(iter(found.values()))[0]["answer"]
    for name, each in found.items():
        for run in each:
            if any(first.get(s) != n for s, n in run["answer"].items()):
                raise SystemExit(f"{name} gives another answer")
    return {name: median_run(each)["seconds"] for name, each in found.items()}


# -- places --------------------------------------------------------------------------------------


def unit(places: Array) -> Array:
    """Places as unit vectors."""
    lat, lon = np.radians(places).T
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)


class PlacesBench:
    """Sets of places, and trees of them."""

    def __init__(self, sets: int, size: int, folder: Path, seed: int = 1) -> None:
        from scipy.spatial import cKDTree  # type: ignore[import-untyped, unused-ignore]

        from lakejoin.engines.distance import PointSetSearch

        self.city = City(seed)
        self.points = opened("place", [self.city.set_of(size) for _ in range(sets)], folder)
        self.engine = PointSetSearch([self.points])
        begin = time.process_time()
        self.trees = [cKDTree(unit(self.points.points(s))) for s in range(sets)]
        self.tree_seconds = time.process_time() - begin
        self.bytes = len(self.points.pool) / int(self.points.sizes.sum())

    def figures(self, query: int, tau: float, share: float, repeats: int) -> dict[str, Any]:
        """Seconds of each contender for hits and for pairs, and how many sets were found."""
        from scipy.spatial import cKDTree

        from lakejoin.store.distance_limits import DistanceLimit, haversine_limit

        mine = self.city.places(query)
        metres = tau / 100 * EXTENT
        within, least = DistanceLimit(metres, "m"), math.ceil(share * len(mine))
        chord = 2 * math.sqrt(haversine_limit(within))  # to the same micrometre
        vectors = unit(mine)

        def ours(counted: bool) -> dict[int, int]:
            found = self.engine.search(mine, "place", within, least=least, counted=counted)
            score = found.pairs if counted else found.matched
            return dict(zip(found.column.tolist(), score.tolist(), strict=True))

        def trees() -> dict[int, int]:
            hits = {}
            for s, tree in enumerate(self.trees):
                far, _ = tree.query(vectors, distance_upper_bound=chord)
                hits[s] = int(np.isfinite(far).sum())
            return {s: n for s, n in hits.items() if n >= least}

        def by_numpy() -> dict[int, int]:
            hits = {}
            for s in range(min(_BY_NUMPY, len(self.trees))):
                near = vectors @ unit(self.points.points(s)).T >= 1 - chord * chord / 2
                hits[s] = int(near.any(axis=1).sum())
            return {s: n for s, n in hits.items() if n >= least}

        hits = measured({"ours": lambda: ours(False), "trees": trees}, repeats)
        some = measured({"ours": lambda: ours(False), "numpy": by_numpy}, 1)
        hits["numpy"] = some["numpy"] * len(self.trees) / min(_BY_NUMPY, len(self.trees))
        qualified = ours(False)

        def tree_pairs() -> dict[int, int]:
            my_tree = cKDTree(vectors)
            for tree in self.trees:  # first which sets qualify, then their pairs
                tree.query(vectors, distance_upper_bound=chord)
            return {s: int(self.trees[s].count_neighbors(my_tree, chord)) for s in qualified}

        pairs = measured({"ours": lambda: ours(True), "trees": tree_pairs}, 1)
        return {"found": len(qualified), "hits": hits, "pairs": pairs}


def places(arguments: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """All sizes, queries and radii."""
    found = []
    for sets in arguments.sets:
        bench = PlacesBench(sets, arguments.size, folder)
        bench.figures(10, 1.0, arguments.min, 1)  # compiles
        print(
            f"\n{sets:,} sets of about {arguments.size:,} places, {bench.bytes:.1f} bytes each; "
            f"trees made in {bench.tree_seconds:.1f} s"
        )
        print(
            "  query   tau  found   ours ms  trees ms  ratio  numpy ms  ratio | pairs: ours ratio"
        )
        for query in arguments.queries:
            for tau in arguments.taus:
                one = bench.figures(query, tau, arguments.min, arguments.repeats)
                hits, pairs = one["hits"], one["pairs"]
                print(
                    f"{query:7,} {tau:4g} % {one['found']:6,} {1e3 * hits['ours']:9.1f} "
                    f"{1e3 * hits['trees']:9.0f} {hits['trees'] / hits['ours']:6.1f} "
                    f"{1e3 * hits['numpy']:9.0f} {hits['numpy'] / hits['ours']:6.0f} | "
                    f"{1e3 * pairs['ours']:11.0f} {pairs['trees'] / pairs['ours']:5.1f}"
                )
                found.append({"sets": sets, "query": query, "tau": tau / 100, **one})
    return found


# -- numbers -------------------------------------------------------------------------------------


def numbers(sets: int, repeats: int, folder: Path) -> dict[str, Any]:
    """Ours against a range join."""
    import duckdb
    import pyarrow as pa

    from lakejoin.engines.distance import DistanceLimit, PointSetSearch
    from lakejoin.store.distance_limits import number_ranges

    random = np.random.default_rng(3)
    drawn = []
    for i in range(sets):
        values = np.exp(random.normal(3 + i % 5, 1.5, 10_000))
        drawn.append(np.unique(np.round(values, 2 if i % 2 else 0))[:, None])
    points = opened("number", drawn, folder)
    engine = PointSetSearch([points])
    mine = np.unique(np.round(np.exp(random.normal(4, 1.5, 2000)), 2))
    within, least = DistanceLimit(_SHARE, "share"), math.ceil(0.6 * len(mine))
    low, high = number_ranges(mine, within)
    lake = pa.table({
        "s": np.repeat(np.arange(sets), points.sizes),
        "v": np.concatenate([points.points(s)[:, 0] for s in range(sets)]),
    })  # fmt: skip
    query = pa.table({"q": np.arange(len(mine)), "low": low, "high": high})
    database = duckdb.connect()
    database.execute("SET threads = 1")
    for name, table in (("lake", lake), ("query", query)):
        database.register(f"{name}_arrow", table)
        database.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_arrow")

    def ours() -> dict[int, int]:
        found = engine.search(mine, "number", within, least=least, counted=False)
        return dict(zip(found.column.tolist(), found.matched.tolist(), strict=True))

    def joined() -> dict[int, int]:
        rows = database.execute(
            "SELECT s, count(DISTINCT q) AS n FROM lake JOIN query ON v BETWEEN low AND high "
            f"GROUP BY s HAVING n >= {least}"
        ).fetchall()
        return dict(rows)

    ours()  # compiles
    found = measured({"ours": ours, "duckdb": joined}, repeats)
    size = int(points.sizes.sum())
    print(
        f"\n{sets:,} sets with {size:,} numbers, {len(points.pool) / size:.1f} bytes each; "
        f"ours {1e3 * found['ours']:.1f} ms, DuckDB {1e3 * found['duckdb']:.0f} ms "
        f"({found['duckdb'] / found['ours']:.0f} times), {len(ours())} found"
    )
    return {"sets": sets, "numbers": size, "found": len(ours()), **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--sets", type=int, nargs="*", default=[200, 600, 2000])
    parser.add_argument("--size", type=int, default=5500)
    parser.add_argument("--queries", type=int, nargs="*", default=[1000, 5500])
    parser.add_argument("--taus", type=float, nargs="*", default=[2, 4, 6, 8])
    parser.add_argument("--min", type=float, default=0.6)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--numbers", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = {
            "size": arguments.size,
            "min": arguments.min,
            "places": places(arguments, Path(folder)),
            "numbers": numbers(arguments.numbers, arguments.repeats, Path(folder)),
        }
    print(f"\nkept in {record('places', figures, arguments.out).name}")


if __name__ == "__main__":
    main()
