"""The catalog gives back what it was told, also one that was written before notes were kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakejoin.locations import Location
from lakejoin.model import Dialect, Loss, TableData
from lakejoin.store import catalog
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.catalog import Catalog, CatalogWriter, TableEntry

DIALECT = Dialect(delimiter=";", confidence=0.5, opinions=("records say ';'",))
LOSSES = (Loss("row too long", 3, "first at line 17"),)
NOTES = ("column 2 repeats the name 'ä' and is called 'ä_2'", "column 3 had no name")


def written_and_read(path: Path) -> TableEntry:
    writer = CatalogWriter()
    writer.add_table(TableData("t", "s", 2, (), "csv", DIALECT, LOSSES, NOTES), 0)
    with ArrayFileWriter(Location.of(path)) as out:
        writer.write(out)
    return Catalog(ArrayFile(Location.of(path), out.record)).table(0)


def test_a_table_comes_back(tmp_path: Path) -> None:
    expected = TableEntry(0, "t", "s", 2, 0, 0, "csv", DIALECT, LOSSES, NOTES)
    assert written_and_read(tmp_path / "catalog.lj") == expected


def test_a_catalog_without_notes_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = catalog._table_schema()
    older = schema.remove(schema.get_field_index("notes"))
    monkeypatch.setattr(catalog, "_table_schema", lambda: older)
    entry = written_and_read(tmp_path / "catalog.lj")
    assert (entry.losses, entry.notes) == (LOSSES, ())


def test_entries_are_right_beyond_those_that_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "_KEPT", 2)
    writer = CatalogWriter()
    for number in range(5):
        writer.add_table(TableData(f"t{number}", "s", number, ()), 0)
    with ArrayFileWriter(Location.of(tmp_path / "catalog.lj")) as out:
        writer.write(out)
    tables = Catalog(ArrayFile(Location.of(tmp_path / "catalog.lj"), out.record))
    for number in [0, 1, 2, 0, 4, 3, 3, 1]:
        assert (tables.table(number).name, tables.table(number).rows) == (f"t{number}", number)
        assert len(tables._entries) <= 2
