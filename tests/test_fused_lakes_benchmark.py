"""The benchmarks of fused search over other lakes: their truth, questions and times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import lakejoin
from conftest import Index
from oracle.lakes import PlainTable
from search.key_lakes import key_lake

pytestmark = pytest.mark.usefixtures("scripts_importable")


@pytest.fixture(scope="module")
def made(scripts_importable: None) -> Any:
    from enterprise_lake import company

    return company(noise=8, seed=3)


def values_of(column: Any) -> set[str]:
    return set(column.values)


def test_the_company_is_the_same_for_a_seed(made: Any) -> None:
    from enterprise_lake import company

    assert company(noise=8, seed=3).tables == made.tables
    assert company(noise=8, seed=4).tables != made.tables


def test_columns_of_one_domain_and_form_join(made: Any) -> None:
    tables = made.tables
    for name, table in tables.items():
        lengths = {len(column.values) for column in table.values()}
        assert len(lengths) == 1, name
    invoices, payments = tables["invoices.csv"], tables["payments.csv"]
    assert values_of(payments["invoice"]) <= values_of(invoices["invoice"])
    buyers = values_of(tables["orders_2024_01.csv"]["customer_no"])
    assert buyers <= values_of(tables["customers.csv"]["customer_no"])
    assert not values_of(tables["web_shop_prices.csv"]["article"]) & values_of(
        tables["products.csv"]["sku"]
    )
    older = tables["archive/2023_sensors.csv"]["sensor"]
    assert values_of(older) < values_of(tables["sensors.csv"]["sensor"])


def test_files_are_written_as_they_are(made: Any, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    some = replace(
        made,
        tables={
            name: made.tables[name]
            for name in ("suppliers.csv", "extracts/extract_000.parquet", "extracts/nothing_0.csv")
        },
    )
    some.write(tmp_path)
    lines = (tmp_path / "suppliers.csv").read_text().splitlines()
    assert lines[0] == "supplier,company" and len(lines) == 81
    assert (tmp_path / "extracts/nothing_0.csv").read_text().strip() == "id,sku"
    table = pq.read_table(tmp_path / "extracts/extract_000.parquet")
    assert table.column_names == list(made.tables["extracts/extract_000.parquet"])


def test_questions_about_the_company(made: Any) -> None:
    from fused_lakes import some_of_each
    from fused_quality import Ranked
    from lake_questions import of_company

    every = of_company(made)
    assert sorted(map(id, some_of_each(every, None))) == sorted(map(id, every))
    some = [one.kind for one in some_of_each(every, 2)]
    assert {kind: some.count(kind) for kind in some} == dict.fromkeys(some, 2)
    asked = {one.question.name: one for one in of_company(made)}
    invoice = asked["payments.csv.invoice"]
    assert invoice.kind == "equal" and invoice.question.right == {"invoices.csv"}
    assert "bank_statement.csv" not in invoice.question.accidental, "once rewritten it joins"
    assert "customers.csv" in invoice.question.accidental
    text = asked["bank_statement.csv.booking_text"]
    assert text.kind == "rewritten" and "invoices.csv" in text.question.right
    assert asked["water_meters.csv.meter"].kind == "no partner"
    customers = asked["customers.csv.customer_no"]
    assert customers.question.right == {"orders_2024_01.csv", "invoices.csv"}
    ranked = Ranked(
        ("backup/customers.csv", "orders_2024_07.csv", "orders_2024_03.csv", "suppliers.csv")
    )
    assert customers.condensed(ranked).found == ("orders_2024_01.csv", "suppliers.csv")


@pytest.fixture
def databases(tmp_path: Path) -> Path:
    """Two databases: in one a child refers to a parent, in the other there are row numbers."""
    folder = tmp_path / "databases"
    for name in ("shop", "zoo"):
        (folder / name).mkdir(parents=True)
        (folder / name / "foreign_keys.csv").write_text(
            "child_table,child_columns,parent_table,parent_columns\n"
        )
    with (folder / "shop" / "foreign_keys.csv").open("a") as file:
        file.write("item,order_id,order,id\nitem,order_id|line,line,order_id|line\n")
    rows = [f"{n}" for n in range(1, 10)]
    (folder / "shop" / "order.csv").write_text("\n".join(["id", *rows]) + "\n")
    pairs = [f"{n},{n}" for n in rows]
    for table in ("item", "line"):
        (folder / "shop" / f"{table}.csv").write_text("\n".join(["order_id,line", *pairs]) + "\n")
    (folder / "zoo" / "animal.csv").write_text("\n".join(["id", *rows]) + "\n")
    return folder


def test_questions_about_databases(databases: Path) -> None:
    from lake_questions import of_databases

    asked = {(one.kind, one.question.name): one.question for one in of_databases(databases)}
    number = asked["numbers", "shop/item.csv.order_id"]
    assert number.right == {"shop/order.csv"}
    assert number.accidental == {"shop/line.csv", "zoo/animal.csv"}
    both = asked["several columns", "shop/item.csv.order_id+line"]
    assert (both.right, both.accidental) == ({"shop/line.csv"}, {"zoo/animal.csv"})
    whole = asked["whole table", "shop/item.csv"]
    assert whole.right == {"shop/order.csv", "shop/line.csv"}
    assert whole.accidental == {"zoo/animal.csv"}


def test_names_are_taken_away(
    databases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fused_lakes

    monkeypatch.setattr(fused_lakes, "indexed", lambda files: files)
    lakes = {name: (lake, asked) for name, lake, asked in _lakes(databases, tmp_path)}
    _, named = lakes["databases"]
    folder, nameless = lakes["databases without names"]
    for one, other in zip(named, nameless, strict=True):
        old, new = one.question, other.question
        columns = (tmp_path / "databases" / old.table).read_text().splitlines()[0].split(",")
        renamed = (Path(str(folder)) / new.table).read_text().splitlines()[0].split(",")
        assert [columns.index(name) for name in old.on] == [renamed.index(n) for n in new.on]
        assert len(old.right) == len(new.right) and new.table.startswith("t")


def _lakes(databases: Path, folder: Path) -> list[tuple[str, Any, Any]]:
    from fused_lakes import database_lakes

    return database_lakes(databases, folder)


def test_engines_are_asked_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fused_lakes import ENGINES, ask_all, report
    from fused_quality import Question
    from lake_questions import Asked

    towns = [f"town {n * 7919 % 1009}" for n in range(50)]
    words = [f"w{n * 31 % 997}{n}" for n in range(50)]
    tables = [
        PlainTable("mine.csv", {"town": towns, "word": words}),
        PlainTable("theirs.csv", {"place": towns[:40]}),
        PlainTable("copy.csv", {"place": towns[:40], "n": [str(n) for n in range(40)]}),
        PlainTable("other.csv", {"thing": words[:10] + towns[:20]}),
    ]
    lake = key_lake(tmp_path, tables)

    def asked(kind: str, on: tuple[str, ...], *right: str) -> Asked:
        question = Question(kind, "mine.csv", on, frozenset(right), frozenset({"other.csv"}))
        return Asked(kind, question, {"copy.csv": "theirs.csv"})

    questions = [
        asked("named", ("town",), "theirs.csv"),
        asked("whole", (), "theirs.csv"),
        asked("missing", ("no such column",)),
    ]
    for name, engine in ENGINES.items():
        told = ask_all(lake, engine, questions)
        assert [one.figures.rr for one in told if one.figures] == [1.0, 1.0], name
        assert told[2].empty
        report(name, told)
    out = capsys.readouterr().out
    assert "fused, named" in out and "1 answers are empty" in out


def test_times_are_told(made: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fused_speed import WIDTH, extracts, measure, report, tables_of_width

    queries = extracts(made)
    assert len(queries) == 10
    assert all(len(table) == WIDTH for table in queries.values())

    class Stub:
        def search_progressively(self, query: Any, on: None, k: int) -> Iterator[Any]:
            yield SimpleNamespace(seconds_by={"sketches": 0.1})
            yield SimpleNamespace(seconds_by={"sketches": 0.1, "overlap": 0.2})

        def __len__(self) -> int:
            return 7

    lake: Any = Stub()
    took = measure(lake, dict(list(queries.items())[:2]), repeats=3)
    assert len(took) == 6 and all(one.first <= one.whole for one in took)
    figures = report("stub", lake, took)
    assert figures["parts"] == {"sketches": 0.1, "overlap": 0.2}
    assert "overlap 0.20" in capsys.readouterr().out
    wide = PlainTable("wide.csv", {f"c{n}": [f"{n} {i}" for i in range(60)] for n in range(10)})
    narrow = PlainTable("narrow.csv", {"c": ["a"] * 60})
    assert tables_of_width(key_lake(tmp_path, [wide, narrow])) == {"wide.csv": "wide.csv"}


def test_two_versions_are_compared(
    tmp_path: Path, index: Index, capsys: pytest.CaptureFixture[str]
) -> None:
    from fused_speed import compare

    (tmp_path / "lake").mkdir()
    for number in range(9):
        rows = [f"town number {n},{n - number}x" for n in range(number, 40)]
        (tmp_path / "lake" / f"t{number}.csv").write_text("\n".join(["town,code", *rows]))
    index(tmp_path / "lake")
    here = Path(lakejoin.__file__).parents[1]
    figures = compare(str(tmp_path / "index"), here, count=3)
    assert figures["tables"] == figures["equal"] == 3, "a version gives its own answers"
    for name in ("base, first", "now, whole"):
        middle, _, worst = figures[name]
        assert 0 < middle <= worst
    assert "3 of 3 answers are equal" in capsys.readouterr().out


def test_a_flame_graph_has_the_calls_below_a_function(tmp_path: Path) -> None:
    from flame_graph import draw, read_frames

    raw = tmp_path / "raw"
    raw.write_text(
        "main (x.py:1);ask (lakejoin/a.py:2);find (lakejoin/b.py:3) 30\n"
        "main (x.py:1);ask (lakejoin/a.py:9);take (numpy/c.py:3) 10\n"
        "main (x.py:1);other (lakejoin/d.py:9) 60\n"
    )
    top = read_frames(raw, "ask")
    assert top.samples == 40
    drawn = list(draw(top, top.samples, 0.0, 0))
    assert [depth for depth, _ in drawn] == [0, 1]
    assert "ask (a.py): 100.0%" in drawn[0][1] and "find (b.py): 75.0%" in drawn[1][1]
