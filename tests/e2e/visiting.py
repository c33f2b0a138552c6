"""A person in front of the page: what is opened, clicked, typed, seen, and kept as a picture."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from http_server.served import Served

SHOTS = Path(os.environ.get("LAKEJOIN_SCREENSHOTS") or "build/screenshots")
PATIENCE = 60_000.0  # milliseconds; the first searches compile their code


@dataclass
class Visitor:
    """A page, the server behind it, and what went wrong on it."""

    page: Any
    served: Served
    problems: list[str] = field(default_factory=list)

    def open(self, fragment: str = "") -> None:
        """Opens the page."""
        self.page.goto(f"{self.served.url}/{fragment}")

    def the(self, name: str) -> Any:
        """What the page calls so (`data-testid`)."""
        return self.page.get_by_test_id(name)

    def start_from(self, text: str) -> None:
        """Picks a table in the lake by typing."""
        self.open()
        self.the("find").fill(text)
        self.the("found").first.click()
        self.the("grid").wait_for()

    def search(self) -> None:
        """Searches, and waits for the last answer."""
        self.the("tab-search").click()
        self.the("search-start").click()
        self.searched()

    def searched(self, status: str = "done") -> None:
        """Waits until the search is over."""
        self.page.wait_for_selector(f"[data-testid=results][data-status={status}]")

    def shot(self, name: str) -> None:
        """Keeps a picture of what is seen."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name}.png")


@contextmanager
def visiting(browser: Any, served: Served, **options: Any) -> Iterator[Visitor]:
    """A visitor with an empty browser; afterwards nothing may have gone wrong in it, and nobody
    else may have been asked for anything."""
    size = {"width": 1440, "height": 900}
    given = {"viewport": size, "accept_downloads": True, **options}
    context = browser.new_context(**given)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    found = Visitor(page, served)

    def asked(request: Any) -> None:
        if not request.url.startswith((served.url, "data:", "blob:")):
            found.problems.append(f"asked {request.url}")

    def said(message: Any) -> None:
        # A status of 4xx is told of by the browser itself: what the page shows of it is tested.
        if message.type == "error" and "Failed to load resource" not in message.text:
            found.problems.append(message.text)

    page.on("request", asked)
    page.on("console", said)
    page.on("pageerror", lambda error: found.problems.append(str(error)))
    page.on("dialog", lambda dialog: found.problems.append(f"dialog: {dialog.message}"))
    try:
        yield found
        assert found.problems == []
    finally:
        context.close()
