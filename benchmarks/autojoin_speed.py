"""How long does it take to find out how two tables join, and how much memory?

    python benchmarks/autojoin_speed.py [--sizes 100,1000,...] [--peer-python PATH] [--plot]

Publications like DBLP's, whose target is the concatenation of authors, title and year (thesis,
section 4.7.4): the whole of `lakejoin.join`, columns not told, with its stages; autofj and all
pairs by rapidfuzz beside it, told the columns. Pairing rows alone against `skrub.fuzzy_join` at
10,000 rows each. And the web pairs of the thesis (`--data` names their folder) against autofj.

Each contender runs in a process of its own that is watched from outside, warm (what is compiled is
compiled), several times, in turns; medians count. A contender that would take longer than `--limit`
seconds is cut, and larger sizes are left out. rapidfuzz compares a part of the rows where all would
take too long, and is scaled up; the output says so. `--peer-python` names a Python that has autofj
(see `autojoin_autofj.py`).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import autojoin_cases
from autojoin_cases import Case
from autojoin_dblp import publications
from autojoin_peers import autofj, skrub_join
from harness import high_water, median_run, mega, python, record, run_watched
from search_report import table

HERE = Path(__file__).parent
DATA = Path(os.environ.get("LAKEJOIN_TEST_DATA") or HERE.parents[1] / "shared" / "data")
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
AIMS = {100: 2.0, 1_000: 2.0, 10_000: 2.0, 1_000_000: 10.0}  # seconds
PAIRING_AIM, WEB_AIM = 15, 100  # times faster
PAIRS = 10_000_000  # that rapidfuzz compares at most


class Stages:
    """Measures the elapsed and CPU time of every stage that it is notified of."""

    def __init__(self) -> None:
        self.cpu = time.process_time()
        self.marks = [("starting", time.perf_counter())]

    def __call__(self, doing: str) -> None:
        self.marks.append((doing, time.perf_counter()))

    def figures(self) -> dict[str, Any]:
        ends = [when for _, when in self.marks[1:]] + [time.perf_counter()]
        stages = {doing: end - when for (doing, when), end in zip(self.marks, ends, strict=True)}
        cpu = time.process_time() - self.cpu
        return {"seconds": sum(stages.values()), "cpu": cpu, "stages": stages}


def joined(rows: int, repeats: int) -> dict[str, Any]:
    """lakejoin on publications: seconds in all and of each stage, and whether all rows join."""
    import lakejoin

    lakejoin.join(*publications(200, seed=1)[:2]).pairs()  # compiles
    source, target, order = publications(rows)
    before = high_water()
    runs = []
    for _ in range(repeats):
        stages = Stages()
        join = lakejoin.join(source, target, progress=stages)
        stages("making the pairs of rows")
        pairs = join.pairs()
        runs.append(stages.figures())
    right = int((order[pairs["right_row"].to_numpy()] == pairs["left_row"].to_numpy()).sum())
    run = sorted(runs, key=lambda one: one["seconds"])[(len(runs) - 1) // 2]
    return {
        **run,
        "right": right / rows,
        "wrong": len(pairs) - right,
        "words": [step.words for step in join.steps],
        "data": source.nbytes + target.nbytes,
        "before": before,
        "peak": high_water(),
    }


def all_pairs(rows: int, repeats: int) -> dict[str, Any]:
    """rapidfuzz: every publication with every one, on all cores."""
    from rapidfuzz import fuzz, process

    source, target, _ = publications(rows)
    columns = [column.to_pylist() for column in source.columns]
    asked = [" ".join(row) for row in zip(*columns, strict=True)]
    keys = target["publication"].to_pylist()
    part = asked[: max(1, PAIRS // rows)]
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        process.cdist(part, keys, scorer=fuzz.ratio, workers=-1).argmax(axis=1)
        seconds.append(time.perf_counter() - begin)
    times = len(asked) / len(part)
    return {"seconds": statistics.median(seconds) * times, "scaled": times, "peak": high_water()}


def pairing(rows: int, repeats: int) -> dict[str, Any]:
    """Pairing rows of two columns: ours and skrub's, in turns."""
    import pyarrow as pa

    from lakejoin.joins.learned.row_samples import RowPair, RowPairer, distinct_texts

    def find_row_pairs(source: pa.Array, target: pa.Array) -> list[RowPair]:
        return RowPairer([distinct_texts(source)], distinct_texts(target)).of_column(0, rows)

    source, target, order = publications(rows)
    title, whole = source["title"].combine_chunks(), target["publication"].combine_chunks()
    asked, keys = title.to_pylist(), whole.to_pylist()
    find_row_pairs(title[:100], whole[:100])  # loads the library
    if importlib.util.find_spec("skrub"):
        skrub_join(asked[:100], keys[:100])
    found: dict[str, Any] = {"lakejoin": [], "skrub": []}
    for _ in range(repeats):
        begin = time.perf_counter()
        ours = find_row_pairs(pa.array(asked), pa.array(keys))
        found["lakejoin"].append(time.perf_counter() - begin)
        if importlib.util.find_spec("skrub"):
            begin = time.perf_counter()
            best, _ = skrub_join(asked, keys)
            found["skrub"].append(time.perf_counter() - begin)
    result = {name: statistics.median(taken) for name, taken in found.items() if taken}
    result["right"] = sum(order[pair.target] == pair.source for pair in ours) / rows
    result["pairs"] = len(ours)
    if found["skrub"]:
        result["skrub_right"] = float((order[best] == range(rows)).mean())
    return {**result, "seconds": result["lakejoin"]}


def web(data: Path, repeats: int, peer: Path | None, limit: float) -> dict[str, Any]:
    """All web pairs: ours as it comes, autofj told the columns, one pair after the other."""
    import lakejoin

    def ours(case: Case) -> dict[str, float]:
        begin, cpu = time.perf_counter(), time.process_time()
        lakejoin.join(case.left, case.right).pairs()
        return {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - cpu}

    cases = list(autojoin_cases.web(data))
    ours(next(iter(autojoin_cases.synthetic(200))))  # compiles
    found: dict[str, Any] = {"lakejoin": {}, "autofj": {}}
    for case in cases:
        found["lakejoin"][case.name] = median_run(ours(case) for _ in range(repeats))
        if peer is not None:
            said = autofj(case, peer, limit)
            found["autofj"][case.name] = {
                "seconds": said.get("seconds", limit),
                "cpu": said.get("cpu", limit),
            }
            found["versions"] = said.get("versions", found.get("versions"))
    return found


def publications_case(rows: int) -> Case:
    """Publications as a case, for a peer."""
    source, target, order = publications(rows)
    true: autojoin_cases.Pairs = {(int(i), j) for j, i in enumerate(order)}
    columns = tuple(source.column_names)
    return Case(
        "publications", source, target, range(rows), range(rows), true, columns, ("publication",)
    )


CHILDREN: dict[str, Callable[[int, int], dict[str, Any]]] = {
    "lakejoin": joined,
    "rapidfuzz": all_pairs,
    "pairing": pairing,
}


def child(name: str, rows: int, repeats: int) -> dict[str, Any]:
    """One contender at one size, in a process of its own."""
    script = Path(__file__)
    asked = ("--child", name, "--sizes", rows, "--repeats", repeats)
    said, watch = run_watched(python(script, *asked))
    return {**said, "peak": max(said.get("peak", 0), watch.peak_together)}


def growth(sizes: list[int], repeats: int, peer: Path | None, limit: float) -> dict[str, Any]:
    """All contenders at every size that they can do within the limit."""
    found: dict[str, Any] = {"lakejoin": {}, "rapidfuzz": {}, "autofj": {}}
    peers = {"autofj": peer is not None, "rapidfuzz": bool(importlib.util.find_spec("rapidfuzz"))}
    for name, there in peers.items():
        if not there:
            print(f"without {name}: not there")
    for rows in sizes:
        found["lakejoin"][rows] = child("lakejoin", rows, repeats)
        if peers["rapidfuzz"]:
            found["rapidfuzz"][rows] = child("rapidfuzz", rows, min(repeats, 3))
        if peers["autofj"] and peer is not None:
            said = autofj(publications_case(rows), peer, limit)
            found["autofj"][rows] = said
            peers["autofj"] = "seconds" in said
        print(line(rows, found), flush=True)
    return found


def line(rows: int, found: dict[str, Any]) -> str:
    """What a size took, in one line."""
    ours = found["lakejoin"][rows]
    aim = AIMS.get(rows)
    verdict = (
        "" if aim is None else f" (aim {aim:g}: {'met' if ours['seconds'] < aim else 'missed'})"
    )
    memory = f"{mega(ours['before'])} before, the tables {mega(ours['data'])}"
    parts = [
        f"{rows:,} rows: lakejoin {ours['seconds']:.2f} s{verdict}, CPU {ours['cpu']:.2f} s,"
        f" {mega(ours['peak'])} at most ({memory}),"
        f" {ours['right']:.1%} right, {ours['wrong']} wrong"
    ]
    parts += [f"    {doing}: {seconds:.2f} s" for doing, seconds in ours["stages"].items()]
    if theirs := found["rapidfuzz"].get(rows):
        said = f", scaled {theirs['scaled']:g} times" if theirs["scaled"] > 1 else ""
        ratio = theirs["seconds"] / ours["seconds"]
        parts.append(f"    rapidfuzz all pairs {theirs['seconds']:.2f} s{said}: {ratio:,.1f} times")
    if theirs := found["autofj"].get(rows):
        if "failed" in theirs:
            parts.append(f"    autofj failed: {theirs['failed']}")
        else:
            seconds = theirs.get("seconds", theirs.get("cut"))
            over = "over " if "cut" in theirs else ""
            ratio = seconds / ours["seconds"]
            parts.append(f"    autofj {over}{seconds:.1f} s: {over}{ratio:,.0f} times")
    return "\n".join(parts)


def report_pairing(found: dict[str, Any], rows: int) -> str:
    head = f"pairing rows, {rows:,} x {rows:,}: lakejoin {found['lakejoin']:.3f} s"
    head += f" ({found['pairs']:,} pairs, {found['right']:.1%} of the rows right)"
    if "skrub" not in found:
        return f"{head}; skrub is not installed"
    ratio = found["skrub"] / found["lakejoin"]
    verdict = "met" if ratio >= PAIRING_AIM else "missed"
    right = f"{found['skrub_right']:.1%} right"
    said = f"{head}, skrub {found['skrub']:.2f} s ({right})"
    return f"{said}: {ratio:.1f} times (aim {PAIRING_AIM}: {verdict})"


def report_web(found: dict[str, Any]) -> str:
    ours, theirs = found["lakejoin"], found["autofj"]
    rows = [["web pair", "lakejoin s", "autofj s", "times"]]
    for name, one in ours.items():
        other = theirs.get(name)
        times = f"{other['seconds'] / one['seconds']:,.0f}" if other else ""
        taken = f"{other['seconds']:.1f}" if other else "-"
        rows.append([name, f"{one['seconds']:.3f}", taken, times])
    total, cpu = (sum(one[key] for one in ours.values()) for key in ("seconds", "cpu"))
    said = f"all {len(ours)} web pairs: lakejoin {total:.2f} s, CPU {cpu:.2f} s"
    if theirs:
        other, theirs_cpu = (sum(o[key] for o in theirs.values()) for key in ("seconds", "cpu"))
        ratio = other / total
        verdict = "met" if ratio >= WEB_AIM else "missed"
        said += f"; autofj {other:.0f} s, CPU {theirs_cpu:.0f} s: {ratio:,.0f} times in all"
        said += f" (aim {WEB_AIM}: {verdict}), CPU {theirs_cpu / cpu:,.0f} times"
    return f"{table(rows)}\n{said}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--sizes", default=",".join(str(size) for size in SIZES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="growth,pairing,web", help="parts to run")
    parser.add_argument("--peer-python", type=Path, help="a Python that has autofj")
    parser.add_argument("--limit", type=float, default=600, help="seconds for autofj in a case")
    parser.add_argument("--plot", type=Path, help="folder for the plot")
    parser.add_argument("--child", choices=CHILDREN, help=argparse.SUPPRESS)
    args = parser.parse_args()
    sizes = [int(size) for size in args.sizes.split(",")]
    if args.child:
        print(json.dumps(CHILDREN[args.child](sizes[0], args.repeats)))
        return
    found: dict[str, Any] = {}
    if "growth" in args.only:
        found["growth"] = growth(sizes, args.repeats, args.peer_python, args.limit)
    if "pairing" in args.only:
        found["pairing"] = child("pairing", 10_000, args.repeats)
        print(report_pairing(found["pairing"], 10_000), flush=True)
    if "web" in args.only and (args.data / "autojoin").is_dir():
        found["web"] = web(args.data, args.repeats, args.peer_python, args.limit)
        print(report_web(found["web"]))
    record("autojoin_speed", found)
    if args.plot and "growth" in found:
        from autojoin_plots import plot_growth

        plot_growth(found["growth"], args.plot)


if __name__ == "__main__":
    main()
