"""A file is written whole or not at all, and reads back as what was written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import lakejoin
from lakejoin.errors import InputError
from lakejoin.formats.table_stream import Table
from lakejoin.joins.output import EXTENSIONS, check_output, write_table

ROWS = {
    "town": ["Zürich", 'a "b", c\nd', None, "日本"],
    "people": ["1", "2", "3", "4"],
}
BATCHES = pa.table(ROWS).to_batches(max_chunksize=3)


@pytest.mark.parametrize("ending", EXTENSIONS)
def test_what_is_written_reads_back(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out{ending}"
    assert write_table(BATCHES, BATCHES[0].schema, path) == path.stat().st_size
    found = lakejoin.read(path)
    assert isinstance(found, Table)
    assert {n: [str(v or "") for v in c] for n, c in found.rows.to_pydict().items()} == {
        name: [value or "" for value in column] for name, column in ROWS.items()
    }
    before = path.read_bytes()
    write_table(BATCHES, BATCHES[0].schema, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", EXTENSIONS)
def test_no_rows_is_a_table_too(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out{ending}"
    write_table([], BATCHES[0].schema, path)
    found = lakejoin.read(path)
    assert isinstance(found, Table)
    assert found.column_names == ("town", "people")
    assert found.rows.num_rows == 0


@pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("ending", EXTENSIONS)
def test_the_old_file_stays_until_the_new_is_whole(
    tmp_path: Path, ending: str, stop: type[BaseException]
) -> None:
    path = tmp_path / f"out{ending}"
    path.write_text("old")

    def broken() -> Iterator[pa.RecordBatch]:
        yield BATCHES[0]
        raise stop

    with pytest.raises(stop):
        write_table(broken(), BATCHES[0].schema, path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"out.xyz: unknown format; .* one of .csv"):
        check_output(tmp_path / "out.xyz")
    with pytest.raises(InputError, match="does not exist"):
        check_output(tmp_path / "nowhere" / "out.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        check_output(tmp_path / "folder.csv")
    check_output(tmp_path / "OUT.CSV")


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_is_there_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:

        def refuse(self: Path, target: Path) -> None:
            raise PermissionError("no links here")

        monkeypatch.setattr(Path, "hardlink_to", refuse)
    path = tmp_path / "out.csv"

    def slow() -> Iterator[pa.RecordBatch]:
        yield BATCHES[0]
        path.write_text("somebody else was quicker")

    with pytest.raises(InputError, match="is never overwritten"):
        write_table(slow(), BATCHES[0].schema, path, overwrite=False)
    assert path.read_text() == "somebody else was quicker"
    path.unlink()
    assert write_table(BATCHES, BATCHES[0].schema, path, overwrite=False) == path.stat().st_size
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
