"""The benchmarks' own parts: the lakes they run on are what they promise, the peer agrees."""

from __future__ import annotations

import hashlib
import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
pytestmark = pytest.mark.usefixtures("scripts_importable")
CELLS = 60_000


@pytest.fixture(scope="module")
def lakes(scripts_importable: None) -> ModuleType:
    return importlib.import_module("lakes")


@pytest.fixture(scope="module", params=["open-data", "web-table"])
def lake(lakes: ModuleType, request: Any, tmp_path_factory: Any) -> Any:
    folder = tmp_path_factory.mktemp("lake") / request.param
    return lakes.generate(folder, CELLS, request.param, seed=7)


def columns_of(lake: Any) -> list[list[str | None]]:
    found = []
    for path in lake.files():
        if lake.format == "parquet":
            table = pq.read_table(path)
        else:
            names = path.read_text().partition("\n")[0].split(",")
            text = pv.ConvertOptions(
                column_types=dict.fromkeys(names, "string"), strings_can_be_null=True
            )
            table = pv.read_csv(path, convert_options=text)
        found += [column.to_pylist() for column in table.columns]
    return found


def counted(columns: list[list[str | None]]) -> dict[str, Any]:
    """The statistics by brute force, from the texts alone."""
    lists: dict[str, list[int]] = {}
    sizes = []
    for number, column in enumerate(columns):
        values = {v for v in column if v is not None}
        sizes.append(len(values))
        for value in values:
            lists.setdefault(value, []).append(number)
    members: dict[tuple[int, ...], int] = {}
    for postings in lists.values():
        members[tuple(postings)] = members.get(tuple(postings), 0) + 1
    shared = sum(n for n in members.values() if n > 1)
    return {
        "cells": sum(map(len, columns)),
        "nulls": sum(v is None for column in columns for v in column),
        "sets": len(columns),
        "max_size": max(sizes),
        "tokens": len(lists),
        "pairs": sum(sizes),
        "groups": len(members),
        "shared": shared / len(lists),
        "max_frequency": max(map(len, lists.values())),
    }


def test_statistics_are_those_of_the_files(lake: Any) -> None:
    expected = counted(columns_of(lake))
    found = {name: getattr(lake.statistics, name) for name in expected}
    assert found == pytest.approx(expected)
    assert lake.statistics.tables == len(lake.files())
    assert lake.bytes == sum(path.stat().st_size for path in lake.files())


def test_lake_has_the_promised_shape(lake: Any) -> None:
    statistics = lake.statistics
    assert abs(statistics.cells - CELLS) <= 15
    assert 8 < statistics.mean_length < 14
    low, high = {"open-data": (0.95, 1.0), "web-table": (0.7, 0.95)}[lake.kind]
    assert low <= statistics.shared <= high
    # Zipfian: the largest set is far larger than the average, the commonest token far commoner.
    assert statistics.max_size > 5 * statistics.avg_size
    assert statistics.max_frequency > 5 * statistics.pairs / statistics.tokens


def test_same_seed_same_bytes(lakes: ModuleType, tmp_path: Path) -> None:
    def digest(folder: Path, seed: int) -> str:
        made = lakes.generate(folder, 5_000, "open-data", seed=seed)
        everything = hashlib.sha256()
        for path in made.files():
            everything.update(str(path.relative_to(folder)).encode() + path.read_bytes())
        return everything.hexdigest()

    assert digest(tmp_path / "a", 3) == digest(tmp_path / "b", 3)
    assert digest(tmp_path / "c", 4) != digest(tmp_path / "a", 3)


def test_parquet_holds_the_same_cells(lakes: ModuleType, tmp_path: Path) -> None:
    made = [
        lakes.generate(tmp_path / name, 20_000, "open-data", format=name)
        for name in ("csv", "parquet")
    ]
    assert columns_of(made[0]) == columns_of(made[1])
    assert made[0].statistics == made[1].statistics


def test_tables_in_pieces_are_whole(
    lakes: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = lakes.generate(tmp_path / "whole", 30_000, "open-data")
    monkeypatch.setattr(importlib.import_module("lake_plan"), "BATCH_CELLS", 1_000)
    for format in ("csv", "parquet"):
        pieces = lakes.generate(tmp_path / format, 30_000, "open-data", format=format)
        assert pieces.statistics == whole.statistics
        assert columns_of(pieces) == columns_of(whole)


def test_an_existing_lake_is_found_and_another_is_not_overwritten(
    lakes: ModuleType, tmp_path: Path
) -> None:
    first = lakes.generate(tmp_path / "lake", 3_000, "open-data")
    assert lakes.generate(tmp_path / "lake", 3_000, "open-data") == first
    with pytest.raises(SystemExit, match="holds something else"):
        lakes.generate(tmp_path / "lake", 4_000, "open-data")


def test_texts_are_one_to_one_within_and_between_kinds() -> None:
    cell_text = importlib.import_module("cell_text")
    token = np.concatenate([np.arange(5_000), np.arange(26_900_000, 26_905_000)])
    seen: set[bytes] = set()
    for kind in list(cell_text.TextKind)[:-1]:
        tokens = token[token < 32_768] if kind == cell_text.TextKind.DAY else token
        kinds = np.full(len(tokens), kind, dtype=np.uint8)
        matrix, length = cell_text.spell(kinds, tokens, np.full(len(tokens), 5))
        texts = {row[:n].tobytes() for row, n in zip(matrix, length, strict=True)}
        assert len(texts) == len(tokens)
        assert not texts & seen
        assert length.max() < cell_text.WIDTH
        seen |= texts


def test_the_peer_finds_the_pairs_that_were_written(lake: Any) -> None:
    pytest.importorskip("duckdb")
    peer = importlib.import_module("peer_duckdb")
    result = peer.measure(lake.folder, threads=1, memory="1GB")
    assert result.rows == lake.statistics.pairs
    assert result.cells == lake.statistics.cells - lake.statistics.nulls
    assert result.peak_bytes > 0
    assert result.seconds > 0 and result.read_seconds > 0


def test_the_peer_keeps_columns_apart_and_folds(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    peer = importlib.import_module("peer_duckdb")
    (tmp_path / "a.csv").write_text('x,y\nOne," two, three"\none,\n')
    (tmp_path / "b.csv").write_text("x,y\nONE,two\none,two\n")
    (tmp_path / "c.csv").write_text("x\nONE\n")
    database = tmp_path / "out.duckdb"
    result = peer.measure(tmp_path, threads=1, fold=True, database=database)
    with duckdb.connect(str(database)) as connection:
        rows = connection.execute("SELECT val FROM pairs ORDER BY rowid").fetchall()
        columns = connection.execute("SELECT count(DISTINCT col) FROM pairs").fetchone()
    assert sorted(v for (v,) in rows) == ["one", "one", "one", "two", "two, three"]
    assert columns == (5,)
    assert (result.rows, result.cells) == (5, 8)


def test_a_watched_run_is_measured_and_recorded(tmp_path: Path) -> None:
    pytest.importorskip("psutil")
    harness = importlib.import_module("harness")
    work = "import time; x = bytearray(80_000_000); time.sleep(0.6); print('{\"n\": 1}')"
    figures, watch = harness.run_watched([sys.executable, "-c", work])
    assert figures == {"n": 1}
    assert watch.peak["driver"] > 80_000_000
    with pytest.raises(SystemExit, match="failed"):
        harness.run_watched([sys.executable, "-c", "raise ValueError('no')"])
    path = harness.record("test", figures, tmp_path / "out" / "x.jsonl")
    harness.record("test", figures, path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["n"] for line in lines] == [1, 1]
    assert lines[0]["date"].startswith("20")


@pytest.mark.parametrize(
    "script",
    ["lakes", "peer_duckdb", "index", "kernel_group", "kernel_superkeys", "search_containment"],
)
def test_every_script_explains_itself(script: str) -> None:
    command = [sys.executable, str(BENCHMARKS / f"{script}.py"), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "usage:" in done.stdout
