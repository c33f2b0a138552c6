"""What is kept: things that go while they are read, half-made ones, and an index built anew."""

from __future__ import annotations

import asyncio
import errno
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakejoin
from fake_spark import FakeSpark
from http_server.served import serving
from http_server.test_children import LONG, problem_of, with_pool, works
from lakejoin.lake import CurrentLake
from lakejoin.server.api_problems import Problem
from lakejoin.server.child_pool import ChildPool
from lakejoin.server.disk_cache import DiskCache
from lakejoin.server.services import Downloads
from lakejoin.server.settings import Limits
from lakejoin.server.table_output import ExportFormat, export_table
from lakejoin.server.workspace import (
    ARROW_SUFFIX,
    DESCRIPTION_SUFFIX,
    StoredTable,
    TableId,
    Workspace,
)

ID = TableId.parse("result:" + "a" * 26)


def kept_table(shelf: DiskCache) -> StoredTable:
    rows = pa.table({"x": ["a", "b"]})
    with shelf.temporary_path() as made:
        with pa.ipc.new_file(str(made.with_suffix(ARROW_SUFFIX)), rows.schema) as writer:
            writer.write_table(rows)
        note = {"table": "t", "rows": 2, "columns": [{"column": "x"}]}
        made.with_suffix(DESCRIPTION_SUFFIX).write_text(json.dumps(note))
        shelf.commit(ID.name, made)
    path = shelf.get(ID.name)
    assert path is not None
    return StoredTable(ID, path)


@pytest.mark.parametrize(
    "read", [StoredTable.info, lambda one: one.read_rows(0, 1), lambda one: one.as_input()]
)
def test_a_result_that_goes_once_it_was_opened_is_told_as_gone(
    tmp_path: Path, read: Callable[[StoredTable], Any]
) -> None:
    shelf = DiskCache(tmp_path / "results", (ARROW_SUFFIX, DESCRIPTION_SUFFIX), 1_000_000)
    table = kept_table(shelf)
    shelf.remove(ID.name)
    with pytest.raises(Problem) as found:
        read(table)
    assert found.value.kind == "gone"
    assert str(tmp_path) not in str(found.value)


def test_a_download_of_what_has_gone_is_told_before_it_begins(tmp_path: Path) -> None:
    shelf = DiskCache(tmp_path / "results", (ARROW_SUFFIX, DESCRIPTION_SUFFIX), 1_000_000)
    table = kept_table(shelf)
    downloads = Downloads()

    async def whole(form: ExportFormat) -> bytes:
        return b"".join(
            [one async for one in await downloads.stream(export_table(table, form), "a")]
        )

    assert asyncio.run(whole("csv")) == b'"x"\n"a"\n"b"\n'
    shelf.remove(ID.name)
    del table._rows
    with pytest.raises(Problem) as found:
        asyncio.run(downloads.stream(export_table(table, "parquet"), "a"))
    assert (found.value.kind, downloads.running) == ("gone", 0)
    downloads.close()


def test_what_is_held_stays_though_its_thing_goes(tmp_path: Path) -> None:
    shelf = DiskCache(tmp_path, (DESCRIPTION_SUFFIX,), 1_000)
    shelf.put("a", {DESCRIPTION_SUFFIX: b"{}"})
    with shelf.hold("a") as path:
        shelf.remove("a")
        shelf.evict()
        assert path.read_bytes() == b"{}"
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError), shelf.hold("a"):
        pass


def test_an_answer_that_goes_while_it_is_read_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = DiskCache(tmp_path, (DESCRIPTION_SUFFIX,), 1_000)
    shelf.put("a", {DESCRIPTION_SUFFIX: b"{}"})
    assert shelf.read("a") == b"{}"
    monkeypatch.setattr(shelf, "get", lambda id: tmp_path / "gone.json")
    assert shelf.read("a") is None


def test_errors_of_the_system_name_no_folder(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file") as found:
        (tmp_path / "x").read_bytes()
    assert str(tmp_path) not in str(Problem.from_error(found.value))


def test_what_a_child_left_half_made_goes_with_it(tmp_path: Path) -> None:
    shelf = DiskCache(tmp_path, (ARROW_SUFFIX, DESCRIPTION_SUFFIX), 1_000)

    async def work(pool: ChildPool) -> None:
        told = await pool.run({"do": "echo", "what": ""}, LONG)
        (tmp_path / f"making-{told['pid']}-x.arrow").write_text("half")
        (tmp_path / "making-1-x.arrow").write_text("of another")
        assert (await problem_of(pool.run({"do": "sleep", "seconds": 60}, 0.5))).kind == "time"
        assert await works(pool)

    with_pool(work, on_exit=shelf.remove_unfinished)
    assert [one.name for one in tmp_path.iterdir()] == ["making-1-x.arrow"]


def index_of(folder: Path, text: str) -> Path:
    (folder / "lake").mkdir(parents=True, exist_ok=True)
    rows = "\n".join(f"{text}{n},{n}" for n in range(50))
    (folder / "lake" / "t.csv").write_text(f"key,n\n{rows}\n")
    index = folder / "index"
    shutil.rmtree(index, ignore_errors=True)
    lakejoin.index(folder / "lake", index, spark=FakeSpark())
    return index


def test_an_index_that_is_built_anew_is_another_one(tmp_path: Path) -> None:
    """Its versions are counted from one again: neither it nor answers are taken for the old."""
    index = str(index_of(tmp_path, "a"))
    desk, current = Workspace(index, tmp_path / "store", Limits(), 0.0), CurrentLake(index)
    before, rows = desk.version, current.lake().table("t.csv").to_arrow(0, 1)
    index_of(tmp_path, "b")
    assert current.lake().table("t.csv").to_arrow(0, 1) != rows
    assert desk.version != before
    assert desk.lake().snapshot.manifest.version == 1


def test_a_worker_is_never_behind_the_server(tmp_path: Path) -> None:
    index = str(index_of(tmp_path, "a"))
    server = Workspace(index, tmp_path / "store", Limits())
    worker = Workspace.from_setup(server.setup())
    index_of(tmp_path, "b")
    assert worker.open("t.csv").read_rows(0, 1).to_pylist() == [{"key": "b0", "n": "0"}]


def flip_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


@pytest.mark.parametrize("suffix", [ARROW_SUFFIX, DESCRIPTION_SUFFIX])
def test_a_damaged_entry_is_gone_until_it_is_made_again(tmp_path: Path, suffix: str) -> None:
    shelf = DiskCache(tmp_path / "results", (ARROW_SUFFIX, DESCRIPTION_SUFFIX), 1_000_000)
    kept_table(shelf)
    flip_bit(shelf.path(ID.name, suffix))
    assert shelf.get(ID.name) is None
    assert shelf.read(ID.name) is None
    assert kept_table(shelf).read_rows(0, 2).to_pylist() == [{"x": "a"}, {"x": "b"}]


def test_a_cut_or_partly_missing_entry_is_gone(tmp_path: Path) -> None:
    shelf = DiskCache(tmp_path, (DESCRIPTION_SUFFIX,), 1_000)
    shelf.put("a", {DESCRIPTION_SUFFIX: b'{"x": 1}'})
    shelf.path("a").write_bytes(b'{"x"')
    assert shelf.get("a") is None
    shelf.put("a", {DESCRIPTION_SUFFIX: b'{"x": 1}'})
    assert shelf.read("a") == b'{"x": 1}'
    next(path for path in tmp_path.iterdir() if path != shelf.path("a")).unlink()
    assert shelf.get("a") is None


def test_a_damaged_result_is_made_again_from_its_chain(served_lake: Path, tmp_path: Path) -> None:
    steps = [{"kind": "sql", "sql": "select code, town from result order by code limit 20"}]
    chain = {"start": "lake:stations.csv", "steps": steps}
    with serving(served_lake.parent / "index", tmp_path) as served:
        made = served.post("chains", chain)["tables"][-1]["id"]
        rows = served.get("rows", table=made)
        for path in (tmp_path / "results").iterdir():
            flip_bit(path)
        status, error = served.problem("GET", "rows", params={"table": made})
        assert (status, error["kind"]) == (410, "gone")
        assert served.post("chains", chain)["tables"][-1]["id"] == made
        assert served.get("rows", table=made) == rows


def test_an_answer_that_cannot_be_stored_is_still_an_answer(
    served_lake: Path, tmp_path: Path
) -> None:
    join = {"left": "lake:stations.csv", "right": "lake:sub/delays.csv"}
    with serving(served_lake.parent / "index", tmp_path) as served:
        served.get("info")  # its folders are there now
        (tmp_path / "answers").rmdir()
        (tmp_path / "answers").symlink_to("/proc")  # every write fails, also for root
        assert served.post("search", {"table": "lake:stations.csv"})["results"]
        assert served.post("join", join)["found"]
        assert served.get("distribution", table="lake:stations.csv", column=0)


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    full = Problem.from_error(OSError(errno.ENOSPC, "No space left on device", str(tmp_path)))
    assert (full.kind, full.status) == ("full", 507)
    assert "full" in str(full)
    assert str(tmp_path) not in str(full)
