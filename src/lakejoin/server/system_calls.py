"""Restricts a process to some system calls (seccomp, Linux), in all threads and for good."""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from collections.abc import Mapping

Calls = Mapping[str, tuple[int, int]]  # the number of each call on x86_64 and on aarch64

# Calls that only compute, with files that are open already.
COMPUTING: Calls = {
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
_UNKNOWN = 0x00050000 | 38  # ENOSYS
_NUMBER_AT, _MACHINE_AT, _FIRST_ARGUMENT_AT, _THIRD_ARGUMENT_AT = 0, 4, 16, 16 + 2 * 8
_EXECUTABLE = 4
_CLONE, _CLONE3, _NEW_THREAD = (56, 220), 435, 0x00010000  # a thread, not a process

_SET_NO_NEW_PRIVILEGES = 38
_SET_MODE_FILTER, _ALL_THREADS = 1, 1


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def confine(calls: Calls = COMPUTING) -> str:
    """Give up all other system calls, in all threads; returns the mechanism, or `none` if this
    machine has none. Memory that is executable can no longer be made."""
    machine = platform.machine()
    if sys.platform != "linux" or machine not in _MACHINES:
        return "none"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return "none"
    code = _filter(machine, calls)
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


def _filter(machine: str, calls: Calls) -> bytes:
    """The BPF program; an instruction is (operation, jump if true, jump if false, operand)."""
    which, name = _MACHINES[machine]
    program = [
        (_LOAD, 0, 0, _MACHINE_AT),
        (_EQUAL, 1, 0, name),
        (_RETURN, 0, 0, _KILL),  # system calls of another architecture
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    for number in (numbers[which] for numbers in calls.values()):
        if number >= 0:
            program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    program += [(_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _UNKNOWN)]  # then libc uses clone
    program += [
        (_EQUAL, 0, 4, _CLONE[which]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT_AT),
        (_ANY_BIT, 0, 1, _NEW_THREAD if "clone" in calls else 0),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
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
