"""The other parts of `search_containment`: schemes, strings, a million columns."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from containment_data import Sets, generated, sample, sketch_sets, truth
from containment_engines import Indexed, Ours, sketched
from containment_plots import plot_errors
from lakejoin.engines.containment.engine import LshEnsemble
from lakejoin.model import Array
from lakejoin.store.sketches import SCHEMES, SketchOptions

_SIZES = (5, 10, 20, 50, 100, 200, 500, 1_000, 5_000)
_PAIRS = 400


# -- schemes -----------------------------------------------------------------------------------


def jaccard_error(scheme: str, places: int, size: int, rng: np.random.Generator) -> float:
    """The root of the mean squared error of the share of places that agree, two sets of `size`
    values that are half alike."""
    shared = round(2 * size / 3)
    union = 2 * size - shared
    values = rng.integers(0, 1 << 64, (_PAIRS, union), dtype=np.uint64)
    both = np.concatenate([values[:, :size], values[:, -size:]], axis=1)
    out = np.empty((2 * _PAIRS, places), dtype=np.uint32)
    sketch_sets(np.arange(2 * _PAIRS + 1) * size, both.reshape(-1), SCHEMES[scheme], out)
    agree = (out[0::2] == out[1::2]).mean(axis=1)
    return float(np.sqrt(np.mean((agree - shared / union) ** 2)))


def schemes(lakes: Sequence[tuple[str, Sets]], each: int, plots: Path) -> dict[str, Any]:
    """Error by set size, time by lake, precision and recall at three thresholds."""
    from search_containment import measure

    rows, errors = [], {}
    rng = np.random.default_rng(5)
    print(f"{'':30}" + "".join(f"{s:>8,}" for s in _SIZES) + "  root mean square error")
    for places in (128, 256):
        for scheme in SCHEMES:
            found = [jaccard_error(scheme, places, size, rng) for size in _SIZES]
            errors[f"{scheme} {places}"] = found
            print(f"{scheme + ' ' + str(places):30}" + "".join(f"{e:8.4f}" for e in found))
    lakes = [*lakes, ("web-table", generated("web-table", 3_000_000))]
    for name, sets in lakes:
        queries = sample(sets, 1_000 if name != "web-table" else 100, each)
        right = truth(sets, queries)
        for places in (128, 256):
            for scheme in SCHEMES:
                signatures, _ = sketched(sets, scheme, places)
                seconds = min(sketched(sets, scheme, places)[1] for _ in range(2))
                made = Indexed(sets, signatures, SketchOptions(places, scheme=scheme))
                row: dict[str, Any] = {"lake": name, "scheme": scheme, "permutations": places}
                row["million_values_per_second"] = len(sets.values) / seconds / 1e6
                row["index_seconds"] = made.seconds
                row["bytes_per_column"] = made.bytes / len(sets)
                for threshold in (0.2, 0.5, 0.8):
                    engine = Ours(made, LshEnsemble(threshold))
                    measure(engine, queries, right, threshold)
                    row[str(threshold)] = measure(engine, queries, right, threshold)
                rows.append(row)
                print(
                    f"{name:10} {scheme:16} {places} {row['million_values_per_second']:7.1f} M/s, "
                    f"{row['bytes_per_column']:.0f} bytes a column; "
                    + "; ".join(
                        f"{t}: {row[t]['precision']:.3f}/{row[t]['recall']:.3f} "
                        f"{row[t]['micros']:.0f} us"
                        for t in ("0.2", "0.5", "0.8")
                    )
                )
    plot_errors(_SIZES, errors, plots)
    return {"sizes": _SIZES, "errors": errors, "rows": rows}


# -- strings -----------------------------------------------------------------------------------


def strings(data: Path, cells: float, places: int) -> dict[str, Any]:
    """Signatures of the columns of a generated lake, from their texts."""
    os.environ["RAYON_NUM_THREADS"] = "1"  # rensa would take all cores
    from datasketch import MinHash
    from rensa import RMinHash

    from kernel_group import pairs_of
    from lakejoin.kernels.hashes import hash_strings
    from lakejoin.model import string_buffers
    from lakes import generate

    lake = generate(data / f"open-data-{cells:g}", int(cells * 1e6), "open-data")
    texts, start = pairs_of(lake.folder)
    begin = np.concatenate(([0], np.cumsum(np.diff(start)[np.diff(start) > 0])))

    def ours(scheme: str) -> Callable[[], object]:
        def run() -> object:
            offsets, raw = string_buffers(texts)
            hashes = np.empty(len(texts), dtype=np.uint64)
            hash_strings(offsets, raw, np.uint64(0), hashes)
            out = np.empty((len(begin) - 1, places), dtype=np.uint32)
            sketch_sets(begin, hashes, SCHEMES[scheme], out)
            return out

        return run

    as_text = texts.to_pylist()
    sets = [as_text[a:b] for a, b in itertools.pairwise(begin.tolist())]
    as_bytes = [[text.encode() for text in one] for one in sets]
    some = as_bytes[:: max(1, len(as_bytes) // 400)]  # datasketch would take minutes for all
    runs: dict[str, tuple[Callable[[], object], int]] = {
        f"lakejoin {scheme}": (ours(scheme), len(texts)) for scheme in SCHEMES
    }
    runs["rensa"] = (
        lambda: RMinHash.digest_matrix_from_token_sets(sets, places, 1),
        len(texts),
    )
    runs["rensa rho"] = (
        lambda: RMinHash.digest_matrix_from_token_sets_rho(sets, places, 1),
        len(texts),
    )
    runs["datasketch bulk"] = (
        lambda: MinHash.bulk(some, num_perm=places),
        sum(map(len, some)),
    )
    rates = {}
    for name, (run, values) in runs.items():
        run()
        best = min(_cpu(run) for _ in range(3))
        rates[name] = values / best / 1e6
        print(f"{name:28} {rates[name]:8.2f} M values/s")
    fast = rates["lakejoin fast"]
    print(
        f"lakejoin fast is {fast / rates['datasketch bulk']:.0f} x datasketch, "
        f"{fast / rates['rensa']:.1f} x rensa, {fast / rates['rensa rho']:.1f} x rensa rho"
    )
    return {"values": len(texts), "columns": len(sets), "million_values_per_second": rates}


def _cpu(run: Callable[[], object]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


# -- a million columns -------------------------------------------------------------------------


def drawn_signatures(columns: int, places: int, family: int) -> tuple[Array, Array]:
    """Signatures and sizes of columns that are all different, in families (Zipfian in size, at
    most `family`) whose members agree at a random share of the places with one of them."""
    rng = np.random.default_rng(3)
    members = np.minimum(rng.zipf(1.6, columns), family)
    owner = np.repeat(np.arange(columns), members)[:columns]
    original = rng.integers(0, 1 << 32, (int(owner[-1]) + 1, places), dtype=np.uint32)
    out = original[owner]
    for begin in range(0, columns, 100_000):
        part = out[begin : begin + 100_000]
        other = rng.random(part.shape) > rng.random((len(part), 1))
        part[other] = rng.integers(0, 1 << 32, int(other.sum()), dtype=np.uint32)
    sizes = np.minimum(10 * (1 - rng.random(columns)) ** (-1 / 1.1), 5e6).astype(np.int64)
    return out, sizes


def million(columns: int, places: int) -> dict[str, Any]:
    """A query over very many columns: web tables, and columns that are all different."""
    from lakejoin.engines.containment.engine import SketchedQuery

    result: dict[str, Any] = {"columns": columns}
    web = generated("web-table", int(11.1 * columns))
    signatures, seconds = sketched(web, "fast", places)
    result["web-table"] = _timed("web tables", web, signatures, places)
    result["web-table"]["sketch_seconds"] = seconds
    drawn, sizes = drawn_signatures(columns, places, 100)

    class Drawn(SketchedQuery):
        def __init__(self, number: int) -> None:
            super().__init__(np.empty(0, dtype=np.uint64))
            self.size, self._number = int(sizes[number]), number

        def signature(self, scheme: str, places: int) -> Array:
            return drawn[self._number]

    start = np.concatenate(([0], np.cumsum(sizes)))
    none = Sets(start, np.empty(0, dtype=np.uint64))
    result["different"] = _timed("all different", none, drawn, places, Drawn)
    return result


def _timed(
    name: str, sets: Sets, signatures: Array, places: int, make: Any = None
) -> dict[str, Any]:
    Indexed(sets, signatures, SketchOptions(places))
    made = Indexed(sets, signatures, SketchOptions(places))
    rng = np.random.default_rng(1)
    fit = np.flatnonzero((sets.sizes >= 10) & (sets.sizes < 1_000))
    queries = rng.choice(fit, 1_000, replace=False).tolist()
    if make is not None:
        made._made.update({q: make(q) for q in queries})
    result: dict[str, Any] = {
        "columns": len(sets),
        "different": made.sketches.classes,
        "index_seconds": made.seconds,
        "bytes_per_column": made.bytes / len(sets),
    }
    print(
        f"{name}: {len(sets):,} columns, {result['different']:,} different; index "
        f"{made.seconds:.2f} s, {result['bytes_per_column']:.0f} bytes a column"
    )
    for threshold in (0.3, 0.5, 0.7, 0.9):
        engine = Ours(made, replace(LshEnsemble(), min=threshold))
        for query in queries:  # checksums of what is read first, and bands
            engine.find(query)
        each = []
        for query in queries:
            begin = time.process_time()
            found = engine.find(query)
            each.append((time.process_time() - begin, len(found)))
        taken, count = np.array(each).T
        result[str(threshold)] = {
            "mean_micros": 1e6 * taken.mean(),
            "median_micros": 1e6 * np.median(taken),
            "p90_micros": 1e6 * np.percentile(taken, 90),
            "found": count.mean(),
        }
        print(
            f"  t = {threshold}: {1e6 * taken.mean():.0f} us a query (median "
            f"{1e6 * np.median(taken):.0f}, 90 % {1e6 * np.percentile(taken, 90):.0f}), "
            f"{count.mean():.0f} columns found"
        )
    return result
