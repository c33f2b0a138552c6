"""The compact form of vectors: its bounds hold, it is small, and damage is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.vector_spaces import KINDS, unit, vectors_of
from lakejoin.engines.meaning.vector_candidates import CandidateFinder
from lakejoin.errors import DamagedIndex
from lakejoin.locations import Location
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.compact_vectors import LEAF, CompactVectors, MatrixSource, write_compact_vectors
from oracle.vectors import all_distances


def by_position(compact: CompactVectors) -> np.ndarray[Any, Any]:
    """The rounded coordinates of every vector, in the order of the tree."""
    rows = compact.blocks.transpose(0, 2, 1).reshape(-1, len(compact.axes))[: compact.count]
    return rows * compact.scale


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(KINDS), st.sampled_from([0, 1, 64, 65, 400]), st.sampled_from([1, 9, 90]),
       st.integers(0, 2**32))  # fmt: skip
def test_bounds_hold(kind: str, count: int, dimension: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = vectors_of(kind, count, dimension, rng)
    queries = vectors_of(kind, 5, dimension, rng)
    compact = CompactVectors.build(MatrixSource(vectors), zeros=True)
    assert sorted(compact.order.tolist()) == list(range(count))
    mine, rests = compact.coordinates(queries)
    far = all_distances(queries, vectors[compact.order])
    gap = ((mine[:, None, :] - by_position(compact)[None]) ** 2).sum(axis=2)
    bound = np.sqrt(gap + (rests[:, None] - compact.rest[None, :count]) ** 2)
    for leaf in range(len(compact.blocks)):
        part = slice(leaf * LEAF, (leaf + 1) * LEAF)
        error = compact.span[_node(compact, leaf), 2]
        room = 1e-5 * max(np.abs(vectors).max(initial=0), np.abs(queries).max(initial=0))
        assert (bound[:, part] - error <= far[:, part] + room).all()


def _node(compact: CompactVectors, leaf: int) -> int:
    node, first, last = 0, 0, len(compact.blocks)
    while last - first > 1:
        mid = (first + last + 1) // 2
        if leaf < mid:
            node, last = node + 1, mid
        else:
            node, first = node + 2 * (mid - first), mid
    return node


def written(tmp_path: Path, vectors: np.ndarray[Any, Any]) -> tuple[Location, Any]:
    place = Location.of(str(tmp_path)) / "x.lj"
    with ArrayFileWriter(place) as out:
        write_compact_vectors(MatrixSource(vectors), out)
    return place, out.record


@pytest.mark.parametrize("count", [0, 1, 64, 3000])
@pytest.mark.parametrize("dimension", [2, 100])
def test_a_file_gives_the_same(tmp_path: Path, count: int, dimension: int) -> None:
    vectors = vectors_of("random", count, dimension, np.random.default_rng(1))
    made = CompactVectors.build(MatrixSource(vectors))
    opened = CompactVectors.open(ArrayFile(*written(tmp_path, vectors)))
    for name in ("axes", "scale", "blocks", "rest", "order", "low", "high", "span"):
        assert np.array_equal(getattr(made, name), getattr(opened, name)), name
    assert (opened.count, opened.dimension, opened.zeros) == (count, dimension, False)


@pytest.mark.parametrize("count", [1_000, 3_000, 30_000])
def test_it_is_small(tmp_path: Path, count: int) -> None:
    vectors = unit(vectors_of("random", count, 256, np.random.default_rng(2)))
    _, record = written(tmp_path, vectors)
    codes = 4  # beside the compact form
    assert record.bytes / len(vectors) + codes < 80


@pytest.mark.parametrize("dimension", [1, 16, 64, 65, 300])
def test_axes_make_no_vector_longer(dimension: int) -> None:
    vectors = vectors_of("clustered", 2_000, dimension, np.random.default_rng(5))
    axes = CompactVectors.build(MatrixSource(vectors)).axes
    assert axes.dtype == np.float32
    lengths = np.linalg.svd(axes.astype(np.float64), compute_uv=False)
    assert lengths.max() <= 1.0
    assert lengths.min() >= 1.0 - 2e-6


def test_axes_in_double_precision_can_be_read(tmp_path: Path) -> None:
    """Those of indexes that were made before."""
    vectors = unit(vectors_of("random", 500, 100, np.random.default_rng(6)))
    place = Location.of(str(tmp_path)) / "x.lj"
    made = CompactVectors.build(MatrixSource(vectors))
    with ArrayFileWriter(place) as out:
        out.meta["compact"] = [made.count, made.dimension, False]
        for name in ("mean", "axes", "scale", "blocks", "rest", "order", "low", "high", "span"):
            wide = name in ("mean", "axes")
            array = getattr(made, name)
            out.add(name, array.astype(np.float64) if wide else array)
    opened = CompactVectors.open(ArrayFile(place, out.record))
    for mine, theirs in zip(opened.coordinates(vectors), made.coordinates(vectors), strict=True):
        assert np.array_equal(mine, theirs)


def test_damage_is_found_when_it_is_read(tmp_path: Path) -> None:
    vectors = unit(vectors_of("random", 30_000, 100, np.random.default_rng(3)))
    place, record = written(tmp_path, vectors)
    path = Path(str(place))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)
    compact = CompactVectors.open(ArrayFile(place, record))
    with pytest.raises(DamagedIndex, match="checksum"):
        list(CandidateFinder(compact).find(vectors[:3], 2.0, "flat"))


def test_the_same_vectors_give_the_same_bytes(tmp_path: Path) -> None:
    vectors = vectors_of("clustered", 5_000, 40, np.random.default_rng(4))
    files = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        files.append(written(tmp_path / name, vectors)[1].checksum)
    assert files[0] == files[1]
