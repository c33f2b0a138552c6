"""Readers that die, hang or starve take only their child process with them."""

from __future__ import annotations

import datetime
import sys
import zipfile
from pathlib import Path

import pytest

from lakejoin.errors import UnreadableFile
from lakejoin.formats.file_reader import Table, open_tables, open_tables_isolated, read
from lakejoin.formats.table_stream import Blob, TableStream
from lakejoin.model import ReadLimits, Skipped, SourceFile

pytest.importorskip("python_calamine")

_TYPES = """<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/>
<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>
</Types>"""  # noqa: E501
_RELATIONS = """<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
{}</Relationships>"""
_KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def workbook(path: Path, sheets: dict[str, str]) -> None:
    """Writes the least workbook that holds these sheets, given as XML rows."""
    ids = list(enumerate(sheets, start=1))
    names = "".join(f'<sheet name="{n}" sheetId="{i}" r:id="rId{i}"/>' for i, n in ids)
    parts = "".join(
        f'<Relationship Id="rId{i}" Type="{_KIND}worksheet" Target="worksheets/s{i}.xml"/>'
        for i, _ in ids
    )
    root = f'<Relationship Id="rId1" Type="{_KIND}officeDocument" Target="xl/workbook.xml"/>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        archive.writestr("_rels/.rels", _RELATIONS.format(root))
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{_MAIN}" xmlns:r="{_KIND[:-1]}"><sheets>{names}</sheets></workbook>',
        )
        archive.writestr("xl/_rels/workbook.xml.rels", _RELATIONS.format(parts))
        for i, name in ids:
            body = f'<worksheet xmlns="{_MAIN}"><sheetData>{sheets[name]}</sheetData></worksheet>'
            archive.writestr(f"xl/worksheets/s{i}.xml", body)


def xml_rows(rows: list[list[object]]) -> str:
    out = []
    for r, row in enumerate(rows, start=1):
        cells = []
        for c, value in enumerate(row):
            place = f"{chr(65 + c)}{r}"
            if isinstance(value, str):
                cells.append(f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>')
            elif isinstance(value, bool):
                cells.append(f'<c r="{place}" t="b"><v>{int(value)}</v></c>')
            else:
                cells.append(f'<c r="{place}"><v>{value}</v></c>')
        out.append(f'<row r="{r}">{"".join(cells)}</row>')
    return "".join(out)


SPARSE = (
    '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
)


def source_of(path: Path) -> SourceFile:
    return SourceFile(path.name, str(path), path.stat().st_size, path.stat().st_mtime_ns)


def test_every_sheet(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    towns = [["town", "people", "old"], ["Ulm", 126000, True], ["Köln", 1.5, False]]
    workbook(path, {"Towns": xml_rows(towns), "Empty": "", "More": xml_rows([["a"], ["x"]])})
    found = list(open_tables(source_of(path)))
    assert [f.name for f in found] == ["book.xlsx#Towns", "book.xlsx#Empty", "book.xlsx#More"]
    assert isinstance(found[1], Skipped)
    assert isinstance(found[0], TableStream)
    assert Table.of(found[0]).to_arrow().to_pydict() == {
        "town": ["Ulm", "Köln"],
        "people": ["126000", "1.5"],
        "old": ["true", "false"],
    }
    tables = read(path)
    assert isinstance(tables, list)
    assert len(tables) == 2


def test_one_sheet_is_one_table(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    workbook(path, {"S": xml_rows([["Report of today"], [], ["id", "n"], ["a", 1], ["b", 2]])})
    table = read(path)
    assert isinstance(table, Table)
    assert table.column_names == ("id", "n")
    assert table.losses[0].reason == "line before the table"


def test_a_reader_that_starves(tmp_path: Path) -> None:
    path = tmp_path / "sparse.xlsx"
    workbook(path, {"S": SPARSE})
    with pytest.raises(UnreadableFile, match=r"sparse\.xlsx: reader ran out of memory"):
        list(open_tables(source_of(path), ReadLimits(child_bytes=1 << 30)))


def _reader(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """A file to read, and a child that does something else."""
    child = folder / "child.sh"
    child.write_text(f"#!/bin/sh\n{script}\n")
    child.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(child))
    (folder / "t.csv").write_text("a,b\n1,2\n")
    return folder / "t.csv"


def test_a_reader_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _reader(tmp_path, monkeypatch, "exec sleep 60")
    with pytest.raises(UnreadableFile, match=r"t\.csv: reader hung \(no answer in 1 seconds\)"):
        list(open_tables_isolated(Blob.of_file(source_of(path)), ReadLimits(child_seconds=1)))


def test_a_reader_that_is_slow_does_not_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a busy machine: by the clock it takes three times the limit, but it does something."""
    work = "for i in 1 2 3 4 5 6 7 8; do sleep 0.4; head -c 20000000 /dev/zero | wc -c; done"
    path = _reader(tmp_path, monkeypatch, f"{work} > /dev/null\nexit 3")
    with pytest.raises(UnreadableFile, match=r"t\.csv: reader died \(exit code 3\)"):
        list(open_tables_isolated(Blob.of_file(source_of(path)), ReadLimits(child_seconds=1)))


def test_the_child_reads_what_the_parent_reads(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Title\n\nid;day\n1;2020-01-31\n2;2020-02-01;\n3;2020-02-02\n")
    (stream,) = open_tables_isolated(Blob.of_file(source_of(path)), ReadLimits())
    assert isinstance(stream, TableStream)
    table, here = Table.of(stream), read(path)
    assert isinstance(here, Table)
    assert table.rows.equals(here.rows)
    assert (table.dialect, table.losses, table.notes) == (here.dialect, here.losses, here.notes)


def test_the_childs_errors_come_back(tmp_path: Path) -> None:
    path = tmp_path / "t.html"
    path.write_text("<html></html>")
    with pytest.raises(UnreadableFile, match="not a table"):
        list(open_tables_isolated(Blob.of_file(source_of(path)), ReadLimits()))


def test_dates_are_iso() -> None:
    from lakejoin.formats.table_containers import cell_text

    assert cell_text(datetime.datetime(2020, 1, 31)) == "2020-01-31"
    assert cell_text(datetime.datetime(2020, 1, 31, 5, 6)) == "2020-01-31 05:06:00"
