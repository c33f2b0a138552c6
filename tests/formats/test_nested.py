"""Nested records: dotted columns, tables of what is listed, and records found in documents."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc
from pyarrow import parquet as pq

import lakejoin
from conftest import Index
from lakejoin.formats.file_chunks import open_chunk, plan_chunks, resolve_chunks, scan_chunk
from lakejoin.formats.file_reader import Table, open_table, open_tables_isolated, read
from lakejoin.formats.nested_shapes import TOO_DEEP, TOO_MANY
from lakejoin.formats.table_stream import Blob
from lakejoin.model import ReadLimits, SourceFile
from oracle.nested import flatten_records

ORDERS: list[dict[str, Any]] = [
    {
        "id": 100 + i,
        "addr": {"city": f"town {i}", "geo": {"zip": f"{9000 + i}"}},
        "items": [
            {"sku": f"s{i}-{j}", "n": j, "discounts": [{"code": "x"}, {"code": f"y{j}"}]}
            for j in range(i % 3)
        ],
        "tags": ["all", f"tag {i}"],
        "vector": [0.25, 0.5],
    }
    for i in range(6)
]


def main_table(path: Path) -> Table:
    table = read(path)
    assert isinstance(table, Table)
    return table


def cells(table: Table) -> list[dict[str, str]]:
    """The rows as texts, without nulls."""
    rows = table.to_arrow().to_pylist()
    return [{k: v if isinstance(v, str) else str(v) for k, v in r.items() if v is not None}
            for r in rows]  # fmt: skip


def all_cells(table: Table) -> dict[str, list[dict[str, str]]]:
    parts = {child.name.partition("#")[2]: cells(child) for child in table.children}
    return {"": cells(table), **parts}


def key_of(table: Table) -> str:
    texts = [t for t in (table, *table.children) if "_row" in t.column_names and t.rows.num_rows]
    return str(texts[0].to_arrow().column("_row")[0].as_py()).partition(":")[0] if texts else ""


def expected(table: Table, records: list[Any]) -> dict[str, list[dict[str, str]]]:
    """Brute force, without tables that have no rows."""
    return flatten_records(records, key_of(table))


def source_of(path: Path) -> SourceFile:
    return SourceFile(path.name, str(path), path.stat().st_size, path.stat().st_mtime_ns)


def write(path: Path, records: list[dict[str, Any]]) -> None:
    table = pa.Table.from_pylist(records) if path.suffix not in (".json", ".jsonl") else None
    if path.suffix == ".json":
        path.write_text(json.dumps(records))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    elif path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=2)
    elif path.suffix == ".orc":
        orc.write_table(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)


FORMS = ("json", "jsonl", "parquet", "orc", "arrow")


@pytest.mark.parametrize("form", FORMS)
def test_nested_records_in_every_format(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"orders.{form}"
    write(path, ORDERS)
    table = main_table(path)
    names = [child.name for child in table.children]
    assert table.column_names == ("id", "addr.city", "addr.geo.zip", "tags", "vector", "_row")
    assert names == [f"orders.{form}#{p}" for p in ("items", "items.discounts", "tags")]
    assert all_cells(table) == expected(table, ORDERS)


def test_avro(tmp_path: Path) -> None:
    fastavro = pytest.importorskip("fastavro")
    item = {"type": "record", "name": "item", "fields": [
        {"name": "sku", "type": "string"}, {"name": "n", "type": "int"}]}  # fmt: skip
    fields = [
        {"name": "id", "type": "long"},
        {"name": "items", "type": {"type": "array", "items": item}},
        {"name": "attributes", "type": {"type": "map", "values": "string"}},
        {"name": "unused", "type": ["null", "string"]},
    ]
    records = [
        {"id": i, "items": [{"sku": "a", "n": i}], "attributes": {"color": f"c{i}"}, "unused": None}
        for i in range(3)
    ]
    out = io.BytesIO()
    schema = {"type": "record", "name": "r", "fields": fields}
    fastavro.writer(out, fastavro.parse_schema(schema), records)
    path = tmp_path / "orders.avro"
    path.write_bytes(out.getvalue())
    table = main_table(path)
    assert table.column_names == ("id", "attributes.color", "unused", "_row")
    assert all_cells(table) == expected(table, records)


def _values(depth: int) -> st.SearchStrategy[Any]:
    scalar = st.one_of(
        st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from([0.5, 1e9]),
        st.text("aé\U0001f600 ", max_size=2),
    )  # fmt: skip
    if not depth:
        return scalar
    below = _values(depth - 1)
    return st.one_of(scalar, st.lists(below, max_size=3), _objects(below))


def _objects(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(["id", "a", "b"]), values, max_size=3)


@settings(deadline=None)
@given(st.lists(_objects(_values(3)), min_size=1, max_size=6))
def test_any_records_are_those_of_brute_force(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("nested")
    if not any(records):
        return
    path = folder / "t.jsonl"
    write(path, records)
    table = main_table(path)
    assert all_cells(table) == expected(table, records)
    write(folder / "t.json", records)
    document = main_table(folder / "t.json")
    assert all_cells(document) == expected(document, records)
    pieces = chunked(path)
    for stream in pieces[0].with_children() if pieces else ():
        some = [t for piece in pieces for t in piece.with_children() if t.name == stream.name]
        found = [row for t in some for row in cells(Table.of(t))]
        assert found == all_cells(table)[stream.part]


def chunked(path: Path, size: int = 60) -> list[Any]:
    plan = plan_chunks(source_of(path), size)
    if plan is None:
        return []
    scans = [scan_chunk(plan, n) for n in range(len(plan.row_groups) or len(plan.cuts))]
    return [open_chunk(chunk) for chunk in resolve_chunks(plan, scans)]


@st.composite
def _typed(draw: st.DrawFn, depth: int = 3) -> tuple[pa.DataType, st.SearchStrategy[Any]]:
    kind = draw(st.sampled_from(["int", "text", "struct", "list"] if depth else ["int", "text"]))
    if kind == "int":
        return pa.int64(), st.none() | st.integers(-5, 5)
    if kind == "text":
        return pa.string(), st.none() | st.text("aé", max_size=2)
    if kind == "list":
        inner, values = draw(_typed(depth - 1))
        return pa.list_(inner), st.none() | st.lists(values, max_size=3)
    fields = [(name, *draw(_typed(depth - 1))) for name in ("id", "b")]
    objects = st.fixed_dictionaries({name: v for name, _, v in fields})
    values = st.none() | objects.map(lambda each: {name: each[name] for name, _, _ in fields})
    return pa.struct([(name, kind) for name, kind, _ in fields]), values


@settings(deadline=None)
@given(_typed(), _typed(), st.data())
def test_any_arrow_columns_are_those_of_brute_force(
    tmp_path_factory: pytest.TempPathFactory,
    first: tuple[pa.DataType, st.SearchStrategy[Any]],
    second: tuple[pa.DataType, st.SearchStrategy[Any]],
    data: st.DataObject,
) -> None:
    """Where types, and not values, say what is nested: rows of a table that has none are none."""
    schema = pa.schema([("id", first[0]), ("x", second[0])])
    record = st.fixed_dictionaries({"id": first[1], "x": second[1]})
    records = data.draw(st.lists(record, min_size=1, max_size=8))
    path = tmp_path_factory.mktemp("nested") / "t.parquet"
    pq.write_table(pa.Table.from_pylist(records, schema), path, row_group_size=3)
    table = main_table(path)
    for part, rows in all_cells(table).items():
        values = [{k: v for k, v in row.items() if not k.startswith("_")} for row in rows]
        brute = flatten_records(records, "").get(part, [{}] * len(rows))
        plain = [{k: v for k, v in row.items() if not k.startswith("_")} for row in brute]
        assert [_without_empty(row) for row in values] == [_without_empty(row) for row in plain]
    pieces = chunked(path, 1)
    for stream in pieces[0].with_children() if pieces else ():
        some = [t for piece in pieces for t in piece.with_children() if t.name == stream.name]
        found = [row for t in some for row in cells(Table.of(t))]
        assert found == all_cells(table)[stream.part]


def _without_empty(row: dict[str, str]) -> dict[str, str]:
    """Without lists that have no elements but nulls, whose kind only a type can tell, and without
    the id of a parent, which is not looked for where such a list is all there is."""
    return {
        k: v
        for k, v in row.items()
        if (set(v) - set("[],nul") or not v.startswith("[")) and k != "parent.id"
    }


def test_children_have_the_key_of_their_parent(tmp_path: Path) -> None:
    path = tmp_path / "orders.json"
    write(path, ORDERS)
    table = main_table(path)
    by_key = {row["_row"]: row for row in cells(table)}
    items = next(child for child in table.children if child.name.endswith("#items"))
    for row in cells(items):
        order = by_key[row["_parent"]]
        assert row["parent.id"] == order["id"]
        assert row["sku"].startswith(f"s{int(order['id']) - 100}-")


def test_maps_by_key(tmp_path: Path) -> None:
    kind = pa.map_(pa.string(), pa.int64())
    few = pa.array([[("a", 1), ("b", 2)], None, [], [("b", 3)]], kind)
    many = pa.array([[(f"k{i}", i) for i in range(150)], None, [], [("k0", 7)]], kind)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": [1, 2, 3, 4], "few": few, "many": many}), path)
    table = main_table(path)
    assert table.column_names == ("id", "few.a", "few.b", "_row")
    assert cells(table)[3].items() >= {"id": "4", "few.b": "3"}.items()
    (child,) = table.children
    assert (child.name, child.column_names) == (
        "t.parquet#many",
        ("_parent", "parent.id", "key", "value"),
    )
    assert len(cells(child)) == 151
    assert cells(child)[-1].items() >= {"parent.id": "4", "key": "k0", "value": "7"}.items()
    assert [row for piece in chunked(path, 1) for row in cells(Table.of(piece))] in (
        [], cells(table))  # fmt: skip


def test_an_object_with_a_key_for_each_value_is_a_map(tmp_path: Path) -> None:
    records = [{"id": i, "rates": {f"c{i}-{j}": {"n": j} for j in range(20)}} for i in range(60)]
    path = tmp_path / "t.jsonl"
    write(path, records)
    table = main_table(path)
    assert table.column_names == ("id", "_row")
    (child,) = table.children
    assert child.column_names == ("_parent", "parent.id", "key", "value.n")
    assert child.rows.num_rows == 1200
    assert cells(child)[20].items() >= {"parent.id": "1", "key": "c1-0", "value.n": "0"}.items()


def test_depth_and_width_are_limited_and_counted(tmp_path: Path) -> None:
    deep: Any = "bottom"
    for _ in range(12):
        deep = {"d": deep}
    lists = {f"list{i:03}": [i] for i in range(120)}
    path = tmp_path / "t.json"
    write(path, [{"id": 1, "deep": deep, **lists}, {"id": 2, "deep": deep, **lists}])
    table = main_table(path)
    losses = {loss.reason: loss.count for loss in table.losses}
    assert losses == {TOO_DEEP: 2, TOO_MANY: 40}
    assert len(table.children) == 100
    row = cells(table)[0]
    assert row["deep" + ".d" * 7] == json.dumps(
        {"d": {"d": {"d": {"d": {"d": "bottom"}}}}}
    ).replace(" ", "")
    assert row["list110"] == "[110]"
    records = [{"id": 1, **{f"list{i:03}": [{"a": i}] for i in range(120)}}]
    write(path, records)
    assert [(loss.reason, loss.count) for loss in main_table(path).losses] == [(TOO_MANY, 20)]
    shallow = Table.of(next(iter(open_tables_isolated(
        Blob.of_file(source_of(path)), ReadLimits(nesting=1)))))  # fmt: skip
    assert sum(loss.count for loss in shallow.losses) == 120


DUMP = {
    "status": "ok",
    "response": {"paging": {"next": None}, "results": ORDERS, "errors": [{"code": 7}]},
}


def test_records_two_levels_down(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_text(json.dumps(DUMP))
    table = main_table(path)
    assert table.rows.num_rows == len(ORDERS)
    assert table.column_names[:3] == ("id", "addr.city", "addr.geo.zip")
    assert [(loss.reason, loss.count, loss.detail) for loss in table.losses] == [
        ("value outside the records", 2, "status, response.paging")
    ]
    assert table.notes[0] == (
        "the records were found at response.results in the document; "
        "there are more at #response.errors"
    )
    assert cells(table.children[-1]) == [{"code": "7"}]
    assert table.children[-1].name == "dump.json#response.errors"


@pytest.mark.parametrize(
    "document", [{"a": 1, "b": {"c": 2}}, {"name": "x", "tags": ["a", "b"]}, {"a": {"b": {"c": 1}}}]
)
def test_a_document_read_as_one_row_is_a_loss_with_a_note(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(document))
    table = main_table(path)
    assert table.rows.num_rows == 1
    assert [(loss.reason, loss.count) for loss in table.losses] == [("document read as one row", 1)]
    assert "read as one row" in table.notes[0]


def test_code_does_not_read_nested_files_as_if_they_were_flat(tmp_path: Path) -> None:
    path = tmp_path / "orders.json"
    write(path, [{"id": f"k{i}", "at": {"x": i}} for i in range(9)])
    note = "nested values are columns with dotted names"
    assert main_table(path).notes == (note,)
    write(path, ORDERS)
    assert main_table(path).notes == (f"{note}; nested tables: #items, #tags",)


def test_a_part_of_a_file_by_name(tmp_path: Path) -> None:
    path = tmp_path / "orders.json"
    write(path, ORDERS)
    assert open_table(str(path)).name == "orders.json"
    assert open_table(f"{path}#items.discounts").column_names == ("_parent", "code")
    with pytest.raises(lakejoin.InputError, match=r"its parts are: items, items\.discounts, tags"):
        open_table(f"{path}#item")


def test_a_child_process_reads_the_same(tmp_path: Path) -> None:
    path = tmp_path / "orders.json"
    write(path, ORDERS)
    (stream,) = open_tables_isolated(Blob.of_file(source_of(path)), ReadLimits())
    assert not isinstance(stream, lakejoin.model.Skipped)
    assert all_cells(Table.of(stream)) == all_cells(main_table(path))


def test_the_index_finds_elements_and_joins_children(tmp_path: Path, index: Index) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    write(lake / "orders.json", ORDERS)
    report = index(lake)
    assert report.skipped == ()
    opened = lakejoin.open(tmp_path / "index")
    assert {t.name: t.rows for t in opened.tables()} == {
        "orders.json": 6, "orders.json#items": 6, "orders.json#items.discounts": 12,
        "orders.json#tags": 12,
    }  # fmt: skip
    best = opened.overlap({"tag": [f"tag {i}" for i in range(6)]}, "tag")[0]
    assert (best.table, best.columns, best.matched) == ("orders.json#tags", ("tags",), 6)
    towns = opened.overlap({"town": ["town 1", "town 2"]}, "town")[0]
    assert (towns.table, towns.columns) == ("orders.json", ("addr.city",))
    joined = lakejoin.join(
        opened.table("orders.json"), opened.table("orders.json#items"), on="_row=_parent"
    ).table()
    assert joined.num_rows == 6


@pytest.mark.parametrize("chunk_bytes", [1 << 20, 300])
@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_logical_tables_of_nested_files(
    tmp_path: Path, index: Index, form: str, chunk_bytes: int
) -> None:
    records: dict[str, list[dict[str, Any]]] = {}
    for year in (2023, 2024):
        folder = tmp_path / "lake/orders" / f"year={year}"
        folder.mkdir(parents=True)
        for number in range(3):
            some = [{**order, "id": f"{year}-{number}-{order['id']}"} for order in ORDERS]
            write(folder / f"f{number}.{form}", some)
            records[f"{year}-{number}"] = some
    report = index(tmp_path / "lake", chunk_bytes=chunk_bytes)
    assert report.skipped == ()
    opened = lakejoin.open(tmp_path / "index")
    assert {t.name: t.rows for t in opened.tables()} == {
        "orders": 36, "orders#items": 36, "orders#items.discounts": 72, "orders#tags": 72,
    }  # fmt: skip
    orders = opened.table("orders").to_arrow().to_pylist()
    by_key = {row["_row"]: row for row in orders}
    assert len(by_key) == 36
    items = opened.table("orders#items").to_arrow().to_pylist()
    for row in items:
        order = by_key[row["_parent"]]
        assert (row["parent.id"], row["year"]) == (order["id"], order["year"])
        assert int(row["sku"][1 : row["sku"].index("-")]) == int(order["id"][-3:]) - 100


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_large_nested_file_is_read_in_chunks(tmp_path: Path, index: Index, form: str) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    path = lake / f"orders.{form}"
    write(path, ORDERS)
    index(lake, chunk_bytes=300)
    opened = lakejoin.open(tmp_path / "index")
    whole = main_table(path)
    for table in (whole, *whole.children):
        rows = opened.table(table.name).to_arrow().to_pylist()
        assert [{k: v for k, v in r.items() if v is not None} for r in rows] == cells(table)


@pytest.mark.parametrize("inside", ["a list", "a struct"])
def test_elements_that_a_null_hides_are_no_rows(tmp_path: Path, inside: str) -> None:
    null = pa.array([False, True, False])
    if inside == "a list":
        offsets = pa.array([0, 2, 4, 5], pa.int32())
        values = pa.ListArray.from_arrays(offsets, pa.array(list("abcde")), mask=null)
    else:
        lists = pa.array([["a", "b"], ["c", "d"], ["e"]])
        values = pa.StructArray.from_arrays([lists], ["tags"], mask=null)
    table = pa.table({"id": [1, 2, 3], "tags": values})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as file:
        file.write_table(table)
    (child,) = main_table(tmp_path / "t.arrow").children
    found = [(row["parent.id"], row["tags"]) for row in child.rows.to_pylist()]
    assert found == [(1, "a"), (1, "b"), (3, "e")]


@pytest.mark.parametrize(
    "document",
    [
        [{"a.b": [{"x": 1}], "a": {"b": [{"y": 1}]}}] * 2,
        {"rows": [{"x": [{"y": 1}]}] * 3, "x": [{"z": 1}] * 2},
        {"a": {"b": [{"x": 1}] * 2}, "a.b": [{"z": 1}] * 2, "rows": [{"q": 1}] * 3},
        [{"": [{"x": 1}], "b\ud800": [{"y": 1}]}] * 2,
    ],
)
def test_each_nested_table_has_a_name_of_its_own(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(document))
    children = open_table(str(path)).children
    parts = [child.part for child in children]
    assert len(children) == len(set(parts)) == 2
    assert all(part and part.encode() for part in parts)
    assert len({child.name for child in children}) == 2
    assert "" not in [child.name.partition("#")[2] for child in children]
