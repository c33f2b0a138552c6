"""Which files a lake holds, and what they are called."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakejoin.errors import InputError
from lakejoin.locations import Location
from lakejoin.model import Skipped, SourceFile
from lakejoin.sources.lake_files import LakeRoot, list_files, name_uniquely


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def names_of(*lakes: str | Path) -> list[str]:
    return [file.name for file in list_files([str(lake) for lake in lakes])]


def test_a_folder(tmp_path: Path) -> None:
    make(tmp_path, "b.csv", "a/x.csv", "a/.hid", ".git/x.csv", "_SUCCESS", "_temporary/0/x.csv")
    assert names_of(tmp_path) == ["b.csv", "a/x.csv"]
    (first, _) = list_files([str(tmp_path)])
    assert first.uri == str(tmp_path / "b.csv")
    assert first.size == len("b.csv")
    assert first.mtime_ns == Path(first.uri).stat().st_mtime_ns


def test_a_file_and_file_uris(tmp_path: Path) -> None:
    make(tmp_path, "a/x.csv", ".hidden.csv")
    assert names_of(tmp_path / "a/x.csv") == ["x.csv"]
    assert names_of(tmp_path / ".hidden.csv") == [".hidden.csv"]
    assert names_of((tmp_path / "a").as_uri()) == ["x.csv"]


def test_globs(tmp_path: Path) -> None:
    make(tmp_path, "a/x.csv", "a/y.tsv", "a/deep/z.csv", "b/x.csv", "b/.h.csv")
    assert names_of(f"{tmp_path}/*/x.csv") == ["a/x.csv", "b/x.csv"]
    assert names_of(f"{tmp_path}/**/*.csv") == ["a/deep/z.csv", "a/x.csv", "b/x.csv"]
    assert sorted(names_of(f"{tmp_path}/[ab]")) == ["a/deep/z.csv", "a/x.csv", "a/y.tsv", "b/x.csv"]


def test_several_lakes_keep_names_apart(tmp_path: Path) -> None:
    make(tmp_path, "one/x.csv", "one/y.csv", "two/x.csv", "three/z.csv", "sub/one/x.csv")
    found = names_of(tmp_path / "one", tmp_path / "two", tmp_path / "three", tmp_path / "sub/one")
    assert found == ["one/x.csv", "one/y.csv", "two/x.csv", "z.csv", "one~2/x.csv"]
    assert names_of(tmp_path / "one", tmp_path / "one") == ["x.csv", "y.csv"]


def test_a_label_that_is_a_folder_elsewhere(tmp_path: Path) -> None:
    make(tmp_path, "p/x/a.csv", "q/y/a.csv", "r/x/a.csv", "r/x~2/a.csv")
    found = names_of(tmp_path / "p/x", tmp_path / "q/y", tmp_path / "r")
    assert found == ["x~3/a.csv", "y/a.csv", "x/a.csv", "x~2/a.csv"]


_PATHS = st.lists(st.sampled_from(["a", "x/a", "y/a", "x~2/a", "x/x/a", "b"]), unique=True)


@given(st.lists(st.tuples(st.sampled_from(["x", "y", "x~2"]), _PATHS), max_size=5))
def test_no_two_files_have_one_name(lakes: list[tuple[str, list[str]]]) -> None:
    base = Location.of("/lake")
    roots = [
        LakeRoot(label, base, tuple(SourceFile(p, f"{i}/{p}", 0, 0) for p in paths))
        for i, (label, paths) in enumerate(lakes)
    ]
    found = name_uniquely(roots)
    assert [f.uri for f in found] == [f.uri for root in roots for f in root.sources]
    assert len({f.name for f in found}) == len(found)


def test_names_that_are_not_text(tmp_path: Path) -> None:
    root = os.fsencode(tmp_path)
    for name in (b"caf\xe9.csv", b"caf\\xe9.csv", b"d\xff/x.csv"):
        path = Path(os.fsdecode(os.path.join(root, name)))  # noqa: PTH118 (bytes)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(name)
    files = list_files([str(tmp_path)])
    assert sorted(f.name for f in files) == ["caf\\xe9.csv", "caf\\xe9.csv~2", "d\\xff/x.csv"]
    read = set()
    for file in files:
        file.uri.encode()
        read.add(Location.of(file.uri).read_bytes())
    assert read == {b"caf\xe9.csv", b"caf\\xe9.csv", b"d\xff/x.csv"}
    one = [f for lake in (files[0].uri, files[1].uri) for f in list_files([lake])]
    assert {f.uri for f in one} == {files[0].uri, files[1].uri}
    assert names_of(f"{tmp_path}/d*") == ["d\\xff/x.csv"]


def test_what_cannot_be_listed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "a/x.csv", "closed/x.csv", ".hidden/x.csv", "b/y.csv")
    (tmp_path / "a/loop").symlink_to(tmp_path)
    (tmp_path / "a/gone.csv").symlink_to("nowhere")
    (tmp_path / ".hidden/gone").symlink_to("nowhere")
    scandir = os.scandir

    def guarded(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    problems: list[Skipped] = []
    assert [f.name for f in list_files([str(tmp_path)], problems)] == ["a/x.csv", "b/y.csv"]
    assert sorted((p.name, p.reason) for p in problems) == [
        ("a/gone.csv", "broken link"),
        ("a/loop", "linked folder"),
        ("closed", "cannot be listed"),
    ]
    assert problems[-1].detail == "Permission denied"
    problems.clear()
    assert [f.name for f in list_files([f"{tmp_path}/b/*.csv"], problems)] == ["y.csv"]
    assert [f.name for f in list_files([f"{tmp_path}/*/y.csv"], problems)] == ["b/y.csv"]
    assert sorted(p.name for p in problems) == ["closed"]
    assert names_of(f"{tmp_path}/**/x.csv") == ["a/x.csv"]
    with pytest.raises(InputError, match=r"cannot list .*closed: Permission denied"):
        names_of(tmp_path / "closed")


def test_the_index_inside_the_lake(tmp_path: Path) -> None:
    make(tmp_path, "lake/x.csv", "lake/index/y.csv", "lake/index/s/z.csv", "lake/index2/w.csv")
    lake, index = tmp_path / "lake", Location.of(tmp_path / "lake/index")
    (lake / "link").symlink_to(lake / "index")
    (tmp_path / "other").symlink_to(lake)
    for root in (lake, tmp_path / "other"):
        problems: list[Skipped] = []
        found = list_files([str(root)], problems, exclude=index)
        assert [f.name for f in found] == ["x.csv", "index2/w.csv"]
        assert not problems
    for root in (lake / "index", lake / "index/s", lake / "index/y.csv"):
        assert list_files([str(root)], exclude=index) == []
    assert len(list_files([str(lake)], exclude=Location.of(tmp_path / "not yet there"))) == 6


def test_the_index_inside_a_remote_lake() -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for name in ("x.csv", "index/y.csv", "index/s/z.csv", "index2/w.csv", "#1?.csv"):
        memory.pipe(f"/lake/{name}", b"a,b\n1,2\n")
    try:
        files = list_files(["memory://lake/"], exclude=Location.of("memory://lake/index/"))
        assert sorted(f.name for f in files) == ["#1?.csv", "index2/w.csv", "x.csv"]
        assert all(Location.of(f.uri).read_bytes() == b"a,b\n1,2\n" for f in files)
        assert all(f.mtime_ns for f in files)
        assert names_of("memory://lake/#1?.csv") == ["#1?.csv"]
        assert len(list_files(["memory://lake", "memory://lake/"])) == 5
    finally:
        memory.rm("/lake", recursive=True)


def test_remote_lakes() -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for name in ("/lake/a/x.csv", "/lake/a/_SUCCESS", "/lake/y.csv"):
        memory.pipe(name, b"a,b\n1,2\n")
    try:
        assert sorted(names_of("memory://lake")) == ["a/x.csv", "y.csv"]
        assert names_of("memory://lake/*/x.csv") == ["a/x.csv"]
    finally:
        memory.rm("/lake", recursive=True)


@pytest.mark.parametrize("lake", ["missing", "*.nothing", "no/**/x.csv"])
def test_what_is_not_there_is_named(tmp_path: Path, lake: str) -> None:
    with pytest.raises(InputError, match=r"nothing matches|there is no file") as problem:
        names_of(f"{tmp_path}/{lake}")
    assert lake in str(problem.value)


def test_links_that_lead_outside_are_not_followed(tmp_path: Path) -> None:
    make(tmp_path, "lake/a/x.csv", "lake/b.csv", "lake2/z.csv", "away/deep/y.csv", "away/w.csv")
    lake = tmp_path / "lake"
    (lake / "again").symlink_to("a")
    (lake / "same.csv").symlink_to(lake / "b.csv")
    (lake / "passwd").symlink_to("/etc/passwd")
    (lake / "environ").symlink_to("/proc/self/environ")
    (lake / "away").symlink_to(tmp_path / "away")
    (lake / "a/up.csv").symlink_to("../../away/w.csv")
    (lake / "a/chain").symlink_to("../away/deep")
    (lake / "sibling.csv").symlink_to("../lake2/z.csv")
    (lake / ".hidden.csv").symlink_to("/etc/passwd")
    (tmp_path / "entry").symlink_to(lake)
    inside = ["b.csv", "same.csv", "a/x.csv", "again/x.csv"]
    outside = ["a/chain", "a/up.csv", "away", "environ", "passwd", "sibling.csv"]
    for root in (lake, tmp_path / "entry"):
        problems: list[Skipped] = []
        assert [f.name for f in list_files([str(root)], problems)] == inside
        told = {p.name for p in problems if p.reason == "link that leads outside the lake"}
        assert told == {*outside, "again/chain", "again/up.csv"}
        assert len(told) == len(problems)
    assert {p.name: p.detail for p in problems}["passwd"] == "points to /etc/passwd"
    problems.clear()
    followed = {f.name for f in list_files([str(lake)], problems, follow_links=True)}
    assert followed >= {"passwd", "environ", "a/up.csv", "sibling.csv", "away/w.csv", *inside}
    assert {p.reason for p in problems} == {"linked folder"}, "away/deep is entered once"


def test_links_that_are_named_are_followed(tmp_path: Path) -> None:
    make(tmp_path, "away/w.csv", "away/deep/y.csv", "lake/b.csv")
    lake = tmp_path / "lake"
    (lake / "away").symlink_to(tmp_path / "away")
    (lake / "w.csv").symlink_to(tmp_path / "away/w.csv")
    assert names_of(lake / "w.csv") == ["w.csv"]
    assert names_of(lake / "away") == ["w.csv", "deep/y.csv"]
    assert names_of(f"{lake}/away/*.csv") == ["w.csv"]
    problems: list[Skipped] = []
    assert [f.name for f in list_files([f"{lake}/b*"], problems)] == ["b.csv"]
    assert problems == [], "the glob does not ask for them"
    with pytest.raises(InputError, match="nothing matches"):
        list_files([f"{lake}/*/deep/*.csv"], problems)
    assert [p.name for p in problems] == ["away"]
