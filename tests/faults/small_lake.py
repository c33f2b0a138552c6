"""A small lake with every part of an index, and questions that read all of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lakejoin
from fake_spark import FakeSpark
from lakejoin.spark.task_runner import Cluster, make_graph
from lakejoin.store.graph_files import GraphOptions

_LANDS = ("Switzerland", "Norway", "Germany", "Namibia", "France")


def write_lake(folder: Path, tables: int = 6, rows: int = 60, seed: int = 1) -> Path:
    """Tables of towns with lands, codes, spellings, nulls, dates, coordinates and amounts."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for table in range(tables):
        lines = ["town,land,code,since,lat,lon,amount,remark"]
        for row in range(rows):
            town = int(rng.integers(0, 40 + 5 * table))
            name = f"Town {town}" if town % 7 else f" TOWN {town} "
            lines.append(
                f"{name},{_LANDS[town % 5]},{'' if town % 11 == 0 else f'T-{town:03d}'},"
                f"{1900 + town}-01-{1 + row % 28:02d},{40 + town / 7:.4f},{5 + town / 9:.4f},"
                f"{rng.integers(1, 9999)},{'long remark ' * (30 if row == 3 else 1)}{row % 4}"
            )
        (folder / f"towns_{'abcdefgh'[table % 8]}{table}.csv").write_text("\n".join(lines) + "\n")
    return folder


QUERY = {
    "town": ["Town 1", "town 2", "Town 3", "Town 4", "Town 14", "Nowhere"],
    "land": ["Norway", "Germany", "Namibia", "France", "France", "Italy"],
    "code": ["T-001", "T-002", "T-003", "T-004", "T-014", "X"],
    "lat": ["40.1429", "40.2857", "40.4286", "40.5714", "42.0", "1"],
    "lon": ["5.1111", "5.2222", "5.3333", "5.4444", "6.5556", "2"],
}


def build_index(lake: Path, index: Path) -> None:
    """An index of the lake with vectors, points and the join graph."""
    lakejoin.index(
        lake, index, FakeSpark(), parts=["meaning", "distance"], encoder="characters"
    )  # fmt: skip
    make_graph(index, GraphOptions(least=2), Cluster(FakeSpark()))


Question = Callable[[Path], Any]


def _rows(index: Path) -> Any:
    return [t.to_arrow().to_pylist() for t in lakejoin.open(index).tables()]


def _columns(index: Path) -> Any:
    return [t.to_dict() for t in lakejoin.open(index).tables()]


def _ranked(answer: Any) -> Any:
    return [str(result) for result in answer]


def _check(index: Path) -> Any:
    for result in lakejoin.open(index).snapshot.check():
        if result.problem:
            raise lakejoin.LakejoinError(result.problem)
    return "whole"


QUESTIONS: dict[str, Question] = {
    "info": lambda i: lakejoin.open(i).info()["tables"],
    "rows": _rows,
    "columns": _columns,
    "overlap": lambda i: _ranked(lakejoin.open(i).overlap(QUERY, "town")),
    "containment": lambda i: _ranked(lakejoin.open(i).containment(QUERY, "code")),
    "composite": lambda i: _ranked(lakejoin.open(i).composite(QUERY, ["town", "land"])),
    "similar": lambda i: _ranked(lakejoin.open(i).similar(QUERY, "town")),
    "nearby": lambda i: _ranked(lakejoin.open(i).nearby(QUERY, ["lat", "lon"], within="5km")),
    "search": lambda i: _ranked(lakejoin.open(i).search(QUERY)),
    "union": lambda i: _ranked(lakejoin.open(i).union(QUERY)),
    "own table": lambda i: _ranked(lakejoin.open(i).overlap("towns_a0.csv", "code")),
    "graph": lambda i: str(lakejoin.open(i).graph().around("towns_a0.csv", hops=1)),
    "paths": lambda i: str(lakejoin.open(i).paths(QUERY, "towns_b1.csv")),
    "join": lambda i: lakejoin.join(QUERY, lakejoin.open(i).table("towns_b1.csv")).table().num_rows,
    "skipped": lambda i: [str(s) for s in lakejoin.open(i).skipped()],
    "check": _check,
}
