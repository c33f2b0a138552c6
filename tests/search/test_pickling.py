"""Answers and results in another process, and as copies."""

from __future__ import annotations

import copy
import csv
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import lakejoin
from fake_spark import FakeSpark
from lakejoin.errors import InputError

TOWNS = [f"Town {n} of {n * 7919 % 1000}" for n in range(200)]


def write(path: Path, *rows: Any) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("pickling")
    lake, mine = folder / "lake", folder / "mine.csv"
    lake.mkdir()
    places = [[town, n, 47 + n / 100, 8 + n / 100] for n, town in enumerate(TOWNS)]
    write(lake / "towns.csv", ["town", "people", "lat", "lon"], *places)
    write(lake / "rain.csv", ["place", "mm"], *[[TOWNS[n % 150], n] for n in range(600)])
    write(mine, ["town", "visits", "lat", "lon"], *places[20:120])
    write(lake / "more.csv", ["town", "visits", "lat", "lon"], *places[100:180])
    lakejoin.index(lake, folder / "index", spark=FakeSpark(), parts=["distance"])
    opened = lakejoin.open(folder / "index")
    found = {
        "search": opened.search(mine),
        "not final": next(iter(opened.search_progressively(mine))),
        "overlap": opened.overlap(mine, on="town"),
        "every column": opened.overlap(mine, on="*"),
        "containment": opened.containment(mine, on="town"),
        "composite": opened.composite(mine, on=["town", "visits"]),
        "nearby": opened.nearby(mine, within="500m"),
        "union": opened.union(mine),
        "paths": opened.paths(mine, "rain.csv"),
        "predicates": lakejoin.predicates(mine, lake / "rain.csv"),
        "relations": lakejoin.relations(opened),
    }
    for name, answer in list(found.items()):
        assert len(answer), name
        found[f"the first of {name}"] = answer[0]
    return {**found, "a candidate": found["search"][0].candidates[0]}


NAMES = ("search", "not final", "overlap", "every column", "containment", "composite", "nearby",
         "union", "paths", "predicates", "relations")  # fmt: skip
ALL = (*NAMES, *(f"the first of {name}" for name in NAMES), "a candidate")


def shown(answer: Any) -> tuple[Any, str, Any]:
    fields = answer.to_dict() if hasattr(answer, "to_dict") else answer
    text = repr(answer) if hasattr(answer, "__len__") else ""
    return fields, text, getattr(answer, "final", None)


@pytest.mark.parametrize("name", ALL)
def test_a_pickle_shows_the_same(answers: dict[str, Any], name: str) -> None:
    answer = answers[name]
    again = pickle.loads(pickle.dumps(answer))
    assert isinstance(again, type(answer))
    fields, text, final = shown(answer)
    assert shown(again) == (fields, text, final)
    assert shown(pickle.loads(pickle.dumps(again))) == (fields, text, final)


@pytest.mark.parametrize("name", ALL)
def test_copies_show_the_same(answers: dict[str, Any], name: str) -> None:
    for copied in (copy.copy(answers[name]), copy.deepcopy([answers[name]])[0]):
        assert shown(copied) == shown(answers[name])


def test_a_copy_keeps_its_index(answers: dict[str, Any]) -> None:
    result = copy.deepcopy(answers["overlap"])[0]
    assert result.unmatched().num_rows == result.query_size - result.matched


def test_a_result_without_its_index_says_so(answers: dict[str, Any]) -> None:
    result = pickle.loads(pickle.dumps(answers["overlap"]))[0]
    for ask in (result.matches, result.unmatched, result.sql):
        with pytest.raises(InputError, match="detached from its index; search again"):
            ask()


def test_answers_go_to_other_processes(answers: dict[str, Any]) -> None:
    given = [answers[name] for name in ALL]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        there_and_back = pool.submit(copy.copy, given).result(60)
    assert shown_all(there_and_back) == shown_all(given)


def shown_all(answers: list[Any]) -> list[Any]:
    return [shown(answer) for answer in answers]
