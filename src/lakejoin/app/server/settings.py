"""What a server is told, and the limits that it keeps."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one request may take, and how much is kept of what was made.

    >>> Limits().shown()["upload_rows"]
    5000000
    """

    upload_bytes: int = 200_000_000
    upload_rows: int = 5_000_000
    upload_columns: int = 2_000
    upload_cells: int = 50_000_000
    upload_seconds: float = 60.0
    result_rows: int = 5_000_000
    result_bytes: int = 1_000_000_000
    seconds: float = 120.0  # of a search or a join
    sql_seconds: float = 30.0
    sql_memory: int = 1_000_000_000
    worker_memory: int = 4_000_000_000
    body_bytes: int = 1_000_000  # of a request that is no upload
    cache_bytes: int = 4_000_000_000  # results and answers that are kept
    uploads_bytes: int = 2_000_000_000  # uploads that are kept
    links: int = 10_000
    waiting: int = 64  # jobs that wait for a worker

    def shown(self) -> dict[str, float]:
        """Those that a person or a program may run into."""
        names = (
            "upload_bytes",
            "upload_rows",
            "upload_columns",
            "upload_cells",
            "result_rows",
            "result_bytes",
            "seconds",
            "sql_seconds",
            "cache_bytes",
            "uploads_bytes",
        )
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Settings:
    """Which index is served, where, to whom, and by how many workers.

    `folder` is where uploads, results and links are kept. A `token` is asked for if there is one.
    `hosts` are further names under which the server may be called.
    """

    index: str
    folder: Path
    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    hosts: tuple[str, ...] = ()
    workers: int = field(default_factory=lambda: max(2, min(8, os.cpu_count() or 2)))
    limits: Limits = field(default_factory=Limits)


def default_folder(index: str) -> Path:
    """Where a server keeps what it makes for an index, if it is not told: a folder of the user's
    cache, one for each index."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    name = hashlib.sha256(index.encode()).hexdigest()[:16]
    return Path(cache) / "lakejoin" / f"serve-{name}"
