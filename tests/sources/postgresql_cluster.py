"""A PostgreSQL server of the tests' own, on a free port of loopback."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PASSWORD = "s3cr3t @/:%"


@dataclass(frozen=True)
class Cluster:
    port: int
    programs: Path
    socket_folder: Path

    def run(self, *statements: str, database: str = "shop") -> None:
        """Run statements as the owner of everything."""
        command = [
            str(self.programs / "psql"), "-q", "-v", "ON_ERROR_STOP=1", "-h",
            str(self.socket_folder), "-p", str(self.port), "-U", "postgres", "-d", database,
        ]  # fmt: skip
        for statement in statements:
            command += ["-c", statement]
        subprocess.run(as_postgres(command), check=True, capture_output=True, cwd="/")


def as_postgres(command: list[str]) -> list[str]:
    """A server does not run as root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else command


def programs() -> Path | None:
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return installed[-1].parent if installed else None


@contextlib.contextmanager
def started_cluster() -> Iterator[Cluster]:
    where = programs()
    if where is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp") as folder:
        home = Path(folder)
        home.chmod(0o777)
        data = home / "data"
        (home / "password").write_text("postgres\n")
        run = lambda *command: subprocess.run(  # noqa: E731
            as_postgres(list(command)), check=True, capture_output=True, cwd="/"
        )
        run(str(where / "initdb"), "-D", str(data), "-U", "postgres", "--auth-local=trust",
            "--auth-host=scram-sha-256", "--no-sync", "-E", "UTF8")  # fmt: skip
        options = f"-c listen_addresses=127.0.0.1 -p {port} -k {home} -c fsync=off"
        run(str(where / "pg_ctl"), "-D", str(data), "-w", "-o", options, "-l",
            str(home / "log"), "start")  # fmt: skip
        try:
            cluster = Cluster(port, where, home)
            cluster.run("create database shop", database="postgres")
            quoted = PASSWORD.replace("'", "''")
            cluster.run(f"create role reader login password '{quoted}'")
            yield cluster
        finally:
            run(str(where / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop")
