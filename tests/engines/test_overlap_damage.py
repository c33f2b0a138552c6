"""Searches of damaged postings: the right answer or a `DamagedIndex`, never a wrong one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lakejoin.engines.hits import ExcludedColumns
from lakejoin.engines.overlap import OverlapIndex
from lakejoin.engines.overlap.read_costs import ReadCosts
from lakejoin.errors import DamagedIndex
from lakejoin.model import Array
from oracle.damage import damaged
from oracle.overlap import COSTS, KINDS, Sets, answered, best_of, drawn, open_postings


def right_or_damaged(sets: Sets, rng: np.random.Generator, asked: list[Array], most: int) -> int:
    """Searches a damaged lake; returns how often damage was told."""
    told = 0
    codes = [sets.codes(query) for query in asked]
    best = [best_of(sets.segments, query, 5) for query in asked]
    hidden = ExcludedColumns([np.array([c for s, c, _ in best[0][:1] if s == n], dtype=np.int64)
                       for n in range(len(sets.segments))])  # fmt: skip
    less = best_of(sets.segments, asked[0], 5, hidden)
    shared = sets.segments[-1].overlaps(asked[0])
    for number, what in enumerate(damaged(sets.files[-1], rng, most)):
        kind = KINDS[number % len(KINDS)]
        costs = COSTS[rng.choice(["usual", "lists are dear", "entries are dear"])]
        try:
            index = OverlapIndex([open_postings(f) for f in sets.files], costs)
            for one, expected in zip(codes, best, strict=True):
                found = answered(index.search(one, 5, kind))
                assert found == expected, (what, kind, costs)
            found = answered(index.search(codes[0], 5, kind, hidden))
            assert found == less, (what, kind, costs)
        except DamagedIndex:
            told += 1
        try:
            index = OverlapIndex([open_postings(f) for f in sets.files], ReadCosts())
            columns = np.arange(len(shared))
            counts = index.overlaps(codes[0][-1], len(sets.segments) - 1, columns)
            assert counts.tolist() == shared.tolist(), what
        except DamagedIndex:
            told += 1
    return told


def test_damage_in_a_small_file_is_told_or_does_no_harm(tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    sets = Sets(tmp_path, [drawn(rng, 30, 40, 60), drawn(rng, 150, 200, 400)])
    assert sets.postings[1].file.blocks == 1
    by_size = np.argsort(-sets.segments[1].sizes())
    asked = [sets.segments[1].set_of(by_size[n]) for n in (2, 40)]
    assert right_or_damaged(sets, rng, asked, 120) > 60


def test_damage_in_a_large_file_is_told_or_does_no_harm(tmp_path: Path) -> None:
    """Each array spans blocks: what is read must be noted, block by block."""
    rng = np.random.default_rng(12)
    sets = Sets(tmp_path, [drawn(rng, 24_000, 3000, 60_000)])
    assert sets.postings[0].file.blocks > 20
    by_size = np.argsort(-sets.segments[0].sizes())
    asked = [sets.segments[0].set_of(by_size[n]) for n in (3, 2000, 9000)]
    assert right_or_damaged(sets, rng, asked, 160) > 60
