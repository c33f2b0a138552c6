"""Columns that may join once values are rewritten, against brute force without samples."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakejoin.engines.hits import ExcludedColumns
from lakejoin.engines.rewritten.engine import (
    LikelyColumn,
    find_rewritable_columns,
    missing_rare_tokens_note,
    pair_by_rare_tokens,
)
from lakejoin.inputs import resolve_table
from lakejoin.lake import Lake
from lakejoin.store.postings import PostingsComponent
from lakejoin.store.rare_tokens import RareTokensComponent, columns_with_rare_tokens
from lakejoin.store.segment_tables import SegmentTables
from oracle import pieces as oracle
from oracle.lakes import PlainTable
from oracle.search import lake_of, set_of

_PARTS = (PostingsComponent(), RareTokensComponent())

NAMES = ["Ada Lovelace", "Alan Turing", "Grace Hopper", "Edsger Dijkstra", "Barbara Liskov"]
STAFF = PlainTable(
    "staff.csv",
    {
        "mail": [f"{n.lower().replace(' ', '.')}@example.org" for n in NAMES],
        "number": [str(4000 + 7 * i) for i in range(5)],
        "day": [f"19{i}0-0{i}-1{i}" for i in range(1, 6)],
    },
)
TOWNS = PlainTable("towns.csv", {"town": ["Bern", "Thun", "Basel"], "number": ["17", "18", "4007"]})
OTHERS = PlainTable("others.csv", {"text": [f"other thing {i}" for i in range(30)]})


def found_by(
    lake: Lake,
    mine: dict[str, Sequence[str | None]],
    excluded: Sequence[Sequence[int]] | None = None,
    **options: Any,
) -> list[LikelyColumn]:
    segments = lake.snapshot.segments
    left_out = excluded or [SegmentTables(segment).deleted_columns for segment in segments]
    columns = {k: pa.array(v, pa.string()) for k, v in mine.items()}
    table = resolve_table(columns).query_table(lake.snapshot)
    places = range(len(mine))
    return find_rewritable_columns(
        table,
        places,
        segments,
        ExcludedColumns([np.asarray(c, np.int64) for c in left_out]),
        **options,
    )


def names_of(lake: Lake, found: list[LikelyColumn]) -> list[tuple[int, str]]:
    columns = [segment.catalog.columns["name"].to_pylist() for segment in lake.snapshot.segments]
    return [(one.column_index, columns[one.segment_index][one.column]) for one in found]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("pieces")
    return lake_of(folder, [[STAFF, TOWNS], [OTHERS]], components=_PARTS)


def test_names_find_mails_and_padded_numbers_find_numbers(lake: Lake) -> None:
    mine: dict[str, Sequence[str | None]] = {
        "who": ["Lovelace, Ada", "Turing, Alan", "Hopper, Grace", None],
        "no": [f"N{4000 + 7 * i:08}" for i in range(4)],
        "when": ["on 11.01.1910", "on 12.02.1920", "on 13 March 1930", "never"],
    }
    found = found_by(lake, mine)
    assert {(0, "mail"), (1, "number"), (2, "day")} <= set(names_of(lake, found))
    best = dict(reversed(names_of(lake, found)))
    assert best == {0: "mail", 1: "number", 2: "day"}
    worth = [one.per_value for one in found]
    assert worth == sorted(worth, reverse=True)
    first = next(one for one in found if one.column_index == 0)
    assert (first.sampled, first.matched) == (3, 3) and first.nats > 0


def test_columns_are_left_out(lake: Lake) -> None:
    mine: dict[str, Sequence[str | None]] = {"who": NAMES}
    (mail,) = found_by(lake, mine)
    assert names_of(lake, [mail]) == [(0, "mail")]
    assert found_by(lake, mine, excluded=[[mail.column], []]) == []
    assert found_by(lake, mine, known={(0, mail.segment_index, mail.column)}) == []
    assert found_by(lake, mine, known={(1, mail.segment_index, mail.column)}) == [mail]
    assert found_by(lake, mine, most=0) == []


def test_numbers_and_dates_are_not_looked_for_among_their_like(lake: Lake) -> None:
    found = found_by(lake, {"n": ["4000", "4007"], "d": ["1910-01-11", "1920-02-12"]})
    assert not {"number", "day"} & {name for _, name in names_of(lake, found)}
    measured = found_by(lake, {"m": ["4000.5", "4007.25"], "b": ["true", "false"]})
    assert measured == [], "and measures for nothing"


def test_columns_that_hold_my_values_as_they_are_need_no_rewriting(lake: Lake) -> None:
    mails = STAFF.columns["mail"]
    assert found_by(lake, {"mail": mails}) == []
    half = [*mails[:2], "liskov", "Dijkstra, Edsger", "Grace Hopper"]
    (found,) = found_by(lake, {"mail": half})
    assert (found.sampled, found.matched) == (5, 5), "but where more would meet, they are found"


def test_an_index_without_pieces_says_so(tmp_path: Path, lake: Lake) -> None:
    older = lake_of(tmp_path, [[STAFF]], components=_PARTS[:1])
    assert found_by(older, {"who": NAMES}) == []
    assert missing_rare_tokens_note(lake.snapshot.segments) == ""
    said = missing_rare_tokens_note(older.snapshot.segments)
    assert said.startswith("this index cannot be searched") and "with: lakejoin index" in said
    both = [*lake.snapshot.segments, *older.snapshot.segments]
    assert missing_rare_tokens_note(both).startswith("1 of 3 segments")
    assert missing_rare_tokens_note([]) == ""


_values = st.one_of(
    st.none(),
    st.sampled_from(["Ada Lovelace", "lovelace, ada", "turing-a", "Turing", "AB-0017", "ab17"]),
    st.builds("{}-{}".format, st.sampled_from("abc"), st.integers(90, 130)),
    st.builds("{} {}".format, st.sampled_from(["red", "green", "blue"]), st.integers(1, 40)),
    st.text("ab1 ", max_size=5),
)
_columns = st.lists(_values, min_size=1, max_size=30)
_quick = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def worths(lake: Lake, mine: Sequence[str]) -> dict[tuple[int, int], oracle.Worth]:
    columns = {}
    for number, segment in enumerate(lake.snapshot.segments):
        dead = set(SegmentTables(segment).deleted_columns.tolist())
        for column in columns_with_rare_tokens(segment).tolist():
            if column not in dead:
                columns[number, column] = set_of(segment, column)
    return oracle.worths(mine, columns)


@_quick
@given(st.lists(st.lists(_columns, min_size=1, max_size=4), min_size=1, max_size=3), _columns)
def test_what_is_found_is_what_brute_force_finds(
    groups: list[list[list[str | None]]], mine: list[str | None]
) -> None:
    tables = [
        [PlainTable(f"t{g}-{i}.csv", {"c": cells}) for i, cells in enumerate(group)]
        for g, group in enumerate(groups)
    ]
    dead = [[0] if len(group) > 2 else [] for group in groups]
    with TemporaryDirectory() as folder:
        lake = lake_of(Path(folder), tables, all_columns=False, dead=dead, components=_PARTS)
        text: list[str | None] = [*mine, "a text, so that this is text"]
        found = found_by(lake, {"c": text}, most=1000)
        table = resolve_table({"c": pa.array(text, pa.string())}).query_table(lake.snapshot)
        expected = worths(lake, table.query(0).tokens.to_pylist())
        told = {(one.segment_index, one.column): one for one in found}
        assert set(told) == {key for key, worth in expected.items() if worth.nats > 0}
        for key, one in told.items():
            assert (one.sampled, one.matched) == (expected[key].asked, expected[key].met)
            assert one.nats == pytest.approx(expected[key].nats)


def test_a_large_column_is_found_by_what_it_shows(tmp_path: Path) -> None:
    codes = [f"AB{i * 7919 % 100003:06}" for i in range(20_000)]
    noise = [PlainTable(f"n{i}.csv", {"c": [f"x{i}y{j}" for j in range(50)]}) for i in range(20)]
    tables = [PlainTable("large.csv", {"code": codes}), *noise]
    lake = lake_of(tmp_path, [tables], components=_PARTS)
    found = found_by(lake, {"c": [f"{code[:2]}-{code[2:]}/2024" for code in codes[:3000]]})
    assert names_of(lake, found)[:1] == [(0, "code")]
    assert 20 < found[0].sampled < 3000, "only some could be shown"
    assert found[0].matched > found[0].sampled / 4


def test_of_a_large_column_of_mine_some_values_are_asked(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakejoin.engines.rewritten.engine._VALUES", 3)
    (found,) = found_by(lake, {"who": NAMES})
    assert (found.sampled, found.matched) == (3, 3)


# -- rows to learn from ----------------------------------------------------------------------------


def pairs(mine: Sequence[str], theirs: Sequence[str], most: int = 10_000) -> list[tuple[int, int]]:
    i, j = pair_by_rare_tokens(
        pa.array(mine, pa.large_string()), pa.array(theirs, pa.large_string()), most
    )
    return list(zip(i.tolist(), j.tolist(), strict=True))


@_quick
@given(
    st.lists(_values.filter(bool), max_size=25),  # type: ignore[arg-type]
    st.lists(_values.filter(bool), max_size=25),  # type: ignore[arg-type]
)
def test_partners_are_those_of_brute_force(mine: list[str], theirs: list[str]) -> None:
    found = pairs(mine, theirs)
    scores = oracle.partners(mine, theirs)
    assert len(set(found)) == len(found)
    assert set(found) == set(scores)
    told = [scores[pair] for pair in found]
    assert all(a >= b - 1e-9 for a, b in pairwise(told)), "the best first"
    assert pairs(mine, theirs, 3) == found[:3]


def test_nulls_and_nothing_have_no_partners() -> None:
    nothing = pa.array([], pa.large_string())
    some = pa.array(["Ada Lovelace", None], pa.large_string())
    assert [len(side) for side in pair_by_rare_tokens(nothing, some)] == [0, 0]
    assert [len(side) for side in pair_by_rare_tokens(some, nothing)] == [0, 0]
    i, j = pair_by_rare_tokens(some, pa.array([None, "lovelace"], pa.large_string()))
    assert (i.tolist(), j.tolist()) == ([0], [1])


def test_many_values_have_partners_in_bounded_numbers() -> None:
    theirs = [f"{i:07}" for i in range(60_000)]
    mine = [f"no. {i}" for i in range(100, 60_000, 3)]
    found = pairs(mine, theirs, 500)
    assert len(found) == 500
    assert all(mine[i] == f"no. {int(theirs[j])}" for i, j in found)
