"""Asks questions in a forked child, which may die: what was said, and how it ended."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from lakejoin.errors import LakejoinError

_MEMORY = 6 << 30  # address space of a child: a forged length must not fill the machine


def ask(
    index: Path, questions: Iterable[tuple[str, Callable[[Path], Any]]], seconds: float = 60.0
) -> dict[str, tuple[str, Any]]:
    """For each question ("answer", what), ("refused", sentence), ("error", traceback); and for
    the child ("death", signal) or ("hung", seconds)."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _answer(write, index, questions)
    os.close(write)
    said, ended = _collect(read, seconds)
    os.close(read)
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    found = {name: (kind, what) for name, kind, what in map(json.loads, said.splitlines())}
    if not ended:
        found["child"] = ("hung", seconds)
    elif os.WIFSIGNALED(status):
        found["child"] = ("death", os.WTERMSIG(status))
    return found


def _answer(out: int, index: Path, questions: Iterable[tuple[str, Callable[[Path], Any]]]) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    for name, question in questions:
        try:
            line = (name, "answer", str(question(index)))
        except LakejoinError as problem:
            line = (name, "refused", str(problem))
        except BaseException:  # noqa: BLE001 (whatever comes is counted)
            line = (name, "error", traceback.format_exc()[-3000:])
        os.write(out, json.dumps(line).encode() + b"\n")
    os._exit(0)


def _collect(read: int, seconds: float) -> tuple[bytes, bool]:
    said = b""
    while select.select([read], [], [], seconds)[0]:
        part = os.read(read, 1 << 16)
        if not part:
            return said, True
        said += part
    return said.rpartition(b"\n")[0], False


def count_outcomes(found: Iterable[dict[str, tuple[str, Any]]]) -> Counter[str]:
    return Counter(kind for answers in found for kind, _ in answers.values())
