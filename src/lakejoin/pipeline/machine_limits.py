"""What this machine has for local processes, and how much work they take by default."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

LOCAL_BYTES = 512 << 20  # of files to read, or of segments to work on; more is for Spark

_MOST_MEMORY = 3 << 30  # a process with the largest segment
_LEAST_MEMORY = 300 << 20  # a process with little to do
_EXPANSION = 8  # bytes of memory for a byte of what is read


def usable_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def usable_memory() -> int:
    """The bytes of memory that this machine or its container has."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):  # no container, or one without a limit
            limits.append(int(Path("/sys/fs/cgroup", name).read_text()))
    return min(limits)


def choose_processes(work_bytes: int, cores: int, memory: int) -> int:
    """One process for each core, or as many as the memory is enough for.

    >>> [choose_processes(work << 20, 8, 4 << 30) for work in (1, 512, 100_000)]
    [8, 1, 1]
    >>> choose_processes(512 << 20, 8, 32 << 30)
    8
    """
    for processes in range(cores, 1, -1):
        need = _LEAST_MEMORY + _EXPANSION * work_bytes // processes
        if processes * min(need, _MOST_MEMORY) <= memory:
            return processes
    return 1
