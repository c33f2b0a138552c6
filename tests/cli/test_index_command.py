"""`lakejoin index` from the shell: its options, what it reports, and what it refuses."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import xxhash

import lakejoin
from cli.commands import INDEX, Command
from fake_spark import FakeSpark
from lakejoin.encoders import mixed_encoder, wordllama
from lakejoin.errors import MissingDependency
from lakejoin.locations import Location
from lakejoin.pipeline import options as spark_parts
from lakejoin.pipeline import segment_tasks
from lakejoin.spark import engine_choice, task_runner
from lakejoin.store.manifest import read_manifest

INFO = Command("info")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the index is to be; builds start no JVM."""
    monkeypatch.setattr(task_runner, "open_session", lambda *_: nullcontext(FakeSpark()))
    monkeypatch.setattr(engine_choice, "LOCAL_BYTES", -1)
    return str(tmp_path / "index")


def lengths(place: str) -> set[int]:
    segments = lakejoin.open(place).snapshot.segments
    return {s.sketches.permutations for s in segments if s.sketches.classes}


def test_the_length_of_signatures_is_kept_until_all_is_built_anew(lake: Path, place: str) -> None:
    INDEX.answer(str(lake), "--index", place)
    assert lengths(place) == {128}
    said = INDEX.refused("--index", place, "--permutations", "256")
    assert said == (
        "this index was built with --permutations 128: keep that, or rebuild the index with "
        "--full to change it"
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
    stages = {"list", "encoder", "start", "tasks", "commit", "costs", "total", "read", "build"}
    assert set(took) == stages
    page = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
    section = page.partition("## `lakejoin index`")[2].partition("\n## ")[0]
    for stage in stages:
        assert f"`{stage}`" in section
        assert f"`{stage}`" in (lakejoin.pipeline.build.BuildReport.__doc__ or "")


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


# -- the parts that not every index has --------------------------------------------------------


def parts(place: str) -> tuple[list[str], set[str]]:
    """What the index says that it has, and what components all its segments have of that."""
    opened = lakejoin.open(place)
    kept = [set(s.record.components) & {"meaning", "points"} for s in opened.snapshot.segments]
    assert all(k == kept[0] for k in kept)
    assert not [c for c in opened.snapshot.check() if c.problem]
    return opened.info()["parts"], kept[0] if kept else set()


BOTH = (["meaning", "distance"], {"meaning", "points"})
NEITHER: tuple[list[str], set[str]] = ([], set())


def test_small_lakes_get_all_parts_and_keep_them(
    lake: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert INDEX.answer(str(lake), "--index", place)["notes"] == []
    assert parts(place) == BOTH
    monkeypatch.setattr(spark_parts, "SMALL_LAKE", 10)
    (lake / "more.csv").write_text("x,y\na,b\nc,d\n")
    assert INDEX.answer("--index", place)["new"] == 1
    assert parts(place) == BOTH, "a lake that has grown keeps them"
    INDEX.answer("--index", place, "--full")
    assert parts(place) == BOTH


def test_large_lakes_get_no_part_unasked(
    lake: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_parts, "SMALL_LAKE", 10)
    said = INDEX.run(str(lake), "--index", place).output
    assert "note:  search by meaning and distance is left out, since the files exceed" in said
    assert "add it with: lakejoin index --with meaning --with distance" in said
    assert parts(place) == NEITHER
    assert INDEX.answer("--index", place)["notes"] == [], "it is said once"


def test_parts_are_added_without_reading_the_lake(
    lake: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    INDEX.answer(str(lake), "--index", place, "--with", "none")
    assert parts(place) == NEITHER
    monkeypatch.setattr(segment_tasks, "tables_of", None)
    added = INDEX.answer("--index", place, "--with", "meaning")
    note = "added to existing segments without reading files again: meaning"
    assert (added["version"], added["notes"]) == (2, [note])
    assert parts(place) == (["meaning"], {"meaning"})
    INDEX.answer("--index", place, "--with", "distance")
    assert parts(place) == BOTH, "what there was stays"
    assert INDEX.answer("--index", place, "--with", "meaning")["version"] == 3
    INDEX.answer("--index", place, "--with", "none")
    assert parts(place) == NEITHER
    assert INDEX.answer("--index", place, "--with", "none")["version"] == 4
    assert INDEX.answer("--index", place)["version"] == 4, "and stays as it is"


def test_an_index_of_before_there_were_parts_gets_them_when_asked(lake: Path, place: str) -> None:
    INDEX.answer(str(lake), "--index", place, "--with", "none")
    manifest = read_manifest(Location.of(place))
    older = replace(manifest, options=replace(manifest.options, parts=None, meaning=None))
    body = json.loads(older.to_bytes())
    del body["options"]["parts"], body["options"]["meaning"], body["checksum"]
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    digest = xxhash.xxh3_64_hexdigest(text.encode())
    Path(place, "MANIFEST.json").write_text(f'{text[:-1]},"checksum":"{digest}"}}\n')
    assert read_manifest(Location.of(place)).options.parts is None
    assert INDEX.answer("--index", place)["version"] == 1, "a refresh changes nothing"
    assert parts(place) == NEITHER
    INDEX.answer("--index", place, "--full")
    assert parts(place) == BOTH, "it is decided when all is built anew"


def test_without_the_package_a_small_lake_is_indexed_all_the_same(
    lake: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wordllama, "find_spec", lambda name: None)
    wordllama.open_words.cache_clear()
    try:
        (note,) = INDEX.answer(str(lake), "--index", place)["notes"]
        assert "pip install 'lakejoin[meaning]'; then add search by meaning with: " in note
        assert parts(place) == (["distance"], {"points"})
        result = INDEX.run("--index", place, "--with", "meaning")
        assert isinstance(result.exception, MissingDependency)
    finally:
        wordllama.open_words.cache_clear()
    assert parts(place) == (["distance"], {"points"})


def test_without_the_package_new_texts_are_refused(
    lake: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    INDEX.answer(str(lake), "--index", place)
    (lake / "more.csv").write_text("x,y\na,b\nc,d\n")
    monkeypatch.setattr(wordllama, "find_spec", lambda name: None)
    wordllama.open_words.cache_clear()
    try:
        result = INDEX.run("--index", place)
        assert isinstance(result.exception, MissingDependency)
        assert str(result.exception).endswith(f"with: lakejoin index --with none --index {place}")
        INDEX.answer("--index", place, "--with", "none")
        assert parts(place) == NEITHER
    finally:
        wordllama.open_words.cache_clear()


def test_other_encoders_make_vectors_anew(lake: Path, place: str) -> None:
    INDEX.answer(str(lake), "--index", place, "--encoder", "characters")
    assert parts(place) == BOTH, "what a small lake gets, with this encoder"

    def made() -> set[tuple[str, str | None, bool]]:
        segments = lakejoin.open(place).snapshot.segments
        found = [s.meaning for s in segments]
        return {(m.identity.split()[0], m.encoder_name, m.vectors is not None) for m in found}

    assert made() == {("characters", "characters", False)}
    INDEX.answer("--index", place, "--keep-vectors")
    assert made() == {("characters", "characters", True)}
    assert INDEX.answer("--index", place, "--encoder", "characters")["version"] == 2
    INDEX.answer("--index", place, "--encoder", "small")
    assert made() == {("wordllama+characters", "small", False)}
    info = INFO.answer("--index", place)
    assert info["encoder"]["given"] == "small"
    assert not info["encoder"]["kept"]
    shown = INFO.run("--index", place).output
    assert "values, meaning (encoder small), distance" in shown
    assert "no encoder nowhere.vec" in INDEX.refused("--index", place, "--encoder", "nowhere.vec")


def test_an_encoder_that_has_changed_is_refused(
    lake: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    INDEX.answer(str(lake), "--index", place, "--encoder", "characters")
    monkeypatch.setattr(mixed_encoder.MixedEncoder, "version", "2")
    assert INDEX.answer("--index", place)["version"] == 1, "nothing has to be encoded"
    (lake / "more.csv").write_text("x,y\na,b\nc,d\n")
    said = INDEX.refused("--index", place)
    assert said == (
        "the encoder characters has changed since the vectors of this index were computed "
        "(characters 1 then, characters 2 now): install the old one, or recompute all vectors "
        f"with: lakejoin index --encoder characters --index {place}"
    )
    INDEX.answer("--index", place, "--encoder", "characters")
    assert parts(place) == BOTH
    found = {s.meaning.identity.split()[1] for s in lakejoin.open(place).snapshot.segments}
    assert found == {"2"}


def test_a_file_of_word_vectors_is_known_by_its_path_and_content(
    lake: Path, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKEJOIN_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    words = tmp_path / "words.txt"
    words.write_text("bern 1 0 0\noslo 0 1 0\nnorway 0 0.9 0.1\n")
    INDEX.answer(str(lake), "--index", place, "--encoder", "words.txt")
    assert INFO.answer("--index", place)["encoder"]["given"] == str(words)
    words.write_text("bern 1 0 0\noslo 0 1 0\nnorway 0 0.8 0.2\n")
    (lake / "more.csv").write_text("x,y\na,b\nc,d\n")
    monkeypatch.chdir(lake)
    monkeypatch.setenv("LAKEJOIN_ENCODER", str(words))  # a path is opened only if it is named
    assert f"recompute all vectors with: lakejoin index --encoder {words}" in INDEX.refused(
        "--index", place
    )
    INDEX.answer("--index", place, "--encoder", str(words))
    assert parts(place) == BOTH
    assert {s.meaning.dimension for s in lakejoin.open(place).snapshot.segments} == {3 + 128}


def test_parts_that_contradict_each_other_are_refused(lake: Path, place: str) -> None:
    said = INDEX.refused(str(lake), "--index", place, "--with", "none", "--with", "meaning")
    assert said == "--with none removes both parts: do not combine it with another --with"
    said = INDEX.refused(str(lake), "--index", place, "--with", "none", "--encoder", "small")
    assert "leave one out" in said
    assert INDEX.run(str(lake), "--index", place, "--with", "colour").exit_code == 2
    assert not Path(place).exists()
