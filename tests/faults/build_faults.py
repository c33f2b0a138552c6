"""Builds with an injected fault each, and what the index holds afterwards.

    LD_PRELOAD=injector.so python build_faults.py FOLDER SEED COUNT

Prints one JSON object: how many faults of each kind there were, how many of them hit each kind of
build, and what went wrong.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import lakejoin
from fake_spark import FakeSpark
from lakejoin.errors import LakejoinError, MissingIndex
from lakejoin.locations import Location
from lakejoin.pipeline.build import BuildOptions
from lakejoin.pipeline.compaction import compact_index
from lakejoin.spark.task_runner import Cluster, make_graph
from lakejoin.store.graph_files import GraphOptions

KINDS = ("kill", "eio", "enospc", "term", "int")
DONE, SENTENCE, STOPPED_AFTER, STOPPED, NO_DISK, OTHER = range(6)
Content = dict[str, list[str]]


class Lake:
    """A folder of three tables whose values say which generation they are of."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.content: Content = {}
        self.generation = 0
        folder.mkdir(parents=True)
        for table in range(3):
            self.change(f"t{table}.csv")

    def change(self, name: str) -> None:
        self.generation += 1
        values = [f"Value {self.generation} {row}" for row in range(30)]
        text = "id,value\n" + "".join(f"{row},{value}\n" for row, value in enumerate(values))
        (self.folder / name).write_text(text)
        os.utime(self.folder / name, ns=(self.generation * 10**9,) * 2)
        self.content[name] = values


def held(index: Path) -> Content | None:
    """What an index holds, read completely; None if there is none."""
    try:
        lake = lakejoin.open(index)
    except MissingIndex:
        return None
    return {t.name: t.to_arrow()["value"].to_pylist() for t in lake.tables()}


class Trial:
    """An index of a lake on which operations are run, some with a fault."""

    def __init__(self, home: Path) -> None:
        self.lake = Lake(home / "lake")
        self.index = home / "index"
        self.counts: Counter[str] = Counter()
        self.hits: Counter[str] = Counter()
        self.problems: list[str] = []

    def build(self, full: bool = False) -> None:
        options = BuildOptions(full=full, memory=20_000)
        lakejoin.index(self.lake.folder, self.index, spark=FakeSpark(), options=options)

    def build_in_processes(self) -> None:
        """A refresh whose tasks run in processes of their own."""
        lakejoin.index(self.lake.folder, self.index, options=BuildOptions(engine="local"))

    def graph(self) -> None:
        make_graph(self.index, GraphOptions(least=2), Cluster(FakeSpark()), full=True)

    def compact(self) -> None:
        compact_index(Location.of(self.index), Cluster(FakeSpark()).start, lambda _: None, 0.0)

    def prepare(self, name: str) -> tuple[Callable[[], object], Content | None, Content]:
        """An operation, and what the index holds before and after it."""
        if name == "first":
            shutil.rmtree(self.index, ignore_errors=True)
            return self.build, None, dict(self.lake.content)
        if name == "compact":  # something to merge
            self.lake.change("t0.csv")
            self.build()
        before = held(self.index)
        assert before is not None
        if name == "refresh":
            self.lake.change(f"t{self.lake.generation % 3}.csv")
            return self.build, before, dict(self.lake.content)
        if name == "processes":
            self.lake.change(f"t{self.lake.generation % 3}.csv")
            return self.build_in_processes, before, dict(self.lake.content)
        if name == "full":
            self.lake.change(f"t{self.lake.generation % 3}.csv")
            return lambda: self.build(full=True), before, dict(self.lake.content)
        if name == "rollback":
            older = lakejoin.history(self.index)[1:]
            if not older:
                return self.graph, before, before
            copy = Path(tempfile.mkdtemp(dir=self.index.parent))
            shutil.copytree(self.index, copy / "index")
            lakejoin.rollback(copy / "index")
            after = held(copy / "index") or {}
            shutil.rmtree(copy)
            return lambda: lakejoin.rollback(self.index), before, after
        return (self.graph if name == "graph" else self.compact), before, before

    def run(self, name: str, kind: str, at: int) -> int:
        """Run an operation with a fault at its n-th call; returns how many calls there were."""
        operation, before, after = self.prepare(name)
        log = self.index.parent / "calls"
        log.unlink(missing_ok=True)
        once = self.index.parent / "once"
        once.touch()
        child = os.fork()
        if child == 0:
            os.environ.update(FAULT_FOLDER=str(self.index), FAULT_LOG=str(log))
            os.environ.update(FAULT_AT=str(at), FAULT_KIND=kind)
            if name == "processes":  # in the driver or in a task, which is tried again
                os.environ["FAULT_ONCE"] = str(once)
            _run_child(operation, self.index.parent / "error")
        _, status = os.waitpid(child, 0)
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        hit = code != DONE or not once.exists()
        self.counts[kind if hit else "none"] += 1
        self.hits[name] += hit
        what = f"{name}, {kind} at call {at}, exit {code}"
        self._judge(what, code, before, after)
        self._recover(what)
        return int(log.read_text()) if log.exists() else 0

    def _judge(self, what: str, code: int, before: Content | None, after: Content) -> None:
        try:
            now = held(self.index)
        except LakejoinError as problem:
            self.problems.append(f"lost: {what}: {problem}")
            return
        if now not in (before, after):
            self.problems.append(f"partial: {what}: {str(now)[:300]}")
        elif code in (DONE, STOPPED_AFTER) and now != after:
            self.problems.append(f"lost: {what}: the new version is not there")
        elif code == STOPPED and now == after and before != after:
            self.problems.append(f"wrong: {what}: the new version is there, and nobody says so")
        elif code == OTHER:
            error = (self.index.parent / "error").read_text()
            self.problems.append(f"wrong: {what}: {error[-1500:]}")
        elif code < 0 and -code not in (signal.SIGKILL, signal.SIGTERM):
            self.problems.append(f"death: {what}")

    def _recover(self, what: str) -> None:
        """The next build works, and removes what the fault left behind."""
        try:
            self.build()
            if held(self.index) != self.lake.content:
                self.problems.append(f"lost: {what}: the next build differs from the lake")
            bad = [c.problem for c in lakejoin.open(self.index).snapshot.check() if c.problem]
            self.problems += [f"wrong: {what}: {problem}" for problem in bad]
            drafts = [p.name for p in self.index.iterdir() if p.name.endswith(".draft")]
            if drafts or (self.index / "scratch").exists():
                self.problems.append(f"wrong: {what}: leftovers stay: {drafts}")
        except Exception:  # noqa: BLE001 (whatever comes is a finding)
            self.problems.append(
                f"lost: {what}: no build after it: {traceback.format_exc()[-900:]}"
            )
            shutil.rmtree(self.index)
            self.build()


def _run_child(operation: Callable[[], object], error: Path) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    code = DONE
    try:
        operation()
    except LakejoinError:
        code = SENTENCE
    except KeyboardInterrupt as stop:
        code = STOPPED_AFTER if "complete" in str(stop) else STOPPED
    except OSError:  # the command line makes a sentence of it
        code = NO_DISK
    except BaseException:  # noqa: BLE001
        os.environ.pop("FAULT_FOLDER")
        error.write_text(traceback.format_exc())
        code = OTHER
    os.environ.pop("FAULT_AT", None)
    sys.stderr.flush()
    # The injector tells its count when the process ends in order.
    import ctypes

    ctypes.CDLL(None).exit(code)


OPERATIONS = ("first", "refresh", "full", "compact", "graph", "rollback", "processes")


def main() -> None:
    home, seed, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    trial = Trial(home)
    trial.build()
    lengths = {}
    for name in OPERATIONS:
        lengths[name] = max(trial.run(name, "none", 1 << 30), 1)
    trial.counts.clear()
    trial.hits.clear()
    for number in range(count):
        name = OPERATIONS[number % len(OPERATIONS)]
        kind = KINDS[rng.randrange(len(KINDS))]
        trial.run(name, kind, rng.randint(1, lengths[name]))
    found = {"calls": lengths, "faults": trial.counts, "hits": trial.hits}
    sys.stdout.write(json.dumps({**found, "problems": trial.problems}) + "\n")


if __name__ == "__main__":
    main()
