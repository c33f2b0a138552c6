"""Delta and Iceberg tables, written by their own libraries; Hudi and missing readers are told."""

from __future__ import annotations

import builtins
import json
import shutil
import struct
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakejoin
from conftest import Index
from lakejoin.errors import BuildFailed
from lakejoin.sources.lake_tables import list_tables

deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed")
catalogs = pytest.importorskip("pyiceberg.catalog.sql", reason="pyiceberg is not installed")

Row = dict[str, str | None]
SMALL = 300  # bytes of a chunk, so that a few rows are a very large table


def rows_of(index: Path, table: str) -> list[Row]:
    rows = lakejoin.open(index).table(table).to_arrow().to_pylist()
    return sorted(rows, key=lambda row: [str(cell) for cell in row.values()])


def names_of(index: Path) -> list[str]:
    return [table.name for table in lakejoin.open(index).tables()]


def numbers(*ids: int) -> pa.Table:
    return pa.table({"id": ids, "year": [2000 + i % 3 for i in ids], "t": [f"v{i}" for i in ids]})


def plain_rows(table: pa.Table) -> list[Row]:
    """What the index shows of typed rows, in the order of `rows_of`."""
    rows = [{k: None if v is None else str(v) for k, v in r.items()} for r in table.to_pylist()]
    return sorted(rows, key=lambda row: [str(cell) for cell in row.values()])


# -- Delta -----------------------------------------------------------------------------------------


@pytest.fixture
def delta(tmp_path: Path) -> str:
    return make_delta(tmp_path / "lake/sales/orders")


def make_delta(folder: Path) -> str:
    """A Delta table by year, from which rows were deleted and to which a column was added."""
    place = str(folder)
    deltalake.write_deltalake(place, numbers(*range(300)), partition_by=["year"])
    deltalake.DeltaTable(place).delete("id >= 200")
    more = numbers(1000, 1001).append_column("extra", pa.array(["x", None]))
    deltalake.write_deltalake(place, more, mode="append", schema_mode="merge")
    return place


def live_rows(place: str) -> list[Row]:
    return plain_rows(pa.table(deltalake.DeltaTable(place).scan().read_all()))


@pytest.mark.parametrize("chunk_bytes", [1 << 20, SMALL])
def test_a_delta_table_is_its_live_rows(
    delta: str, index: Index, tmp_path: Path, chunk_bytes: int
) -> None:
    report = index(tmp_path / "lake", chunk_bytes=chunk_bytes)
    assert (names_of(tmp_path / "index"), report.skipped) == (["sales/orders"], ())
    table = lakejoin.open(tmp_path / "index").table("sales/orders")
    assert [column.name for column in table.columns()] == ["id", "t", "year", "extra"]
    found = rows_of(tmp_path / "index", "sales/orders")
    assert found == live_rows(delta)
    assert len(found) == 202
    files = len(deltalake.DeltaTable(delta).file_uris())
    expected = f"Delta table, version 2, {files} files, partitioned by year"
    assert (str(table.entry.composition), table.entry.format) == (expected, "delta")


def test_deleted_rows_are_in_no_answer(delta: str, index: Index, tmp_path: Path) -> None:
    index(tmp_path / "lake")
    lake = lakejoin.open(tmp_path / "index")
    gone = pa.table({"id": [f"v{i}" for i in range(200, 300)]})
    assert list(lake.overlap(gone, on="id")) == []
    live = lake.overlap(pa.table({"id": [f"v{i}" for i in range(200)]}), on="id")
    assert (live[0].table, live[0].matched) == ("sales/orders", 200)


def test_a_delta_table_is_refreshed_by_version(delta: str, index: Index, tmp_path: Path) -> None:
    index(tmp_path / "lake")
    (Path(delta) / "year=2000/stray.parquet").write_bytes(b"PAR1 no part of the table")
    assert index(tmp_path / "lake").version == 1
    deltalake.write_deltalake(delta, numbers(2000), mode="append", schema_mode="merge")
    assert index(tmp_path / "lake").changed == 1
    assert rows_of(tmp_path / "index", "sales/orders") == live_rows(delta)
    deltalake.write_deltalake(delta, numbers(1, 2), mode="overwrite", schema_mode="overwrite")
    assert index(tmp_path / "lake").totals.rows == 2
    shutil.rmtree(delta)
    report = index(tmp_path / "lake", allow_removal=True)
    assert (report.gone, report.totals.tables) == (1, 0)


@pytest.mark.parametrize("chunk_bytes", [1 << 20, SMALL])
def test_deletion_vectors_are_honoured(
    delta: str, index: Index, tmp_path: Path, chunk_bytes: int
) -> None:
    before = live_rows(delta)
    cut = delete_by_vector(Path(delta), [0, 3, 7])
    assert cut == 3
    index(tmp_path / "lake", chunk_bytes=chunk_bytes)
    found = rows_of(tmp_path / "index", "sales/orders")
    assert found == live_rows(delta)
    assert len(found) == len(before) - 3


def delete_by_vector(place: Path, rows: list[int]) -> int:
    """Delete some rows of the largest file as other writers do: in the log, not in the file."""
    log = place / "_delta_log"
    live = {Path(uri).name for uri in deltalake.DeltaTable(str(place)).file_uris()}
    actions = [json.loads(line) for path in sorted(log.glob("*.json")) for line in path.open()]
    adds = [a["add"] for a in actions if "add" in a and Path(a["add"]["path"]).name in live]
    add = max(adds, key=lambda a: a["size"])
    vector = struct.pack("<iqi", 1681511377, 1, 0)  # magic, one bitmap, its upper 32 bits
    count = len(rows)
    vector += struct.pack("<iihHi", 12346, 1, 0, count - 1, 16) + struct.pack(f"<{count}H", *rows)
    features = ["deletionVectors"]
    stored = {"storageType": "i", "pathOrInlineDv": to_z85(vector), "sizeInBytes": len(vector)}
    lines: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features,
                      "writerFeatures": features}},
        {"remove": {"path": add["path"], "deletionTimestamp": 1, "dataChange": True}},
        {"add": {**add, "deletionVector": {**stored, "cardinality": count}}},
    ]  # fmt: skip
    version = len(list(log.glob("*.json")))
    (log / f"{version:020d}.json").write_text("\n".join(map(json.dumps, lines)))
    return count


_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def to_z85(data: bytes) -> str:
    text = ""
    for start in range(0, len(data), 4):
        number = int.from_bytes(data[start : start + 4].ljust(4, b"\0"), "big")
        text += "".join(_Z85[number // 85**power % 85] for power in range(4, -1, -1))
    return text


def test_renamed_and_dropped_columns_of_delta(index: Index, tmp_path: Path) -> None:
    """Column mapping as Spark writes it: the file has names that the table does not."""
    place = tmp_path / "lake/mapped"
    (place / "_delta_log").mkdir(parents=True)
    physical = pa.table({"col-1": [1, 2], "col-2": ["a", "b"], "col-gone": ["secret", "secret"]})
    pq.write_table(physical, place / "data.parquet")
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {
            "delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}}
        for number, (name, kind) in enumerate([("number", "long"), ("town", "string")], start=1)
    ]  # fmt: skip
    schema = json.dumps({"type": "struct", "fields": fields})
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"}
    lines: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}},
        {"metaData": {"id": "0b8a", "format": {"provider": "parquet", "options": {}},
                      "schemaString": schema, "partitionColumns": [],
                      "configuration": configuration, "createdTime": 1}},
        {"add": {"path": "data.parquet", "partitionValues": {}, "dataChange": True,
                 "size": (place / "data.parquet").stat().st_size, "modificationTime": 1}},
    ]  # fmt: skip
    (place / "_delta_log/00000000000000000000.json").write_text("\n".join(map(json.dumps, lines)))
    index(tmp_path / "lake")
    assert rows_of(tmp_path / "index", "mapped") == [
        {"number": "1", "town": "a"}, {"number": "2", "town": "b"},
    ]  # fmt: skip


def test_a_missing_data_file_and_a_broken_log(delta: str, index: Index, tmp_path: Path) -> None:
    live = deltalake.DeltaTable(delta).file_uris()
    Path(live[0]).unlink()
    bad = tmp_path / "lake/bad/_delta_log"
    bad.mkdir(parents=True)
    (bad / "00000000000000000000.json").write_text("{no log")
    pq.write_table(numbers(1), tmp_path / "lake/bad/data.parquet")
    report = index(tmp_path / "lake")
    assert names_of(tmp_path / "index") == ["sales/orders"]
    skipped = {s.name: s.reason for s in report.skipped}
    assert skipped.pop("bad") == "cannot be read as a Delta table"
    assert [Path(name).name for name in skipped] == [Path(live[0]).name]
    with pytest.raises(BuildFailed, match="--strict"):
        index(tmp_path / "lake", full=True, strict=True)


def test_a_table_is_kept_while_its_log_is_broken(delta: str, index: Index, tmp_path: Path) -> None:
    index(tmp_path / "lake")
    log = Path(delta) / "_delta_log/00000000000000000003.json"
    log.write_text("{half a comm")
    report = index(tmp_path / "lake")
    assert (report.totals.rows, [s.reason for s in report.skipped]) == (
        202, ["cannot be read as a Delta table"],
    )  # fmt: skip
    log.unlink()
    assert index(tmp_path / "lake").skipped == ()
    assert rows_of(tmp_path / "index", "sales/orders") == live_rows(delta)


def test_a_lake_that_is_a_delta_table_and_a_glob_into_one(
    delta: str, index: Index, tmp_path: Path
) -> None:
    assert [s.name for s in list_tables([delta], [])] == ["orders"]
    found = list_tables([f"{tmp_path}/lake/**/*.parquet"], [])
    assert [s.name for s in found] == ["sales/orders"]


# -- Iceberg ---------------------------------------------------------------------------------------


class Iceberg:
    """An Iceberg table in a folder of the lake."""

    def __init__(self, tmp_path: Path) -> None:
        from pyiceberg.transforms import BucketTransform, IdentityTransform

        self.catalog = catalogs.SqlCatalog(
            "test", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/lake"
        )
        self.catalog.create_namespace("sales")
        schema = numbers(0).schema
        self.table = self.catalog.create_table("sales.orders", schema)
        with self.table.update_spec() as spec:
            spec.add_field("year", IdentityTransform())
            spec.add_field("id", BucketTransform(2))

    def rows(self) -> list[Row]:
        return plain_rows(self.catalog.load_table("sales.orders").scan().to_arrow())


@pytest.fixture
def iceberg(tmp_path: Path) -> Iceberg:
    (tmp_path / "lake").mkdir()
    made = Iceberg(tmp_path)
    made.table.append(numbers(*range(120)))
    with made.table.update_schema() as change:
        change.rename_column("t", "text")
    made.table.delete("id >= 100")
    made.table.append(numbers(500, 501).rename_columns(["id", "year", "text"]))
    return made


@pytest.mark.parametrize("chunk_bytes", [1 << 20, SMALL])
def test_an_iceberg_table_is_its_live_rows(
    iceberg: Iceberg, index: Index, tmp_path: Path, chunk_bytes: int
) -> None:
    report = index(tmp_path / "lake", chunk_bytes=chunk_bytes)
    assert (names_of(tmp_path / "index"), report.skipped) == (["sales/orders"], ())
    found = rows_of(tmp_path / "index", "sales/orders")
    assert found == iceberg.rows()
    assert len(found) == 102
    assert list(found[0]) == ["id", "year", "text"]
    table = lakejoin.open(tmp_path / "index").table("sales/orders")
    assert str(table.entry.composition).startswith("Iceberg table, snapshot ")
    assert str(table.entry.composition).endswith("files, partitioned by year, id")
    gone = pa.table({"id": [f"v{i}" for i in range(100, 120)]})
    assert list(lakejoin.open(tmp_path / "index").overlap(gone, on="id")) == []


def test_an_iceberg_table_is_refreshed_by_version(
    iceberg: Iceberg, index: Index, tmp_path: Path
) -> None:
    index(tmp_path / "lake")
    assert index(tmp_path / "lake").version == 1
    with iceberg.table.update_schema() as change:
        change.delete_column("text")
    assert index(tmp_path / "lake").changed == 1
    assert rows_of(tmp_path / "index", "sales/orders") == iceberg.rows()
    iceberg.table.append(numbers(900).drop_columns("t"))
    index(tmp_path / "lake")
    assert rows_of(tmp_path / "index", "sales/orders") == iceberg.rows()


def test_delete_files_of_iceberg_are_honoured(
    iceberg: Iceberg, index: Index, tmp_path: Path
) -> None:
    """A file of deleted positions, as writers that merge on read leave it."""
    index(tmp_path / "lake")
    before = len(rows_of(tmp_path / "index", "sales/orders"))
    delete_positions(iceberg, tmp_path)
    tasks = iceberg.catalog.load_table("sales.orders").scan().plan_files()
    assert any(task.delete_files for task in tasks), "the table has a delete file"
    index(tmp_path / "lake")
    found = rows_of(tmp_path / "index", "sales/orders")
    assert found == iceberg.rows()
    assert len(found) == before - 2


def delete_positions(iceberg: Iceberg, tmp_path: Path) -> None:
    """Commit a snapshot with a delete file for the first two rows of a data file."""
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.table.snapshots import Operation
    from pyiceberg.table.update.snapshot import _FastAppendFiles

    table = iceberg.catalog.load_table("sales.orders")
    task = max(table.scan().plan_files(), key=lambda task: task.file.record_count)
    path = tmp_path / "lake/sales/orders/data/deletes.parquet"
    fields = [
        pa.field("file_path", pa.string(), False, {"PARQUET:field_id": "2147483546"}),
        pa.field("pos", pa.int64(), False, {"PARQUET:field_id": "2147483545"}),
    ]
    rows = pa.table([[task.file.file_path] * 2, [0, 1]], schema=pa.schema(fields))
    pq.write_table(rows, path)
    made = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=f"file://{path}",
        file_format=FileFormat.PARQUET,
        partition=task.file.partition,
        record_count=2,
        file_size_in_bytes=path.stat().st_size,
        column_sizes={}, value_counts={}, null_value_counts={}, nan_value_counts={},
        lower_bounds={}, upper_bounds={}, key_metadata=None, split_offsets=None,
        equality_ids=None, sort_order_id=None,
    )  # fmt: skip
    made.spec_id = table.spec().spec_id
    with table.transaction() as transaction:
        append = _FastAppendFiles(operation=Operation.APPEND, transaction=transaction, io=table.io)
        append.append_data_file(made)
        append.commit()


def test_a_missing_data_file_of_iceberg(iceberg: Iceberg, index: Index, tmp_path: Path) -> None:
    tasks = list(iceberg.catalog.load_table("sales.orders").scan().plan_files())
    lost = min(tasks, key=lambda task: task.file.record_count).file
    Path(lost.file_path.removeprefix("file://")).unlink()
    report = index(tmp_path / "lake")
    assert [s.reason for s in report.skipped] == ["cannot be read as an Iceberg table"]
    assert report.totals.rows == 102 - lost.record_count


def test_an_iceberg_table_without_rows(index: Index, tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    Iceberg(tmp_path)
    assert index(tmp_path / "lake").totals.tables == 1
    assert rows_of(tmp_path / "index", "sales/orders") == []


# -- time travel -----------------------------------------------------------------------------------


def test_delta_and_iceberg_as_of_a_moment(iceberg: Iceberg, index: Index, tmp_path: Path) -> None:
    delta = make_delta(tmp_path / "lake/delta")
    before = {"delta": live_rows(delta), "sales/orders": iceberg.rows()}
    time.sleep(0.05)
    then = datetime.now(UTC)
    time.sleep(0.05)
    deltalake.write_deltalake(delta, numbers(1, 2), mode="overwrite", schema_mode="overwrite")
    with iceberg.table.update_schema() as change:
        change.rename_column("text", "words")
    iceberg.table.delete("id < 50")
    index(tmp_path / "lake", as_of=then)
    for name, rows in before.items():
        assert rows_of(tmp_path / "index", name) == rows
    index(tmp_path / "lake")
    assert rows_of(tmp_path / "index", "delta") == live_rows(delta)
    assert rows_of(tmp_path / "index", "sales/orders") == iceberg.rows()
    early = index(tmp_path / "lake", as_of=datetime(2020, 1, 1, tzinfo=UTC), allow_removal=True)
    assert early.totals.tables == 0
    assert {s.reason for s in early.skipped} == {"no version as old as that"}


# -- what is not read ------------------------------------------------------------------------------


def test_without_its_library_a_table_is_skipped(
    delta: str, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(tmp_path / "lake")
    real = builtins.__import__

    def blocked(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] in ("deltalake", "pyiceberg"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", blocked)
    pq_table = tmp_path / "lake/ice/metadata"
    pq_table.mkdir(parents=True)
    (pq_table / "v1.metadata.json").write_text("{}")
    report = index(tmp_path / "lake")
    assert report.totals.rows == 202, "the tables of before are kept"
    assert {s.name: s.detail for s in report.skipped} == {
        "ice": "reading Iceberg tables needs pyiceberg: pip install 'lakejoin[lakes]'",
        "sales/orders": "reading Delta tables needs deltalake: pip install 'lakejoin[lakes]'",
    }
    assert index(tmp_path / "lake", full=True, allow_removal=True).totals.tables == 0


def test_old_tables_of_its_files_go_with_or_without_a_reader(
    delta: str, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakejoin.pipeline import build
    from lakejoin.sources.lake_files import list_files

    with monkeypatch.context() as patch:
        patch.setattr(build, "list_tables", lambda *given: list_files(*given[:4]))
        assert index(tmp_path / "lake").totals.tables > 3
    assert index(tmp_path / "lake").totals.tables == 1
    assert names_of(tmp_path / "index") == ["sales/orders"]


def test_a_hudi_table_is_skipped_with_a_sentence(tmp_path: Path, index: Index) -> None:
    (tmp_path / "lake/trips/.hoodie").mkdir(parents=True)
    (tmp_path / "lake/trips/.hoodie/hoodie.properties").write_text("hoodie.table.name=trips")
    pq.write_table(numbers(1, 2), tmp_path / "lake/trips/slice.parquet")
    (tmp_path / "lake/good.csv").write_text("a,b\n1,2\n")
    report = index(tmp_path / "lake")
    assert names_of(tmp_path / "index") == ["good.csv"]
    assert [(s.name, "Hudi tables are not read" in s.detail) for s in report.skipped] == [
        ("trips", True)
    ]


def test_its_files_are_no_queries_of_a_batch_and_no_tables_of_a_database(
    delta: str, tmp_path: Path
) -> None:
    from lakejoin.cli.search_batch import BatchQueries
    from lakejoin.joins.predicates.database_relations import read_tables

    (tmp_path / "lake/good.csv").write_text("a,b\n1,2\n")
    queries = BatchQueries(str(tmp_path / "lake"))
    assert [Path(name).name for name in queries] == ["good.csv"]
    assert "Delta tables can only be read by indexing their lake" in str(queries.problems[0][1])
    tables, notes = read_tables(str(tmp_path / "lake"))
    assert [table.name for table in tables] == ["good.csv"]
    assert len(notes) == 1


def test_a_folder_called_metadata_is_no_table(tmp_path: Path, index: Index) -> None:
    (tmp_path / "lake/metadata").mkdir(parents=True)
    (tmp_path / "lake/metadata/countries.csv").write_text("a,b\n1,2\n")
    (tmp_path / "lake/good.csv").write_text("a,b\n1,2\n")
    index(tmp_path / "lake")
    assert names_of(tmp_path / "index") == ["good.csv", "metadata/countries.csv"]
