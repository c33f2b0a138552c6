"""`lakejoin index` from the shell: its options, what it reports, and what it refuses."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import lakejoin
from app.commands import INDEX
from fake_spark import FakeSpark
from lakejoin import api


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the index is to be; builds start no JVM."""
    monkeypatch.setattr(api, "index", partial(api.index, spark=FakeSpark()))
    return str(tmp_path / "index")


def lengths(place: str) -> set[int]:
    segments = lakejoin.open(place).snapshot.segments
    return {s.sketches.permutations for s in segments if s.sketches.classes}


def test_the_length_of_signatures_is_kept_until_all_is_built_anew(lake: Path, place: str) -> None:
    INDEX.answer(str(lake), "--index", place)
    assert lengths(place) == {128}
    said = INDEX.refused("--index", place, "--permutations", "256")
    assert said == (
        "this index was built with --permutations 128: leave that out or as it was, or rebuild "
        "the index with --full to change it"
    )
    INDEX.answer(str(lake), "--index", place, "--permutations", "256", "--full")
    assert lengths(place) == {256}
    (lake / "more.csv").write_text("x,y\na,b\nc,d\n")
    assert INDEX.answer("--index", place)["new"] == 1
    assert lengths(place) == {256}, "a refresh keeps it"
    INDEX.answer(str(lake), "--index", place, "--full")
    assert lengths(place) == {256}, "so does a new build, unless it is told"


@pytest.mark.parametrize("wrong", ["100", "0", "8", "512", "-16"])
def test_signatures_of_other_lengths_are_refused(lake: Path, place: str, wrong: str) -> None:
    said = INDEX.refused(str(lake), "--index", place, "--permutations", wrong)
    assert said == f"permutations must be a power of two from 16 to 256, not {wrong}"
    assert not Path(place).exists()


def test_all_options_that_differ_are_named(lake: Path, place: str) -> None:
    INDEX.answer(str(lake), "--index", place, "--values", "exact", "--all-columns")
    other = ("--values", "folded", "--key-columns")
    said = INDEX.refused(str(lake), "--index", place, *other)
    assert "built with --values exact and --all-columns:" in said


def test_the_seconds_that_are_told_are_documented(lake: Path, place: str) -> None:
    took = INDEX.answer(str(lake), "--index", place)["seconds"]
    stages = {"list", "start", "tasks", "commit", "costs", "total", "read", "build"}
    assert set(took) == stages
    shown = " ".join(INDEX.run("--help").output.split())
    assert "seconds{list, start, tasks, commit, costs, total, read, build}" in shown
    for stage in stages:
        assert f"`{stage}`" in (lakejoin.spark.build.BuildReport.__doc__ or "")


def test_super_keys_change_without_a_full_build(lake: Path, place: str) -> None:
    def bits() -> set[int]:
        return {s.superkeys.bits for s in lakejoin.open(place).snapshot.segments}

    INDEX.answer(str(lake), "--index", place)
    assert bits() == {128}
    INDEX.answer("--index", place, "--super-keys", "512")
    assert bits() == {512}
    INDEX.answer("--index", place)
    assert bits() == {512}, "a refresh keeps them"
    assert INDEX.run(str(lake), "--index", place, "--super-keys", "100").exit_code == 2
