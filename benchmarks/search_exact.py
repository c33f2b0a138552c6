"""How fast are the k columns that share the most values found, exactly?

    python benchmarks/search_exact.py [--sizes 15 50 150] [--repeats 5] [--quick] [--data DIR]

Generated lakes like the thesis's Open Data and Web Tables (see `set_lakes`), and a real one. Our
algorithms (the early-stopping merge, which is `auto`; MergeList over distinct lists, ProbeSet and
JOSIE) against DuckDB over the same inverted table and, on the smallest lakes, against
SetSimilaritySearch. CPU time on one thread; all must give the same scores, or the run ends.

Queries are columns in the lake, sampled by size as in thesis 3.5.2. Both sides get a query as
numbers (codes, hashes): finding the codes of texts in the dictionaries is timed apart.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import harness
from peer_sets import PythonPeer
from plot_exact import plot
from search_contenders import OURS, Contender, SetSimilarity, ducks, ours
from search_report import TARGET_PAIRS, against, reading, table, targets, times, times_table
from search_timing import Timings, again, cold, measure
from set_dictionaries import look_up
from set_lakes import SetLake, generate_sets
from set_queries import BANDS, band_name, sample
from set_real import real_sets

HERE = Path(__file__).parent
IMAGES = HERE.parent / "docs" / "img"
REAL = HERE.parent.parent / "shared" / "data" / "lake"
SMALLEST = 1.5  # million pairs: as much as SetSimilaritySearch manages in a reasonable time
NAMES = (*OURS, "DuckDB", "DuckDB tuned", "SetSimilaritySearch")


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured: queries a band, values of k, repeats; of the peers, and cold ones."""

    queries: int
    ks: tuple[int, ...]
    repeats: int
    peer_every: int
    peer_repeats: int
    cold: int
    algorithms: tuple[str, ...] = OURS
    peers: bool = True


def run(lake: SetLake, effort: Effort, python_peer: bool) -> tuple[Timings, dict[str, Any]]:
    """Measures one lake; returns the times and what is recorded of them."""
    print(f"\n{lake.kind}: {lake.statistics.describe(lake.kind)}", flush=True)
    queries = sample(lake, effort.queries)
    timings = Timings(queries)
    mine = ours(lake, effort.algorithms)
    measure(timings, mine, effort.ks, effort.repeats)
    print(f" {len(queries)} queries, our algorithms measured; now the peers", flush=True)
    peers = ducks(lake) if effort.peers else []
    measure(timings, peers, [10], effort.peer_repeats, effort.peer_every)
    found: dict[str, Any] = {"lake": lake.kind, "statistics": asdict(lake.statistics)}
    found["index_bytes"] = sum(file.stat().st_size for file in lake.files())
    if python_peer and effort.peers:
        peer = PythonPeer(lake)
        known = {(id(q), 10): int(s[-1]) for q, s in zip(queries, timings.scores[10], strict=True)}
        measure(timings, [SetSimilarity("SetSimilaritySearch", peer, known)], [10], 1)
        found["set_similarity_search_index_seconds"] = peer.seconds
    print(" peers measured; now single queries again, look-ups and a cold cache", flush=True)
    by_name = {one.name: one for one in mine}
    found["times"] = times(timings, lake.kind, NAMES, effort.ks)
    found["against"] = {name: against(timings, lake.kind, "auto", name, 10) for name in NAMES[1:]}
    found["reading"] = reading(timings, lake.kind, effort.algorithms, 10)
    found |= beside_merge(timings, by_name, effort)
    found["points"] = points(timings)
    found["look_up_ms"] = look_up_ms(lake, timings, min(3, effort.repeats))
    found["cold"] = cold_rows(timings, [*mine, *peers], effort, lake.kind)
    return timings, found


def beside_merge(
    timings: Timings, contenders: dict[str, Contender], effort: Effort
) -> dict[str, Any]:
    """How much is gained over MergeList at k = 10, and on which query of any k the least."""
    auto, merge = timings.of("auto", 10), timings.of("merge", 10)
    gain = {
        "of_totals": float(merge.sum() / auto.sum()),
        "median": float(np.median(merge / auto)),
    }
    worst: dict[str, Any] = {"ratio": 0.0}
    spread = {}
    for k in effort.ks:
        ratio = again(timings, contenders["auto"], contenders["merge"], k, 1.1)
        i = int(ratio.argmax())
        spread[str(k)] = [float(v) for v in np.percentile(ratio, [0, 25, 50, 75, 95, 100])]
        if ratio[i] > worst["ratio"]:
            worst = {
                "ratio": float(ratio[i]),
                "k": k,
                "size": timings.queries[i].size,
                "ms": 1e3 * float(timings.of("auto", k)[i]),
            }
    return {"merge_gain": gain, "worst": worst, "ratio_percentiles": spread}


def cold_rows(
    timings: Timings, contenders: list[Contender], effort: Effort, kind: str
) -> list[dict[str, Any]]:
    """Means of the first answers after opening with nothing in the page cache, k = 10."""
    rows = []
    for one in contenders:
        one.close()
    for band, edges in enumerate(BANDS[kind]):
        here = timings.in_band(band)
        chosen = [timings.queries[i] for i in here[:: max(1, len(here) // effort.cold)]]
        for one in contenders if chosen else []:
            taken = cold(one, chosen[: effort.cold], 10)
            rows.append({"band": band_name(edges), "name": one.name, **asdict(taken)})
    return rows


def points(timings: Timings) -> dict[str, Any]:
    """What the plots show, query by query: sizes, and CPU milliseconds at k = 10."""
    taken = {
        name: [None if np.isnan(t) else round(1e3 * float(t), 4) for t in timings.of(name, 10)]
        for name in NAMES
        if (name, 10) in timings.cpu
    }
    return {"size": [q.size for q in timings.queries], "ms": taken}


def look_up_ms(lake: SetLake, timings: Timings, repeats: int) -> dict[str, float]:
    """Mean CPU milliseconds by band to find the codes of a query's texts in all segments."""
    taken = 1e3 * look_up(lake, list(timings.queries), repeats)
    return {
        band_name(edges): round(float(taken[timings.in_band(band)].mean()), 4)
        for band, edges in enumerate(BANDS[lake.kind])
        if len(timings.in_band(band))
    }


def show(found: dict[str, Any]) -> None:
    """Prints one lake's figures."""
    print("\n mean CPU milliseconds")
    print(times_table(found["times"], NAMES))
    print("\n how many times slower than auto, k = 10: of totals / median / least")
    for name, rows in found["against"].items():
        said = [
            f"{r['band']}: {r['of_totals']:,.2f} / {r['median']:,.2f} / {r['least']:,.2f}"
            for r in rows
        ]
        print(f"  {name:20} " + "   ".join(said))
    print("\n what was read, means, k = 10")
    keys = ("lists", "lists_read", "postings", "postings_read", "candidates", "sets_read", "bytes")
    rows = [
        [row["band"], row["name"], *(row.get(key, "-") for key in keys), _chosen(row)]
        for row in found["reading"]
    ]
    print(table([["values", "algorithm", *keys, "segments by algorithm"], *rows]))
    print("\n first answer with a cold cache, means, k = 10")
    cold_table = [list(row.values()) for row in found["cold"]]
    head = ["values", "who", "ms to open", "ms to answer", "CPU ms to answer", "MB from disk"]
    print(table([head, *cold_table]))
    print("\n not in the times above: finding the codes of the texts, mean CPU ms")
    print("  " + "   ".join(f"{band}: {ms}" for band, ms in found["look_up_ms"].items()))
    if found["statistics"]["pairs"] >= TARGET_PAIRS:
        print("\n targets")
        for said, met in targets(found["lake"], found):
            print(f"  {'pass' if met else 'FAIL'}  {said}")


def _chosen(row: dict[str, Any]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in row["algorithms"].items())


def main() -> None:
    """Measures all lakes, prints, records and plots."""
    parser = argparse.ArgumentParser(description="Exact search against its peers.")
    parser.add_argument("--sizes", type=float, nargs="+", default=[SMALLEST, 15, 50, 150])
    parser.add_argument("--kinds", nargs="+", default=["open-data", "web-table", "real"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--queries", type=int, default=40, help="a band")
    parser.add_argument("--quick", action="store_true", help="the smallest lakes, once")
    parser.add_argument("--data", type=Path, default=HERE / "data", help="where lakes are kept")
    parser.add_argument("--real", type=Path, default=REAL, help="a folder of real tables")
    parser.add_argument("--out", type=Path, help="where to append the figures")
    parser.add_argument("--algorithms", nargs="+", default=list(OURS), help="auto and merge too")
    parser.add_argument("--peer-every", type=int, default=4, help="the peers get each n-th query")
    parser.add_argument("--cold", type=int, default=5, help="cold queries a band")
    parser.add_argument("--no-peers", action="store_true", help="our algorithms only")
    options = parser.parse_args()
    effort = Effort(
        options.queries, (5, 10, 20), options.repeats, options.peer_every, 1, options.cold
    )
    sizes = options.sizes
    if options.quick:
        effort, sizes = Effort(10, (10,), 1, 1, 1, 2), [SMALLEST]
    chosen = tuple(name for name in OURS if name in {"auto", "merge", *options.algorithms})
    effort = replace(effort, algorithms=chosen, peers=not options.no_peers)
    for kind in options.kinds:
        if kind == "real":
            run_real(options.real, options.data, effort, options.out)
            continue
        for size in sizes:
            folder = options.data / f"sets-{kind}-{size:g}"
            lake = generate_sets(folder, int(size * 1e6), kind)
            timings, found = run(lake, effort, python_peer=size == SMALLEST)
            show(found)
            harness.record("search_exact", found, options.out)
            if lake.statistics.pairs >= TARGET_PAIRS:  # the size that the docs show
                pairs = f"{lake.statistics.pairs / 1e6:.0f} million pairs"
                title = f"Exact top k, {kind} lake, {pairs}, warm"
                plot(timings, kind, title, effort.ks, IMAGES / f"search-exact-{kind}.svg")


def run_real(folder: Path, data: Path, effort: Effort, out: Path | None) -> None:
    """Measures the real lake, if it is there."""
    if not folder.is_dir():
        print(f"\nreal lake skipped: there is no folder {folder}")
        return
    lake = real_sets(folder, data / "sets-real")
    timings, found = run(lake, effort, python_peer=False)
    show(found)
    harness.record("search_exact", found, out)
    if len(effort.ks) > 1:
        title = f"Exact top k, real lake, {lake.statistics.pairs / 1e6:.1f} million pairs, warm"
        plot(timings, "real", title, effort.ks, IMAGES / "search-exact-real.svg")


if __name__ == "__main__":
    main()
