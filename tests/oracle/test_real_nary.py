"""Real tables: composite keys against top tens that were worked out independently.

Every score that the lists call proven is the same here, to the last one: the known differences of
the value rules (see `test_real_overlaps`) do not touch these keys. But one list is not whole: it
looked at a few mappings of some wide tables only. Two tables of gun sales have more combinations of
(pokemon_id, stat_id) in columns that it left aside, which puts them among the ten. So a table that
is found beside the proven ones is counted again, by plain Python from its file.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest

import lakejoin
from fake_spark import FakeSpark
from lakejoin.engines.composite.query import KeyQuery, key_query
from lakejoin.engines.hits import ExcludedColumns
from lakejoin.lake import Lake
from lakejoin.pipeline.build import BuildOptions
from lakejoin.search.key_search import KeyMatches
from lakejoin.search.query_tables import IndexedTable
from lakejoin.sources.table_rules import TableRules
from lakejoin.store.segment_tables import SegmentTables
from published.mate import PublishedMate, PublishedOptions

DATA = Path(
    os.environ.get("LAKEJOIN_TEST_DATA") or Path(__file__).parents[2].parent / "shared" / "data"
)
TRUTH = DATA / "queries" / "gt_nary_overlap.csv"
TOP = 10

pytestmark = pytest.mark.skipif(
    not TRUTH.exists(), reason="the real tables (LAKEJOIN_TEST_DATA) are not here"
)

Row = dict[str, str]


def lists() -> dict[str, list[Row]]:
    """The ranked tables of each query, best first."""
    found: dict[str, list[Row]] = {}
    with TRUTH.open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            found.setdefault(row["query_id"], []).append(row)
    return found


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The tables that the lists name, and no others."""
    folder = tmp_path_factory.mktemp("real-keys")
    rows = [row for ranked in lists().values() for row in ranked]
    for name in {row["query_table"] for row in rows} | {row["cand_table"] for row in rows}:
        place = folder / "lake" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(DATA / "lake" / name)
    lakejoin.index(
        folder / "lake",
        folder / "index",
        spark=FakeSpark(),
        options=BuildOptions(follow_links=True, table_rules=TableRules(keep_apart=("*",))),
    )
    return lakejoin.open(folder / "index")


def asked(lake: Lake, row: Row) -> tuple[KeyQuery, ExcludedColumns]:
    """The key of a list, and its own table, which must not be found."""
    segment, entry = lake.snapshot.table(row["query_table"])
    number = lake.snapshot.segments.index(segment)
    mine = IndexedTable(lake.snapshot, number, entry)
    query = key_query(
        mine, [mine.column_names.index(name) for name in row["query_columns"].split("|")]
    )
    own = [
        SegmentTables(one).columns_of(
            np.array([entry.table_id] if one is segment else [], dtype=np.int64)
        )
        for one in lake.snapshot.segments
    ]
    return query, ExcludedColumns(own)


def plain_rows(name: str) -> list[list[str]]:
    """The rows of a CSV file below its header: stripped, blanks collapsed, lower-cased."""
    with (DATA / "lake" / name).open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines))[1:]
    return [[" ".join(cell.split()).lower() for cell in row] for row in rows]


def plain_score(row: Row, lake: Lake, table: str, places: list[int]) -> int:
    """How many combinations of a list's key a table holds in some columns, by Python sets."""
    names = [column.name for column in lake.table(row["query_table"]).columns()]
    mine = [names.index(name) for name in row["query_columns"].split("|")]
    key = {tuple(cells[p] for p in mine) for cells in plain_rows(row["query_table"])}
    held = {tuple(cells[p] for p in places) for cells in plain_rows(table)}
    return sum("" not in combination for combination in key & held)


@pytest.mark.parametrize("row_filter", ["superkeys", "none", "each"])
@pytest.mark.parametrize("bounds", [True, False])
def test_proven_top_tens(lake: Lake, row_filter: str, bounds: bool) -> None:
    segments = lake.snapshot.segments
    for ranked in lists().values():
        query, own = asked(lake, ranked[0])
        assert len(query) == int(ranked[0]["query_tuples"])
        proven = {
            row["cand_table"]: int(row["tuple_overlap"])
            for row in ranked
            if row["in_proven_top10"] == "1"
        }
        hits = PublishedMate(TOP, PublishedOptions(row_filter, bounds)).search(query, segments, own)
        scores = list(proven.values())
        for i, matched in enumerate(hits.matched.tolist()):
            segment = segments[int(hits.segment[i])]
            entry = segment.catalog.table(int(hits.table[i]))
            if entry.name in proven:
                assert matched == proven[entry.name]
            else:
                places = [column - entry.first for column in hits.mapping[i].columns]
                assert matched == plain_score(ranked[0], lake, entry.name, places)
                scores.append(matched)
        assert hits.matched.tolist() == sorted(scores, reverse=True)[:TOP]


def test_mappings_of_the_lists(lake: Lake) -> None:
    """Each proven table holds under the list's mapping what the list says."""
    for ranked in lists().values():
        query, _ = asked(lake, ranked[0])
        for row in ranked:
            if row["in_proven_top10"] == "1":
                segment, entry = lake.snapshot.table(row["cand_table"])
                columns = [entry.first + int(c) for c in row["cand_col_indexes"].split("|")]
                meeting = KeyMatches(query).of(segment, columns)
                assert len(meeting.positions) == int(row["tuple_overlap"]), row
