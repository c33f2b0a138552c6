"""JOSIE: the thesis's worked examples (3.2.4, 3.3.1, 3.3.2), and when a candidate is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lakejoin.engines.overlap import josie
from oracle.overlap import KINDS, PlainSets, Sets, answered, best_of

# Example 3.2.3: x_1 is 1, and so on.
EXAMPLE = [{1, 100, 200}, {2, 5}, {2}, set(range(2, 102))]
QUERY = np.array([1, 2, 100, 200])


@pytest.mark.parametrize("algorithm", KINDS)
def test_the_example_lake(tmp_path: Path, algorithm: str) -> None:
    sets = Sets(tmp_path, [PlainSets.of(EXAMPLE)])
    hits = sets.index().search(sets.codes(QUERY), 2, algorithm)
    assert answered(hits) == best_of(sets.segments, QUERY, 2) == [(0, 0, 3), (0, 3, 2)]


@pytest.mark.parametrize(
    ("count", "size", "position", "rest", "bound"),
    [
        (1, 1, 1, 2, 1),  # X_3 in example 3.2.4
        (1, 100, 1, 2, 3),  # X_4 there; the thesis prints 100, which min(4 - 2, 99) is not
        (1, 2, 1, 2, 2),  # X_2 in example 3.3.1
        (2, 100, 99, 1, 3),  # X_4 in example 3.3.2, after the list of x_100
    ],
)
def test_bounds_of_the_examples(
    count: int, size: int, position: int, rest: int, bound: int
) -> None:
    assert josie._reach.py_func(count, size, position, rest) == bound


def test_the_most_likely_candidates_are_read_first(tmp_path: Path) -> None:
    """Two good columns raise the k-th score above the bounds of all others, which are never read
    (example 3.3.1), although most of those are met last."""
    query = np.arange(2_000)
    rare = set(range(60))  # each is in both good columns and one poor one
    good = [rare | set(range(60, 2_000, 2)), rare | set(range(60, 2_000, 3))]
    poor = [{token, *range(10_000 + 300 * token, 10_300 + 300 * token)} for token in rare]
    sets = Sets(tmp_path, [PlainSets.of([*good, *poor])])
    hits = sets.index().search(sets.codes(query), 2, "josie")
    assert answered(hits) == best_of(sets.segments, query, 2)
    assert hits.counters.sets_read == 2
