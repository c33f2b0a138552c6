"""A lake with all that is awkward in one, and a real server that serves it."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakejoin
from fake_spark import FakeSpark
from http_server.served import Served, serving

RANDOM = random.Random(5)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
CODES = ["".join(RANDOM.choices(LETTERS, k=5)) for _ in range(200)]
NAMES = ["".join(RANDOM.choices(LETTERS.lower(), k=8)).capitalize() for _ in range(200)]
HOSTILE = "<img src=x onerror=alert(1)>"


def write_csv(path: Path, heads: list[str], rows: list[list[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([heads, *rows])


@pytest.fixture(scope="session")
def served_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the lake; its index is beside it."""
    folder = tmp_path_factory.mktemp("served") / "lake"
    (folder / "sub").mkdir(parents=True)
    write_csv(
        folder / "stations.csv",
        ["code", "town", "passengers", "opened"],
        [[c, NAMES[n], 1000 + 37 * n, f"19{n % 90 + 10}-0{n % 9 + 1}-11"] for n, c in
         enumerate(CODES)],
    )  # fmt: skip
    write_csv(
        folder / "sub" / "delays.csv",
        ["station", "minutes", "weather"],
        [[CODES[n * 7 % 150], n % 60, ["rain", "snow", "sun"][n % 3]] for n in range(600)],
    )
    write_csv(
        folder / "sub" / "places.csv",
        ["place", "lat", "lon"],
        [[f"{town}, N.", 50 + n / 10, 8 + n / 7] for n, town in enumerate(NAMES[:120])],
    )
    write_csv(
        folder / f"{HOSTILE}.csv".replace("/", ""),
        [HOSTILE, "=1+1", "note"],
        [[f"{HOSTILE}{n}", f"=cmd|' /C calc'!A{n}", f"x\"y'{n}"] for n in range(30)],
    )
    pq.write_table(
        pa.table({"id": pa.array(range(3000)), "code": [CODES[n % 200] for n in range(3000)]}),
        folder / "sub" / "visits.parquet",
    )
    lakejoin.index(folder, folder.parent / "index", spark=FakeSpark())
    return folder


@pytest.fixture(scope="session")
def served(served_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of that lake, as `lakejoin serve` starts it."""
    index = served_lake.parent / "index"
    with serving(index, tmp_path_factory.mktemp("store")) as found:
        yield found
