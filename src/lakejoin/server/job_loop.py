"""The job loop inside a child process: jobs come in, progress and one answer go out."""

from __future__ import annotations

import json
import os
import queue
import struct
import sys
import threading
import traceback
from collections.abc import Callable
from typing import IO, Any

from lakejoin.own_process import prepare_process
from lakejoin.server.api_problems import Problem

Message = dict[str, Any]
ProgressReporter = Callable[
    [str, Any], None
]  # ("progress" or "partial", data); raises Stopped if cancelled
JobHandler = Callable[[Message, ProgressReporter], Any]

_LENGTH = struct.Struct(">I")


class JobCancelled(BaseException):
    """The job was cancelled. Not an `Exception`, so that no handler takes it for a failure."""


def serve_jobs(prepare: Callable[[Message], JobHandler]) -> None:
    """Take jobs until the server has gone. `prepare` gets the setup and returns the function that
    runs jobs: its result is the answer, what it raises is sent back as a problem."""
    prepare_process(with_pandas="LAKEJOIN_ENCODER" in os.environ)  # an encoder may use it
    source, sink = _private_pipes()
    inbox = _Inbox(source)
    setup = inbox.next()["setup"]
    work = _prepared(prepare, setup)
    _send(sink, {"ready": True})
    while True:
        job = inbox.next()["job"]

        def tell(event: str, data: Any) -> None:
            if inbox.stop.is_set():
                raise JobCancelled
            _send(sink, {event: data})

        try:
            work = work or prepare(setup)  # if it failed before, the caller learns why
            answer = {"done": work(job, tell)}
        except JobCancelled:
            answer = {"problem": {"kind": "stopped", "message": "stopped"}}
        except BaseException as problem:  # noqa: BLE001 (the server gets every error)
            answer = {"problem": Problem.from_error(problem).to_dict()}
            if answer["problem"]["kind"] == "ours":
                traceback.print_exc(file=sys.stderr)
        _send(sink, answer)


def _prepared(prepare: Callable[[Message], JobHandler], setup: Message) -> JobHandler | None:
    try:
        return prepare(setup)
    except Exception:  # noqa: BLE001 (the first job tries again and reports it)
        return None


class _Inbox:
    """Messages of the server, read in a thread so that a running job can be stopped."""

    def __init__(self, source: IO[bytes]) -> None:
        self.stop = threading.Event()
        self._messages: queue.Queue[Message] = queue.Queue()
        threading.Thread(target=self._read, args=[source], daemon=True).start()

    def next(self) -> Message:
        return self._messages.get()

    def _read(self, source: IO[bytes]) -> None:
        while True:
            head = source.read(_LENGTH.size)
            if len(head) < _LENGTH.size:
                os._exit(0)  # the server has gone
            message = json.loads(source.read(_LENGTH.unpack(head)[0]))
            if "stop" in message:
                self.stop.set()
            else:
                self.stop.clear()  # a stop may arrive just after its job ended
                self._messages.put(message)


def _private_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Duplicate the two pipes to the server, and point stdin at nothing and stdout at the log, so
    that no library can disturb the protocol."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, sink


def _send(sink: IO[bytes], message: Message) -> None:
    data = json.dumps(message, default=str).encode()
    sink.write(_LENGTH.pack(len(data)) + data)
    sink.flush()
