"""Encoders of one's own, and vectors through refreshes and compactions, without a JVM."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lakejoin
from fake_spark import FakeSpark
from lakejoin.encoders import open_encoder
from lakejoin.errors import BuildFailed, InputError
from lakejoin.locations import Location
from lakejoin.pipeline.build import BuildReport
from lakejoin.pipeline.compaction import CompactReport, compact_index
from lakejoin.pipeline.options import BuildOptions, segment_memory
from lakejoin.spark import Cluster
from lakejoin.store.manifest import IndexOptions, read_manifest
from lakejoin.store.segment import Segment

Build = Callable[..., BuildReport]


def vowels(texts: list[str]) -> list[list[float]]:
    """An encoder of one's own."""
    return [[1.0, *(text.count(vowel) for vowel in "aeiou")] for text in texts]


vowels.version = "1"  # type: ignore[attr-defined]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Builds `tmp_path/index` without a JVM, with small segments."""

    def run(*lakes: Path, **asked: Any) -> BuildReport:
        options = BuildOptions(memory=asked.pop("memory", 1600 << 20))
        place = tmp_path / "index"
        return lakejoin.index(lakes, place, spark=FakeSpark(), options=options, **asked)

    return run


def compacted(tmp_path: Path) -> CompactReport:
    return compact_index(
        Location.of(tmp_path / "index"), Cluster(FakeSpark()).start, lambda progress: None
    )


def segments(tmp_path: Path) -> tuple[Segment, ...]:
    """The segments, all of them sound."""
    snapshot = lakejoin.open(tmp_path / "index").snapshot
    assert not [c for c in snapshot.check() if c.problem]
    return snapshot.segments


def right_vectors(segment: Segment, encoder: Any) -> bool:
    opened = open_encoder(encoder)
    kept = segment.meaning
    texts = segment.dictionary.texts
    vectors = kept.source(texts, opened).take(np.arange(len(kept)))
    return np.array_equal(vectors, opened.encode(texts.take(kept.codes.all())))


def test_a_function_makes_vectors_that_are_kept(lake: Path, build: Build, tmp_path: Path) -> None:
    build(lake, parts="meaning", encoder=vowels)
    for segment in segments(tmp_path):
        assert (segment.meaning.encoder_name, segment.meaning.dimension) == (None, 6)
        assert segment.meaning.vectors is not None
        assert right_vectors(segment, vowels)
    info = lakejoin.open(tmp_path / "index").info()
    assert info["parts"] == ["meaning"]
    assert info["encoder"]["given"] is None
    assert "vowels 1" in info["encoder"]["identity"]


def test_a_function_has_to_be_given_again_for_new_texts(
    lake: Path, build: Build, tmp_path: Path
) -> None:
    build(lake, parts=["meaning"], encoder=vowels)
    assert build().version == 1, "nothing new: nobody asks for it"
    (lake / "new.csv").write_text("name\nGeneva\nBasel\n")
    with pytest.raises(InputError, match="vowels 1, which was passed in Python: refresh it with"):
        build()
    assert build(encoder=vowels).version == 2
    assert all(right_vectors(s, vowels) for s in segments(tmp_path))
    build(encoder="characters")
    assert all(right_vectors(s, "characters") for s in segments(tmp_path))
    assert build(parts=()).version == 4
    assert lakejoin.open(tmp_path / "index").info()["encoder"] is None


@pytest.mark.parametrize("encoder", ["characters", vowels])
def test_a_compaction_keeps_the_parts(
    lake: Path, build: Build, tmp_path: Path, encoder: Any
) -> None:
    build(lake, parts=["meaning", "distance"], encoder=encoder, memory=1)
    (lake / "cities.csv").write_text("city,country\nBern,CH\nGenève,CH\n")
    build(encoder=encoder)
    assert len(segments(tmp_path)) > 2
    assert compacted(tmp_path).segments == 1
    (merged,) = segments(tmp_path)
    assert {"meaning", "points"} <= set(merged.record.components)
    assert right_vectors(merged, encoder)
    assert (merged.meaning.vectors is not None) == callable(encoder)
    assert compacted(tmp_path).merged == 0
    assert build().version == 3, "and leaves nothing to do"


def test_a_compaction_refuses_another_encoder(
    lake: Path, build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(lake, parts=["meaning"], encoder="characters", memory=1)
    monkeypatch.setattr("lakejoin.encoders.mixed_encoder.MixedEncoder.version", "2")
    with pytest.raises(InputError, match="lakejoin index --encoder characters"):
        compacted(tmp_path)
    assert len(segments(tmp_path)) > 1


def test_an_encoder_that_cannot_be_sent_is_refused(
    lake: Path, build: Build, tmp_path: Path
) -> None:
    lock = threading.Lock()

    def locked(texts: list[str]) -> list[list[float]]:
        with lock:
            return vowels(texts)

    with pytest.raises(InputError, match="locked cannot be sent to the workers"):
        build(lake, encoder=locked)
    assert not (tmp_path / "index" / "MANIFEST.json").exists()
    assert not (tmp_path / "index" / "scratch").exists()


def test_an_encoder_that_a_worker_cannot_open_is_told(
    lake: Path, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(body: bytes) -> Any:
        raise ModuleNotFoundError("No module named 'mine'")

    monkeypatch.setattr("lakejoin.pipeline.job.pickle.loads", gone)
    with pytest.raises(BuildFailed, match="No module named 'mine'"):
        build(lake, encoder=vowels)


def test_an_encoder_that_fails_fails_the_build(lake: Path, build: Build, tmp_path: Path) -> None:
    build(lake, parts=["meaning"], encoder="characters")

    def moody(texts: list[str]) -> list[list[float]]:
        if texts != ["lakejoin"]:
            raise RuntimeError("no mood")
        return vowels(texts)

    with pytest.raises(BuildFailed, match="no mood"):
        build(encoder=moody)
    assert lakejoin.open(tmp_path / "index").info()["version"] == 1
    assert all(right_vectors(s, "characters") for s in segments(tmp_path))


def test_an_encoder_that_fails_once_is_asked_again(
    lake: Path, build: Build, tmp_path: Path
) -> None:
    failed = tmp_path / "failed"

    def moody(texts: list[str]) -> list[list[float]]:
        if texts != ["lakejoin"] and not failed.exists():
            failed.touch()
            raise RuntimeError("no mood")
        return vowels(texts)

    build(lake, parts=["meaning"], encoder=moody)
    assert failed.exists()
    assert all(right_vectors(s, moody) for s in segments(tmp_path))


def test_lakes_without_texts_or_files(build: Build, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    build(empty, parts=["meaning", "distance"])
    assert lakejoin.open(tmp_path / "index").info()["parts"] == ["meaning", "distance"]
    (empty / "numbers.csv").write_text("a,b\n1,2\n3,4\n")
    build()
    (only,) = segments(tmp_path)
    assert len(only.meaning) == only.meaning.compact.count == 0
    (empty / "word.csv").write_text("word,n\nbern,1\n")
    build()
    assert sorted(len(s.meaning) for s in segments(tmp_path)) == [0, 1]


def test_no_other_parts_are_known(build: Build, lake: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown part 'colour'; use meaning, distance"):
        build(lake, parts=["colour"])
    assert not (tmp_path / "index").exists()


def test_segments_with_vectors_are_smaller(build: Build, lake: Path, tmp_path: Path) -> None:
    build(lake, parts=["meaning"])
    kept = lakejoin.open(tmp_path / "index").snapshot.manifest.options
    assert segment_memory(kept, 1000) == 500
    assert segment_memory(IndexOptions(), 1000) == 1000


def test_a_path_in_an_index_is_opened_only_if_it_is_named(
    lake: Path, build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKEJOIN_CACHE", str(tmp_path / "cache"))
    vectors = tmp_path / "own words.vec"
    vectors.write_text("2 3\nbern 1 0 0\noslo 0 1 0\n")
    words = [f"a{letter} word" for letter in "bcdefghijklm"]
    (lake / "words.csv").write_text("\n".join(["word", *words, ""]))
    build(lake, encoder=vectors)
    query = {"word": [f"{word}s" for word in words]}

    def fused(**options: Any) -> list[str]:
        answer = lakejoin.open(tmp_path / "index", **options).search(query)
        return [note for note in answer.notes if "meaning" in note]

    unnamed = (
        f"the vectors of this index were made by the encoder '{vectors}', and a path in an index "
        f"is opened only if you name it: set LAKEJOIN_ENCODER='{vectors}', or pass it as --encoder "
        "or encoder="
    )
    opened = lakejoin.open(tmp_path / "index")
    with pytest.raises(InputError) as refused:
        opened.similar(query)
    assert str(refused.value) == unnamed
    assert fused() == [f"joins by meaning were not searched: {unnamed}"]
    assert [n for n in opened.union(query).notes if "meaning" in n] == [
        f"columns were not compared by meaning: {unnamed}"
    ]
    assert fused(encoder=vectors) == []
    (lake / "new.csv").write_text("name\nGeneva\nBasel\n")
    with pytest.raises(InputError, match="opened only if you name it"):
        build()
    monkeypatch.setenv("LAKEJOIN_ENCODER", str(vectors))
    assert fused() == [] and opened.similar(query, tau=0.6).tau == 0.6
    assert build().new == 1
    monkeypatch.setenv("LAKEJOIN_ENCODER", "characters")
    with pytest.raises(InputError, match="did not make the vectors of this index"):
        lakejoin.open(tmp_path / "index").similar(query)


def test_a_forged_path_is_not_opened(lake: Path, build: Build, tmp_path: Path) -> None:
    build(lake, encoder="characters")
    pipe = tmp_path / "pipe"  # opening it would wait for ever
    os.mkfifo(pipe)
    index = Location.of(tmp_path / "index")
    manifest = read_manifest(index)
    assert manifest.options.meaning is not None
    forged = replace(manifest.options.meaning, encoder=str(pipe))
    manifest = replace(manifest, options=replace(manifest.options, meaning=forged))
    (index / "MANIFEST.json").replace(manifest.to_bytes())
    opened = lakejoin.open(tmp_path / "index")
    with pytest.raises(InputError, match="opened only if you name it"):
        opened.similar({"word": ["bern", "oslo"]})
    assert opened.search({"city": ["bern", "oslo"]}) is not None
