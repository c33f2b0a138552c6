"""Every answer becomes a frame; a lake is looked up like a mapping."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import lakejoin
from conftest import Index
from lakejoin.render.answer_base import AnswerBase


@pytest.fixture
def lake(tmp_path: Path, index: Index) -> lakejoin.Lake:
    folder = tmp_path / "lake"
    folder.mkdir()
    towns = [f"town {chr(97 + i)}{i * 7}" for i in range(20)]
    (folder / "towns.csv").write_text(
        "town,people\n" + "".join(f"{t},{i * 1000 + 17}\n" for i, t in enumerate(towns))
    )
    (folder / "codes.csv").write_text(
        "place,code\n" + "".join(f"{t},{t[-1]}X{i}\n" for i, t in enumerate(towns))
    )
    (folder / "more.csv").write_text("town,people\nelsewhere,5\nsomewhere,6\n")
    index(folder)
    return lakejoin.open(tmp_path / "index")


def test_every_answer_is_a_frame(lake: lakejoin.Lake) -> None:
    answers = {
        "search": lake.search("towns.csv"),
        "overlap": lake.overlap("towns.csv", on="town"),
        "paths": lake.paths("towns.csv", "codes.csv"),
        "relations": lakejoin.relations(lake),
        "predicates": lakejoin.predicates(lake["towns.csv"], lake["codes.csv"]),
    }
    for name, answer in answers.items():
        table = answer.to_arrow()
        assert table.num_rows == len(answer), name
        assert answer.to_polars().height == len(answer.to_pandas()) == len(answer), name
    row = answers["search"].to_arrow().to_pylist()[0]
    assert (row["table"], row["mine"], row["theirs"]) == ("codes.csv", ["town"], ["place"])
    assert (row["matched"], row["adds"]) == (20, ["code"])
    assert answers["search"][:0].to_arrow().num_rows == 0


def test_a_lake_is_looked_up_like_a_mapping(lake: lakejoin.Lake) -> None:
    with lake as same:
        assert same["codes.csv"].rows == 20
    assert "codes.csv" in lake and "nowhere.csv" not in lake and 7 not in lake
    assert [table.name for table in lake] == ["codes.csv", "more.csv", "towns.csv"]
    with pytest.raises(lakejoin.UnknownTable, match=r"did you mean codes\.csv"):
        lake["code.csv"]


def test_relations_as_frames() -> None:
    frames = {"films": {"id": ["f1", "f2"]}, "roles": {"film": ["f1", "f1", "f2"]}}
    row = lakejoin.relations(frames).to_arrow().to_pylist()[0]
    assert (row["table"], row["columns"], row["key_table"]) == ("roles", ["film"], "films")


@dataclass
class One:
    value: Any

    def to_dict(self) -> dict[str, Any]:
        return {"value": self.value}


@dataclass
class Several(AnswerBase[One]):
    results: tuple[One, ...]
    notes: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("values", "column"),
    [
        ([[], [{"a": 1}], None], ["[]", '[{"a": 1}]', None]),
        ([[], ["x"], None], [[], ["x"], None]),
        ([{"a": "é"}, {}], ['{"a": "é"}', "{}"]),
    ],
)
def test_what_is_nested_in_some_results_is_json_in_all(values: Any, column: Any) -> None:
    answer = Several(tuple(map(One, values)))
    assert answer.to_arrow()["value"].to_pylist() == column
