"""Does work on Spark get faster with a second worker, and what does Spark itself cost?

    python benchmarks/scale.py FOLDER [--cells 2] [--queries 400] [--open 60] [--repeats 2]

A lake like the thesis's web tables is generated below FOLDER and indexed in several segments, and
another one like its open data, whose join graph is more work. Then standalone clusters with one and
with two workers of one core each take turns: a batch of searches by overlap (every column of every
n-th table of the web tables), the join graphs of both lakes from nothing, and jobs of tasks that do
nothing. Neither starting Spark nor loading compiled code counts. One process answers the same batch
for comparison. At the end: what a lake of 50 million tables would need (`scale_estimate.py`), from
the CPU seconds with one worker and web tables. `--recorded` prints what was recorded
last. Where other programs use the machine, wall times say little: the CPU seconds of each worker
tell how evenly the work was shared.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import RESULTS, alternate, median_run, python, record, run_watched
from lakes import generate
from scale_estimate import told
from spark_cluster import cluster, cpu_seconds

HERE = Path(__file__).parent
_EMPTY = 64  # tasks that do nothing
JOBS = {"batch": "batch", "graph": "graph", "open": "graph of open data"}


# -- in child processes --------------------------------------------------------------------------


def build(lake: Path, index: Path, memory: int) -> dict[str, Any]:
    """Indexes the lake in segments that take so much memory to finish."""
    import lakejoin
    from lakejoin.pipeline.options import BuildOptions
    from lakejoin.spark import Cluster

    options = BuildOptions(memory=memory, parts=())
    lakejoin.index(lake, index, Cluster(master="local[2]"), options=options)
    info = lakejoin.open(index).info()
    return {name: info[name] for name in ("tables", "columns", "bytes", "segments")}


def asked(index: Path, number: int) -> list[Any]:
    """Every n-th table in the lake, all its columns."""
    import lakejoin
    from lakejoin.search.options import SearchOptions

    names = [table.name for table in lakejoin.open(index).tables()]
    step = max(1, len(names) // number)
    return [(name, "*", SearchOptions("overlap", k=10)) for name in names[::step][:number]]


class _Watch:
    """Wall time, and CPU time of the Python processes of each worker."""

    def __init__(self, workers: Sequence[int]) -> None:
        self._workers = workers
        self.again()

    def again(self) -> None:
        self._begin = time.perf_counter()
        self._cpu = [cpu_seconds(worker) for worker in self._workers]

    def took(self) -> dict[str, Any]:
        now = [cpu_seconds(worker) for worker in self._workers]
        cpu = [after - before for after, before in zip(now, self._cpu, strict=True)]
        return {"seconds": time.perf_counter() - self._begin, "cpu": cpu}


def run(
    master: str, index: Path, queries: int, large: Path, workers: Sequence[int]
) -> dict[str, Any]:
    """What a cluster takes, once its workers are warm."""
    from lakejoin.locations import Location
    from lakejoin.spark import Cluster
    from lakejoin.spark.batch_search import search_batch
    from lakejoin.spark.session import open_session
    from lakejoin.store.snapshot import Snapshot

    settings = {"spark.executor.cores": "1", "spark.executor.memory": "1g"}
    wanted = asked(index, queries)
    snapshot = Snapshot(Location.of(index))
    with (
        open_session(None, master, settings) as spark,
        tempfile.TemporaryDirectory(dir=index.parent) as scratch,
    ):
        warm = wanted[:: max(1, len(wanted) // 24)]
        list(search_batch(spark, snapshot, warm))
        timed_graph(index, Path(scratch) / "warm", Cluster(spark), workers)
        watch = _Watch(workers)
        done = list(search_batch(spark, snapshot, wanted))
        batch = watch.took()
        graph = timed_graph(index, Path(scratch) / "graph", Cluster(spark), workers)
        opened = timed_graph(large, Path(scratch) / "open", Cluster(spark), workers)
        begin = time.perf_counter()
        spark.range(0, _EMPTY, 1, _EMPTY).mapInArrow(_nothing, "id bigint").toArrow()
        empty = (time.perf_counter() - begin) / _EMPTY
    return {
        "batch": batch,
        "searches": sum(len(one.answers) for one in done),
        "failed": sum(one.error is not None for one in done),
        "graph": graph,
        "open": opened,
        "pairs": graph["pairs"],
        "open_pairs": opened["pairs"],
        "empty_task": empty,
    }


def timed_graph(index: Path, copy: Path, cluster: Any, workers: Sequence[int]) -> dict[str, Any]:
    """What the graph of an index takes from nothing, in a copy of it; and how large it gets."""
    from lakejoin.locations import Location
    from lakejoin.spark import make_graph

    shutil.copytree(index, copy, copy_function=os.link)  # files of an index never change
    watch = _Watch(workers)
    made = make_graph(Location.of(copy), None, cluster)
    took = watch.took()
    size = sum(path.stat().st_size for path in copy.glob("graph-*/*"))
    return {**took, "stages": dict(made.seconds), "pairs": made.pairs, "bytes": size}


def _nothing(batches: Any) -> Any:
    return batches


def alone(index: Path, queries: int) -> dict[str, Any]:
    """The same batch in one process and thread."""
    import lakejoin

    lake = lakejoin.open(index)
    names = [name for name, _, _ in asked(index, queries)]
    options: dict[str, Any] = {"on": "*", "by": "overlap", "k": 10, "threads": 1}
    list(lake.search_many(names[:10], **options))
    begin = time.perf_counter()
    done = list(lake.search_many(names, **options))
    seconds = time.perf_counter() - begin
    return {"batch": seconds, "searches": sum(len(one) for one in done if one)}


# -- the comparison ------------------------------------------------------------------------------


def on_cluster(workers: int, index: Path, queries: int, large: Path) -> dict[str, Any]:
    """One run on a cluster of its own."""
    with tempfile.TemporaryDirectory() as scratch, cluster(workers, Path(scratch)) as running:
        child = ("--child", "run", running.master, index, queries, large, *running.workers)
        figures, _ = run_watched(python(HERE / "scale.py", *child))
    print(json.dumps({"workers": workers, **figures}), file=sys.stderr)
    return dict(figures)


def built(folder: Path, kind: Any, cells: int, memory: int) -> tuple[Path, dict[str, Any]]:
    """The index of a generated lake, and what it took; made where it is missing."""
    name = f"{kind.partition('-')[0]}-{cells}"
    lake = generate(folder / name, cells, kind)
    index, kept = folder / f"{name}.index", folder / f"{name}.index.json"
    if not kept.exists():
        shutil.rmtree(index, ignore_errors=True)
        child = ("--child", "build", lake.folder, index, memory)
        figures, watch = run_watched(python(HERE / "scale.py", *child))
        figures["build_core_seconds"] = watch.cpu()["worker"]
        kept.write_text(json.dumps(figures))
    return index, json.loads(kept.read_text())


def compare(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Builds what is missing, and measures."""
    cells, queries = int(given.cells * 1e6), given.queries
    index, figures = built(folder, "web-table", cells, 6 * cells)
    cells = int(given.open * 1e6)
    large, large_figures = built(folder, "open-data", cells, 3 * cells)
    single, _ = run_watched(python(HERE / "scale.py", "--child", "alone", index, queries))
    found = alternate(
        {
            f"{workers}": lambda workers=workers: on_cluster(workers, index, queries, large)
            for workers in (1, 2)
        },
        given.repeats,
    )
    one, two = (
        {job: median_run([each[job] for each in found[name]]) for job in JOBS}
        for name in ("1", "2")
    )
    last = found["1"][-1]
    return {
        **figures,
        "searches": last["searches"],
        "pairs": last["pairs"],
        "graph_bytes": last["graph"]["bytes"],
        "open_lake": {**large_figures, "pairs": last["open_pairs"]},
        "alone": single["batch"],
        "one": one,
        "two": two,
        "runs": found,
        "search_core_seconds": sum(one["batch"]["cpu"]),
        "graph_core_seconds": sum(one["graph"]["cpu"]),
        "graph_writing_seconds": sum(one["graph"]["cpu"]) * _writing(one["graph"]["stages"]),
        "task_seconds": min(each["empty_task"] for each in found["1"]),
    }


def _writing(stages: dict[str, float]) -> float:
    """Which part of a graph's time is in the tasks that write its files, which grow with pairs."""
    linear, other = ("gathered", "turned"), ("shared", "counted")
    return sum(stages[s] for s in linear) / sum(stages[s] for s in (*linear, *other))


def show(figures: dict[str, Any]) -> str:
    """The comparison as lines."""
    lines = [
        f"{figures['tables']:,} tables, {figures['columns']:,} columns, {figures['segments']} "
        f"segments; {figures['searches']:,} searches, in one process {figures['alone']:.1f} s; "
        f"{figures['pairs']:,} pairs of columns join",
        _shown_lake(figures["open_lake"]),
        f"a task that does nothing: {1000 * figures['task_seconds']:.0f} ms",
    ]
    for job, name in JOBS.items():
        one, two = figures["one"][job], figures["two"][job]
        shares = " and ".join(f"{seconds:.1f}" for seconds in two["cpu"])
        lines.append(
            f"{name}: {one['seconds']:.1f} s with one worker, {two['seconds']:.1f} s with two "
            f"({one['seconds'] / two['seconds']:.2f} times); {sum(one['cpu']):.1f} s of CPU, with "
            f"two workers {shares}"
        )
    return "\n".join([*lines, "", told(figures)])


def _shown_lake(lake: dict[str, Any]) -> str:
    return (
        f"open data: {lake['tables']:,} tables, {lake['columns']:,} columns, {lake['segments']} "
        f"segments; {lake['pairs']:,} pairs of columns join"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--cells", type=float, default=2.0, help="millions")
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--open", type=float, default=60.0, help="millions of cells of open data")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--recorded", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        what, *rest = given.child
        if what == "build":
            print(json.dumps(build(Path(rest[0]), Path(rest[1]), int(rest[2]))))
        elif what == "alone":
            print(json.dumps(alone(Path(rest[0]), int(rest[1]))))
        else:
            workers = [int(one) for one in rest[4:]]
            where = rest[0], Path(rest[1]), int(rest[2]), Path(rest[3])
            print(json.dumps(run(*where, workers)))
        return
    if given.recorded:
        lines = (given.out or RESULTS / "scale.jsonl").read_text().splitlines()
        print(show(json.loads(lines[-1])))
        return
    if given.folder is None:
        parser.error("name a FOLDER for the lake and its index")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that clusters end with it
    given.folder.mkdir(parents=True, exist_ok=True)
    figures = compare(given.folder, given)
    record("scale", figures, given.out)
    print(show(figures))


if __name__ == "__main__":
    main()
