"""Which tables refer to which: what is listed, what is not, and the diagrams of it."""

from __future__ import annotations

import random
import re
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakejoin
from conftest import Index
from lakejoin.errors import InputError
from lakejoin.joins.predicates import column_references
from lakejoin.joins.predicates.database_relations import Relations, graphviz, mermaid
from lakejoin.joins.predicates.key_relations import Relation

Told = tuple[str, tuple[str, ...], str, tuple[str, ...]]


def told(found: Relations) -> set[Told]:
    return {(one.table, one.columns, one.key_table, one.key_columns) for one in found}


def shop(seed: int = 0) -> dict[str, dict[str, list[Any]]]:
    """Numbers that count up from one in every table: names must tell them apart."""
    rng = random.Random(seed)
    customers = {
        "customer_id": list(range(1, 41)),
        "name": [f"Name {n}" for n in range(40)],
        "street": [f"Street {n * 7 % 40}" for n in range(40)],
    }
    of = [rng.randint(1, 40) for _ in range(120)]
    orders = {
        "order_id": list(range(1, 121)),
        "customer_id": of,
        "shipping_street": [customers["street"][c - 1] for c in of],
        "quantity": [rng.randint(1, 5) for _ in of],
    }
    items = {
        "id": list(range(1, 301)),
        "order_id": [n * 120 // 300 + 1 for n in range(300)],
        "product": [f"p{rng.randint(1, 30):02}" for _ in range(300)],
    }
    products = {
        "code": [f"p{n:02}" for n in range(1, 31)],
        "title": [f"Thing {n}" for n in range(30)],
    }
    return {"customers": customers, "orders": orders, "items": items, "products": products}


def test_keys_are_told_from_numbers_that_count_up() -> None:
    found = lakejoin.relations(shop())
    assert told(found) == {
        ("orders", ("customer_id",), "customers", ("customer_id",)),
        ("items", ("order_id",), "orders", ("order_id",)),
        ("items", ("product",), "products", ("code",)),
    }
    for one in found:
        assert one.missing == 0 and 0.5 < one.score <= 1 and one.why
    by_order = next(one for one in found if one.table == "items" and one.columns == ("order_id",))
    assert (by_order.rows, by_order.values, by_order.keys) == (300, 120, 120)


def test_missing_values_are_counted() -> None:
    tables = shop()
    tables["items"]["product"][:3] = ["px", "py", None]
    one = next(one for one in lakejoin.relations(tables) if one.key_table == "products")
    assert (one.missing, one.rows) == (2, 297)
    assert "of values are in the key" in one.why


def test_two_children_are_not_related_to_each_other() -> None:
    names = [f"land {n}" for n in range(20)]
    tables = {
        "lands": {"land_id": [f"L{n}" for n in range(20)], "land": names},
        "capitals": {"land_id": [f"L{n}" for n in range(20)], "city": [f"c{n}" for n in range(20)]},
        "rivers": {
            "land_id": [f"L{n % 15}" for n in range(60)],
            "river": [str(n) for n in range(60)],
        },
    }
    assert told(lakejoin.relations(tables)) == {
        ("capitals", ("land_id",), "lands", ("land_id",)),
        ("rivers", ("land_id",), "lands", ("land_id",)),
    }


def test_two_columns_of_one_table_have_a_role_each() -> None:
    rng = random.Random(1)
    teams = {"team_id": [f"T{n:02}" for n in range(30)], "team": [f"FC {n}" for n in range(30)]}
    home = [rng.randrange(30) for _ in range(90)]
    away = [(n + rng.randint(1, 29)) % 30 for n in home]
    matches = {
        "match_id": list(range(90)),
        "home_team_id": [teams["team_id"][n] for n in home],
        "home_team": [teams["team"][n] for n in home],
        "away_team_id": [teams["team_id"][n] for n in away],
    }
    assert told(lakejoin.relations({"matches": matches, "teams": teams})) == {
        ("matches", ("home_team_id",), "teams", ("team_id",)),
        ("matches", ("away_team_id",), "teams", ("team_id",)),
    }


def test_a_table_may_refer_to_itself() -> None:
    words = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnrst"]
    random.Random(2).shuffle(words)
    tables = {
        "words": {"word_id": words, "root_word_id": [words[0]] * 50 + words[:100]},
        "other": {"n": [1, 2, 3]},
    }
    assert told(lakejoin.relations(tables)) == {
        ("words", ("root_word_id",), "words", ("word_id",)),
    }


def test_a_key_of_several_columns() -> None:
    years = [2000 + n // 6 for n in range(60)]
    stages = [f"{'abcdefghij'[(n % 6 + n // 6) % 10]} stage" for n in range(60)]
    rng = random.Random(3)
    some = [rng.randrange(60) for _ in range(200)]
    tables = {
        "cups": {"cup_id": [f"C{y}" for y in range(2000, 2010)], "host": list("klmnopqrst")},
        "stages": {
            "cup_id": [f"C{y}" for y in years],
            "stage": stages,
            "first_day": [f"day {n}" for n in range(60)],
        },
        "games": {
            "game_id": [f"G{n}" for n in range(200)],
            "cup_id": [f"C{years[n]}" for n in some],
            "stage": [stages[n] for n in some],
        },
    }
    assert told(lakejoin.relations(tables)) == {
        ("stages", ("cup_id",), "cups", ("cup_id",)),
        ("games", ("cup_id",), "cups", ("cup_id",)),
        ("games", ("cup_id", "stage"), "stages", ("cup_id", "stage")),
    }


def test_versions_of_a_table_are_not_related() -> None:
    rng = random.Random(4)
    teams = ["".join(rng.choices("abcdefgh", k=6)) for _ in range(30)]
    tables = {
        "monday": {"team": teams, "points": [n * 7 % 31 for n in range(30)]},
        "tuesday": {"team": teams[:25], "points": [n * 5 % 31 for n in range(25)]},
        "colours": {"team": teams, "colour": ["red", "blue", "white"] * 10},
    }
    found = {frozenset((one.table, one.key_table)) for one in lakejoin.relations(tables)}
    assert found == {frozenset(("monday", "colours")), frozenset(("tuesday", "colours"))}


def test_what_reading_lost_is_told(tmp_path: Path) -> None:
    for name in "abcdefg":
        (tmp_path / f"{name}.csv").write_text("k,v\n1,2\n2,3\n3,4,5,6\n4,5\n")
    found = lakejoin.relations(tmp_path)
    assert found.notes[0] == "reading a.csv: row with too many cells, repaired (1 time)"
    assert len(found.notes) == 6 and found.notes[-1] == "… and losses in 2 more tables"
    assert "<div>note: reading a.csv" in found._repr_html_()
    by_name = lakejoin.relations({"x": tmp_path / "a.csv", "y": {"k": [1]}})
    assert by_name.notes == ("reading x: row with too many cells, repaired (1 time)",)


def test_a_limit_of_pairs_of_tables_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_references, "_MOST_PAIRS", 0)
    both = {"town": list("aabb"), "land": list("cdcd")}
    tables = {name: {**both, name: [1, 2, 3, 4]} for name in ("one", "two")}
    (note,) = lakejoin.relations(tables).notes
    assert "give fewer tables at once" in note


def test_nothing_is_related() -> None:
    tables = {"a": {"x": ["u", "v"]}, "b": {"y": ["w"]}, "empty": {"z": []}}
    found = lakejoin.relations(tables)
    assert found.table().num_rows == 0
    assert found.table().schema == lakejoin.relations(shop()).table().schema
    assert len(found) == 0 and "0 relations among 3 tables" in repr(found)
    assert found.diagram() == 'erDiagram\n    t1["a"]\n    t2["b"]\n    t3["empty"]'


def test_a_folder_and_a_database(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for name, columns in shop().items():
        lines = [
            ",".join(columns),
            *(",".join(map(str, r)) for r in zip(*columns.values(), strict=True)),
        ]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    (folder / "page.html").write_text("<!DOCTYPE html><html><body>no table</body></html>")
    found = lakejoin.relations(folder)
    assert ("items.csv", ("order_id",), "orders.csv", ("order_id",)) in told(found)
    assert len(found) == 3 and "skipped: page.html" in found.notes[0]
    with sqlite3.connect(tmp_path / "shop.sqlite") as base:
        for name, columns in shop().items():
            base.execute(f"create table {name} ({', '.join(columns)})")
            marks = ", ".join("?" for _ in columns)
            rows = list(zip(*columns.values(), strict=True))
            base.executemany(f"insert into {name} values ({marks})", rows)
    base.close()
    found = lakejoin.relations(tmp_path / "shop.sqlite")
    assert ("shop.sqlite#items", ("product",), "shop.sqlite#products", ("code",)) in told(found)
    assert ("items", ("product",), "products", ("code",)) in told(found.short)
    assert '["items"]' in found.diagram()
    assert len(found) == 3


def test_the_lake(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(lake)
    opened = lakejoin.open(tmp_path / "index")
    monkeypatch.setenv("LAKEJOIN_INDEX", str(tmp_path / "index"))
    assert told(lakejoin.relations(opened)) == told(lakejoin.relations())
    assert len(lakejoin.relations().tables) == 5


def test_what_is_wrong_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least two tables, and there is only a"):
        lakejoin.relations({"a": {"x": [1]}})
    with pytest.raises(InputError, match="there is no file or folder"):
        lakejoin.relations(tmp_path / "nowhere")
    with pytest.raises(InputError, match="there is no table in"):
        lakejoin.relations(tmp_path)
    (tmp_path / "not.sqlite").write_bytes(b"SQLite format 3\x00broken")
    with pytest.raises(InputError, match=r"not\.sqlite"):
        lakejoin.relations(tmp_path / "not.sqlite")
    with pytest.raises(InputError, match="one of mermaid, graphviz"):
        lakejoin.relations({"a": {"x": [1]}, "b": {"x": [1]}}).diagram("uml")


def test_diagrams_survive_any_name() -> None:
    names = ['a "x"', "b\n`%%`\\"]
    one = Relation(names[1], ('k"', "l"), names[0], ("id", "m]"), 3, 3, 0, 2, 0.9, "")
    assert mermaid(names, [one]).splitlines() == [
        "erDiagram",
        "    t1[\"a 'x'\"]",
        '    t2["b `％％`/"]',
        '    t2 |o--|| t1 : "k\' = id, l = m]"',
    ]
    assert graphviz(names, [one]).splitlines()[3:6] == [
        '    "a \\"x\\"";',
        '    "b `%%`\\\\";',
        '    "b `%%`\\\\" -> "a \\"x\\"" [label="k\\" = id, l = m]"];',
    ]


def test_it_can_be_read() -> None:
    found = lakejoin.relations(shop())
    assert re.search(r"items\(order_id\) +orders\(order_id\) +\d", repr(found))
    assert found.table().column_names[:4] == ["table", "columns", "key_table", "key_columns"]
    assert found[:1].results == (found[0],)
    assert ">items(order_id)</td>" in found._repr_html_()
    assert isinstance(found.table(), pa.Table)
