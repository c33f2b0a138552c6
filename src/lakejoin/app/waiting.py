"""What a person is told while a search takes long."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from lakejoin.app.printing import console

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
