"""Union search: which tables have rows to append, which columns go together, and what is new."""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.commands import Command
from lakejoin.errors import InputError
from lakejoin.inputs import resolve_table
from lakejoin.lake import Lake
from lakejoin.model import ValueRules
from lakejoin.union.column_likeness import ColumnSample, NameContext, ValueOverlap, score_likeness
from lakejoin.union.union_alignment import best_alignments, choose_alignment
from lakejoin.union.union_rows import compare_rows, contained_rows
from lakejoin.values.column_encoder import encode_query
from oracle.lakes import PlainTable
from oracle.union import best_product, new_rows
from search.key_lakes import CELLS, key_lake
from search.near_lakes import meaning_lake

UNION = Command("union")
Columns = dict[str, list[str | None]]


def cars(first: int, rows: int) -> Columns:
    """Cars: names that are never the same, makers that are."""
    rng = random.Random(first)
    makers = ["Volvo", "Saab", "Fiat", "Skoda", "Dacia", "Lada", "Seat", "Opel"]
    return {
        "car": [f"model {n * 7919 % 100_003}" for n in range(first, first + rows)],
        "maker": [rng.choice(makers) for _ in range(rows)],
        "plate": [f"{rng.choice('ABC')}X-{rng.randrange(1000, 9999)}" for _ in range(rows)],
        "horsepower": [f"{rng.gauss(120, 20):.1f}" for _ in range(rows)],
        "built": [str(rng.randrange(1990, 2020)) for _ in range(rows)],
    }


def renamed(columns: Columns, **names: str) -> Columns:
    return {names.get(name, name): cells for name, cells in columns.items()}


def joined(columns: Columns, key: str) -> Columns:
    """Other facts about the same things."""
    rows = len(columns[key])
    return {
        key: columns[key],
        "colour": [f"colour {n % 9}" for n in range(rows)],
        "seats": [str(2 + n % 4) for n in range(rows)],
        "owner": [f"person {n * 31 % 977}" for n in range(rows)],
    }


MINE = cars(0, 120)
LATER = cars(500, 150)
OTHER = renamed(
    {name: cars(900, 100)[name] for name in ("built", "plate", "car", "maker")},
    built="year_of_make", plate="sign", car="model_name", maker="brand",
)  # fmt: skip
CHANGED: Columns = {**MINE, "built": ["2020", *MINE["built"][1:]]}
WEATHER: Columns = {
    "station": [f"station {n}" for n in range(90)],
    "built": [str(1990 + n % 30) for n in range(90)],
    "rain": [f"{n * 13 % 47}.{n % 10}" for n in range(90)],
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    tables = {
        "mine.csv": MINE,
        "later.csv": LATER,
        "other.csv": OTHER,
        "changed.csv": CHANGED,
        "owners.csv": joined(MINE, "car"),
        "weather.csv": WEATHER,
        "part.csv": {name: cells[:40] for name, cells in MINE.items()},
        "copy.csv": MINE,
    }
    plain = [PlainTable(name, columns) for name, columns in tables.items()]
    yield key_lake(tmp_path_factory.mktemp("union"), plain[:4], plain[4:])


def test_parts_of_a_table_are_found_with_their_columns(lake: Lake) -> None:
    answer = lake.union("mine.csv")
    assert [one.table for one in answer] == ["later.csv", "other.csv"]
    first, second = answer
    assert [(one.mine, one.theirs) for one in first.alignment] == [(n, n) for n in MINE]
    assert (first.new_rows, first.rows, first.missing, first.extra) == (150, 150, (), ())
    assert {one.mine: one.theirs for one in second.pairs} == {
        "maker": "brand",
        "plate": "sign",
        "built": "year_of_make",
        "car": "model_name",
    }
    assert second.missing == ("horsepower",)
    assert 0 < second.score < first.score <= 1


def test_what_joins_and_what_is_mine_again_is_told_apart(lake: Lake) -> None:
    answer = lake.union("mine.csv")
    told = {one.table: one.apart for one in answer.misses}
    assert told["part.csv"] == "your table already has all its rows"
    assert "version of your table: 1 of its 120 rows" in told["changed.csv"]
    assert "mine.csv" not in told and "copy.csv" not in told, "the table itself is no result"
    found = [one.table for one in answer]
    assert "owners.csv" not in found and "weather.csv" not in found
    asked = {name: MINE[name] for name in ("car", "maker")}
    again = lake.union(pa.table(asked))
    assert "owners.csv" not in [one.table for one in again]


def test_a_frame_is_asked_for_as_a_table_of_the_lake(lake: Lake) -> None:
    answer = lake.union(pa.table(MINE))
    assert [one.table for one in answer] == ["later.csv", "other.csv"]
    assert "changed.csv" in {one.table for one in answer.misses}


def test_meaning_tells_texts_of_a_kind(tmp_path: Path) -> None:
    """No name and no value is shared; letters of words are (the encoder knows spellings only)."""
    trees = ["oak", "elm", "ash", "birch", "maple", "cedar", "holly", "rowan"]
    sweets = ["rice", "bread", "plum", "corn", "apple", "lemon", "ginger", "treacle"]
    ages = [str(n * n % 71) for n in range(32)]

    def streets(kinds: list[str]) -> list[str]:
        return [f"{tree} {kind} street" for tree in trees for kind in kinds]

    plain = [
        PlainTable("mine.csv", {"addr": streets(["upper", "old", "long", "wide"]), "n": ages}),
        PlainTable("near.csv", {"where": streets(["lower", "new", "short", "high"]), "n": ages}),
        PlainTable("far.csv", {
            "what": [f"{sweet} {kind} pudding" for sweet in sweets for kind in "abcd"],
            "n": ages,
        }),
    ]  # fmt: skip
    lake = meaning_lake(tmp_path, plain)
    found = lake.union("mine.csv")
    pairs = {one.table: one.pairs for one in [*found, *found.misses]}
    (address,) = [one for one in pairs["near.csv"] if one.mine == "addr"]
    assert address.theirs == "where"
    assert "meaning" in [sign.what for sign in address.likeness.signs]
    others = [one.likeness.score for one in pairs.get("far.csv", ()) if one.mine == "addr"]
    assert address.likeness.score > max(others, default=0.0)


def test_an_empty_lake_and_an_empty_table(tmp_path: Path, lake: Lake) -> None:
    assert len(key_lake(tmp_path, []).union(pa.table(MINE))) == 0
    with pytest.raises(InputError, match="no rows"):
        lake.union(pa.table({"a": pa.array([], pa.string())}))
    with pytest.raises(InputError, match="k must be"):
        lake.union("mine.csv", k=0)


def test_the_union_has_a_source_and_no_row_twice(lake: Lake, tmp_path: Path) -> None:
    answer = lake.union("mine.csv")
    whole = answer.to_arrow()
    assert whole.column_names == [*MINE, "source"]
    assert (
        whole["source"].to_pylist()
        == ["mine.csv"] * 120 + ["later.csv"] * 150 + ["other.csv"] * 100
    )
    assert whole["car"].to_pylist()[:270] == [*MINE["car"], *LATER["car"]]
    assert whole["horsepower"].to_pylist()[270:] == [None] * 100
    file = tmp_path / "longer.csv"
    assert answer[:1].write(file) == 270
    with file.open(newline="") as rows:
        assert len(list(csv.reader(rows))) == 271
    with pytest.raises(InputError, match="never overwritten"):
        answer.write(file)


def test_a_source_column_of_mine_is_kept(lake: Lake) -> None:
    mine = renamed(MINE, maker="source")
    whole = lake.union(pa.table(mine))[:1].to_arrow()
    assert whole.column_names[-1] == "source_"


def test_a_column_keeps_its_type_where_all_new_values_can_have_it(
    tmp_path: Path, lake: Lake
) -> None:
    mine = pa.table(
        {
            **MINE,
            "horsepower": pa.array(map(float, filter(None, MINE["horsepower"]))),
            "built": pa.array([*map(int, filter(None, MINE["built"][:-1])), None], pa.int32()),
        }
    )
    answer = lake.union(mine)
    assert [one.table for one in answer] == ["later.csv", "other.csv"]
    whole = answer.to_arrow()
    assert (whole["horsepower"].type, whole["built"].type) == (pa.float64(), pa.int32())
    assert whole["built"].to_pylist()[:120] == mine["built"].to_pylist()
    assert whole["built"].to_pylist()[120:270] == list(map(int, filter(None, LATER["built"])))
    assert whole["horsepower"].to_pylist()[:120] == mine["horsepower"].to_pylist()
    assert whole["horsepower"].to_pylist()[270:] == [None] * 100
    file = tmp_path / "typed.parquet"
    answer.write(file)
    assert pq.read_table(file).equals(whole)
    answer.write(tmp_path / "typed.csv")
    with (tmp_path / "typed.csv").open(newline="") as rows:
        cells = list(csv.reader(rows))
    assert [row[3] for row in cells[121:271]] == LATER["horsepower"], "as they are written"
    whole_numbers = pa.array([round(one) for one in mine["horsepower"].to_pylist()])
    rounded = lake.union(mine.set_column(3, "horsepower", whole_numbers))[:1]
    assert rounded[0].alignment[3].theirs == "horsepower"
    assert rounded.to_arrow()["horsepower"].type == pa.large_string()
    assert rounded.to_arrow()["built"].type == pa.int32()


# -- the command -----------------------------------------------------------------------------------


def test_the_command_shows_explains_and_writes(lake: Lake, tmp_path: Path) -> None:
    given = Command("union", ("--index", lake.snapshot.location.uri))
    shown = given.run("mine.csv").output
    assert "2 of 8 tables have rows that could be appended" in shown
    assert "150 new rows" in shown and "maker ← brand" in shown
    assert "would be empty: horsepower" in shown
    assert "better joined" not in shown.split("similar columns")[0]
    assert "some of the new rows" in given.run("mine.csv", "--explain", "2").output
    out = tmp_path / "all.parquet"
    told = given.answer("mine.csv", "--take", "2", "--take", "1", "--out", str(out))
    assert told["written"] == {"file": str(out), "rows": 370, "tables": ["other.csv", "later.csv"]}
    assert {"query", "k", "results", "misses", "notes", "seconds"} <= told.keys()
    assert told["results"][0]["new_rows"] == 150
    assert "never overwritten" in given.refused("mine.csv", "--out", str(out))
    assert "no result 9" in given.refused("mine.csv", "--explain", "9")
    other = str(tmp_path / "other.csv")
    told = given.refused("weather.csv", "--output", other)
    assert "no table in the lake has rows that could be appended to weather.csv" in told
    assert "--take needs --out" in given.refused("mine.csv", "--take", "1")


# -- against brute force ---------------------------------------------------------------------------

SCORES = st.sampled_from([0.0, 0.0, 0.1, 0.25, 0.5, 0.5, 0.9, 1.0])


@given(st.integers(0, 5), st.integers(0, 5), st.data())
def test_the_best_alignment_of_every_size(rows: int, columns: int, data: st.DataObject) -> None:
    row = st.lists(SCORES, min_size=columns, max_size=columns)
    likeness = data.draw(st.lists(row, min_size=rows, max_size=rows))
    array = np.array(likeness, dtype=float).reshape(rows, columns)
    found = list(best_alignments(array))
    for size, pairs in enumerate(found, 1):
        assert len(pairs) == len({r for r, _ in pairs}) == len({c for _, c in pairs}) == size
        told = math.prod(array[pair] for pair in pairs)
        best = best_product(likeness, size)
        assert best is not None and math.isclose(told, best)
    if len(found) < min(rows, columns):
        assert best_product(likeness, len(found) + 1) is None


def test_alignments_of_many_columns_are_quick_and_whole() -> None:
    rng = np.random.default_rng(0)
    likeness = rng.random((60, 80)) + np.eye(60, 80)
    pairs, _ = choose_alignment(np.minimum(likeness, 1), len)
    assert len(pairs) == 60


@given(st.data())
def test_rows_that_are_held(data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 3))
    cells = st.integers(-1, 3)
    sides = []
    for _ in range(2):
        rows = data.draw(st.integers(1, 8))
        column = st.lists(cells, min_size=rows, max_size=rows)
        sides.append([np.array(data.draw(column)) for _ in range(width)])
    held = contained_rows(*sides)
    new = new_rows(*([column.tolist() for column in side] for side in sides))
    assert np.flatnonzero(~held).tolist() == new


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_new_rows_of_tables(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """By canonical values, over segments, and for frames as for tables in the lake."""
    sides: list[Columns] = []
    for _ in range(2):
        rows = data.draw(st.integers(1, 7))
        column = st.lists(CELLS, min_size=rows, max_size=rows)
        sides.append({name: data.draw(column) for name in ("a", "b")})
    plain = [PlainTable(f"{n}.csv", columns) for n, columns in enumerate(sides)]
    lake = key_lake(tmp_path_factory.mktemp("rows"), plain[:1], plain[1:])
    segment, entry = lake.snapshot.table("1.csv")
    canonical = [[_canonical(cells) for cells in columns.values()] for columns in sides]
    frame = pa.table({name: pa.array(cells, pa.string()) for name, cells in sides[0].items()})
    pairs = [(0, entry.first), (1, entry.first + 1)]
    for table in ("0.csv", frame):
        mine = resolve_table(table, lake.snapshot).query_table(lake.snapshot)
        told = compare_rows(mine, segment, entry, pairs)
        assert told.new.tolist() == new_rows(*canonical)


def _canonical(cells: list[str | None]) -> list[str | None]:
    data = encode_query(pa.array(cells, pa.string()), ValueRules())
    tokens = [*data.tokens.to_pylist()]
    tokens += [tokens[token] for token in data.spelling_token.tolist()]
    return [tokens[cell] if cell < len(tokens) else None for cell in data.cells.tolist()]


# -- what columns say ------------------------------------------------------------------------------


@given(st.integers(0, 50), st.integers(1, 50), st.floats(0, 1), st.floats(0, 1))
def test_a_likeness_is_a_share_and_more_values_say_no_less(
    both: int, fewer: int, chance: float, telling: float
) -> None:
    one = _look("town", ["bern", "ulm", "oslo"])
    both = min(both, fewer)
    told = score_likeness(one, one, ValueOverlap(both, fewer, chance), NameContext(telling))
    assert 0 <= told.score <= 1
    more = score_likeness(one, one, ValueOverlap(fewer, fewer, chance), NameContext(telling))
    assert more.score >= told.score - 1e-9


def test_numbers_that_lie_elsewhere_under_another_name_are_hardly_alike() -> None:
    year = _look("year", [str(n) for n in range(1960, 2024)])
    schooling = _look("mean_years_in_school", [f"{n / 7:.2f}" for n in range(90)])
    time = _look("time", [str(n) for n in range(1970, 2016)])
    alike = {
        one.name: score_likeness(year, one, ValueOverlap(), NameContext()).score
        for one in (schooling, time)
    }
    assert alike["mean_years_in_school"] < 0.3 < alike["time"]
    later = _look("year", [str(n) for n in range(3000, 3060)])
    assert score_likeness(year, later, ValueOverlap(), NameContext()).score > 0.5, (
        "rows to append are other ones"
    )


def test_numbered_columns_are_not_alike_by_name() -> None:
    one = _look("column_1", ["bern", "ulm"])
    assert "names" not in [
        sign.what for sign in score_likeness(one, one, ValueOverlap(), NameContext()).signs
    ]


def _look(name: str, values: list[str]) -> ColumnSample:
    profile = encode_query(pa.array(values, pa.string()), ValueRules()).profile
    return ColumnSample(name, profile, values)
