"""One result for each table: series of files, tables joined before, two keys, and paging."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from lakejoin.lake import Lake
from lakejoin.ranking.answer import FusedAnswer
from lakejoin.render.text import render_text
from oracle.lakes import PlainTable
from oracle.search import lake_of
from search.key_lakes import key_lake


def make_codes(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return ["".join(draw.choices("ABCDEFGHJKLMNPQRSTUVWXYZ", k=8)) for _ in range(count)]


CODES = make_codes(600, 1)
MINE = {"code": CODES, "size": [str(7 * n % 9973 / 10) for n in range(600)]}


def make_sales(month: int, first: int, count: int = 60) -> PlainTable:
    draw = random.Random(month)
    amounts = [f"{draw.random():.6f}" for _ in range(count)]
    columns = {"product": CODES[first : first + count], "amount": amounts}
    return PlainTable(f"sales/2024-{month:02}.csv", columns)


def tables_of(answer: FusedAnswer) -> list[str]:
    return [result.table for result in answer]


# -- files of a series ---------------------------------------------------------------------------


@pytest.fixture
def monthly(tmp_path: Path) -> Lake:
    """Ten months with a tenth of the values each, and a table with half of them."""
    other = PlainTable("groups.csv", {"product": CODES[:300], "group": make_codes(300, 2)})
    months = [make_sales(month, 50 * (month - 1)) for month in range(1, 11)]
    return key_lake(tmp_path, [*months, other])


def test_files_of_a_series_are_one_result_by_what_they_match_together(monthly: Lake) -> None:
    answer = monthly.search(MINE)
    sales, groups = answer
    assert sales.table.startswith("sales/2024-") and groups.table == "groups.csv"
    assert answer.total == 2
    names = {sales.table, *sales.members}
    assert names == {f"sales/2024-{month:02}.csv" for month in range(1, 11)}
    assert sales.together == len({*CODES[:510]}), "each file begins with ten values of the last"
    assert sales.score > groups.score, "510 values against 300"
    assert (groups.members, groups.together) == ((), None)
    assert "one of 10 files with the same columns, which together match 510 of 600 (85%)" in (
        " ".join(render_text(answer.report()).split())
    )


def test_a_series_needs_the_same_columns_and_a_name_that_varies(tmp_path: Path) -> None:
    renamed = PlainTable("sales/2024-02.csv", {"item": CODES[:60], "amount": make_codes(60, 3)})
    letters = [
        PlainTable(f"{name}.csv", {"product": CODES[n : n + 90], "x": make_codes(90, n)})
        for n, name in ((0, "north"), (200, "south"))
    ]
    answer = key_lake(tmp_path, [make_sales(1, 0), renamed, *letters]).search(MINE)
    assert len(answer) == 4
    assert not any(result.members for result in answer)


def test_a_series_survives_json(monthly: Lake) -> None:
    answer = monthly.search(MINE)
    again = FusedAnswer.from_dict(answer.to_dict())
    assert [(one.members, one.together, one.score) for one in again] == [
        (one.members, one.together, one.score) for one in answer
    ]


# -- tables that were joined before --------------------------------------------------------------


def test_a_table_whose_columns_are_there_comes_last(tmp_path: Path) -> None:
    groups = {"product": CODES[:400], "group": make_codes(400, 4)}
    prices = {"product": CODES[:150], "price": make_codes(150, 5)}
    lake = key_lake(tmp_path, [PlainTable("groups.csv", groups), PlainTable("prices.csv", prices)])
    before = lake.search(MINE)
    assert tables_of(before) == ["groups.csv", "prices.csv"]
    assert not any(result.already_joined for result in before)
    joined = {**MINE, "group": [*groups["group"], *([None] * 200)]}
    after = lake.search(joined)
    assert tables_of(after) == ["prices.csv", "groups.csv"]
    assert [result.already_joined for result in after] == [False, True]
    assert [result.rank for result in after] == [1, 2]
    assert after[1].adds_text == "adds nothing: your table already has its columns"


def test_a_table_with_fewer_columns_of_mine_keeps_its_rank(tmp_path: Path) -> None:
    """It was not joined: its columns are not the last ones of mine."""
    groups = make_codes(600, 4)
    mine = {"code": CODES, "group": groups, "size": MINE["size"]}
    fewer = PlainTable("fewer.csv", {"code": CODES[:500], "group": groups[:500]})
    other = PlainTable("other.csv", {"code": CODES[:100], "price": make_codes(100, 5)})
    answer = key_lake(tmp_path, [fewer, other]).search(mine)
    assert tables_of(answer) == ["fewer.csv", "other.csv"]
    assert answer[0].already_joined and answer[0].adds[0].known_as in ("code", "group")


def test_tables_joined_one_after_the_other_come_last(tmp_path: Path) -> None:
    groups = {"product": CODES[:400], "group": make_codes(400, 4)}
    prices = {"item": CODES[:500], "price": make_codes(500, 5), "tax": make_codes(500, 9)}
    names = {"product": CODES[:90], "name": make_codes(90, 6)}
    lake = key_lake(
        tmp_path,
        [
            PlainTable("groups.csv", groups),
            PlainTable("prices.csv", prices),
            PlainTable("names.csv", names),
        ],
    )
    empty: list[str | None] = [None]
    mine = {
        **MINE,
        "group": [*groups["group"], *empty * 200],
        "item": [*prices["item"], *empty * 100],
        "price": [*prices["price"], *empty * 100],
        "tax": [*prices["tax"], *empty * 100],
    }
    answer = lake.search(mine)
    assert tables_of(answer)[0] == "names.csv"
    assert [result.already_joined for result in answer] == [False, True, True]


def test_a_list_of_keys_adds_nothing_but_was_not_joined(tmp_path: Path) -> None:
    lake = key_lake(tmp_path, [PlainTable("keys.csv", {"product": CODES[:500]})])
    (result,) = lake.search(MINE)
    assert not result.already_joined


# -- two independent ways ------------------------------------------------------------------------


def test_a_table_that_joins_by_two_columns_goes_first(tmp_path: Path) -> None:
    names = make_codes(600, 6)
    mine = {"code": CODES, "name": names}
    by_one = {"code": CODES[:500], "x": make_codes(500, 7)}
    by_two = {"code": CODES[100:], "name": [*names[100:300], *make_codes(300, 8)]}
    lake = key_lake(tmp_path, [PlainTable("a.csv", by_one), PlainTable("b.csv", by_two)])
    answer = lake.search(mine)
    assert tables_of(answer) == ["b.csv", "a.csv"]
    first = answer[0].candidates[0].join_score.score
    assert first == answer[1].candidates[0].join_score.score
    assert 1 >= answer[0].score > first


# -- all of them ---------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 7, 50])
def test_pages_are_the_whole_answer(tmp_path: Path, k: int) -> None:
    draw = np.random.default_rng(0)
    some = [
        PlainTable(f"{name}.csv", {"key": CODES[first : first + 200], name: make_codes(200, first)})
        for name, first in zip("abcdefghijkl", draw.integers(0, 400, 12).tolist(), strict=True)
    ]
    lake = lake_of(tmp_path / "lake", [some])
    whole = lake.search(MINE, k=100)
    page, pages = lake.search(MINE, k=k), []
    while len(page):
        assert page.total == len(whole) == 12
        pages += list(page)
        page = page.more()
    assert [result.rank for result in pages] == list(range(1, 13))
    assert [result.table for result in pages] == tables_of(whole)
    assert [result.adds for result in pages] == [result.adds for result in whole]
