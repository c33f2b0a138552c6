"""What the child gives up, before and after it has opened its files."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

import duckdb

from lakejoin.app.server.sql.syscalls import only_computing

_OPEN_FILES = 64
_ROOM = 512_000_000  # beside DuckDB's own memory: what Python, Arrow and stacks take

# Nothing of these can be set again: the last one locks them all.
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
    """An empty database in memory, whose threads run and which is not yet locked."""
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


def lock(connection: duckdb.DuckDBPyConnection, memory: int) -> None:
    """No files, no network, no extensions, no Python objects, no other settings, so much memory."""
    connection.execute(f"SET memory_limit = '{int(memory)}B'")
    for statement in _LOCKS:
        connection.execute(statement)


def forget_environment() -> None:
    """What the process was told by its environment, it has read by now."""
    os.environ.clear()


def limit_process(memory: int, mapped: int, written: int, cpu_seconds: float) -> None:
    """Limits that the system keeps: memory besides what is mapped by now, files, processor time."""
    _limit("RLIMIT_CORE", 0)
    _limit("RLIMIT_NOFILE", _OPEN_FILES)
    _limit("RLIMIT_FSIZE", written)
    _limit("RLIMIT_CPU", int(cpu_seconds) + 2)
    _limit("RLIMIT_NPROC", 0)  # for root it does not count; the filter of system calls does
    held = _address_space()
    if held:
        _limit("RLIMIT_AS", held + mapped + memory + memory // 2 + _ROOM)


def confine() -> str:
    """Gives up what does not compute; the name of what keeps that."""
    return "seccomp" if only_computing() else "none"


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
    """The bytes of address space that the process has, where the system tells."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return 0
    return pages * resource.getpagesize()
