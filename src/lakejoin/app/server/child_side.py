"""A child's half of the talk with the server: jobs come in, progress and one answer go out."""

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

from lakejoin.app.server.problems import Problem

Message = dict[str, Any]
Tell = Callable[[str, Any], None]  # ("progress" or "partial", what); ends a job that is unwanted
Work = Callable[[Message, Tell], Any]

_LENGTH = struct.Struct(">I")


class Stopped(BaseException):
    """The job is no longer wanted. No `Exception`, so that nothing takes it for a failure."""


def serve_jobs(prepare: Callable[[Message], Work]) -> None:
    """Takes jobs until the server has gone. `prepare` is given the setup, and what it returns works
    on jobs: its result is the answer, what it raises is the problem."""
    given, back = _private_pipes()
    inbox = _Inbox(given)
    setup = inbox.next()["setup"]
    work = _prepared(prepare, setup)
    _send(back, {"ready": True})
    while True:
        job = inbox.next()["job"]

        def tell(what: str, told: Any) -> None:
            if inbox.stop.is_set():
                raise Stopped
            _send(back, {what: told})

        try:
            work = work or prepare(setup)  # if it failed before: the caller is told why
            answer = {"done": work(job, tell)}
        except Stopped:
            answer = {"problem": {"kind": "stopped", "message": "stopped"}}
        except BaseException as problem:  # noqa: BLE001 (whatever it is, the server is told)
            answer = {"problem": Problem.from_error(problem).to_dict()}
            if answer["problem"]["kind"] == "ours":
                traceback.print_exc(file=sys.stderr)
        _send(back, answer)


def _prepared(prepare: Callable[[Message], Work], setup: Message) -> Work | None:
    try:
        return prepare(setup)
    except Exception:  # noqa: BLE001 (told with the first job, which tries again)
        return None


class _Inbox:
    """What the server says, read by a thread, so that a job can be stopped while it runs."""

    def __init__(self, given: IO[bytes]) -> None:
        self.stop = threading.Event()
        self._messages: queue.Queue[Message] = queue.Queue()
        threading.Thread(target=self._read, args=[given], daemon=True).start()

    def next(self) -> Message:
        """Waits for the next message."""
        return self._messages.get()

    def _read(self, given: IO[bytes]) -> None:
        while True:
            head = given.read(_LENGTH.size)
            if len(head) < _LENGTH.size:
                os._exit(0)  # the server has gone, and nobody waits for what this one does
            message = json.loads(given.read(_LENGTH.unpack(head)[0]))
            if "stop" in message:
                self.stop.set()
            else:
                self.stop.clear()  # here: it may have come when the job before had just ended
                self._messages.put(message)


def _private_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """The two pipes to the server, under numbers of their own: what a library prints goes to the
    log, and what it reads is nothing."""
    given, back = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return given, back


def _send(back: IO[bytes], message: Message) -> None:
    data = json.dumps(message, default=str).encode()
    back.write(_LENGTH.pack(len(data)) + data)
    back.flush()
