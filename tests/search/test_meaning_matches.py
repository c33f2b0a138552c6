"""Search by meaning with the match rule: what is found, listed and said."""

from __future__ import annotations

from pathlib import Path

import pytest

import lakejoin
from fake_spark import FakeSpark
from lakejoin.errors import InputError
from lakejoin.lake import Lake
from lakejoin.search.options import RULE_MIN, ByMeaning, SearchOptions
from lakejoin.search.result import NearResult
from oracle.lakes import PlainTable
from search.near_lakes import meaning_lake

COUNTRIES = ["Korea, South", "Netherlands", "United States", "Germany", "Niger", "Peru"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    pytest.importorskip("wordllama")
    tables = [
        PlainTable("countries.csv", {"country": COUNTRIES}),
        PlainTable("days.csv", {"day": DAYS}),
        PlainTable("planes.csv", {"plane": ["A321", "B747", "A330", "A350"]}),
    ]
    folder = tmp_path_factory.mktemp("rule")
    return meaning_lake(folder, tables[:2], tables[2:], encoder="default")


def test_other_words_for_the_same_things(lake: Lake) -> None:
    answer = lake.similar({"land": ["South Korea", "Holland", "USA", "Germany"]}, tau="sure 0.5")
    found = answer[0]
    assert isinstance(found, NearResult) and found.table == "countries.csv"
    pairs = found.matches().to_pydict()
    listed = dict(zip(pairs["value"], pairs["partner"], strict=True))
    assert listed == {
        "South Korea": "Korea, South",
        "Holland": "Netherlands",
        "USA": "United States",
        "Germany": "Germany",
    }
    assert all(0.5 <= chance <= 1 for chance in pairs["chance"])
    assert pairs["chance"][pairs["value"].index("Germany")] == 1.0
    assert answer.to_dict()["sure"] == 0.5 and answer.min == RULE_MIN
    assert answer.tau is not None and "with a chance of 50% (tau up to" in repr(answer)


def test_fewer_pairs_if_surer(lake: Lake) -> None:
    query = {"land": ["South Korea", "Holland", "USA", "Germany"]}
    counts = [lake.similar(query, k=1, tau=f"sure {sure}")[0].pairs for sure in (0.3, 0.8, 0.99)]
    assert counts == sorted(counts, reverse=True) and counts[-1] >= 1


def test_codes_that_look_alike_are_not_near(lake: Lake) -> None:
    answer = lake.similar({"plane": ["A320", "A380", "B737", "A340"]})
    assert not len(answer) and "with a chance of 90%" in answer.notes[-1]


def test_the_same_answer_from_a_sample_of_few_values(lake: Lake) -> None:
    query = {"land": ["South Korea", "Holland", "USA", "Germany"]}
    whole = lake.similar(query, tau="sure 0.5")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lakejoin.search.meaning_matches._SAMPLE", 2)
        patch.setattr("lakejoin.search.meaning_matches._SEARCHED", 2)
        some = lake.similar(query, tau="sure 0.5")
    assert [r.table for r in some] == [r.table for r in whole]
    assert some[0].matches().num_rows == 4  # the evidence is of all values


def test_the_table_itself_is_left_out(lake: Lake) -> None:
    assert lake.similar("days.csv", on="day")[0].copy == "itself"
    assert all(r.table != "days.csv" for r in lake.similar("days.csv", on="day", skip_copies=True))


def test_options() -> None:
    assert ByMeaning("sure 95%").sure == 0.95 and ByMeaning("judged").judged
    assert ByMeaning("judged 0.8").sure == 0.8 and not ByMeaning(0.3).by_rule
    assert SearchOptions("meaning").with_defaults().min == RULE_MIN
    assert SearchOptions("meaning", near=ByMeaning(0.3)).with_defaults().min == 0.6
    for options in ({"tau": 0.3, "sure": 0.9}, {"measure": "all", "sure": 0.9}):
        with pytest.raises(InputError, match="leave out tau and measure all"):
            ByMeaning(**options)
    for sure in (0, 1, "95", "x", True):
        with pytest.raises(InputError, match="between 0 and 1 such as"):
            ByMeaning(sure=sure)


def test_judged_by_the_model(tmp_path: Path) -> None:
    from lakejoin.encoders.sentence_model import open_sentence_model
    from lakejoin.errors import MissingDependency

    try:
        open_sentence_model()
    except MissingDependency:
        pytest.skip("the weights of all-MiniLM-L6-v2 are not installed")
    folder = tmp_path / "lake"
    folder.mkdir()
    (folder / "ills.csv").write_text(
        "ill\nmyocardial infarction\nphysician\nautomobile\nNetherlands\nUnited States\n"
    )
    lakejoin.index(folder, tmp_path / "index", spark=FakeSpark())
    lake = lakejoin.open(tmp_path / "index")
    mine = {"thing": ["USA", "Holland", "car", "doctor", "heart attack", "Tuesday"]}
    found = lake.similar(mine, k=1, tau="judged 0.3")[0]
    pairs = found.matches().to_pydict()
    assert dict(zip(pairs["value"], pairs["partner"], strict=True)) == {
        "USA": "United States",
        "Holland": "Netherlands",
        "car": "automobile",
        "doctor": "physician",
        "heart attack": "myocardial infarction",
    }
