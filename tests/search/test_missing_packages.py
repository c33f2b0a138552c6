"""Without a package that one kind of join needs, a search answers with the others, and says so."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import lakejoin
from fake_spark import FakeSpark
from lakejoin.encoders import wordllama
from lakejoin.joins.learned import row_samples
from lakejoin.lake import Lake


def make_towns(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [
        "".join(draw.choice("bdfglmnprst") + draw.choice("aeiou") for _ in range(4)).title()
        for _ in range(count)
    ]


TOWNS = make_towns(80, 1)
MINE = {"town": [*TOWNS[:60], *make_towns(20, 2)], "visits": [7 * n % 83 for n in range(80)]}


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
    """A lake with vectors, opened where neither the encoder nor suffix arrays are installed."""
    folder = tmp_path / "lake"
    folder.mkdir()
    people = [104_729 * n % 99_991 for n in range(80)]
    pyarrow.csv.write_csv(pa.table({"name": TOWNS, "people": people}), folder / "towns.csv")
    spelled = [f"{town}, City of" for town in TOWNS]
    pyarrow.csv.write_csv(pa.table({"place": spelled, "people": people}), folder / "cities.csv")
    lakejoin.index(folder, tmp_path / "index", spark=FakeSpark(), parts=["meaning"])
    wordllama.open_words.cache_clear()
    row_samples._divsufsort.cache_clear()
    monkeypatch.setattr(wordllama, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "pydivsufsort", None)
    yield lakejoin.open(tmp_path / "index")
    wordllama.open_words.cache_clear()


def test_a_search_leaves_out_what_it_cannot_do(lake: Lake) -> None:
    answer = lake.search(MINE)
    assert [result.table for result in answer][:1] == ["towns.csv"]
    assert (
        "joins on rewritten values were not searched: learned joins need pydivsufsort: "
        "pip install 'lakejoin[join]'" in answer.notes
    )
    assert (
        "joins by meaning were not searched: the default encoder needs the package wordllama: "
        "pip install 'lakejoin[meaning]'" in answer.notes
    )


def test_a_union_leaves_out_meaning(lake: Lake) -> None:
    answer = lake.union(MINE)
    assert (
        "columns were not compared by meaning: the default encoder needs the package wordllama: "
        "pip install 'lakejoin[meaning]'" in answer.notes
    )


def test_what_needs_the_package_names_it(lake: Lake) -> None:
    with pytest.raises(lakejoin.MissingDependency, match=r"pip install 'lakejoin\[meaning\]'"):
        lake.similar(MINE, "town")
