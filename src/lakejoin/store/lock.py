"""The build lock: one builder at a time, released by the system if the builder dies."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from lakejoin.errors import BusyIndex
from lakejoin.locations import Location

_FILE = "LOCK"
_STALE_SECONDS = 24 * 3600
_POLL_SECONDS = 0.2
_SETTLE_SECONDS = 0.3


@contextlib.contextmanager
def build_lock(index: Location, wait: float = 0.0) -> Iterator[None]:
    """Lock the index for one builder; waits up to `wait` seconds for another to finish.

    On a local disk the operating system holds the lock and releases it when the process ends.
    Elsewhere a small file does; one left by a dead builder expires after a day. Remote storage
    cannot decide between two writers, so both read the file again after writing it, and the commit
    checks anyway that nobody else has committed.
    """
    deadline = time.monotonic() + wait
    keeper = _local_lock if index.local else _remote_lock
    while True:
        index.make_folder()
        with contextlib.ExitStack() as stack:
            if stack.enter_context(keeper(index)):
                yield
                return
        if time.monotonic() >= deadline:
            raise BusyIndex(
                f"{_holder(index)} is building the index at {index}; wait until it is done, or use "
                "--wait SECONDS"
            )
        time.sleep(_POLL_SECONDS)


def _owner() -> bytes:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": now}
    return json.dumps({**owner, "token": secrets.token_hex(8)}).encode()


def _holder(index: Location) -> str:
    try:
        owner = json.loads((index / _FILE).read_bytes())
        return f"process {owner['pid']} on {owner['host']} (since {owner['since']})"
    except (OSError, ValueError, KeyError):
        return "another process"


@contextlib.contextmanager
def _local_lock(index: Location) -> Iterator[bool]:
    import fcntl

    handle = os.open((index / _FILE).uri, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        if not _is_still(index, handle):  # its holder has removed the file: try again
            yield False
            return
        os.ftruncate(handle, 0)
        os.pwrite(handle, _owner(), 0)
        yield True
        _leave_nothing(index)
    except BaseException:
        _leave_nothing(index)
        raise
    finally:
        os.close(handle)


def _is_still(index: Location, handle: int) -> bool:
    try:
        return os.path.samestat(Path((index / _FILE).uri).stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _leave_nothing(index: Location) -> None:
    """Remove the folder of a first build that wrote nothing; the lock is still held."""
    if index.children() == [_FILE]:
        with contextlib.suppress(OSError):
            Path((index / _FILE).uri).unlink()
            Path(index.uri).rmdir()


def _age(location: Location) -> float:
    """Seconds since the lock was taken, as its holder wrote it: not all storage has file times."""
    try:
        since = datetime.fromisoformat(json.loads(location.read_bytes())["since"])
    except (OSError, ValueError, KeyError):
        return 0.0
    return (datetime.now(UTC) - since).total_seconds()


@contextlib.contextmanager
def _remote_lock(index: Location) -> Iterator[bool]:
    location = index / _FILE
    if location.kind() == "file" and _age(location) < _STALE_SECONDS:
        yield False
        return
    mine = _owner()
    location.replace(mine)
    time.sleep(_SETTLE_SECONDS)
    if location.read_bytes() != mine:
        yield False
        return
    try:
        yield True
    finally:
        with contextlib.suppress(OSError):
            if location.read_bytes() == mine:
                location.remove()
