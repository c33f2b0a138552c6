"""Copies and versions of a table are one result; those of another year or of other keys are not."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.lake import Lake
from lakejoin.search.result import ResultLocation
from lakejoin.search.table_versions import COMPARED, TableVersions
from oracle.lakes import PlainTable
from search.key_lakes import key_lake

Columns = dict[str, list[str | None]]


def towns(rows: int, seed: int = 0, year: int = 2020, first: int = 0) -> Columns:
    """Towns with figures of a year."""
    numbers = range(first, first + rows)
    return {
        "town": [f"town {n * 7919 % 100_003}" for n in numbers],
        "land": [f"land {n % 7}" for n in numbers],
        "year": [str(year)] * rows,
        "people": [str((n + 1) * (104_729 + 7919 * seed) % 999_983) for n in numbers],
        "mayor": [(None, "ann", "bob", "cid")[n * (seed + 3) * 31 // 7 % 4] for n in numbers],
    }


def by_day(rows: int, seed: int) -> Columns:
    """Days and figures: several rows have the same land, and the same day."""
    random_ = random.Random(seed)
    return {
        "land": [f"land {n // 50}" for n in range(rows)],
        "day": [f"day {n % 50}" for n in range(rows)],
        "rain": [f"{random_.random():.4f}" for _ in range(rows)],
    }


def changed(columns: Columns, share: float) -> Columns:
    """With other values in a share of the cells."""
    random_ = random.Random(9)

    def of(name: str, cell: str | None) -> str | None:
        return f"other {random_.random()}" if random_.random() < share else cell

    return {name: [of(name, cell) for cell in cells] for name, cells in columns.items()}


def rows_of(columns: Columns, rows: Sequence[int]) -> Columns:
    return {name: [cells[row] for row in rows] for name, cells in columns.items()}


def shuffled(columns: Columns) -> Columns:
    rows = list(range(len(columns["land"])))
    random.Random(4).shuffle(rows)
    return rows_of(columns, rows)


def both(one: Columns, other: Columns) -> Columns:
    return {name: one[name] + other[name] for name in one}


def with_column(columns: Columns) -> Columns:
    return {"number": [str(n) for n in range(len(columns["land"]))], **columns}


def renamed(columns: Columns, name: str, other: str) -> Columns:
    return {other if one == name else one: cells for one, cells in columns.items()}


def poll(rows: int, seed: int) -> Columns:
    """No column nor some together tell rows apart."""
    random_ = random.Random(seed)
    return {f"question {n}": [random_.choice("abc") for _ in range(rows)] for n in range(4)}


# -- one or several --------------------------------------------------------------------------------

TOWNS, SMALL, DAYS = towns(300), towns(12), by_day(800, 1)
VERSIONS: dict[str, tuple[Columns, Columns]] = {
    "a copy": (TOWNS, TOWNS),
    "a small copy": (SMALL, SMALL),
    "of one row": (towns(1), towns(1)),
    "a column more": (TOWNS, with_column(TOWNS)),
    "other order": (TOWNS, shuffled(TOWNS)),
    "other order of columns": (TOWNS, dict(reversed(TOWNS.items()))),
    "a column of another name": (TOWNS, renamed(TOWNS, "people", "inhabitants")),
    "upper case": (TOWNS, {name.upper(): cells for name, cells in TOWNS.items()}),
    "rows appended": (TOWNS, both(TOWNS, towns(100, 1, first=300))),
    "rows before": (TOWNS, both(towns(100, 1, first=300), TOWNS)),
    "rows left out": (TOWNS, rows_of(TOWNS, [n for n in range(300) if n % 5])),
    "cells changed": (TOWNS, changed(TOWNS, 0.05)),
    "cells of a small one changed": (towns(40), changed(towns(40), 0.05)),
    "days, cells changed": (DAYS, changed(DAYS, 0.05)),
    "days, in another order": (DAYS, shuffled(DAYS)),
    "the day of the file": (towns(300, year=2020), towns(300, year=2021)),
    "answers again": (poll(300, 1), poll(300, 1)),
    "more answers": (poll(300, 1), both(poll(300, 1), poll(60, 2))),
    "many rows": (towns(60_000), changed(towns(60_000), 0.02)),
}
OTHERS: dict[str, tuple[Columns, Columns]] = {
    "another year": (TOWNS, towns(300, 1, 2021)),
    "another year, small": (towns(6), towns(6, 1, 2021)),
    "another year of one row": (towns(1), towns(1, 1, 2021)),
    "other figures of days": (DAYS, by_day(800, 2)),
    "one column of figures": (TOWNS, {**TOWNS, "people": towns(300, 1)["people"]}),
    "few figures": (
        {**TOWNS, "n": [str(n) if n % 5 == 0 else "0" for n in range(300)]},
        {**TOWNS, "n": [str(n) if n % 5 == 1 else "0" for n in range(300)]},
    ),
    "figures of another name": (
        TOWNS,
        renamed({**TOWNS, "people": towns(300, 1)["people"]}, "people", "cars"),
    ),
    "other keys": (TOWNS, towns(300, first=300)),
    "a few keys in both": (TOWNS, towns(300, first=220)),
    "a part": (TOWNS, rows_of(TOWNS, range(100))),
    "few of its columns": (TOWNS, {name: TOWNS[name] for name in ("town", "land")}),
    "other columns": (TOWNS, {f"my {name}": cells for name, cells in TOWNS.items()}),
    "other answers": (poll(300, 1), poll(300, 2)),
    "no rows": (rows_of(TOWNS, []), rows_of(TOWNS, [])),
}


def groups(lake: Lake) -> list[list[str]]:
    """The tables of a lake by groups."""
    found = [where(lake, number, table) for number, table in places(lake)]
    names = [one.entry.name for one in found]
    return [[names[place] for place in group] for group in TableVersions().group(found)]


def places(lake: Lake) -> list[tuple[int, int]]:
    return [
        (number, table)
        for number, segment in enumerate(lake.snapshot.segments)
        for table in range(segment.record.tables)
    ]


def where(lake: Lake, number: int, table: int) -> ResultLocation:
    segment = lake.snapshot.segments[number]
    nothing: Callable[[], None] = lambda: None  # noqa: E731
    return ResultLocation(None, segment, number, table, (), None, (), None, nothing, nothing)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [*VERSIONS, *OTHERS])
def test_versions_and_others(tmp_path: Path, kind: str) -> None:
    columns = {**VERSIONS, **OTHERS}[kind]
    one, other = map(PlainTable, ("one", "other"), columns)
    expected = 1 if kind in VERSIONS else 2
    assert len(groups(key_lake(tmp_path / "one", [one, other]))) == expected
    apart = key_lake(tmp_path / "two", [other], [one])
    assert len(groups(apart)) == expected, "in two segments, and whichever comes first"


def brute_force(one: Columns, other: Columns) -> float:
    """The share of rows that both have, of those of the larger."""
    mine, theirs = (set(zip(*table.values(), strict=True)) for table in (one, other))
    return len(mine & theirs) / max(len(mine), len(theirs), 1)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 60), st.integers(0, 60), st.integers(0, 60), st.randoms(use_true_random=False)
)
def test_against_all_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: int, more: int, less: int, rng: random.Random
) -> None:
    """Of tables that are looked at whole: one, and one with rows more and others left out."""
    one = towns(rows)
    kept = rng.sample(range(rows), max(0, rows - less))
    other = both(rows_of(one, kept), towns(more, 3, first=rows))
    found = groups(
        key_lake(tmp_path_factory.mktemp("v"), [PlainTable("one", one)], [PlainTable("b", other)])
    )
    assert len(found) == (1 if brute_force(one, other) >= 0.5 else 2)


def test_no_more_are_compared_than_it_says(tmp_path: Path) -> None:
    table = towns(4)
    lake = key_lake(tmp_path, [PlainTable(f"t{n}", table) for n in range(COMPARED + 3)])
    assert [len(group) for group in groups(lake)] == [COMPARED, 1, 1, 1]


# -- in an answer ----------------------------------------------------------------------------------


def test_an_answer_has_them_as_one_result(tmp_path: Path) -> None:
    tables = [
        PlainTable("a.csv", towns(280)),
        PlainTable("b.csv", both(towns(280), towns(20, 1, first=280))),
        PlainTable("year.csv", towns(300, 1, 2021)),
    ]
    lake = key_lake(tmp_path, tables, [PlainTable("<c>.csv", with_column(towns(300)))])
    mine = {"place": TOWNS["town"], "hills": [f"{n} hills" for n in range(300)]}
    answer = lake.search(mine)
    assert len(answer) == 2
    group = next(one for one in answer if one.table != "year.csv")
    assert {group.table, *group.versions} == {"a.csv", "b.csv", "<c>.csv"}
    assert group.table != "a.csv", "the best stays: this one has fewer towns"
    assert sorted(group.to_dict()["versions"]) == sorted(group.versions)
    assert "copies or other versions: " in repr(answer)
    assert [one.rank for one in answer] == [1, 2]
    (first,) = lake.search(mine, k=1)
    assert first.table == answer[0].table and first.versions == answer[0].versions
