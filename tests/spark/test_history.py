"""Versions of an index are kept for a while, can be brought back, and their readers are told when
they are gone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lakejoin
from conftest import Index
from lakejoin.errors import DamagedIndex, InputError, RetiredIndex
from lakejoin.locations import Location
from lakejoin.store import commit, history
from lakejoin.store.manifest import MANIFEST_FILE


def add(lake: Path, name: str) -> None:
    (lake / name).write_text("city,colour\nBern,red\nOslo,blue\n")


def names(index: Path) -> list[str]:
    return [table.name for table in lakejoin.open(index).tables()]


def test_a_rollback_brings_back_what_a_refresh_forgot(
    lake: Path, index: Index, tmp_path: Path
) -> None:
    home = tmp_path / "index"
    index(lake)
    before = names(home)
    (lake / "cities.csv").unlink()
    index(lake)
    assert "cities.csv" not in names(home)
    restored = lakejoin.rollback(home)
    assert (restored.version, names(home)) == (3, before)
    assert lakejoin.open(home).table("cities.csv").to_arrow().num_rows == 4
    assert not [c for c in lakejoin.open(home).snapshot.check() if c.problem]
    assert lakejoin.rollback(home, 2).version == 4
    assert "cities.csv" not in names(home)
    assert [(v.version, v.current) for v in lakejoin.history(home)] == [
        (4, True), (3, False), (2, False), (1, False),
    ]  # fmt: skip


def test_a_refresh_after_a_rollback_sees_the_lake_as_it_is(
    lake: Path, index: Index, tmp_path: Path
) -> None:
    index(lake)
    add(lake, "new.csv")
    index(lake)
    lakejoin.rollback(tmp_path / "index")
    report = index(lake)
    assert report.new == 1
    assert "new.csv" in names(tmp_path / "index")


def test_only_so_many_versions_are_kept_and_only_so_long(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "KEEP_SECONDS", -1.0)
    for number in range(6):
        add(lake, f"more_{number}_a.csv")
        index(lake, full=True)
    home = tmp_path / "index"
    assert [v.version for v in lakejoin.history(home)] == [6, 5, 4, 3]
    index(lake)
    kept = {path.name for path in home.glob("MANIFEST-*.json")}
    assert kept == {f"MANIFEST-00000{v}.json" for v in (3, 4, 5, 6)}
    assert len(list((home / "segments").iterdir())) == 4, "what no kept version needs is removed"
    monkeypatch.setattr(history, "KEEP_SECONDS", -1.0)
    index(lake)
    assert [v.version for v in lakejoin.history(home)] == [6]
    assert len(list((home / "segments").iterdir())) == 1


def test_the_reader_of_a_version_that_is_gone_is_told_so(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(lake)
    reader = lakejoin.open(tmp_path / "index")
    monkeypatch.setattr(commit, "KEEP_SECONDS", -1.0)
    monkeypatch.setattr(history, "KEEP_SECONDS", -1.0)
    index(lake, full=True)
    index(lake)
    for read in (reader.tables, reader.skipped):
        with pytest.raises(RetiredIndex, match=r"version 1 .* by version 2.*open the") as e:
            read()
        assert "damaged" not in str(e.value)


@pytest.mark.parametrize("damage", ["cut", "lost"])
def test_a_rollback_repairs_the_manifest(
    lake: Path, index: Index, tmp_path: Path, damage: str
) -> None:
    home = tmp_path / "index"
    index(lake)
    add(lake, "new.csv")
    index(lake)
    before = names(home)
    manifest = home / MANIFEST_FILE
    if damage == "cut":
        manifest.write_bytes(manifest.read_bytes()[:100])
    else:
        manifest.unlink()
    assert [v.version for v in lakejoin.history(home)] == [2, 1]
    assert not any(v.current for v in lakejoin.history(home))
    assert lakejoin.rollback(home).version == 3
    assert names(home) == before


def test_what_cannot_be_brought_back_is_said(lake: Path, index: Index, tmp_path: Path) -> None:
    home = tmp_path / "index"
    index(lake)
    with pytest.raises(InputError, match="no older version to go back to"):
        lakejoin.rollback(home)
    add(lake, "new.csv")
    index(lake)
    with pytest.raises(InputError, match="no older version 7; it has 1"):
        lakejoin.rollback(home, 7)
    first = json.loads((home / "MANIFEST-000001.json").read_text())["files"]["name"]
    (home / first).unlink()
    with pytest.raises(DamagedIndex, match="version 1 cannot be brought back"):
        lakejoin.rollback(home)
    assert "new.csv" in names(home), "nothing was changed"


def test_a_component_that_an_older_version_needs_stays(
    lake: Path, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "KEEP_SECONDS", -1.0)
    index(lake, permutations=64)
    index(lake, permutations=32, full=True)
    index(lake)
    home = tmp_path / "index"
    older = history.kept_versions(Location.of(home))
    assert [history.lost_files(Location.of(home), m) for m in older] == [[], []]
