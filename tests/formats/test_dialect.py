"""One table written in many ways is read as the same table."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakejoin.errors import UnreadableFile
from lakejoin.formats.delimited.text_layout import detect_layout
from lakejoin.formats.file_reader import Table, read

HEADER = ["id", "day", "town", "note", "price", "seen"]
TOWNS = ["Ulm", "Bad Tölz", "Köln", "Sankt Goar", "Trier", "Hof"]
ROWS = [
    [
        str(i),
        f"{1 + i % 28:02d}/03/2021",
        TOWNS[i % 6],
        ["plain words", 'he said "no", twice', "a; b, c", "it's fine", "two\nlines", ""][i % 6],
        f"${i}.{i % 90 + 10}",
        f"{i % 24:02d}:15",
    ]
    for i in range(40)
]


@dataclass(frozen=True)
class Way:
    """How to write the table."""

    delimiter: str = ","
    quote: str = '"'
    escape: str | None = None
    end: str = "\r\n"
    all_quoted: bool = False


def written(rows: list[list[str]], way: Way) -> str:
    def cell(text: str) -> str:
        special = (way.delimiter[0], way.quote, "\n", "\r")
        if not way.all_quoted and not any(mark in text for mark in special):
            return text
        mark = way.quote * 2 if way.escape is None else way.escape + way.quote
        return way.quote + text.replace(way.quote, mark) + way.quote

    return "".join(way.delimiter.join(map(cell, row)) + way.end for row in rows)


def table_of(tmp_path: Path, data: str | bytes, name: str = "t.csv") -> Table:
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    table = read(path)
    assert isinstance(table, Table)
    return table


def rows_of(table: Table) -> list[list[str]]:
    columns = [column.to_pylist() for column in table.to_arrow().columns]
    return [["" if cell is None else cell for cell in row] for row in zip(*columns, strict=True)]


WAYS = {
    "comma": Way(),
    "semicolon": Way(";"),
    "tab": Way("\t"),
    "pipe": Way("|", end="\n"),
    "caret": Way("^"),
    "tilde": Way("~"),
    "comma and blank": Way(", "),
    "blank": Way(" "),
    "control": Way("\x01"),
    "two pipes": Way("||"),
    "two colons": Way("::"),
    "section": Way("§"),
    "single quotes": Way(quote="'"),
    "single quotes and semicolon": Way(";", quote="'", end="\n"),
    "backslash": Way(escape="\\"),
    "line feeds": Way(end="\n"),
    "all quoted": Way(all_quoted=True),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_the_same_table_in_many_dialects(tmp_path: Path, way: Way) -> None:
    table = table_of(tmp_path, written([HEADER, *ROWS], way))
    assert list(table.column_names) == HEADER
    assert rows_of(table) == ROWS
    assert table.losses == ()
    assert table.dialect is not None
    assert table.dialect.delimiter == way.delimiter
    assert table.dialect.confidence > 0.2
    assert table.dialect.opinions


def test_carriage_returns_only(tmp_path: Path) -> None:
    rows = [[cell.replace("\n", " ") for cell in row] for row in ROWS]
    table = table_of(tmp_path, written([HEADER, *rows], Way(end="\r")))
    assert rows_of(table) == rows


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-16-le"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_unicode_encodings(tmp_path: Path, encoding: str, end: str) -> None:
    table = table_of(tmp_path, written([HEADER, *ROWS], Way(end=end)).encode(encoding))
    assert rows_of(table) == ROWS


def test_windows_and_latin(tmp_path: Path) -> None:
    text = written([HEADER, *ROWS], Way()).replace("plain words", "“words” €")
    assert rows_of(table_of(tmp_path, text.encode("cp1252")))[0][3] == "“words” €"
    text = written([HEADER, *ROWS], Way())
    table = table_of(tmp_path, text.encode("latin-1"))
    assert rows_of(table) == ROWS


@pytest.mark.parametrize(
    "top", ["A report\r\n\r\n", "A report,,,,,\r\n,,,,,\r\n", "# made by us\r\n"]
)
def test_lines_before_the_table(tmp_path: Path, top: str) -> None:
    table = table_of(tmp_path, top + written([HEADER, *ROWS], Way()))
    assert rows_of(table) == ROWS
    assert [loss.reason for loss in table.losses] == ["line before the table"]
    assert table.dialect is not None
    assert table.dialect.skip_rows >= 1


@pytest.mark.parametrize("bottom", ["\r\n\r\nSource: us\r\n", ",,,,,\r\n,,,,,\r\n", "(c) us\r\n"])
def test_lines_after_the_table(tmp_path: Path, bottom: str) -> None:
    table = table_of(tmp_path, written([HEADER, *ROWS], Way()) + bottom)
    assert rows_of(table) == ROWS
    assert sum(loss.count for loss in table.losses) == (2 if "," in bottom else 1)


def test_no_header(tmp_path: Path) -> None:
    table = table_of(tmp_path, written(ROWS, Way()))
    assert rows_of(table) == ROWS
    assert table.column_names[:2] == ("col_0", "col_1")
    assert table.dialect is not None
    assert not table.dialect.header


def test_years_are_a_header(tmp_path: Path) -> None:
    body = "".join(f"{town},{i}.5,{i}.25,{i}.1\n" for i, town in enumerate(TOWNS))
    table = table_of(tmp_path, "town,1990,1991,1992\n" + body)
    assert table.column_names == ("town", "1990", "1991", "1992")


def test_a_header_of_two_lines(tmp_path: Path) -> None:
    body = "".join(f"{1990 + i},{i},{i}.5,{i},{i}.25\n" for i in range(9))
    table = table_of(tmp_path, ",Men,,Women,\nYear,n,rate,n,rate\n" + body)
    assert table.column_names == ("Year", "Men n", "Men rate", "Women n", "Women rate")
    assert table.to_arrow().num_rows == 9


def test_names_are_made_unique(tmp_path: Path) -> None:
    table = table_of(tmp_path, "a,a,,A,b\n1,2,3,4,5\n2,3,4,5,6\n")
    assert table.column_names == ("a", "a_2", "column_3", "A", "b")
    assert len(table.notes) == 2


DAY = "05/03/2021"
WELL = ["7", DAY, "Ulm", "x", "$1.50", "01:00"]


@pytest.mark.parametrize(
    ("line", "cells", "reason"),
    [
        (f"7,,{DAY},Ulm,x,$1.50,01:00", WELL, "too many"),
        (f"7,{DAY},Ulm,x,$1.50", [*WELL[:5], ""], "too few"),
        (f'7,{DAY},"Ulm,x,$1.50,01:00', ["7", DAY, '"Ulm', "x", "$1.50", "01:00"], None),
        (f"7;{DAY};Ulm;x;$1.50;01:00", WELL, "another"),
        (f"7,{DAY},Ulm,x, y,$1.50,01:00", ["7", DAY, "Ulm", "x, y", "$1.50", "01:00"], "too many"),
    ],
)
def test_rows_that_do_not_fit(
    tmp_path: Path, line: str, cells: list[str], reason: str | None
) -> None:
    lines = written([HEADER, *ROWS], Way())
    table = table_of(tmp_path, lines + line + "\r\n" + written(ROWS, Way()))
    assert rows_of(table) == [*ROWS, cells, *ROWS]
    assert (reason is None) == (not table.losses)
    assert reason is None or reason in table.losses[0].reason


def test_one_column_only_where_it_is_one(tmp_path: Path) -> None:
    for text in ("name\nUlm\nTrier\nHof\n", "when\n12:05\n13:10\n14:20\n", 'x\n"1,5"\n"2,5"\n'):
        table = table_of(tmp_path, text)
        assert len(table.column_names) == 1
        assert table.to_arrow().num_rows == text.count("\n") - 1


@pytest.mark.parametrize("data", [b"", b"\n\n\n", b"\x00\x00\x00"])
def test_empty_files(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(UnreadableFile, match="empty file"):
        table_of(tmp_path, data)


@pytest.mark.parametrize("data", [b"<!DOCTYPE html><html>", b"%PDF-1.7 x", bytes(range(256)) * 40])
def test_what_is_no_table(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(UnreadableFile, match="not a table"):
        table_of(tmp_path, data)


def test_nothing_but_a_header(tmp_path: Path) -> None:
    table = table_of(tmp_path, "foo,bar,baz")
    assert table.column_names == ("foo", "bar", "baz")
    assert table.to_arrow().num_rows == 0


WORDS = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=8)
ROW = st.tuples(st.integers(0, 10**6), st.dates(), WORDS, st.floats(0, 1e6), WORDS)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(ROW, min_size=6, max_size=30), st.sampled_from(",;\t|"), st.booleans())
def test_any_values_in_any_common_dialect(
    tmp_path: Path, rows: list[tuple[object, ...]], delimiter: str, everything: bool
) -> None:
    header = ["id", "date", "name", "value", "comment"]
    texts = [[str(cell) for cell in row] for row in rows]
    out = io.StringIO()
    quoting = csv.QUOTE_ALL if everything else csv.QUOTE_MINIMAL
    csv.writer(out, delimiter=delimiter, quoting=quoting).writerows([header, *texts])
    layout = detect_layout(out.getvalue(), "t.csv")
    assert layout is not None
    assert layout.dialect.delimiter == delimiter
    assert layout.names == tuple(header)
    table = table_of(tmp_path, out.getvalue())
    assert rows_of(table) == texts
