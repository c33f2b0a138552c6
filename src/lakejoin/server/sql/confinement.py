"""Lock DuckDB's settings, limit the process, and restrict it to system calls that only compute
(seccomp, Linux)."""

from __future__ import annotations

import ctypes
import platform
import resource
import struct
import sys
from pathlib import Path

import duckdb

# Each call's number on x86_64 and on aarch64.
_CALLS: dict[str, tuple[int, int]] = {
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "fstat": (5, 80),
    "lseek": (8, 62),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "pread64": (17, 67),
    "pwrite64": (18, 68),
    "readv": (19, 65),
    "writev": (20, 66),
    "sched_yield": (24, 124),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "nanosleep": (35, 101),
    "getpid": (39, 172),
    "exit": (60, 93),
    "fsync": (74, 82),
    "ftruncate": (77, 46),
    "gettimeofday": (96, 169),
    "getrusage": (98, 165),
    "sysinfo": (99, 179),
    "times": (100, 153),
    "sigaltstack": (131, 132),
    "gettid": (186, 178),
    "futex": (202, 98),
    "sched_getaffinity": (204, 123),
    "restart_syscall": (219, 128),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "exit_group": (231, 94),
    "ppoll": (271, 73),
    "set_robust_list": (273, 99),
    "getcpu": (309, 168),
    "getrandom": (318, 278),
    "membarrier": (324, 283),
    "rseq": (334, 293),
}
# Allowed unless they ask for executable memory, in their third argument.
_MEMORY_CALLS = {"mmap": (9, 222), "mprotect": (10, 226)}
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_SECCOMP_CALL = {"x86_64": 317, "aarch64": 277}

_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000 | 1, 0x80000000  # 1: EPERM
_NUMBER_AT, _MACHINE_AT, _THIRD_ARGUMENT_AT = 0, 4, 16 + 2 * 8
_EXECUTABLE = 4

_SET_NO_NEW_PRIVILEGES = 38
_SET_MODE_FILTER, _ALL_THREADS = 1, 1


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def confine() -> str:
    """Give up all other system calls, in all threads; returns the mechanism, or `none` if this
    machine has none."""
    machine = platform.machine()
    if sys.platform != "linux" or machine not in _MACHINES:
        return "none"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return "none"
    code = _filter(machine)
    program = _Program(len(code) // 8, code)
    call = libc.syscall
    call.restype = ctypes.c_long
    failed = call(
        ctypes.c_long(_SECCOMP_CALL[machine]),
        ctypes.c_uint(_SET_MODE_FILTER),
        ctypes.c_uint(_ALL_THREADS),
        ctypes.byref(program),
    )
    return "none" if failed else "seccomp"


def _filter(machine: str) -> bytes:
    """The BPF program; an instruction is (operation, jump if true, jump if false, operand)."""
    which, name = _MACHINES[machine]
    program = [
        (_LOAD, 0, 0, _MACHINE_AT),
        (_EQUAL, 1, 0, name),
        (_RETURN, 0, 0, _KILL),  # system calls of another architecture
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    for number in (numbers[which] for numbers in _CALLS.values()):
        program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    for number in (numbers[which] for numbers in _MEMORY_CALLS.values()):
        program += [
            (_EQUAL, 0, 4, number),
            (_LOAD, 0, 0, _THIRD_ARGUMENT_AT),
            (_ANY_BIT, 1, 0, _EXECUTABLE),
            (_RETURN, 0, 0, _ALLOW),
            (_RETURN, 0, 0, _REFUSE),
        ]
    program.append((_RETURN, 0, 0, _REFUSE))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


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
