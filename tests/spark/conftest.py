"""A Spark cluster on loopback, for the tests that need a real one."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakejoin.spark.java import find_java


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """A master and two workers as processes of their own; gives the master's URL."""
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    port, ui = _free_port(), _free_port()
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "JAVA_HOME": str(find_java().path),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(tmp_path / "local"),
        "PYSPARK_PYTHON": sys.executable,
    }
    master = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    commands = [
        [f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port),
         "--webui-port", str(ui)],
        *(
            [f"{deploy}.worker.Worker", master, "--cores", "1", "--memory", "700m",
             "--host", "127.0.0.1", "--webui-port", str(_free_port()),
             "--work-dir", str(tmp_path / f"work{number}")]
            for number in range(2)
        ),
    ]  # fmt: skip
    running = []
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
        yield master
    finally:
        for process in running:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError(f"nothing listens on port {port}")
