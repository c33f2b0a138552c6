"""How fast are columns of vectors found that lie near mine? The second PEXESO paper's experiments.

    python benchmarks/vector_columns.py [--kinds taxi logo words syn] [--size 0.1] [--queries 3]
        [--metrics l2 l1 angular] [--taus 2 4 6 8] [--shares 0.2 0.4 0.6 0.8] [--repeats 3]
        [--only NAME ...] [--out FILE]

Sets like the paper's (its table IV), `--size` times as many, made with a seed:

- taxi: 10,000 sets of 5,500 places in two dimensions, most around busy spots;
- logo: 2,000 sets of 1,000 vectors of nine numbers (colours), around 194 centres, ten to a set;
- words: 400 sets of 1,000 vectors of fifty numbers: those of the words that the wheel wordllama
  knows, if it is installed, each set from about a topic; else made-up ones of the same spectrum;
- syn: 10,000 sets of 10,000 vectors of twenty numbers, normal around centres drawn evenly.

A query is a set of its own. tau is a share of the largest distance (of the box of all vectors; pi
for angles), 6 % unless it varies, and T of what is counted: the query's vectors with a match (hit)
or all pairs (all), 60 % unless it varies. Half of the sets are around all centres, half around
some. Contenders: ours; a scan by blocked products, which is what lakejoin did before it kept
vectors in compact form; the paper's groups with its dominance and without (`published/`), in memory
and in single precision; one scipy cKDTree for each set. All must find the same columns with the
same counts. CPU seconds on one thread, the median of the repeats.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

# One thread: said before numpy is imported.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from harness import alternate, median_run, record
from lakejoin.errors import LakejoinError
from lakejoin.model import Array
from places import opened

# Sets, vectors in a set, and dimension.
SHAPES = {"taxi": (10_000, 5_500, 2), "logo": (2_000, 1_000, 9), "words": (400, 1_000, 50)}
SHAPES |= {"syn": (10_000, 10_000, 20)}
_CENTRES = {"taxi": 60, "logo": 194, "words": 40, "syn": 1_000}
_OF_A_SET = {"taxi": 30, "logo": 10, "words": 2, "syn": 20}  # how many centres a set is around
_SPREAD = {"taxi": 0.02, "logo": 0.04, "syn": 0.03}


class Sets:
    """Draws sets of one kind."""

    def __init__(self, kind: str, seed: int = 7) -> None:
        self.kind, self.random = kind, np.random.default_rng(seed)
        _, self.size, self.dimension = SHAPES[kind]
        self.words = _words(self.dimension) if kind == "words" else np.zeros((0, 0))
        if kind == "words":
            centres = self.words[self.random.choice(len(self.words), _CENTRES[kind])]
            self.near = np.argsort(-(self.words @ centres.T), axis=0)[:20_000].T
        else:
            self.centres = self.random.random((_CENTRES[kind], self.dimension))

    def draw(self) -> Array:
        """One set, in single precision."""
        random, kind = self.random, self.kind
        count = int(random.integers(int(self.size * 0.8), int(self.size * 1.2) + 1))
        every = random.random() < 0.5
        chosen = random.choice(
            _CENTRES[kind], _CENTRES[kind] if every else _OF_A_SET[kind], replace=False
        )
        of = random.choice(chosen, count)
        if kind == "words":
            some = self.near[of, random.integers(self.near.shape[1], size=count)]
            found = self.words[np.unique(some)]
        else:
            found = self.centres[of] + random.normal(size=(count, self.dimension)) * _SPREAD[kind]
        return np.unique(found.astype(np.float32), axis=0).astype(np.float64)


def _words(dimension: int) -> Array:
    """Vectors of words: the first dimensions of those in the wheel, else made-up ones."""
    try:
        from lakejoin.encoders.wordllama import open_words

        vectors = open_words(64).table[:, :dimension]
    except LakejoinError:
        falling = 1 / np.sqrt(np.arange(1, dimension + 1))
        vectors = np.random.default_rng(1).normal(size=(100_000, dimension)) * falling
    return vectors[vectors.any(axis=1)]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: a query's vectors, metric, limit, what is counted and how much is enough."""

    query: Array
    metric: str
    limit: float
    measure: str
    share: float


Counts = dict[int, int]


class VectorColumns:
    """Sets of vectors, in an index file and as the contenders need them."""

    def __init__(self, kind: str, size: float, folder: Path, queries: int) -> None:
        from lakejoin.engines.distance import PointSetSearch

        sets = max(int(SHAPES[kind][0] * size), 10)
        drawn = Sets(kind)
        self.kind = kind
        self.queries = [drawn.draw() for _ in range(queries)]
        self.vectors = [drawn.draw() for _ in range(sets)]
        begin = time.process_time()
        self.points = opened("vector", self.vectors, folder)
        self.built = time.process_time() - begin
        self.engine = PointSetSearch([self.points])
        self.vectors = [self.points.points(s) for s in range(sets)]
        everything = np.stack([each for s in self.vectors for each in (s.min(0), s.max(0))])
        self.box = np.ptp(everything, axis=0)
        self.rows = sum(map(len, self.vectors))

    def limit(self, metric: str, tau: float) -> float:
        if metric == "angular":
            return tau * float(np.pi)
        return tau * float(self.box.sum() if metric == "l1" else np.sqrt((self.box**2).sum()))

    def least(self, asked: Asked, vectors: int) -> int:
        whole = len(asked.query) * (vectors if asked.measure == "all" else 1)
        return max(int(np.ceil(asked.share * whole)), 1)

    def ours(self, asked: Asked) -> Counts:
        from lakejoin.engines.distance import DistanceLimit

        # A share of all pairs depends on the set, so the smallest set's is asked of all.
        least = self.least(asked, min(map(len, self.vectors)))
        found = self.engine.search(
            asked.query, "vector", DistanceLimit(asked.limit), asked.metric,
            measure=asked.measure, least=least, counted=False,
        )  # fmt: skip
        counts = found.pairs if asked.measure == "all" else found.matched
        return dict(zip(found.column.tolist(), counts.tolist(), strict=True))

    def scan(self, asked: Asked) -> Counts:
        with scanning():
            return self.ours(asked)

    def trees(self) -> Callable[[Asked], Counts]:
        from scipy.spatial import cKDTree  # type: ignore[import-untyped, unused-ignore]

        made: dict[bool, list[Any]] = {}

        def search(asked: Asked) -> Counts:
            angular = asked.metric == "angular"
            if angular not in made:
                made[angular] = [cKDTree(unit(v) if angular else v) for v in self.vectors]
            query = unit(asked.query) if angular else asked.query
            reach = 2 * np.sin(asked.limit / 2) if angular else asked.limit
            power, mine, found = (1 if asked.metric == "l1" else 2), cKDTree(query), {}
            for s, tree in enumerate(made[angular]):
                if asked.measure == "all":
                    count = int(tree.count_neighbors(mine, reach * (1 + 1e-9), p=power))
                else:
                    far, _ = tree.query(query, p=power, distance_upper_bound=reach * (1 + 1e-9))
                    count = int(np.isfinite(far).sum())
                if count >= self.least(asked, min(map(len, self.vectors))):
                    found[s] = count
            return found

        search(Asked(self.queries[0][:1], "l2", 0.0, "hit", 1.0))  # made before it is timed
        return search

    def groups(self, dominance: bool) -> Callable[[Asked], Counts]:
        from published.groups import GroupMethod, GroupOptions
        from published.loaded import Loaded

        methods: dict[bool, Any] = {}
        sizes = np.array([len(s) for s in self.vectors])
        of = np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes)

        def method(angular: bool) -> Any:
            if angular not in methods:
                every = np.concatenate(self.vectors)
                every = (unit(every) if angular else every).astype(np.float32)
                ids = np.arange(len(every))
                loaded = Loaded(every, ids, ids, np.ones_like(ids), of, len(sizes), not angular)
                options = GroupOptions(dominance=dominance)
                methods[angular] = GroupMethod(loaded, "angular" if angular else "l2", options)
            return methods[angular]

        def search(asked: Asked) -> Counts:
            least = self.least(asked, int(sizes.min()))
            angular = asked.metric == "angular"
            query = unit(asked.query) if angular else asked.query
            counts = method(angular).counts(
                query, asked.limit, asked.measure, least, np.ones(len(sizes), np.bool_)
            )
            found = np.flatnonzero(counts >= least)
            return dict(zip(found.tolist(), counts[found].tolist(), strict=True))

        return search


def unit(vectors: Array) -> Array:
    return vectors / np.sqrt((vectors * vectors).sum(axis=1))[:, None]


@contextmanager
def scanning() -> Iterator[None]:
    """Searches as lakejoin did before: no compact form, no boxes."""
    from lakejoin.engines.distance import vector_distance
    from lakejoin.store.point_sets import PointSets

    few, indexed = vector_distance.FEW_DIMENSIONS, PointSets.indexed
    vector_distance.FEW_DIMENSIONS = 0
    PointSets.indexed = lambda *_: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        vector_distance.FEW_DIMENSIONS = few
        PointSets.indexed = indexed  # type: ignore[method-assign]


def compared(
    bench: VectorColumns, contenders: dict[str, Any], asked: list[Asked], repeats: int
) -> dict[str, float]:
    """The median CPU seconds of all questions; counts of a column may differ only in a contender of
    single precision, by pairs at the very limit."""

    def timed(search: Callable[[Asked], Counts]) -> Callable[[], dict[str, Any]]:
        def once() -> dict[str, Any]:
            begin = time.process_time()
            answers = [search(one) for one in asked]
            return {"seconds": time.process_time() - begin, "answers": answers}

        return once

    found = alternate({name: timed(run) for name, run in contenders.items()}, repeats)
    ours = found["ours"][0]["answers"]
    for name, runs in found.items():
        for answers in (run["answers"] for run in runs):
            for one, other in zip(ours, answers, strict=True):
                off = sum(one.get(s, 0) != other.get(s, 0) for s in one.keys() | other.keys())
                if off > (0.02 * len(one) + 1 if name.startswith("groups") else 0):
                    raise SystemExit(f"{name} gives another answer for {off} of {len(one)} columns")
    return {name: median_run(runs)["seconds"] / len(asked) for name, runs in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="near columns of vectors, ours and others")
    parser.add_argument("--kinds", nargs="*", default=list(SHAPES))
    parser.add_argument("--size", type=float, default=0.1)
    parser.add_argument("--queries", type=int, default=3)
    parser.add_argument("--metrics", nargs="*", default=["l2", "l1", "angular"])
    parser.add_argument("--taus", type=float, nargs="*", default=[2, 4, 6, 8])
    parser.add_argument("--shares", type=float, nargs="*", default=[0.2, 0.4, 0.6, 0.8])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], help="these contenders beside ours")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    for kind in arguments.kinds:
        run_kind(kind, arguments)


def run_kind(kind: str, arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = VectorColumns(kind, arguments.size, Path(folder), arguments.queries)
    made = {"scan": lambda: bench.scan, "trees": bench.trees}
    made["groups"] = lambda: bench.groups(True)
    made["groups, no dominance"] = lambda: bench.groups(False)
    wanted = {name: make for name, make in made.items() if name in (arguments.only or made)}
    contenders = {"ours": bench.ours, **{name: make() for name, make in wanted.items()}}
    for setting in settings(kind, arguments):
        able = {
            name: run
            for name, run in contenders.items()
            if not (name.startswith("groups") and setting.metric == "l1")
        }
        limit = bench.limit(setting.metric, setting.tau / 100)
        asked = [
            Asked(query, setting.metric, limit, setting.measure, setting.share)
            for query in bench.queries
        ]
        seconds = compared(bench, able, asked, arguments.repeats)
        figures = {"kind": kind, "sets": len(bench.vectors), "vectors": bench.rows}
        figures |= {**asdict(setting), "columns": len(bench.ours(asked[0]))}
        figures |= {"built": bench.built, "seconds": seconds}
        print({**figures, "seconds": {n: round(s, 4) for n, s in seconds.items()}}, flush=True)
        record("vector_columns", figures, arguments.out)


@dataclass(frozen=True, slots=True)
class Setting:
    metric: str = "l2"
    tau: float = 6.0
    measure: str = "hit"
    share: float = 0.6


def settings(kind: str, arguments: argparse.Namespace) -> list[Setting]:
    """One thing varies at a time."""
    found = [Setting(), Setting(measure="all", share=0.02)]
    # Places and colours have no direction.
    metrics = [m for m in arguments.metrics if m != "angular" or kind not in ("taxi", "logo")]
    found += [Setting(metric=metric) for metric in metrics]
    found += [Setting(tau=tau) for tau in arguments.taus]
    found += [Setting(share=share) for share in arguments.shares]
    return list(dict.fromkeys(found))


if __name__ == "__main__":
    main()
