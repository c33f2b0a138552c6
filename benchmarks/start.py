"""How long does a command take in a new process, and what does it load?

    python benchmarks/start.py LAKE --index INDEX [--query TABLE] [--base PYTHONPATH]

LAKE is the folder of the demo lake, INDEX its index. Every command runs in new processes, five
times, and the median of their CPU time counts; bytecode is compiled before, as by an installation.
`server` is `lakejoin serve` until it answers, and by the clock its first two searches; `worker` is
what a Python worker of Spark loads before its first task. `--numba` is the same code without the
compiled kernels, with a warm cache of numba; `first` the first run with an empty cache, as after an
installation without compiled kernels. `--base` is the `src` folder of another version, measured in
the same run.
"""

from __future__ import annotations

import argparse
import compileall
import http.client
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from psutil import Process

import lakejoin
from harness import record

REPEATS = 5
LIBRARIES = ("numpy", "pyarrow", "pandas", "scipy", "numba", "duckdb", "rich", "pyspark")
# Runs a command, and writes what it loaded where it is told to.
RUN = """
import os, sys
from lakejoin.cli.main import main
try:
    main()
except SystemExit:
    pass
roots = {name.partition(".")[0] for name in sys.modules}
open(os.environ["LOADED"], "w").write(" ".join(roots))
"""


def commands(lake: Path, index: Path, query: str) -> dict[str, list[str]]:
    """What is measured, by name."""
    mine, at = str(lake / query), ["--index", str(index)]
    other = str(lake / "airportsdata" / "airports.csv")
    return {
        "info": ["info", *at],
        "overlap": ["overlap", mine, "--on", "faa", *at],
        "search": ["search", mine, *at],
        "join": ["join", mine, other, "--on", "faa=iata"],
    }


# What a worker of Spark loads: its daemon, and the tasks that it is sent.
WORKER = "import pyspark.daemon, pyspark.worker, lakejoin.spark.task_runner"


def server_times(index: Path, table: str, env: dict[str, str]) -> dict[str, float]:
    """CPU seconds of a server until it answers; seconds of the clock of its first two searches."""
    with tempfile.TemporaryDirectory() as store:
        command = ["-m", "lakejoin", "serve", "--index", str(index), "--port", "0", "--json"]
        server = subprocess.Popen(
            [sys.executable, *command, "--store", store], env=env, stdout=subprocess.PIPE, text=True
        )
        try:
            return _ask_twice(server, table)
        finally:
            server.terminate()
            server.wait()


def _ask_twice(server: subprocess.Popen[str], table: str) -> dict[str, float]:
    assert server.stdout is not None
    text = ""
    while not text.rstrip().endswith("}"):
        text += server.stdout.readline()
    connection = http.client.HTTPConnection("127.0.0.1", json.loads(text)["port"], timeout=120)
    found: dict[str, float] = {}
    for name, path in {"ready": "info", "first": "search", "second": "search"}.items():
        # Another number of results, so that the second search is not the kept answer of the first.
        body = json.dumps({"table": f"lake:{table}", "k": 10 + len(found)})
        asked = ("GET", None) if path == "info" else ("POST", body)
        began = time.perf_counter()
        connection.request(
            asked[0], f"/api/v1/{path}", asked[1], {"content-type": "application/json"}
        )
        answer = connection.getresponse()
        told = answer.read()
        if answer.status != 200:
            raise SystemExit(f"the server answered {answer.status}: {told[:300]!r}")
        found[name] = time.perf_counter() - began
        if name == "ready":  # its workers start meanwhile, and are not counted
            found[name] = sum(Process(server.pid).cpu_times()[:2])
    return found


def cpu_of(arguments: list[str], env: dict[str, str], script: str = RUN) -> float:
    """The CPU seconds of a command in a new process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", script, *arguments], env=env, check=True, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measures every command, prints and records."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("lake", type=Path)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--query", default="nycflights13/airports.csv")
    parser.add_argument("--base", help="the src folder of another version")
    parser.add_argument("--numba", action="store_true", help="measure without compiled kernels too")
    parser.add_argument("--first", action="store_true", help="measure an empty cache too (minutes)")
    given = parser.parse_args()
    figures: dict[str, dict[str, float]] = {}
    loads: dict[str, dict[str, list[str]]] = {}
    with tempfile.TemporaryDirectory() as cache:
        loaded = Path(cache) / "loaded"
        env = {**os.environ, "LOADED": str(loaded)}
        env.pop(
            "PYTHONDONTWRITEBYTECODE", None
        )  # a first run would compile, and so would all others
        for source in filter(None, (Path(lakejoin.__file__).parent, given.base)):
            compileall.compile_dir(source, quiet=1)
        kinds = {"now": env}
        if given.numba:
            kinds["numba"] = {**env, "LAKEJOIN_KERNELS": "numba"}
        if given.base:
            kinds["base"] = {**env, "PYTHONPATH": given.base}
        for name, arguments in commands(given.lake, given.index, given.query).items():
            found: dict[str, float] = {}
            loads[name] = {}
            for kind, own in kinds.items():
                if given.first and kind != "now":
                    empty = {**own, "NUMBA_CACHE_DIR": str(Path(cache) / f"{kind} {name}")}
                    found[f"{kind}, first"] = cpu_of(arguments, empty)
                cpu_of(arguments, own)
                found[kind] = median(cpu_of(arguments, own) for _ in range(REPEATS))
                roots = set(loaded.read_text().split())
                loads[name][kind] = [library for library in LIBRARIES if library in roots]
            figures[name] = found
            times = ", ".join(f"{kind} {seconds:.2f} s" for kind, seconds in found.items())
            print(f"{name:<8} {times}; loads {', '.join(loads[name]['now'])}")
        for kind, own in kinds.items():
            if kind == "numba":
                continue
            runs = [server_times(given.index, given.query, own) for _ in range(REPEATS)]
            server = {name: median(run[name] for run in runs) for name in runs[0]}
            figures.setdefault("server", {}).update({f"{kind}, {n}": s for n, s in server.items()})
            worker = median(cpu_of([], own, WORKER) for _ in range(REPEATS))
            figures.setdefault("worker", {})[kind] = worker
        for name in ("server", "worker"):
            print(f"{name:<8}", ", ".join(f"{k} {s:.2f} s" for k, s in figures[name].items()))
    record("start", {"seconds": figures, "loads": loads})


if __name__ == "__main__":
    main()
