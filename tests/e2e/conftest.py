"""A real browser, and a server of the demo lake (without the many small tables of one source)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lakejoin
from e2e.visiting import PATIENCE, Visitor, visiting
from fake_spark import FakeSpark
from http_server.served import Served, serving
from lakejoin.cli import demo_lake
from lakejoin.server.application import PAGE

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# No call to anybody, and no sandbox, which root cannot have.
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def demo_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of the demo lake."""
    folder = tmp_path_factory.mktemp("e2e") / "lake"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo_lake, "_rdatasets", lambda: iter(()))
        demo_lake.make_demo_lake(folder)
    index = folder.parent / "index"
    lakejoin.index(folder, index, spark=FakeSpark(), parts=["meaning", "distance"])
    return index


@pytest.fixture(scope="session")
def demo_served(demo_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of that lake, with the page."""
    if not (PAGE / "index.html").exists():
        pytest.skip("the page was not built: make page")
    with serving(demo_index, tmp_path_factory.mktemp("store")) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The Chromium of this machine. Playwright keeps a loop of events running as long as it lives,
    so it goes before tests of other files that have one of their own."""
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("there is no Chromium here: install the package chromium")
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=path, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture
def visitor(browser: Any, demo_served: Served) -> Iterator[Visitor]:
    """Somebody with an empty browser on a laptop."""
    with visiting(browser, demo_served) as found:
        yield found
