"""Which files a lake holds, and what they are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakejoin.errors import InputError
from lakejoin.lake.files import list_files


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
