"""Places: what a URI means, what a walk finds, and what tells that a file has changed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow.fs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakejoin.errors import InputError
from lakejoin.locations import Location, Problem, remote_files, split_query
from lakejoin.locations.remote_files import Address, RemotePath, change_stamp

ODD_NAMES = ["a b.csv", "a#b.csv", "100%25.csv", "100%.csv", "why?.csv", "x?y=1", "x?=", "é ü.csv"]


@pytest.fixture
def memory() -> Iterator[Any]:
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    store = fsspec.filesystem("memory")
    yield store
    store.store.clear()
    store.pseudo_dirs[:] = [""]


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """`s3://bucket` on the local disk; the list tells which roots were opened."""
    (tmp_path / "bucket").mkdir()
    opened: list[str] = []

    class Resolver:
        @staticmethod
        def from_uri(uri: str) -> tuple[Any, str]:
            opened.append(uri)
            local = pyarrow.fs.LocalFileSystem()
            return pyarrow.fs.SubTreeFileSystem(str(tmp_path), local), "bucket"

    monkeypatch.setattr(pyarrow.fs, "FileSystem", Resolver)
    remote_files._opened.cache_clear()
    yield opened
    remote_files._opened.cache_clear()


@pytest.mark.parametrize("query", ["", "?endpoint_override=localhost:9000&scheme=http"])
@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_of_objects_are_plain_text(
    bucket: list[str], tmp_path: Path, name: str, query: str
) -> None:
    for decoy in ("a", "why", "x", "100%.csv", "100.csv"):
        (tmp_path / "bucket" / decoy).write_text("another file")
    lake = Location.of(f"s3://bucket{query}")
    (lake / name).replace(b"this one")
    assert (tmp_path / "bucket" / name).read_text() == "this one"
    assert name in {entry.relative for entry in lake.walk()}
    again = Location.of((lake / name).uri)
    assert again == lake / name
    assert again.name == name
    assert again.read_bytes() == b"this one"
    assert again.kind() == "file"
    assert again.entry().size == 8
    assert bucket == [f"s3://bucket/{query}"], "the file system is opened once"


@pytest.mark.parametrize(
    ("uri", "root", "base", "path"),
    [
        ("s3://bucket/a b", "s3://bucket/", "bucket", "bucket/a b"),
        ("s3://k:s%2F@bucket/a?region=eu", "s3://k:s%2F@bucket/?region=eu", "bucket", "bucket/a"),
        ("gs://anonymous@bucket/a#b", "gs://anonymous@bucket/", "bucket", "bucket/a#b"),
        ("hdfs://host:8020/a/b%20c", "hdfs://host:8020/", "/", "/a/b%20c"),
        ("abfs://box@me.net/a/b", "abfs://box@me.net/", "box/", "box/a/b"),
        ("mock://x/a/b", "mock://x/", "", "a/b"),
        ("s3://bucket", "s3://bucket/", "bucket", "bucket"),
        ("s3://b/k?v=1/x.csv", "s3://b/", "b", "b/k?v=1/x.csv"),
        ("https://h/a.csv?x=1", "https://h/", "https://h/", "https://h/a.csv?x=1"),
    ],
)
def test_the_root_and_the_path(uri: str, root: str, base: str, path: str) -> None:
    address = Address.of(uri)
    assert address.root == root
    assert address.below(base) == path


@pytest.mark.parametrize("uri", ["gs://anonymous@bucket/a#b %25?.csv", "mock://x/a b"])
def test_arrow_itself_opens_the_root_only(uri: str) -> None:
    found = RemotePath.of(uri)
    assert found.path == uri.partition("@")[2] if "@" in uri else "a b"
    assert RemotePath.of(uri).root is found.root


@given(
    st.sampled_from(["s3://b", "s3://b/l?region=eu", "memory://", "memory://l", "gs://b/x?y=1/z"]),
    st.lists(st.text("ab?=&#% .~", min_size=1, max_size=8), min_size=1, max_size=3),
)
def test_every_name_comes_back(base: str, names: list[str]) -> None:
    names = [f"{name}." for name in names]
    place = Location.of(base)
    for name in names:
        place = place / name
    assert Location.of(place.uri) == place
    assert place.name == names[-1]
    head, query = split_query(place.uri)
    assert head.endswith("/".join(names))
    assert query in (split_query(base)[1], "?=")


def test_a_query_that_arrow_refuses_is_named() -> None:
    with pytest.raises(InputError, match=r"cannot open s3://bucket/.*nonsense"):
        Location.of("s3://bucket/x?nonsense=1").kind()
    with pytest.raises(InputError, match="cannot open nothing://"):
        Location.of("nothing://bucket/x").kind()


def test_one_place_has_one_spelling() -> None:
    assert Location.of("memory://lk/") == Location.of("memory://lk") == Location.of("memory:///lk")
    assert Location.of("s3://b/l/?region=eu") == Location.of("s3://b/l?region=eu")
    assert (Location.of("memory://") / "a").uri == "memory://a"
    assert Location.of("s3://bucket/").uri == "s3://bucket"


def test_file_uris(tmp_path: Path) -> None:
    for name in ("a#b?.csv", "50%.csv", os.fsdecode(b"\xff.csv")):
        path = tmp_path / name
        path.write_text(name, errors="surrogateescape")
        assert Location.of(path.as_uri()) == Location.of(path)
    assert Location.of(f"file://{tmp_path}/a#b?.csv").kind() == "file"
    assert Location.of(f"file://localhost{tmp_path}").kind() == "folder"
    with pytest.raises(InputError, match=r"file:///data/x\.csv"):
        Location.of("file://data/x.csv")


# -- what tells a change -----------------------------------------------------------------------


def test_a_change_of_equal_size_is_seen(memory: Any) -> None:
    memory.pipe_file("/lk/a b#.csv", b"1234")
    (before,) = Location.of("memory://lk").walk()
    assert before == Location.of("memory://lk/").walk().__next__()
    one = Location.of("memory://lk/a b#.csv")
    assert (one.entry().size, one.entry().mtime_ns) == (4, before.mtime_ns)
    memory.store["/lk/a b#.csv"].created += timedelta(microseconds=1)
    (after,) = Location.of("memory://lk").walk()
    assert after.relative == before.relative == "a b#.csv"
    assert after.mtime_ns == before.mtime_ns + 1000


def test_stamps() -> None:
    noon = datetime(2020, 1, 1, 12, 0, 0, 1, tzinfo=UTC)
    assert change_stamp({"LastModified": noon}) == 1577880000_000001_000
    assert change_stamp({"modified": noon.replace(tzinfo=None)}) == change_stamp(
        {"LastModified": noon}
    )
    assert change_stamp({"mtime": noon.astimezone(timezone(timedelta(hours=5)))}) == change_stamp(
        {"updated": noon, "created": noon - timedelta(days=1)}
    )
    assert change_stamp({"ETag": '"x"', "created": noon}) == change_stamp({"etag": '"x"'})
    assert 0 < change_stamp({"ETag": '"x"'}) < 1 << 63
    assert 0 < change_stamp({"modificationTime": 1_700_000_000_000}) < 1 << 63
    assert change_stamp({"mtime": None, "size": 3, "ETag": ""}) == 0


def test_a_listing_that_tells_little_asks_the_files(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "sub/c"):
        memory.pipe_file(f"/lk/{name}", b"1234")
    told = type(memory).info

    def find(path: str, detail: bool) -> dict[str, Any]:
        return {f"/lk/{n}": {"name": n, "size": None} for n in ("b", "a", "sub/c")}

    def info(self: Any, path: str, **_: Any) -> Any:
        if path.endswith("/b"):
            raise FileNotFoundError(2, "it has gone")
        return told(self, path)

    monkeypatch.setattr(memory, "find", find)
    monkeypatch.setattr(type(memory), "info", info)
    problems: list[Problem] = []
    found = list(Location.of("memory://lk").walk(problems))
    assert [(e.relative, e.size, e.mtime_ns > 0) for e in found] == [
        ("a", 4, True),
        ("sub/c", 4, True),
    ]
    assert problems == [Problem("b", "cannot be listed", "it has gone")]


def test_folders_that_are_not_entered(memory: Any, tmp_path: Path) -> None:
    for name in ("a/x", "b/c/x", "b/x", "x"):
        memory.pipe_file(f"/lk/{name}", b"")
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for place in (Location.of("memory://lk"), Location.of(tmp_path)):
        found = {e.relative for e in place.walk(enter=lambda folder: folder not in ("a", "b/c"))}
        assert found == {"b/x", "x"}


# -- walking through local folders -------------------------------------------------------------


def walked(root: Path) -> tuple[list[str], list[tuple[str, str]]]:
    problems: list[Problem] = []
    found = [entry.relative for entry in Location.of(root).walk(problems, follow_links=True)]
    return found, [(p.relative, p.reason) for p in problems]


def test_links(tmp_path: Path) -> None:
    lake, outside = tmp_path / "lake", tmp_path / "outside"
    (lake / "a").mkdir(parents=True)
    outside.mkdir()
    (lake / "a/x.csv").touch()
    (outside / "y.csv").touch()
    (lake / "a/up").symlink_to(lake)
    (lake / "circle").symlink_to("circle")
    (lake / "gone").symlink_to("nowhere")
    (lake / "file.csv").symlink_to(outside / "y.csv")
    (lake / "once").symlink_to(outside)
    (lake / "twice").symlink_to(outside)
    (outside / "back").symlink_to(lake)
    os.mkfifo(lake / "pipe")
    found, problems = walked(lake)
    assert found == ["file.csv", "a/x.csv", "once/y.csv"]
    assert sorted(problems) == [
        ("a/up", "linked folder"),
        ("circle", "cannot be listed"),
        ("gone", "broken link"),
        ("once/back", "linked folder"),
        ("pipe", "neither a file nor a folder"),
        ("twice", "linked folder"),
    ]


def test_many_links_to_each_other_end_soon(tmp_path: Path) -> None:
    for i in range(12):
        (tmp_path / f"d{i}").mkdir()
        (tmp_path / f"d{i}/x.csv").touch()
        for j in range(12):
            (tmp_path / f"d{i}/to{j}").symlink_to(tmp_path / f"d{j}")
    found, problems = walked(tmp_path)
    assert {f"d{i}/x.csv" for i in range(12)} <= set(found)
    assert len(found) <= 24
    assert {reason for _, reason in problems} == {"linked folder"}


def test_what_vanishes_or_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("closed/x.csv", "open/x.csv", "open/y.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    scandir = os.scandir

    def scandir_then_remove(path: str) -> Any:
        if str(path).endswith("closed"):  # the tests may run as root, whom no mode keeps out
            raise PermissionError(13, "Permission denied")
        with scandir(path) as found:
            entries = list(found)
        if str(path).endswith("open"):
            (tmp_path / "open/x.csv").unlink()
        return contextlib.nullcontext(entries)

    monkeypatch.setattr(os, "scandir", scandir_then_remove)
    found, problems = walked(tmp_path)
    assert found == ["open/y.csv"]
    assert problems == [("closed", "cannot be listed"), ("open/x.csv", "cannot be listed")]
    with pytest.raises(PermissionError):
        walked(tmp_path / "closed")
