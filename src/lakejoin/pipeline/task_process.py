"""A process that runs tasks for `process_runner`: `python -m lakejoin.pipeline.task_process`."""

from __future__ import annotations

import os
import pickle
import signal
import struct
import sys
import threading
from queue import SimpleQueue
from typing import IO, Any

from lakejoin.own_process import prepare_process

WITH_PANDAS = "--with-pandas"
_LENGTH = struct.Struct(">Q")  # before each message between the processes


def _main() -> None:
    prepare_process(with_pandas=WITH_PANDAS in sys.argv)
    from lakejoin.pipeline.task_kinds import run_batch

    requests, answers = _take_pipes()
    waiting: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(requests, waiting), daemon=True).start()
    while True:
        body = waiting.get()
        job, batch = pickle.loads(body)
        outcomes: list[Any] = []
        reason = ""
        try:
            outcomes = list(run_batch(job, batch))
        except Exception as problem:  # noqa: BLE001 (the other process decides whether to try again)
            reason = f"{type(problem).__name__}: {problem}"[:500]
        write_message(answers, pickle.dumps((outcomes if not reason else [], reason)))


def _take_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes to the other process; nothing else may read or print there."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)
    os.close(nowhere)
    return requests, answers


def _receive(requests: IO[bytes], waiting: SimpleQueue[bytes]) -> None:
    """Take requests, also during a task; once the other process has gone, end all at once."""
    try:
        while True:
            waiting.put(read_message(requests))
    except (EOFError, OSError):
        if os.getpid() == os.getpgid(0):
            os.killpg(0, signal.SIGKILL)  # with a reader that it may have started
        os._exit(1)


def write_message(file: IO[bytes], body: bytes) -> None:
    """Write a message of any length."""
    file.write(_LENGTH.pack(len(body)))
    file.write(body)
    file.flush()


def read_message(file: IO[bytes]) -> bytes:
    """Read a message; raises EOFError if the other side has gone."""
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    body = file.read(length)
    if len(body) < length:
        raise EOFError
    return body


if __name__ == "__main__":
    _main()
