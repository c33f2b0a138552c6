"""A build that is killed leaves the previous index whole, and the next build cleans up."""

from __future__ import annotations

import multiprocessing
import random
import time
from pathlib import Path

import pytest

import lakejoin
from spark import crash_child

KILLS = 50
TABLES = 12


def write_lake(lake: Path, generation: int) -> dict[str, list[str]]:
    """The same tables with other values; returns what each must hold."""
    lake.mkdir(exist_ok=True)
    expected = {}
    for table in range(TABLES):
        values = [f"Value {generation} {table} {row}" for row in range(200)]
        text = "id,value\n" + "".join(f"{row},{value}\n" for row, value in enumerate(values))
        (lake / f"t{table:02d}.csv").write_text(text)
        expected[f"t{table:02d}.csv"] = values
    return expected


def held(index: Path) -> dict[str, list[str]]:
    opened = lakejoin.open(index)
    return {t.name: t.to_arrow()["value"].to_pylist() for t in opened.tables()}


@pytest.fixture(scope="module")
def context() -> multiprocessing.context.ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["spark.crash_child"])
    return context


def test_killed_at_fifty_moments(
    tmp_path: Path, context: multiprocessing.context.ForkServerContext
) -> None:
    lake, index = tmp_path / "lake", tmp_path / "index"
    current = write_lake(lake, 0)
    crash_child.build(str(lake), str(index))
    begin = time.perf_counter()
    child = context.Process(target=crash_child.build, args=(str(lake), str(index)))
    child.start()
    child.join()
    whole = time.perf_counter() - begin
    moments = random.Random(7)
    survived = 0
    for kill in range(1, KILLS + 1):
        wanted = write_lake(lake, kill)
        child = context.Process(target=crash_child.build, args=(str(lake), str(index)))
        child.start()
        child.join(timeout=moments.uniform(0, 1.1 * whole))
        child.kill()
        child.join()
        found = held(index)
        assert found in (current, wanted), "one version or the other, never a mixture"
        survived += found == wanted
        current = found
    assert survived < KILLS, "the kills must come before the end of some builds"
    wanted = write_lake(lake, KILLS + 1)
    crash_child.build(str(lake), str(index))
    assert held(index) == wanted
    snapshot = lakejoin.open(index).snapshot
    assert not [c for c in snapshot.check() if c.problem]
    named = {s.id for s in snapshot.manifest.segments} | {r[0] for r in snapshot.manifest.retired}
    assert {p.name for p in (index / "segments").iterdir()} <= named
    assert not (index / "scratch").exists()
