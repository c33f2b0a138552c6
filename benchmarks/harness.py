"""What every benchmark needs: a child process that is watched, medians, and a dated record."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped, unused-ignore]

RESULTS = Path(__file__).parent / "results"
_INTERVAL = 0.2


@dataclass(slots=True)
class Watch:
    """What the processes of a run took: the root, its JVM, and its workers, sampled from outside.

    `peak` is by role the largest resident size that any one process of it ever had (the kernel's
    own high-water mark, so nothing between two samples is missed); `peak_together` is the largest
    sum over all processes seen at one moment (memory they share is counted for each). `cpu` is in
    seconds, up to the last sample before a process ended.
    """

    peak: dict[str, int] = field(default_factory=dict)
    peak_together: int = 0
    _cpu: dict[tuple[str, int], float] = field(default_factory=dict)

    def cpu(self) -> dict[str, float]:
        """CPU seconds by role."""
        total: dict[str, float] = {}
        for (role, _), seconds in self._cpu.items():
            total[role] = total.get(role, 0.0) + seconds
        return total

    def sample(self, root: psutil.Process) -> None:
        """Looks at the root and all below it, once."""
        together = 0
        try:
            processes = [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        for process in processes:
            try:
                role = self._role(process, root)
                together += process.memory_info().rss
                times = process.cpu_times()
                self.peak[role] = max(self.peak.get(role, 0), high_water(process.pid))
                self._cpu[role, process.pid] = times.user + times.system
            except (psutil.NoSuchProcess, psutil.AccessDenied, OSError):
                continue
        self.peak_together = max(self.peak_together, together)

    @staticmethod
    def _role(process: psutil.Process, root: psutil.Process) -> str:
        if process.pid == root.pid:
            return "driver"
        return "jvm" if process.name().startswith("java") else "worker"


def high_water(pid: int | str = "self") -> int:
    """The largest resident size that a process has had so far, in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def run_watched(command: list[str]) -> tuple[Any, Watch]:
    """Runs a command that prints one JSON document last; returns it and what the run took."""
    watch = Watch()
    done = threading.Event()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    root = psutil.Process(child.pid)

    def look() -> None:
        while not done.wait(_INTERVAL):
            watch.sample(root)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        out, err = child.communicate()
    except BaseException:
        child.kill()
        raise
    finally:
        done.set()
        thread.join()
    if child.returncode:
        raise SystemExit(f"{' '.join(command[1:3])} failed: {err.strip()[-800:]}")
    return json.loads(out.strip().splitlines()[-1]), watch


def alternate(
    runs: Mapping[str, Callable[[], dict[str, Any]]], repeats: int
) -> dict[str, list[dict[str, Any]]]:
    """Runs each in turn, `repeats` times over, so that a slow minute hits all of them."""
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            results[name].append(run())
    return results


def median_run(runs: Iterable[dict[str, Any]], key: str = "seconds") -> dict[str, Any]:
    """The run whose `key` is the median (the lower of two): its figures belong together.

    >>> median_run([{"seconds": 3}, {"seconds": 1}, {"seconds": 2}])
    {'seconds': 2}
    """
    ordered = sorted(runs, key=lambda run: run[key])
    middle = statistics.median_low(range(len(ordered)))
    return ordered[middle]


def record(name: str, figures: Mapping[str, Any], out: Path | None = None) -> Path:
    """Appends one dated JSON line to `results/<name>.jsonl`, with what the machine was like."""
    path = out or RESULTS / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    line = {"date": datetime.now(UTC).isoformat(timespec="seconds"), **machine(), **figures}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    return path


def machine() -> dict[str, Any]:
    """Cores, memory, load and versions: what a figure depends on besides the code."""
    return {
        "cores": len(os.sched_getaffinity(0)),
        "memory": psutil.virtual_memory().total,
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def mega(count: float) -> str:
    """A size in MB, or in GB from a thousand on.

    >>> mega(2_340_000_000), mega(56_700_000)
    ('2.34 GB', '57 MB')
    """
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def python(script: Path, *arguments: object) -> list[str]:
    """The command that runs one of these scripts."""
    return [sys.executable, str(script), *(str(a) for a in arguments)]
