"""A Spark cluster of processes on this machine: a master, and workers with one core each."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped, unused-ignore]


@dataclass(frozen=True, slots=True)
class Running:
    """A cluster: the master's URL, and the processes of its workers."""

    master: str
    workers: tuple[int, ...]


def cpu_seconds(worker: int) -> float:
    """What the Python processes below a worker have taken so far; Java's are Spark itself."""
    total = 0.0
    for process in psutil.Process(worker).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.name().startswith("python"):
                times = process.cpu_times()
                total += times.user + times.system
    return total


@contextlib.contextmanager
def cluster(workers: int, scratch: Path, memory: str = "3g") -> Iterator[Running]:
    """Starts it, and ends it."""
    import pyspark

    from lakejoin.spark.java import find_java

    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "JAVA_HOME": str(find_java().path),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(scratch / "local"),
        "PYSPARK_PYTHON": sys.executable,
    }
    port = _free_port()
    master = f"spark://127.0.0.1:{port}"
    deploy, here = "org.apache.spark.deploy", ("--host", "127.0.0.1", "--webui-port", "0")
    commands = [[f"{deploy}.master.Master", *here, "--port", str(port)]]
    for number in range(workers):
        own = ("--cores", "1", "--memory", memory, "--work-dir", str(scratch / f"work{number}"))
        commands.append([f"{deploy}.worker.Worker", master, *here, *own])
    running: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            running.append(
                subprocess.Popen(
                    [str(home / "bin" / "spark-class"), *command],
                    env=environment,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            )
            if len(running) == 1:
                _wait_for(port)
        yield Running(master, tuple(process.pid for process in running[1:]))
    finally:
        for process in running:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError(f"nothing listens on port {port}")
