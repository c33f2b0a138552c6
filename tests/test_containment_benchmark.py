"""The benchmark of containment counts right: its truth, and what it says of engines."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("scripts_importable")


@pytest.fixture(scope="module")
def data(scripts_importable: None) -> ModuleType:
    pytest.importorskip("psutil")
    return importlib.import_module("containment_data")


@pytest.fixture(scope="module")
def sets(data: ModuleType) -> Any:
    return data.generated("open-data", 60_000, seed=3)


def test_the_truth_is_that_of_python_sets(data: ModuleType, sets: Any) -> None:
    queries = data.sample(sets, 1_000, 3)
    assert ((sets.sizes[queries] >= 10) & (sets.sizes[queries] < 1_000)).all()
    assert len(set(queries.tolist())) == len(queries) > 5
    right = data.truth(sets, queries)
    plain = [set(sets.of(i).tolist()) for i in range(len(sets))]
    for i, query in enumerate(queries.tolist()):
        for threshold in (0.2, 1.0):
            wanted = {
                n
                for n, other in enumerate(plain)
                if n != query and len(plain[query] & other) >= threshold * len(plain[query])
            }
            assert set(right.at(i, threshold).tolist()) == wanted


def test_an_engine_that_knows_is_perfect_and_ours_is_good(data: ModuleType, sets: Any) -> None:
    bench = importlib.import_module("search_containment")
    engines = importlib.import_module("containment_engines")
    queries = data.sample(sets, 1_000, 3)
    right = data.truth(sets, queries)
    place = {query: i for i, query in enumerate(queries.tolist())}

    class Oracle:
        index_seconds = 0.0

        def find(self, query: int) -> np.ndarray:
            return np.append(right.at(place[query], 0.5), query)

    perfect = bench.measure(Oracle(), queries, right, 0.5)
    assert (perfect["precision"], perfect["recall"]) == (1.0, 1.0)
    signatures, _ = engines.sketched(sets, "fast", 128)
    made = engines.Indexed(sets, signatures, bench.SketchOptions())
    ours = engines.Ours(made, bench.DEFAULT).at(0.5)
    assert bench.measure(ours, queries, right, 0.5)["recall"] > 0.9


def test_the_peer_makes_the_signatures_that_its_own_call_makes(data: ModuleType, sets: Any) -> None:
    datasketch = pytest.importorskip("datasketch")
    engines = importlib.import_module("containment_engines")
    few = data.Sets(sets.start[:4], sets.values)
    for number, made in enumerate(engines.datasketch_signatures(few, 64)):
        own = datasketch.MinHash(64, hashfunc=int)
        own.update_batch((few.of(number) >> np.uint64(32)).tolist())
        assert (own.hashvalues == made.hashvalues).all()
