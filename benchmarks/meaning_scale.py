"""Columns by meaning among millions of values: how long, how much memory, and what is missed?

    python benchmarks/meaning_scale.py INDEX [--values 1 3] [--queries 100 1000] [--repeats 3]
        [--room MB] [--out FILE]

INDEX is any index made with --with meaning. Its texts are recombined, with a seed, to as many
million distinct values as asked for: the first half of one text with the second half of another.
The index file of their vectors is written once and mapped. For each query value (of the index's own
texts, slightly changed) wanted are the 128 values with the largest products, by words and by
characters, which is how a search by meaning finds columns. Contenders:

- ours: the leaves whose centres are likeliest;
- exact: all leaves, as before there were centres;
- faiss flat and faiss ivf (4 * root lists, a fiftieth probed), on the same vectors in memory.

A search asks for 64 of the query's values at most, so a thousand take as long as a hundred; figures
are for all that are asked for here. Recall is the share of the exact answer's pairs that are found.
CPU seconds on one thread, medians. `--room` limits the memory that may be used beside what is
mapped and runs ours alone: the index may then be larger than the memory.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# One thread: said before numpy is imported.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import pyarrow as pa

from harness import alternate, high_water, median_run, record
from lakejoin.model import Array

LEAST = 0.3  # products of unrelated texts are below
_BATCH = 200_000
Pairs = tuple[Array, Array]


def read_texts(index: Path) -> list[str]:
    """The distinct texts of an index."""
    import lakejoin

    found: dict[str, None] = {}
    for segment in lakejoin.open(str(index)).snapshot.segments:
        texts = segment.dictionary.texts.take(segment.meaning.codes.all())
        found |= dict.fromkeys(texts.to_pylist())
    return list(found)


class Recombined:
    """A source of vectors of recombined texts; nothing is kept but their parts."""

    def __init__(self, texts: list[str], count: int) -> None:
        from lakejoin.encoders import open_encoder

        self.texts, self.count, self.encoder = texts, count, open_encoder()
        random = np.random.default_rng(11)
        own = min(len(texts), count)
        first = np.concatenate([np.arange(own), random.integers(len(texts), size=count - own)])
        last = np.concatenate([np.arange(own), random.integers(len(texts), size=count - own)])
        self.parts = np.stack([first, last]).astype(np.int32)
        self.dimension = self.encoder.dimension

    def take(self, ids: Array) -> Array:
        halves = [self._half(at) for at in self.parts[:, ids].T.tolist()]
        return np.asarray(self.encoder.encode(pa.array(halves, pa.large_string())), np.float32)

    def _half(self, at: list[int]) -> str:
        if at[0] == at[1]:
            return self.texts[at[0]]
        first, last = self.texts[at[0]].split(), self.texts[at[1]].split()
        return " ".join([*first[: max(1, len(first) // 2)], *last[len(last) // 2 :]])


def written(source: Any, folder: Path) -> Any:
    """The compact form, written and mapped again, and the CPU seconds that took."""
    from lakejoin.locations import Location
    from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
    from lakejoin.store.compact_vectors import CompactVectors, write_compact_vectors

    place, begin = Location.of(folder) / "compact.lj", time.process_time()
    with ArrayFileWriter(place) as out:
        write_compact_vectors(source, out)
    return CompactVectors.open(ArrayFile(place, out.record)), time.process_time() - begin


def by_part(vectors: Array) -> list[Array]:
    """The query's words alone and its characters alone, at length 1."""
    half, found = vectors.shape[1] // 2, []
    for part in (slice(0, half), slice(half, None)):
        alone = np.zeros_like(vectors)
        alone[:, part] = vectors[:, part]
        found.append(alone / np.maximum(np.linalg.norm(alone, axis=1), 1e-9)[:, None])
    return found


def ours(compact: Any, queries: Array) -> Pairs:
    from lakejoin.engines.meaning.near_columns import find_near_values

    return find_near_values(compact, queries, LEAST)


def exact(compact: Any, queries: Array) -> Pairs:
    """As before: all leaves are read."""
    from lakejoin.engines.meaning import near_columns

    kept, near_columns._WORTH = near_columns._WORTH, 10**9
    try:
        return ours(compact, queries)
    finally:
        near_columns._WORTH = kept


def peers(source: Recombined) -> dict[str, Callable[[Any, Array], Pairs]]:
    """FAISS on whole vectors, made before anything is timed."""
    try:
        import faiss  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return {}
    faiss.omp_set_num_threads(1)
    lists = int(4 * np.sqrt(source.count))
    flat = faiss.IndexFlatIP(source.dimension)
    for begin in range(0, source.count, _BATCH):
        flat.add(source.take(np.arange(begin, min(begin + _BATCH, source.count))))
    whole = flat.reconstruct_n(0, source.count)
    ivf = faiss.IndexIVFFlat(
        faiss.IndexFlatIP(source.dimension), source.dimension, lists, faiss.METRIC_INNER_PRODUCT
    )
    ivf.train(whole[:: max(1, source.count // (40 * lists))])
    ivf.add(whole)
    ivf.nprobe = max(1, lists // 50)

    def search(index: Any) -> Callable[[Any, Array], Pairs]:
        def once(_: Any, queries: Array) -> Pairs:
            products, ids = index.search(queries, 128)
            query, rank = np.nonzero((products >= LEAST) & (ids >= 0))
            return query, ids[query, rank]

        return once

    return {"faiss flat": search(flat), "faiss ivf": search(ivf)}


def recall(answer: list[Pairs], known: list[Pairs]) -> float:
    found = total = 0
    for (query, ids), (others, theirs) in zip(answer, known, strict=True):
        right = set(zip(others.tolist(), theirs.tolist(), strict=True))
        found += len(right & set(zip(query.tolist(), ids.tolist(), strict=True)))
        total += len(right)
    return found / max(total, 1)


def measured(
    compact: Any, contenders: dict[str, Callable[[Any, Array], Pairs]], queries: Array, repeats: int
) -> dict[str, dict[str, float]]:
    """Median CPU seconds and recall of each contender."""

    def timed(search: Callable[[Any, Array], Pairs]) -> Callable[[], dict[str, Any]]:
        def once() -> dict[str, Any]:
            begin = time.process_time()
            answers = [search(compact, part) for part in by_part(queries)]
            return {"seconds": time.process_time() - begin, "answers": answers}

        return once

    runs = alternate({name: timed(search) for name, search in contenders.items()}, repeats)
    figures: dict[str, dict[str, float]] = {}
    for name, each in runs.items():
        # Whole vectors and compact ones order what is nearly equal differently, so each kind is
        # held against the complete answer of its own.
        truth = "faiss flat" if name.startswith("faiss") else "exact"
        found = recall(each[0]["answers"], runs.get(truth, each)[0]["answers"])
        figures[name] = {
            "seconds": round(median_run(each)["seconds"], 4),
            "recall": round(found, 4),
        }
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description="columns by meaning among millions of values")
    parser.add_argument("index", type=Path)
    parser.add_argument("--values", type=float, nargs="*", default=[1, 3], help="millions")
    parser.add_argument("--queries", type=int, nargs="*", default=[100, 1000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--room", type=int, help="MB of memory beside what is mapped; ours alone")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    texts = read_texts(arguments.index)
    for millions in arguments.values:
        source = Recombined(texts, int(millions * 1e6))
        with tempfile.TemporaryDirectory() as folder:
            compact, built = written(source, Path(folder))
            contenders: dict[str, Callable[[Any, Array], Pairs]] = {"ours": ours}
            if arguments.room is None:
                contenders["exact"] = exact
                contenders |= peers(source) if arguments.peers else {}
            else:
                room = arguments.room << 20
                resource.setrlimit(resource.RLIMIT_DATA, (room, room))
            for asked in arguments.queries:
                chosen = np.random.default_rng(5).choice(min(len(texts), source.count), asked)
                changed = [texts[at][:-1] + "e" for at in chosen.tolist()]
                queries = source.encoder.encode(pa.array(changed, pa.large_string()))
                figures = {"values": source.count, "queries": asked, "built": round(built, 1)}
                figures |= {"bytes": Path(folder, "compact.lj").stat().st_size}
                found = measured(compact, contenders, queries, arguments.repeats)
                figures |= {"contenders": found, "room": arguments.room}
                figures |= {"peak": high_water(os.getpid())}
                print(figures, flush=True)
                record("meaning_scale", figures, arguments.out)


if __name__ == "__main__":
    main()
