"""Settings and limits of a server."""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

LOOPBACK = ("127.0.0.1", "localhost", "::1")
# Limits that are not told to callers.
_INTERNAL = ("upload_seconds", "sql_memory", "worker_memory", "body_bytes", "links", "waiting")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one request may use, and how much the server stores.

    >>> Limits().public_limits()["upload_rows"]
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
    body_bytes: int = 1_000_000  # of any request except an upload
    cache_bytes: int = 4_000_000_000  # stored results and answers
    uploads_bytes: int = 2_000_000_000  # stored uploads
    links: int = 10_000
    waiting: int = 64  # jobs queued for a worker

    def public_limits(self) -> dict[str, float]:
        """The limits that a caller may hit."""
        return {name: limit for name, limit in asdict(self).items() if name not in _INTERNAL}


@dataclass(frozen=True, slots=True)
class Settings:
    """Which index is served, at which address, to whom, and with how many workers.

    `folder` stores uploads, results and links. Callers must send the `token` if there is one.
    `hosts` are further host names that the server accepts.
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
    """The default folder for a server's files: one per index in the user's cache folder."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    name = hashlib.sha256(index.encode()).hexdigest()[:16]
    return Path(cache) / "lakejoin" / f"serve-{name}"
