"""The lakes that composite keys are measured on: what is planted is there, and the peer agrees."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracle import mate as oracle

pytestmark = pytest.mark.usefixtures("scripts_importable")
K = 10


@pytest.fixture(scope="module")
def plan(scripts_importable: None) -> Any:
    return importlib.import_module("nary_lake").Plan("web-table", 20_000, queries=1, seed=3)


@pytest.fixture(scope="module")
def tables(plan: Any) -> dict[str, oracle.Columns]:
    """Every table as columns of texts."""
    texts = np.append(plan.vocabulary.texts.to_numpy(zero_copy_only=False), None)
    return {
        made.name: oracle.Columns(
            [texts[c].tolist() for c in made.columns], [True] * len(made.columns)
        )
        for made in plan.tables()
    }


@pytest.fixture(scope="module")
def snapshot(plan: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    nary_lake = importlib.import_module("nary_lake")
    folder = tmp_path_factory.mktemp("nary") / "lake"
    made = nary_lake.build(plan, folder)
    assert nary_lake.build(plan, folder).manifest == made.manifest  # found again
    return made


def test_the_index_holds_the_tables(snapshot: Any, tables: dict[str, oracle.Columns]) -> None:
    names = {entry.name for _, entry in snapshot.tables()}
    assert names == set(tables)
    for name in list(tables)[::40]:
        segment, entry = snapshot.table(name)
        kept = segment.to_arrow(entry)
        assert [column.to_pylist() for column in kept.columns] == list(tables[name].columns)


def test_planted_shares(plan: Any, tables: dict[str, oracle.Columns]) -> None:
    holders = plan.shape.holders
    for query in plan.queries:
        frame = plan.frame(query)
        wanted = list(oracle.combinations([c.to_pylist() for c in frame.columns]))
        assert len(wanted) == len(query)
        for i in range(holders):
            least = max(1, round((i + 1) / holders * len(query)))
            held = oracle.joinability(tables[f"{query.name}/holds {i}"], wanted)
            assert least <= held.best <= len(query)
        parts = [set(values) for values in zip(*wanted, strict=True)]
        decoy = tables[f"{query.name}/decoy 0"]
        assert all(any(part <= set(column) for column in decoy.columns) for part in parts)


def test_the_peer_agrees(
    plan: Any, snapshot: Any, tables: dict[str, oracle.Columns], tmp_path: Path
) -> None:
    pytest.importorskip("duckdb")
    peer, queries = (importlib.import_module(n) for n in ("nary_duckdb", "nary_queries"))
    duck = peer.DuckKeys(peer.make_cells(snapshot.segments, tmp_path / "cells.duckdb"))
    for asked in queries.planted(plan)[:2]:
        parts = [tokens.to_pylist() for tokens in asked.key.tokens]
        wanted = [
            tuple(part[n] for part, n in zip(parts, row, strict=True))
            for row in asked.key.combinations.tolist()
        ]
        scores = [oracle.joinability(table, wanted).best for table in tables.values()]
        expected = sorted((score for score in scores if score), reverse=True)[:K]
        hashed = peer.HashedKey.of(asked.key)
        assert duck.search(hashed, K).tolist() == expected
        cells = [
            sum(cell in set(part) for t in tables.values() for c in t.columns for cell in c)
            for part in parts
        ]
        assert duck.items(hashed, snapshot.segments).sum(axis=1).tolist() == cells
    duck.close()


def test_sampled_queries(snapshot: Any) -> None:
    queries = importlib.import_module("nary_queries")
    some = queries.sampled(snapshot, 3)
    assert some
    for asked in some:
        assert len(asked.key.columns) == 2
        assert 2 <= len(asked.key) < int(asked.group.split("(")[1][:-1].replace(",", ""))
        segment, entry = snapshot.table(asked.name)
        number = snapshot.segments.index(segment)
        hidden = np.arange(entry.first, entry.first + entry.width)
        assert asked.excluded.columns[number].tolist() == hidden.tolist()
    again = queries.sampled(snapshot, 3)
    assert [asked.name for asked in again] == [asked.name for asked in some]
