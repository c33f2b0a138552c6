"""The documented examples, naughty strings and the rest of canonical values."""

from __future__ import annotations

import doctest
import json
import os
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lakejoin.model import ValueRules
from lakejoin.values.canonical_values import (
    AMBIGUOUS_DATE_FORMAT,
    DATE_FORMATS,
    canonical,
    canonicalise,
)
from oracle import values as oracle

_ROOT = Path(__file__).parents[2]
_DOC = _ROOT / "docs" / "values.md"
_DATA = Path(os.environ.get("LAKEJOIN_TEST_DATA", _ROOT.parent / "shared" / "data"))


def _rows(columns: int) -> list[list[str]]:
    rows = []
    for line in _DOC.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip(" ") for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| `") and len(cells) >= columns:
            rows.append(cells)
    return rows


def _quoted(cell: str) -> list[str | None]:
    return [None if word == "null" else word[1:-1] for word in re.findall(r"`[^`]*`|null", cell)]


_TYPES = ("text", "integer", "decimal", "date", "boolean", "mixed", "empty")
_COLUMNS = [row for row in _rows(3) if row[2] in _TYPES]
_CELLS = [row for row in _rows(2) if row not in _COLUMNS]


def _column(texts: list[str], rules: ValueRules | None = None) -> tuple[list[str | None], str, str]:
    found = canonicalise(
        pa.array(texts, pa.large_string()), np.ones(len(texts), np.int64), rules or ValueRules()
    )
    return found.text.to_pylist(), found.type.value, found.date_format


def test_the_page_has_its_tables() -> None:
    assert len(_CELLS) > 40
    assert len(_COLUMNS) > 15


@pytest.mark.parametrize("row", _CELLS, ids=lambda row: row[0])
def test_documented_cells(row: list[str]) -> None:
    assert canonical(row[0].strip("`")) == _quoted(row[1])[0]


@pytest.mark.parametrize("row", _COLUMNS, ids=lambda row: row[0])
def test_documented_columns(row: list[str]) -> None:
    texts = [str(text) for text in _quoted(row[0])]
    values, kind, _ = _column(texts)
    assert (values, kind) == (_quoted(row[1]), row[2])
    assert oracle.column(texts).values == dict(zip(texts, values, strict=True))


def test_the_page_runs() -> None:
    assert doctest.testfile(str(_DOC), module_relative=False).failed == 0


@pytest.mark.parametrize("word", [*sorted(oracle.SURE_NULLS), *sorted(oracle.LETTER_NULLS)])
def test_documented_null_words(word: str) -> None:
    assert f"`{word}`" in _DOC.read_text(encoding="utf-8")
    assert canonical(word) is None
    assert canonical(f" {word.upper()}\t") is None
    assert canonical(word, ValueRules(fold=False)) == word


@pytest.mark.parametrize(
    ("texts", "date_format"),
    [
        (["31/01/2020"], "d/m/y"),
        (["01/31/2020"], "m/d/y"),
        (["05/04/2020"], AMBIGUOUS_DATE_FORMAT),
        (["2020-01-31", "2020-02-01", "1 May 2020"], "y-m-d"),
        (["1 May 2020"], "d month y"),
        (["1 May 2020", "x", "y"], ""),
        (["05/04/2020", "x", "y"], ""),
        (["31/01/2020", "01/31/2020"], AMBIGUOUS_DATE_FORMAT),
        (["x"], ""),
    ],
)
def test_the_date_format_is_told(texts: list[str], date_format: str) -> None:
    assert _column(texts)[2] == date_format
    assert date_format in (*DATE_FORMATS, AMBIGUOUS_DATE_FORMAT)


def test_separators_are_decided_one_by_one() -> None:
    values, _, _ = _column(["31/01/2020", "05/04/2020", "05-04-2020", "12-31-2020"])
    assert values == ["2020-01-31", "2020-04-05", "2020-05-04", "2020-12-31"]


def test_extra_nulls_are_compared_as_canonical_values() -> None:
    rules = ValueRules(extra_nulls=("-999.0", "Keine  Angabe", "e\u0301"))
    assert _column(["-999", "keine angabe", "É", "E\u0301", "x"], rules)[0] == [None] * 4 + ["x"]
    assert _column(["-999", "-999.0"], ValueRules(False, ("-999",)))[0] == [None, "-999.0"]


def test_no_texts_at_all() -> None:
    assert _column([]) == ([], "empty", "")


def test_a_slice_of_a_larger_array() -> None:
    whole = pa.array(["A", "B ", "7.0", "C"], pa.large_string())
    found = canonicalise(whole.slice(1, 2), np.ones(2, np.int64), ValueRules())
    assert found.text.to_pylist() == ["b", "7"]


def test_naughty_strings() -> None:
    path = _DATA / "messy_csv" / "blns" / "blns.json"
    if not path.exists():
        pytest.skip(f"no naughty strings at {path}: set LAKEJOIN_TEST_DATA")
    texts = list(dict.fromkeys(json.loads(path.read_text(encoding="utf-8"))))
    values, kind, _ = _column(texts)
    expected = oracle.column(texts)
    assert dict(zip(texts, values, strict=True)) == expected.values
    assert kind == expected.type
