"""The lakes of sets that searches are measured on, their queries, and the peers' answers."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("scripts_importable")
PAIRS = 60_000


@pytest.fixture(scope="module", params=["open-data", "web-table"])
def lake(request: Any, tmp_path_factory: Any, scripts_importable: None) -> Any:
    set_lakes = importlib.import_module("set_lakes")
    with pytest.MonkeyPatch.context() as patch:  # several segments, small as the lake is
        patch.setattr(set_lakes, "SEGMENT_CELLS", 30_000)
        return set_lakes.generate_sets(
            tmp_path_factory.mktemp("sets") / request.param, PAIRS, request.param, seed=5
        )


def sets_of(lake: Any) -> list[set[int]]:
    """Every column's tokens, read back from the postings."""
    found = []
    for segment, postings in zip(lake.segments(), lake.postings(), strict=True):
        tokens = segment.array("tokens")
        found += [
            set(tokens[postings.codes_of(column)].tolist())
            for column in range(segment.column_count)
        ]
    return found


def scores(sets: list[set[int]], query: set[int], k: int) -> list[int]:
    found = sorted((len(query & one) for one in sets), reverse=True)[:k]
    return [score for score in found if score > 0]


def test_the_sets_are_those_of_the_tables(lake: Any) -> None:
    lakes, plans = importlib.import_module("lakes"), importlib.import_module("lake_plan")
    set_lakes = importlib.import_module("set_lakes")
    cells = int(PAIRS / set_lakes.PAIRS_PER_CELL[lake.kind])
    plan = plans.Plan.draw(plans.SHAPES[lake.kind], cells, 5)
    census = lakes.Census(plan)
    expected: dict[tuple[int, int], set[int]] = {}
    for batch in plan.batches():
        token, kind, _ = census._cells(batch)
        table = np.repeat(batch.table, batch.rows)
        for column in range(batch.columns):
            real = kind[:, column] != importlib.import_module("cell_text").TextKind.NULL
            for one in np.unique(table):
                chosen = token[(table == one) & real, column].tolist()
                expected.setdefault((int(one), column), set()).update(chosen)
    in_order = [frozenset(one) for one in expected.values() if one]
    assert sorted(map(hash, in_order)) == sorted(hash(frozenset(s)) for s in sets_of(lake) if s)


def test_statistics_by_brute_force(lake: Any) -> None:
    assert lake.statistics.segments > 1
    sets = sets_of(lake)
    lists: dict[int, list[int]] = {}
    for number, one in enumerate(sets):
        for token in one:
            lists.setdefault(token, []).append(number)
    members: dict[tuple[int, ...], int] = {}
    for columns in lists.values():
        members[tuple(columns)] = members.get(tuple(columns), 0) + 1
    known = lake.statistics
    assert known.sets == sum(1 for one in sets if one)
    assert known.pairs == sum(map(len, sets))
    assert known.max_size == max(map(len, sets))
    assert known.tokens == len(lists)
    assert known.groups == len(members)
    assert known.max_frequency == max(map(len, lists.values()))
    shared = sum(n for n in members.values() if n > 1)
    assert known.shared == pytest.approx(shared / len(lists))


def test_queries_are_columns_of_the_lake(lake: Any) -> None:
    set_queries = importlib.import_module("set_queries")
    queries = set_queries.sample(lake, 10)
    sets = sets_of(lake)
    assert len(queries) > 5
    for query in queries:
        segment, column = query.home
        mine = set(query.tokens.tolist())
        assert mine == sets[lake.column_base[segment] + column]
        low, high = set_queries.BANDS[lake.kind][query.band]
        assert low <= query.shared < high
        for one, codes in zip(lake.segments(), query.codes, strict=True):
            tokens = one.array("tokens")
            assert set(tokens[codes].tolist()) == mine & set(tokens.tolist())
            assert (np.diff(codes.astype(np.int64)) > 0).all()
    again = set_queries.sample(lake, 10)
    assert [q.home for q in again] == [q.home for q in queries]


def test_duckdb_answers_right(lake: Any) -> None:
    pytest.importorskip("duckdb")
    peers, set_queries = (importlib.import_module(n) for n in ("peer_sets", "set_queries"))
    sets = sets_of(lake)
    plain = peers.DuckPeer(peers.make_duckdb(lake))
    tuned = peers.DuckPeer(peers.make_tuned_duckdb(lake), tuned=True)
    for query in set_queries.sample(lake, 10)[:6]:
        expected = scores(sets, set(query.tokens.tolist()), 7)
        assert plain.search(query, 7).tolist() == expected
        assert tuned.search(query, 7).tolist() == expected
    plain.close()
    tuned.close()


def test_set_similarity_search_answers_right(lake: Any) -> None:
    pytest.importorskip("SetSimilaritySearch")
    pytest.importorskip("duckdb")
    peers, set_queries = (importlib.import_module(n) for n in ("peer_sets", "set_queries"))
    sets = sets_of(lake)
    peer = peers.PythonPeer(lake)
    for query in set_queries.sample(lake, 10)[:6]:
        expected = scores(sets, set(query.tokens.tolist()), 7)
        assert peer.search(query, 7, expected[-1]).tolist() == expected


def test_postings_are_written_again_and_the_lake_is_found_again(lake: Any) -> None:
    set_lakes = importlib.import_module("set_lakes")
    before = sets_of(lake)
    made = lake.segments()[0].folder / "tokens.npy"
    stamp = made.stat().st_mtime_ns
    again = set_lakes.generate_sets(lake.folder, PAIRS, lake.kind, seed=5, anew=True)
    assert made.stat().st_mtime_ns == stamp
    assert sets_of(again) == before
