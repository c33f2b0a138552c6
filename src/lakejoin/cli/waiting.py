"""Show on standard error what a slow command is doing."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lakejoin.cli.terminal import console

if TYPE_CHECKING:
    from lakejoin.joins.options import Progress

LONG_WAIT_SECONDS = 4.0  # seconds
STILL_SEARCHING = "still searching; the first searches after installation also compile code, once …"


@contextlib.contextmanager
def explain_long_wait(after: float = LONG_WAIT_SECONDS) -> Iterator[None]:
    """Explain the wait on standard error if it takes longer than `after` seconds."""
    screen = console(stderr=True)

    def explain() -> None:
        screen.print(STILL_SEARCHING, style="dim", soft_wrap=True)

    timer = threading.Timer(after, explain)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextlib.contextmanager
def status() -> Iterator[Progress]:
    """On a terminal, a status line on standard error that says what is being done."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield lambda doing: None
        return
    with screen.status("reading …") as status:
        yield lambda doing: status.update(f"{doing} …")


@contextlib.contextmanager
def status_or_explanation() -> Iterator[Progress]:
    """The status line on a terminal; elsewhere one sentence if it takes long."""
    if console(stderr=True).is_terminal:
        with status() as progress:
            yield progress
    else:
        with explain_long_wait():
            yield lambda doing: None
