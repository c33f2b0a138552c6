"""Lock DuckDB's settings, and limit the process that runs it."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import duckdb

_OPEN_FILES = 64
_OVERHEAD = 512_000_000  # memory of Python, Arrow and stacks, besides DuckDB's own

# The last one locks all settings.
_LOCKS = (
    "SET python_enable_replacements = false",
    "SET python_scan_all_frames = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET allow_community_extensions = false",
    "SET allow_persistent_secrets = false",
    "SET enable_external_file_cache = false",
    "SET temp_directory = ''",
    "SET enable_external_access = false",
    "SET disabled_filesystems = 'LocalFileSystem'",
    "SET lock_configuration = true",
)


def connect(threads: int) -> duckdb.DuckDBPyConnection:
    """Open an empty in-memory database, not yet locked, with its threads running."""
    connection = duckdb.connect(
        ":memory:",
        config={
            "temp_directory": "",
            "secret_directory": "none",
            "extension_directory": "none",
            "home_directory": "none",
            "allow_unsigned_extensions": False,
            "arrow_large_buffer_size": True,
            "errors_as_json": True,
            "threads": 1,
        },
    )
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"SET threads = {int(threads)}")
    return connection


def lock_settings(connection: duckdb.DuckDBPyConnection, memory: int) -> None:
    """Disable files, network, extensions, Python objects and settings, and limit the memory."""
    connection.execute(f"SET memory_limit = '{int(memory)}B'")
    for statement in _LOCKS:
        connection.execute(statement)


def limit_process(memory: int, mapped: int, written: int, cpu_seconds: float) -> None:
    """Set OS limits: memory besides what is already mapped, files, processor time."""
    _limit("RLIMIT_CORE", 0)
    _limit("RLIMIT_NOFILE", _OPEN_FILES)
    _limit("RLIMIT_FSIZE", written)
    _limit("RLIMIT_CPU", int(cpu_seconds) + 2)
    _limit("RLIMIT_NPROC", 0)  # does not apply to root; the system call filter does
    used = _address_space()
    if used:
        _limit("RLIMIT_AS", used + mapped + memory + memory // 2 + _OVERHEAD)


def _limit(name: str, most: int) -> None:
    kind = getattr(resource, name, None)
    if kind is None:
        return
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    try:
        resource.setrlimit(kind, (most, most))
    except (ValueError, OSError):
        if sys.platform == "linux":
            raise


def _address_space() -> int:
    """The bytes of address space in use; 0 if the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return 0
    return pages * resource.getpagesize()
