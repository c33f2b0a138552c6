"""A refresh never forgets by mistake: what is empty, unmounted or out of reach keeps its tables."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import lakejoin
from conftest import Index
from lakejoin.errors import BuildFailed


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """A lake of 18 tables, 16 of them in one folder."""
    lake = tmp_path / "wide"
    (lake / "deep").mkdir(parents=True)
    for number in range(18):
        folder = lake if number < 2 else lake / "deep"
        (folder / f"t{number:02d}.csv").write_text(f"a,b\n{number},x\n{number + 1},y\n")
    return lake


def held(tmp_path: Path) -> tuple[int, int]:
    """Version and number of tables of the index."""
    info = lakejoin.open(tmp_path / "index").info()
    return info["version"], info["tables"]


@pytest.mark.parametrize("full", [False, True])
def test_an_empty_lake_is_refused(wide: Path, index: Index, tmp_path: Path, full: bool) -> None:
    index(wide)
    manifest = (tmp_path / "index/MANIFEST.json").read_bytes()
    shutil.rmtree(wide)
    wide.mkdir()
    with pytest.raises(BuildFailed, match=r"lake is empty.*18 tables.*--allow-removal"):
        index(wide, full=full)
    assert (tmp_path / "index/MANIFEST.json").read_bytes() == manifest
    assert held(tmp_path) == (1, 18)
    assert index(wide, full=full, allow_removal=True).totals.tables == 0


@pytest.mark.parametrize("full", [False, True])
def test_a_lake_that_lost_most_is_refused(
    wide: Path, index: Index, tmp_path: Path, full: bool
) -> None:
    index(wide)
    shutil.rmtree(wide / "deep")
    with pytest.raises(BuildFailed, match=r"16 of the 18 tables.*--allow-removal"):
        index(wide, full=full)
    assert held(tmp_path) == (1, 18)
    assert index(wide, full=full, allow_removal=True).totals.tables == 2


@pytest.mark.parametrize("lost", [1, 9])
def test_half_or_few_may_go(wide: Path, index: Index, lost: int) -> None:
    index(wide)
    for path in sorted((wide / "deep").iterdir())[:lost]:
        path.unlink()
    assert index(wide).totals.tables == 18 - lost


@pytest.mark.parametrize("target", ["deep", "unmounted"])
def test_what_cannot_be_listed_keeps_its_tables(
    wide: Path, index: Index, tmp_path: Path, target: str
) -> None:
    index(wide)
    (wide / "deep").rename(tmp_path / "elsewhere")
    (wide / "deep").symlink_to(target)  # to itself, or to nothing: both cannot be listed
    (wide / "new.csv").write_text("a,b\n1,2\n")
    for _ in range(2):
        report = index(wide)
        assert (report.gone, report.totals.tables) == (0, 19)
        assert any("16 files are kept" in note for note in report.notes)
        assert "deep" in [s.name for s in report.skipped]
    with pytest.raises(BuildFailed, match=r"folders with 16 tables.*--allow-removal"):
        index(wide, full=True)
    (wide / "deep").unlink()
    (tmp_path / "elsewhere").rename(wide / "deep")
    report = index(wide)
    assert (report.new, report.changed, report.gone, report.totals.tables) == (0, 0, 0, 19)
    assert report.skipped == ()


def test_what_cannot_be_listed_goes_if_allowed(wide: Path, index: Index) -> None:
    index(wide)
    shutil.rmtree(wide / "deep")
    (wide / "deep").symlink_to("deep")
    assert index(wide, allow_removal=True).totals.tables == 2


def test_a_file_out_of_reach_is_read_when_it_is_back(wide: Path, index: Index) -> None:
    index(wide)
    text = (wide / "t00.csv").read_text()
    (wide / "t00.csv").unlink()
    (wide / "t00.csv").symlink_to("unmounted.csv")
    assert index(wide).totals.tables == 18
    (wide / "t00.csv").unlink()
    (wide / "t00.csv").write_text(text)
    report = index(wide)
    assert (report.changed, report.totals.tables, report.skipped) == (1, 18, ())


def test_labels_of_several_lakes_are_understood(wide: Path, index: Index, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(wide, other)
    index(wide, other)
    shutil.rmtree(other / "deep")
    (other / "deep").symlink_to("deep")
    assert index(wide, other).totals.tables == 36


def test_one_of_several_lakes_that_came_up_empty_is_refused(
    wide: Path, index: Index, tmp_path: Path
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    (small / "s.csv").write_text("a,b\n1,2\n")
    index(wide, small)
    (small / "s.csv").unlink()
    with pytest.raises(BuildFailed, match=r"small is empty, and 1 file of the index .*--allow-rem"):
        index(wide, small)
    assert held(tmp_path) == (1, 19)
    assert index(wide, small, allow_removal=True).totals.tables == 18


def test_links_that_lead_outside_keep_their_tables(
    wide: Path, index: Index, tmp_path: Path
) -> None:
    (wide / "deep").rename(tmp_path / "elsewhere")
    (wide / "deep").symlink_to(tmp_path / "elsewhere")
    (wide / "passwd.csv").symlink_to("/etc/passwd")
    (wide / "environ.csv").symlink_to("/proc/self/environ")
    report = index(wide)
    assert report.totals.tables == 2
    link = "link that leads outside the lake"
    assert {(s.name, s.reason) for s in report.skipped} == {
        (name, link) for name in ("deep", "environ.csv", "passwd.csv")
    }
    assert report.notes[-1] == (
        "3 links lead outside the lake, not followed; --follow-links follows such links"
    )
    with pytest.raises(BuildFailed, match=rf"deep: {link} .*and 2 more.*--strict"):
        index(wide, strict=True)
    for name in ("passwd.csv", "environ.csv"):
        (wide / name).unlink()
    assert index(wide, follow_links=True).totals.tables == 18
    report = index(wide)
    assert (report.gone, report.totals.tables) == (0, 18), "forgotten by mistake"
    assert any("16 files are kept" in note for note in report.notes)
    with pytest.raises(BuildFailed, match=r"16 tables .*out of reach; .*--follow-links, or .*-rem"):
        index(wide, full=True)
    assert index(wide, full=True, follow_links=True).totals.tables == 18
    assert index(wide, allow_removal=True).totals.tables == 2
