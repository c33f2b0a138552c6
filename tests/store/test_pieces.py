"""The pieces of segments against plain Python, and an index that was made before it had any."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lakejoin
from lakejoin.errors import DamagedIndex
from lakejoin.kernels.rare_token_samples import WHOLE_RANGE
from lakejoin.locations import Location
from lakejoin.store.arrayfile import ArrayFileWriter
from lakejoin.store.postings import PostingsComponent
from lakejoin.store.rare_tokens import (
    RareTokensComponent,
    columns_with_rare_tokens,
    rare_tokens_agree,
)
from lakejoin.store.segment import Segment, add_components, default_components
from lakejoin.store.segment_builder import SegmentBuilder
from oracle import pieces as oracle
from oracle.lakes import PlainTable, encoded
from oracle.search import set_of

PEOPLE = PlainTable(
    "people.csv",
    {
        "name": ["Ada Lovelace", "Alan Turing", "Grace Hopper", None],
        "born": ["1815-12-10", "1912-06-23", "1906-12-09", "2000-01-01"],
        "price": ["0.5", "1.25", "17.125", "3.5"],
        "id": ["1001", "1002", "1003", "1004"],
        "alive": ["true", "false", "false", "true"],
    },
)
CODES = PlainTable(
    "codes.csv", {"code": [f"AB-{i:05}/x" for i in range(400)], "none": [None] * 400}
)


def segment_of(folder: Path | str, tables: list[PlainTable], every: bool = False) -> Segment:
    builder = SegmentBuilder(Location.of(folder) / "s", all_columns=every)
    for table in tables:
        builder.add(encoded(table))
    return Segment(
        Location.of(folder) / "s", builder.finish((PostingsComponent(), RareTokensComponent()))
    )


def kept_by_column(segment: Segment, wanted: set[int]) -> dict[int, set[int]]:
    """The pieces of each column, of those that are asked for."""
    asked = np.array(sorted(wanted), dtype=np.uint64)
    span, columns = segment.rare_tokens.find(asked)
    found: dict[int, set[int]] = defaultdict(set)
    for piece, (begin, end) in zip(asked.tolist(), span.tolist(), strict=True):
        holders = columns[begin:end].tolist()
        assert holders == sorted(set(holders)), "each column once, ascending"
        for column in holders:
            found[column].add(piece)
    return found


def agrees(segment: Segment) -> None:
    """Every column keeps exactly its rare pieces up to the rank that it says."""
    columns = columns_with_rare_tokens(segment).tolist()
    rare = {c: set(oracle.rare_pieces(set_of(segment, c))) for c in columns}
    wanted = {oracle.number_of(piece) for some in rare.values() for piece in some}
    kept = kept_by_column(segment, wanted | {1, 2, 3})
    limit = segment.rare_tokens.limit.tolist()
    for column, some in rare.items():
        expected = {oracle.number_of(p) for p in some if oracle.rank_of(p) <= limit[column]}
        assert kept.get(column, set()) == expected
    assert sum(map(len, kept.values())) == len(segment.rare_tokens), "and nothing else is kept"
    assert [c for c, rank in enumerate(limit) if rank] == columns
    assert rare_tokens_agree(segment, segment.rare_tokens)


def test_pieces_of_a_small_lake(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, [PEOPLE, CODES])
    agrees(segment)
    assert columns_with_rare_tokens(segment).tolist() == [0, 1, 3, 5], (
        "measures, truth values, nothing: none"
    )
    assert (segment.rare_tokens.limit[[0, 1, 3]] == WHOLE_RANGE).all(), "nothing was left out"
    assert segment.rare_tokens.limit[5] < WHOLE_RANGE
    assert "rare tokens match the values" in list(segment.check())


def test_measures_have_no_pieces_even_where_all_columns_are_searched(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, [PEOPLE], every=True)
    assert segment.indexed.tolist() == [True] * 5
    assert columns_with_rare_tokens(segment).tolist() == [0, 1, 3]
    agrees(segment)


_values = st.one_of(
    st.none(),
    st.integers(0, 3000).map(str),
    st.sampled_from(
        ["Ada Lovelace", "lovelace, ada", "AB-0017", "ab17", "2014-01-31", "日本 東京"]
    ),
    st.text(max_size=8),
)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.lists(_values, min_size=1, max_size=40), max_size=5), st.sampled_from([3, 2048]))
def test_pieces_of_random_lakes(columns: list[list[str | None]], most: int) -> None:
    tables = [PlainTable(f"t{i}.csv", {"c": cells}) for i, cells in enumerate(columns)]
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr("lakejoin.store.rare_tokens.MOST", most)
        patch.setattr("lakejoin.store.rare_tokens.FEW", min(most, 64))
        segment = segment_of(folder, tables)
        agrees(segment)
        kept = [
            segment.rare_tokens.find(np.zeros(0, np.uint64))[0].shape[0],
            len(segment.rare_tokens),
        ]
        assert kept[0] == 0 and kept[1] <= most * len(tables)


def test_wrong_pieces_are_noticed(tmp_path: Path) -> None:
    class Wrong(RareTokensComponent):
        made_with = "wrong"  # type: ignore[misc]

        def build(self, source: Any, out: ArrayFileWriter) -> None:
            super().build(source, out)
            out.add("limit", np.zeros(source.column_count, dtype=np.uint64))

    segment = segment_of(tmp_path, [PEOPLE])
    record = add_components(Segment(segment.location, segment.record), [Wrong()])
    with pytest.raises(DamagedIndex, match="rare tokens match the values"):
        list(Segment(segment.location, record).check())


def test_damage_is_noticed_before_pieces_are_used(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, [PEOPLE])
    file = Path((segment.location / segment.record.components["pieces"].file).uri)
    data = bytearray(file.read_bytes())
    data[100] ^= 1
    file.write_bytes(data)
    with pytest.raises(DamagedIndex, match="do not match their checksum"):
        _ = Segment(segment.location, segment.record).rare_tokens


Index = Callable[..., Any]


def test_an_older_index_gets_pieces_without_reading_files(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lake / "people.csv").write_text("name,town\nAda Lovelace,London\nAlan Turing,Wilmslow\n")
    with monkeypatch.context() as older:
        without = lambda *options: default_components(*options)[:-1]  # noqa: E731
        older.setattr("lakejoin.pipeline.options.default_components", without)
        index(lake)
    opened = lakejoin.open(tmp_path / "index")
    assert not [c for c in opened.snapshot.check() if c.problem], "an index without them is sound"
    with pytest.raises(DamagedIndex, match="has no pieces; update it with: lakejoin index"):
        _ = opened.snapshot.segments[0].rare_tokens
    monkeypatch.setattr("lakejoin.pipeline.segment_tasks.tables_of", None)
    assert index(lake).version == 2
    segments = lakejoin.open(tmp_path / "index").snapshot.segments
    for segment in segments:
        agrees(segment)
    assert sum(len(segment.rare_tokens) for segment in segments) > 0
    older_form = replace(segments[0].record.components["pieces"], version=0)
    record = replace(
        segments[0].record, components={**segments[0].record.components, "pieces": older_form}
    )
    with pytest.raises(DamagedIndex, match="has pieces in an older format"):
        _ = Segment(segments[0].location, record).rare_tokens
