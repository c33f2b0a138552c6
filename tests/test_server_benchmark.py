"""The benchmark of the server: it runs on a small lake, and what it tells is right."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

import lakejoin
from fake_spark import FakeSpark

pytestmark = pytest.mark.usefixtures("scripts_importable")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench") / "lake"
    folder.mkdir()
    for number in range(4):
        rows = "\n".join(f"code{n},{n * 7}" for n in range(number, 300))
        (folder / f"stations{number}.csv").write_text(f"code,number{number}\n{rows}\n")
    lakejoin.index(folder, folder.parent / "index", spark=FakeSpark())
    return folder.parent / "index"


def test_it_measures_and_soaks(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import server
    import server_soak

    monkeypatch.setattr(server_soak, "HOUR", 40)
    given = argparse.Namespace(
        index=index, users=[2], seconds=1.5, most=2, soak=3.0, peer_python=None
    )
    figures = server.measure(given, tmp_path)
    assert set(figures["runs"]) == {
        *("rows", "table", "find", "search", "search, cached", "preview", "preview, cached"),
        "rows while 8 search",
    }
    for runs in figures["runs"].values():
        assert [sum(run["errors"].values()) for run in runs] == [0]
        assert runs[0]["requests"] > 0
    soaked = figures["soak"]
    assert (soaked["errors"], soaked["requests"] >= 30) == (0, True)
    assert soaked["server"]["first_mb"] > 10
    assert "mixed requests" in server.show(figures)


def test_users_wait_for_what_they_asked() -> None:
    from server_load import Waited

    waited = Waited(4, [0.1] * 95 + [0.5] * 5, took=10.0, cpu=2.0)
    waited.errors["503"] += 2
    figures = waited.figures()
    assert (figures["p50_ms"], figures["per_second"], figures["cpu_ms_each"]) == (100, 10, 20)
    assert figures["errors"] == {"503": 2}


def test_memory_that_grows_is_told_from_memory_that_does_not() -> None:
    from server_soak import slope

    flat = slope([(n, 50_000_000 + n % 3 * 1_000_000) for n in range(300)])
    assert abs(flat["mb_a_minute"]) <= 2 * flat["error"]
    growing = slope([(n, 50_000_000 + n * 100_000 + n % 3 * 1_000_000) for n in range(300)])
    assert growing["mb_a_minute"] == pytest.approx(6, abs=0.2)
    assert growing["mb_a_minute"] > 2 * growing["error"]


def test_what_is_shown() -> None:
    from server import show

    run: dict[str, Any] = {
        "users": 8,
        "requests": 100,
        "errors": {"503": 1},
        "p50_ms": 12.345,
        "p95_ms": 50.0,
        "per_second": 10.0,
        "cpu_ms_each": 3.0,
        "load": 2.0,
    }
    line = show({"runs": {"rows": [run]}}).splitlines()[1]
    assert line.split() == ["rows", "8", "100", "1", "12.3", "50.0", "10.0", "3.0", "2.0"]
