"""What a person is told while something takes long."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lakejoin.app.printing import console

if TYPE_CHECKING:
    from lakejoin.joins.options import Progress

AFTER = 4.0  # seconds
TOLD = "still searching; the first searches after an installation also compile their code, once …"


@contextlib.contextmanager
def patience(after: float = AFTER) -> Iterator[None]:
    """Says on standard error, once it takes long, what it is that takes so long."""
    screen = console(stderr=True)

    def tell() -> None:
        screen.print(TOLD, style="dim", soft_wrap=True)

    timer = threading.Timer(after, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextlib.contextmanager
def status() -> Iterator[Progress]:
    """A line on standard error, of a terminal only, that says what is being done."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield lambda doing: None
        return
    with screen.status("reading …") as status:
        yield lambda doing: status.update(f"{doing} …")


@contextlib.contextmanager
def told() -> Iterator[Progress]:
    """That line on a terminal; elsewhere one sentence, once it takes long."""
    if console(stderr=True).is_terminal:
        with status() as tell:
            yield tell
    else:
        with patience():
            yield lambda doing: None
