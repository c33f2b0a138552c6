"""Arrow files whose offsets lead elsewhere: whoever believes them reads foreign memory."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakejoin
from http_server.served import Served
from lakejoin.errors import UnreadableFile

KEYS = ["k0", "k1", "k2", "k3"]
TEXTS = ["abc", "defgh", "ij", "klmnopq"]
TRUE = [0, 3, 8, 10, 17]  # where those texts begin and end


def untrue(values: Any, true: list[int], false: list[int], kind: str, new: Any) -> bytes:
    """A file of Arrow with some numbers in it replaced."""
    table = pa.table({"key": KEYS, "x": values})
    data = io.BytesIO()
    with new(data, table.schema) as writer:
        writer.write_table(table)
    before, after = np.array(true, kind).tobytes(), np.array(false, kind).tobytes()
    assert data.getvalue().count(before) == 1
    return data.getvalue().replace(before, after)


CASES = {
    "beyond the end": (pa.array(TEXTS), TRUE, [0, 3, 8, 10, 90_000_000], "<i4"),
    "beyond the end, within": (pa.array(TEXTS), TRUE, [0, 3, 300_000, 10, 17], "<i4"),
    "before the beginning": (pa.array(TEXTS), TRUE, [0, -5_000, 8, 10, 17], "<i4"),
    "backwards": (pa.array(TEXTS), TRUE, [0, 10, 3, 10, 17], "<i4"),
    "long texts": (pa.array(TEXTS, pa.large_string()), TRUE, [0, 3, 1 << 40, 10, 17], "<i8"),
    "bytes": (pa.array([b"abc", b"defgh", b"ij", b"klmnopq"]), TRUE, [0, 3, 9_000, 10, 17], "<i4"),
    "lists": (pa.array([[1], [2, 3], [4], [5, 6]]), [0, 1, 3, 4, 6], [0, 1, 9_000, 4, 6], "<i4"),
    "a dictionary": (
        pa.DictionaryArray.from_arrays(pa.array([3, 1, 2, 0], pa.int32()), pa.array(TEXTS)),
        [3, 1, 2, 0],
        [3, 1, 900_000, 0],
        "<i4",
    ),
}


@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream], ids=["file", "stream"])
@pytest.mark.parametrize("case", CASES)
def test_offsets_that_lead_elsewhere_are_refused(served: Served, case: str, new: Any) -> None:
    data = untrue(*CASES[case], new)
    given = {"params": {"name": "x.arrow"}, "content": data}
    status, error = served.problem("POST", "uploads", **given)
    assert (status, error["kind"]) == (400, "input"), error
    assert served.process.poll() is None


def test_the_same_when_they_are_read_without_a_server(tmp_path: Path) -> None:
    (tmp_path / "x.arrow").write_bytes(untrue(*CASES["backwards"], pa.ipc.new_file))
    with pytest.raises(UnreadableFile, match="damaged Arrow file"):
        lakejoin.read(tmp_path / "x.arrow")


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_texts_that_are_not_utf_8_are_repaired(served: Served, form: str) -> None:
    raw = pa.array([b"B\xe4r", b"Ulm"]).view(pa.string())
    table, data = pa.table({"town": raw, "n": [1, 2]}), io.BytesIO()
    if form == "parquet":
        pq.write_table(table, data)
    else:
        with pa.ipc.new_file(data, table.schema) as writer:
            writer.write_table(table)
    id = served.upload(f"towns.{form}", data.getvalue())["tables"][0]["id"]
    assert served.get("rows", table=id)["rows"] == [["B\ufffdr", 1], ["Ulm", 2]]
    assert served.get("distribution", table=id, column=0)["values"]
    for format in ("csv", "parquet", "arrow"):
        answer = served.http.get("/api/v1/export", params={"table": id, "format": format})
        assert answer.status_code == 200
    served.post("search", {"table": id, "on": ["town"], "by": "overlap"})
