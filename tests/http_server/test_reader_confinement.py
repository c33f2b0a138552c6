"""What the process that reads an upload can still do, seen from inside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = """
import ctypes, json, os, socket, subprocess, sys, threading
from pathlib import Path
from lakejoin.server.reader_confinement import confine_reader

store, outside = Path(sys.argv[1]), Path(sys.argv[2])
how = confine_reader(store)
tried = {}

def attempt(name, action):
    try:
        action()
        tried[name] = "done"
    except BaseException as problem:
        tried[name] = type(problem).__name__

def start_thread():
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()

def fork():
    if os.fork() == 0:
        os._exit(0)

def map_code():
    import mmap
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)

attempt("write in the store", lambda: (store / "a").write_text("x"))
attempt("rename in the store", lambda: (store / "a").rename(store / "b"))
attempt("read the store", (store / "b").read_text)
attempt("remove from the store", (store / "b").unlink)
attempt("read a library", lambda: Path(json.__file__).read_text())
attempt("start a thread", start_thread)
attempt("read a secret", (outside / "secret").read_text)
attempt("list a folder", lambda: list(outside.iterdir()))
attempt("read passwords", Path("/etc/passwd").read_text)
attempt("read its environment", Path("/proc/self/environ").read_bytes)
attempt("write outside", lambda: (outside / "x").write_text("x"))
attempt("make a link", lambda: (store / "l").symlink_to(outside))
attempt("read the working directory", Path("secret").read_text)
attempt("leave by a hard link", lambda: os.link(outside / "secret", store / "h"))
attempt("remove outside", (outside / "secret").unlink)
attempt("open a socket", lambda: socket.socket())
attempt("open a local socket", lambda: socket.socket(socket.AF_UNIX))
attempt("fork", fork)
attempt("run a program", lambda: subprocess.run(["/bin/true"], check=True))
attempt("signal another process", lambda: os.kill(os.getppid(), 0))
attempt("change owners", lambda: os.chown(store, 0, 0))
attempt("map code", map_code)
sys.stdout.write(json.dumps([how, tried]))
sys.stdout.flush()
"""
_ALLOWED = {
    "write in the store",
    "rename in the store",
    "read the store",
    "remove from the store",
    "read a library",
    "start a thread",
}


def test_a_reader_keeps_only_what_it_needs(tmp_path: Path) -> None:
    for name in ("store", "outside"):
        (tmp_path / name).mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    result = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(tmp_path / "store"), str(tmp_path / "outside")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        cwd=tmp_path / "outside",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    how, tried = json.loads(result.stdout)
    if how != "landlock+seccomp":
        pytest.skip(f"this system confines a process only by: {how}")
    assert {name for name, outcome in tried.items() if outcome == "done"} == _ALLOWED, tried
    assert (tmp_path / "outside" / "secret").read_text() == "secret"
