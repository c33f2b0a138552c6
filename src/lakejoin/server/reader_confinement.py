"""Confines the process that reads an upload: it keeps the files that it needs and gives up the rest
of the file system (Landlock), the network, other processes and new programs (seccomp)."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from lakejoin.server.system_calls import COMPUTING, Calls, confine

# Besides what computing needs: files by their paths, and threads. -1: the machine has no such call.
_READING: Calls = {
    **COMPUTING,
    "clone": (-1, -1),  # threads: see system_calls.py
    "open": (2, -1),
    "stat": (4, -1),
    "lstat": (6, -1),
    "poll": (7, -1),
    "ioctl": (16, 29),
    "access": (21, -1),
    "dup": (32, 23),
    "dup2": (33, -1),
    "sendfile": (40, 71),
    "uname": (63, 160),
    "fcntl": (72, 25),
    "fdatasync": (75, 83),
    "getcwd": (79, 17),
    "rename": (82, -1),
    "mkdir": (83, -1),
    "rmdir": (84, -1),
    "unlink": (87, -1),
    "readlink": (89, -1),
    "umask": (95, 166),
    "getuid": (102, 174),
    "getgid": (104, 176),
    "geteuid": (107, 175),
    "getegid": (108, 177),
    "statfs": (137, 43),
    "fstatfs": (138, 44),
    "getdents64": (217, 61),
    "fadvise64": (221, 223),
    "openat": (257, 56),
    "mkdirat": (258, 34),
    "newfstatat": (262, 79),
    "unlinkat": (263, 35),
    "renameat": (264, 38),
    "readlinkat": (267, 78),
    "faccessat": (269, 48),
    "utimensat": (280, 88),
    "fallocate": (285, 47),
    "dup3": (292, 24),
    "pipe2": (293, 59),
    "renameat2": (316, 276),
    "copy_file_range": (326, 285),
    "statx": (332, 291),
    "faccessat2": (439, 439),
}

_CREATE_RULESET, _ADD_RULE, _RESTRICT = 444, 445, 446  # the same numbers on every machine
_ASK_VERSION, _PATH_BENEATH = 1, 1
_READ = 1 << 2 | 1 << 3  # files and folders
_ALL_ACCESS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1}  # of files, by version
_EXECUTE = 1
_NO_NEW_PRIVILEGES = 38


def confine_reader(writable: Path) -> str:
    """Give up everything that reading an upload does not need; `writable` is the one folder that
    can be changed. Returns the mechanisms, joined by `+`, or `none`."""
    here = str(Path.cwd())  # on sys.path after `python -m`; the lake may be there
    readable = [path for path in sys.path if path not in ("", here)]
    readable += [sys.prefix, sys.base_prefix, str(Path(__file__).parents[1])]
    readable += ["/usr/lib", "/usr/lib64", "/usr/share", "/lib", "/lib64", "/dev/null"]
    done = [restrict_files(readable, [str(writable)]), confine(_READING)]
    return "+".join(name for name in done if name != "none") or "none"


def restrict_files(readable: Iterable[str], writable: Iterable[str]) -> str:
    """Allow only these files and folders, and what is below them; returns `landlock`, or `none` if
    the system has none."""
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
        return "none"
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    version = call(ctypes.c_long(_CREATE_RULESET), None, ctypes.c_size_t(0), _ASK_VERSION)
    if version < 1:
        return "none"
    handled = _ALL_ACCESS[min(version, 3)]
    size = ctypes.c_size_t(8)
    rules = call(ctypes.c_long(_CREATE_RULESET), struct.pack("=Q", handled), size, 0)
    if rules < 0:
        return "none"
    try:
        for paths, access in ((readable, _READ), (writable, handled & ~_EXECUTE)):
            for path in paths:
                with suppress(OSError):  # a folder of sys.path that is missing
                    _allow(call, rules, path, access)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
            return "none"
        return "none" if call(ctypes.c_long(_RESTRICT), rules, 0) else "landlock"
    finally:
        os.close(rules)


def _allow(call: ctypes._NamedFuncPointer, rules: int, path: str, access: int) -> None:
    file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not Path(path).is_dir():
            access &= 1 << 1 | 1 << 2 | 1 << 14  # a file is written, read, truncated
        rule = struct.pack("=Qi", access, file)
        call(ctypes.c_long(_ADD_RULE), rules, _PATH_BENEATH, rule, 0)
    finally:
        os.close(file)
