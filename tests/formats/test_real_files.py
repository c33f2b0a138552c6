"""Real messy files, where they are present: the goals of reading, held on a part of them."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from lakejoin.formats.file_reader import Table, open_tables, read
from lakejoin.formats.table_stream import TableStream
from lakejoin.sources.lake_files import list_files

PROJECT = Path(__file__).parents[2]
DATA = Path(os.environ.get("LAKEJOIN_TEST_DATA", PROJECT.parent / "shared" / "data"))
MESSY, LAKE = DATA / "messy_csv", DATA / "lake"

needs_messy = pytest.mark.skipif(not MESSY.is_dir(), reason=f"there is no {MESSY}")
needs_lake = pytest.mark.skipif(not LAKE.is_dir(), reason=f"there is no {LAKE}")


@pytest.fixture(scope="module")
def quality() -> Iterator[ModuleType]:
    sys.path.insert(0, str(PROJECT / "benchmarks"))
    yield importlib.import_module("read_quality")
    sys.path.remove(str(PROJECT / "benchmarks"))


@needs_messy
def test_pollock_scores(quality: ModuleType) -> None:
    pollock = quality.Pollock(MESSY)
    every = {"polluted_files": 6, "survey_sample": 1}
    found = {part: pollock.run(part, quality.ours, step) for part, step in every.items()}
    assert found["polluted_files"]["simple"] >= 9.95
    assert found["survey_sample"]["simple"] >= 9.2
    assert all(f["failed"] == 0 and f["read_as_one_column"] == 0 for f in found.values())


@needs_messy
def test_w3c_dialects(quality: ModuleType) -> None:
    found = quality.w3c_dialects(MESSY)
    assert found["delimiter_right"] == found["files"]
    assert found["encoding_right"] >= 0.99 * found["files"]


@needs_messy
def test_small_collections(quality: ModuleType) -> None:
    found = quality.small_collections(MESSY)
    # One truth names another phone number, one had its line ends changed; one file is empty.
    assert set(found["csv-spectrum"]["wrong"]) <= {"location_coordinates", "newlines_crlf"}
    assert set(found["csv-test-data"]["wrong"]) <= {"all-empty"}


@needs_lake
def test_the_lakes_headers_and_delimiters() -> None:
    """Every eighth table: `.dat` files have no header, nearly all others have one."""
    wrong = []
    files = list_files([str(LAKE)])
    for source in [f for i, f in enumerate(files) if i % 8 == 0 or f.name.endswith(".dat")]:
        (stream,) = open_tables(source)
        assert isinstance(stream, TableStream)
        assert stream.dialect is not None
        if stream.dialect.header == source.name.endswith(".dat"):
            wrong.append(source.name)
        if source.name.endswith(".tsv"):
            assert stream.dialect.delimiter == "\t", source.name
    assert len(wrong) <= 2, wrong


@needs_messy
def test_bad_parquet_and_json_end_in_one_sentence() -> None:
    from lakejoin.errors import LakejoinError

    folders = [MESSY / "parquet-bad" / "bad_data", MESSY / "json-suite" / "test_parsing"]
    for path in [p for folder in folders for p in sorted(folder.iterdir())]:
        try:
            tables = read(path)
        except LakejoinError as problem:
            assert "\n" not in str(problem)
        else:
            for table in tables if isinstance(tables, list) else [tables]:
                assert isinstance(table, Table)
