"""Keys that multiply rows are extended before they are shown; dense numbers are possible."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from joins.test_key_extension import make_seasons
from lakejoin.api import join
from lakejoin.errors import InputError
from lakejoin.lake import Lake
from lakejoin.ranking.answer import FusedAnswer, FusedResult
from lakejoin.ranking.join_arguments import join_arguments
from lakejoin.render.candidate_text import describe_verdict
from lakejoin.store.segment import COMPONENTS
from oracle.lakes import PlainTable
from oracle.search import lake_of

_SYLLABLES = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
_PLACES = [
    f"{first}{second}{third}".capitalize()
    for first in _SYLLABLES[::3]
    for second in _SYLLABLES[::7]
    for third in ("ton", "ville")
]
_STATES = ["AL", "CO", "IA", "KS", "MN", "NY", "OH", "TX", "UT", "WY"]


def plain(name: str, table: pa.Table) -> PlainTable:
    cells = {column: list(map(str, table[column].to_pylist())) for column in table.column_names}
    return PlainTable(name, cells)


def make_counties(seed: int = 3) -> tuple[pa.Table, pa.Table]:
    """ZIP codes with a county and a state, and the counties, whose names are longer and repeat."""
    draw = random.Random(seed)
    names = draw.sample(_PLACES, 60)
    counties = [
        (name, state) for state in _STATES for name in draw.sample(names, 30)
    ]  # each name in five states
    right = pa.table({
        "fips": [f"{1_000 + 7 * n}" for n in range(len(counties))],
        "name": [f"{name} County" for name, _ in counties],
        "state": [state for _, state in counties],
    })  # fmt: skip
    chosen = [draw.choice(counties) for _ in range(900)]
    left = pa.table({
        "zip": [f"{10_000 + 61 * n}" for n in range(len(chosen))],
        "county": [name.upper() for name, _ in chosen],
        "state_abbr": [state for _, state in chosen],
    })  # fmt: skip
    return left, right


def make_orders(seed: int = 5) -> tuple[pa.Table, pa.Table]:
    """Payments of 300 clients of 400, and the customers, numbered from 1."""
    draw = random.Random(seed)
    people = pa.table({
        "customer_id": [str(n) for n in range(1, 401)],
        "name": [draw.choice(_PLACES) for _ in range(400)],
    })  # fmt: skip
    payments = pa.table({
        "payment": [f"P{n:05}" for n in range(300)],
        "client": [str(n) for n in draw.sample(range(1, 401), 300)],
    })  # fmt: skip
    return payments, people


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    tables = [
        plain("teams.csv", make_seasons()[1]),
        plain("counties.csv", make_counties()[1]),
        plain("customers.csv", make_orders()[1]),
    ]
    return lake_of(tmp_path_factory.mktemp("keys"), [tables], components=COMPONENTS)


def find(answer: FusedAnswer, table: str) -> FusedResult:
    return next(result for result in answer if result.table == table)


def count_pairs(left: pa.Table, right: pa.Table, on: dict[str, str]) -> int:
    """The rows of an inner join, by brute force."""
    keys = [
        Counter(zip(*(map(str, table[name].to_pylist()) for name in names), strict=True))
        for table, names in ((left, on), (right, on.values()))
    ]
    return sum(rows * keys[1][key] for key, rows in keys[0].items())


def test_a_team_needs_its_year(lake: Lake) -> None:
    left, right = make_seasons()
    first, *others = find(lake.search(left), "teams.csv").candidates
    pairs = dict(zip(first.query_columns, first.lake_columns, strict=True))
    assert pairs == {"teamID": "teamID", "yearID": "yearID"}
    assert first.result.fan_out == count_pairs(left, right, pairs) / left.num_rows == 1.0
    assert first.verdict == "strong" and not first.repeats
    shorter = next(other for other in others if other.query_columns == ("teamID",))
    assert shorter.superseded and shorter.repeats and shorter.sure < 0.9
    alone = count_pairs(left, right, {"teamID": "teamID"}) / left.num_rows
    assert shorter.result.fan_out == pytest.approx(alone)
    assert "the key repeats in both tables" in describe_verdict(shorter)


def test_the_shown_command_uses_the_longer_key(lake: Lake) -> None:
    left, right = make_seasons()
    result = find(lake.search(left), "teams.csv")
    arguments = join_arguments(result.candidates[0])
    assert sorted(arguments.on) == ["teamID=teamID", "yearID=yearID"]
    on = dict(pair.split("=") for pair in arguments.on)
    assert join(left, right, on=on).matched == left.num_rows
    assert "teamID = teamID alone (x" in repr(result)


def test_a_rewritten_key_is_extended_too(lake: Lake) -> None:
    left, right = make_counties()
    first = find(lake.search(left), "counties.csv").candidates[0]
    assert first.kind == "rewritten" and first.also_equal == 1
    assert first.query_columns == ("county", "state_abbr")
    assert first.lake_columns == ("name", "state")
    assert first.pairs.startswith("county ~ name and state_abbr = state (")
    assert (first.result.row_coverage, first.result.fan_out) == (1.0, 1.0)
    assert (
        first.result.matched
        == first.result.query_size
        == len(set(zip(left["county"].to_pylist(), left["state_abbr"].to_pylist(), strict=True)))
    )
    arguments = join_arguments(first)
    assert arguments.on == ("county=name", "state_abbr=state")
    made = join(left, right, on=dict(pair.split("=") for pair in arguments.on), by=arguments.by)
    assert made.matched == left.num_rows
    assert " and state_abbr = state" in made.steps[0].words


def test_numbers_that_any_key_holds_are_possible(lake: Lake) -> None:
    payments, people = make_orders()
    candidate = find(lake.search(payments), "customers.csv").candidates[0]
    assert (candidate.query_columns, candidate.lake_columns) == (("client",), ("customer_id",))
    assert candidate.possible and not candidate.believed and candidate.verdict == "check"
    assert candidate.words.startswith("Check: possible: all your values match")
    made = join(payments, people)
    assert made.steps[0].words == "client = customer_id" and made.sure == 0.5
    assert any("is only possible" in note for note in made.notes)


def test_row_numbers_are_no_reference(lake: Lake) -> None:
    payments, _ = make_orders()
    numbered = payments.drop_columns("client").append_column(
        "row", [[str(n) for n in range(1, 301)]]
    )
    assert not [result for result in lake.search(numbered) if result.table == "customers.csv"]


def test_more_results_without_another_search(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    salaries, payments = make_seasons()[0], make_orders()[0]
    clients = pa.array((payments["client"].to_pylist() * 7)[: salaries.num_rows])
    left = salaries.append_column("client", clients)
    whole = lake.search(left)
    answer = lake.search(left, k=1)
    assert answer.total == whole.total and len(answer) == 1
    monkeypatch.setattr("lakejoin.search.searcher.Searcher.results", None)
    rest = answer.more(10)
    assert [result.table for result in (*answer, *rest)] == [result.table for result in whole]
    assert [result.rank for result in rest] == list(range(2, whole.total + 1))


def test_an_answer_read_from_json_has_no_more(lake: Lake) -> None:
    answer = lake.search(make_seasons()[0], k=1)
    again = FusedAnswer.from_dict(json.loads(json.dumps(answer.to_dict())))
    assert again.total == answer.total
    assert again.to_dict() == answer.to_dict()
    assert again[0].candidates[0].verdict == answer[0].candidates[0].verdict
    assert repr(again[0]) == repr(answer[0])
    with pytest.raises(InputError, match="search again with a larger k"):
        again.more()


def test_a_program_that_builds_json_is_no_candidate(tmp_path: Path) -> None:
    """A number with JSON around it matches any column of such texts."""
    draw = random.Random(2)
    texts = [json.dumps({"id": n, "kind": "x"}) for n in range(1, 201)]
    tables = [PlainTable("events.csv", {"body": texts})]
    lake = lake_of(tmp_path, [tables], components=COMPONENTS)
    mine = pa.table({
        "number": [str(n) for n in range(1, 201)],
        "town": [draw.choice(_PLACES) for _ in range(200)],
    })  # fmt: skip
    assert not len(lake.search(mine))


def test_two_ids_are_no_reference() -> None:
    """Both tables count their rows in `id`, and the titles are others."""
    draw = random.Random(4)
    left = pa.table({
        "id": [str(n) for n in draw.sample(range(400), 300)],
        "title": [draw.choice(_PLACES) for _ in range(300)],
    })  # fmt: skip
    right = pa.table({
        "id": [str(n) for n in range(400)],
        "title": [f"{draw.choice('KLMN')}-{n * 7919 % 10_007}" for n in range(400)],
    })  # fmt: skip
    assert not join(left, right)
