"""Composite keys in damaged segments: the right answer or a `DamagedIndex`, never a wrong one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lakejoin.engines.composite import KeyHits, KeyQuery, key_query
from lakejoin.errors import DamagedIndex
from lakejoin.model import ValueRules
from lakejoin.search.key_search import KeyMatches
from lakejoin.search.query_tables import FrameTable
from lakejoin.store.index_records import SuperKeyOptions
from lakejoin.store.postings import PostingsComponent
from lakejoin.store.snapshot import Snapshot
from lakejoin.store.super_keys import SuperKeyComponent
from oracle.damage import damaged
from oracle.lakes import PlainTable
from oracle.search import lake_of
from published.mate import PublishedMate, PublishedOptions


def table(rng: np.random.Generator, number: int, rows: int) -> PlainTable:
    """Some columns of few values, one of many, one written in several ways."""
    few = rng.integers(0, 40, (3, rows))
    many = rng.integers(0, 3 * rows, rows)
    return PlainTable(
        f"t{number}",
        {
            "few": [f"f{v}" for v in few[0]],
            "name": [f"Name {v}" if v % 2 else f" name  {v}" for v in few[1]],
            "many": [f"m{v}" for v in many],
            "also": [None if v == 7 else f"f{v}" for v in few[2]],
        },
    )


def answer(query: KeyQuery, snapshot: Snapshot, options: PublishedOptions) -> tuple[object, ...]:
    hits: KeyHits = PublishedMate(3, options).search(query, snapshot.segments)
    met = [
        KeyMatches(query).of(snapshot.segments[s], mapping.columns)
        for s, mapping in zip(hits.segment.tolist(), hits.mapping, strict=True)
    ]
    return (
        hits.segment.tolist(),
        hits.table.tolist(),
        hits.matched.tolist(),
        hits.mapping,
        hits.runner_up,
        [(one.positions.tolist(), one.lake_rows.tolist()) for one in met],
    )


@pytest.mark.parametrize("rows", [60, 20_000])
def test_damage_is_told_or_does_no_harm(tmp_path: Path, rows: int) -> None:
    rng = np.random.default_rng(rows)
    tables = [table(rng, n, rows) for n in range(4)]
    parts = (PostingsComponent(), SuperKeyComponent(SuperKeyOptions(bits=128)))
    lake = lake_of(tmp_path, [tables], True, components=parts)
    mine = pa.table({"a": tables[1].columns["few"][:50], "b": tables[1].columns["many"][:50]})
    query = key_query(FrameTable(mine, ValueRules()), [0, 1])
    expected = answer(query, lake.snapshot, PublishedOptions())
    told = 0
    for name in ("rows", "superkeys"):
        (file,) = (tmp_path / "segments" / "s0").glob(f"{name}*.lj")
        for number, what in enumerate(damaged(file, rng, 60)):
            options = PublishedOptions(bounds=number % 2 == 0)
            try:
                found = answer(query, Snapshot(lake.snapshot.location), options)
                assert found == expected, (name, what)
            except DamagedIndex:
                told += 1
    assert told > 20
