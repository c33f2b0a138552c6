"""Search by meaning: exact against brute force, evidence from the pairs, and what is said."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lakejoin
from fake_spark import FakeSpark
from lakejoin.encoders import open_encoder
from lakejoin.engines.meaning.vector_space import Nearness
from lakejoin.errors import InputError
from lakejoin.lake import Lake
from lakejoin.search.answer import Answer, Answers
from lakejoin.search.meaning_search import MeaningIndex
from lakejoin.search.result import NearResult
from lakejoin.search.tau_choice import LARGEST_DISTANCE
from oracle.lakes import PlainTable
from oracle.search import lake_of, search_by
from oracle.vectors import all_distances
from search.near_lakes import (
    FEW,
    LIKE_THEM,
    STREETS,
    by_hand,
    meaning_lake,
    text_columns,
    with_encoder,
)

OFFICES = PlainTable("offices.csv", {"addr": LIKE_THEM, "n": ["1", "2", "3", "4", "5"]})
HALF = PlainTable("half.csv", {"street": ["12 MAIN STREET", "3 elm road", None, "Bern"]})
OTHERS = PlainTable("others.csv", {"city": ["Bern", "Zürich", "Oslo"], "iso": ["ch", "ch", "no"]})


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return meaning_lake(tmp_path_factory.mktemp("meaning"), [OFFICES, OTHERS], [HALF])


def first(answer: Answer) -> NearResult:
    found = answer[0]
    assert isinstance(found, NearResult)
    return found


# -- what is found ---------------------------------------------------------------------------------


def test_texts_that_are_written_otherwise_are_found(lake: Lake) -> None:
    answer = lake.similar({"address": STREETS}, tau=0.45)
    assert [(r.table, r.columns, r.matched, r.pairs) for r in answer] == [
        ("offices.csv", ("addr",), 5, 5)
    ]
    assert answer.tau == 0.45 and answer.measure == "hit" and answer.within is None
    assert first(answer).column_size == 5 and first(answer).containment == 1.0
    assert lake.overlap({"address": STREETS})[0].matched == 1  # one is equal


def test_the_best_k_and_the_least(lake: Lake) -> None:
    both = lake.similar({"address": STREETS}, tau=0.45, k=10)
    assert [(r.table, r.matched) for r in both] == [("offices.csv", 5), ("half.csv", 2)]
    assert both.min is None and both.k == 10
    assert len(lake.similar({"address": STREETS}, tau=0.45, k=1)) == 1
    least = lake.similar({"address": STREETS}, tau=0.45, min_share=0.4)
    assert [r.table for r in least] == ["offices.csv", "half.csv"]
    assert [r.table for r in least.at_least(0.5)] == ["offices.csv"]


def test_tau_is_the_encoders_own_if_all_pairs_are_counted(lake: Lake) -> None:
    answer = lake.similar({"address": STREETS}, measure="all")
    assert answer.tau == 0.3 and "within tau 30%" in repr(answer)


def test_the_best_k(lake: Lake) -> None:
    answer = lake.similar({"address": STREETS}, tau=0.45, k=5)
    assert [(r.table, r.matched, r.pairs) for r in answer] == [
        ("offices.csv", 5, 5),
        ("half.csv", 2, 2),
    ]


_words = st.sampled_from(
    ["main st", "main street", "Main Stret", "oak av", "oak avenue", "elm", "Elm", "bern", "zürich",
     "zurich", "12", "a b", "b a", "日本", "日本語", "", None, "n/a", "🙂", "ß", "ss"]
)  # fmt: skip
_columns = st.lists(_words, min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(_columns, min_size=1, max_size=5),
    st.lists(st.sampled_from(["main st", "oak av", "elm", "zürich", "日本", "🙂", "a b", "ss"]),
             min_size=1, max_size=6),
    st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.8, 1.0]),
    st.sampled_from(["hit", "all"]),
    st.sampled_from([None, 0.0, 0.4, 1.0]),
    st.sampled_from([None, 1, 3]),
)  # fmt: skip
def test_the_answer_is_that_of_brute_force(
    columns: Sequence[Any],
    mine: Sequence[str],
    tau: float,
    measure: str,
    least: float | None,
    k: int | None,
) -> None:
    tables = [PlainTable(f"t{i}.csv", {"c": cells}) for i, cells in enumerate(columns)]
    with TemporaryDirectory() as folder:
        lake = meaning_lake(Path(folder), tables[::2], tables[1::2], encoder=FEW)
        asked = {"tau": tau, "measure": measure, "min_share": least, "k": k}
        answer = with_encoder(lake, FEW).similar({"q": mine}, **asked)
        values = sorted({text.lower() for text in mine})
        share = 0.6 if least is None and k is None else least or 0.0
        needed = max(1, int(np.ceil(share * len(values) - 1e-9)))
        scored = [
            (one.pairs if measure == "all" else one.hits, one)
            for one in by_hand(lake, values, tau, FEW)
        ]
        best = sorted(
            (pair for pair in scored if pair[0] >= needed),
            key=lambda pair: (-pair[0], pair[1].size, pair[1].segment, pair[1].column),
        )[:k]
        found = [
            (r.matched, r.pairs, r.found.segment_index, r.found.segment_columns[0])
            for r in answer
            if isinstance(r, NearResult) and r.found
        ]
        assert found == [(one.hits, one.pairs, one.segment, one.column) for _, one in best]


# -- why it is found -------------------------------------------------------------------------------


def test_pairs_with_distances(lake: Lake) -> None:
    result = first(lake.similar({"address": STREETS}, tau=0.45))
    pairs = result.matches()
    assert pairs.column_names == ["value", "partner", "distance", "mine", "theirs"]
    assert dict(zip(pairs["value"].to_pylist(), pairs["partner"].to_pylist(), strict=True)) == dict(
        zip(STREETS, LIKE_THEM, strict=True)
    )
    encoder = open_encoder("characters")
    lower = [text.lower() for text in pairs["value"].to_pylist()]
    theirs = [text.lower() for text in pairs["partner"].to_pylist()]
    expected = (
        np.diag(all_distances(encoder.encode(lower), encoder.encode(theirs))) / LARGEST_DISTANCE
    )
    np.testing.assert_allclose(pairs["distance"].to_numpy(), expected, atol=1e-7)
    assert np.all(np.diff(pairs["distance"].to_numpy()) >= 0)
    assert result.distance == pytest.approx(float(np.median(expected)), abs=1e-7)
    far = result.farthest(2)
    assert far["distance"].to_pylist() == pairs["distance"].to_pylist()[:-3:-1]
    assert result.matches(differing=True).num_rows == 4  # one is the same
    assert result.matches(1).num_rows == 1 and result.unmatched().num_rows == 0


def test_pairs_are_found_again_where_they_were_not_kept(lake: Lake) -> None:
    encoder = open_encoder("characters")
    mine = encoder.encode([*STREETS, "", "Bern", "oak"])
    engine = MeaningIndex(lake.snapshot).engine(encoder)
    for tau in (0.0, 0.3, 0.5, 0.8, 1.0):
        for number in range(len(engine.spaces)):
            for column in text_columns(lake.snapshot.segments[number]):
                nearness = Nearness(LARGEST_DISTANCE * tau)
                hits = engine.search(mine, nearness)
                kept = engine.pairs(mine, nearness, number, column, hits)
                again = engine.pairs(mine, nearness, number, column)
                for name in ("position", "id", "distance"):
                    np.testing.assert_array_equal(getattr(kept, name), getattr(again, name))


def test_an_answer_may_forget_what_is_large(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"tau": 0.45, "k": 2}
    kept = [r.matches() for r in lake.similar({"q": STREETS}, **asked)]
    monkeypatch.setattr("lakejoin.search.meaning_search._KEPT", 0)
    assert [r.matches() for r in lake.similar({"q": STREETS}, **asked)] == kept


def test_rows_are_counted_over_all_pairs(tmp_path: Path) -> None:
    theirs = PlainTable("t.csv", {"c": ["bern", "Bern", "BERNE", "oslo", None]})
    lake = meaning_lake(tmp_path, [theirs])
    result = first(lake.similar({"q": ["Bern", "bern", "Paris", None]}, tau=0.5, min_share=0.5))
    assert (result.matched, result.pairs, result.query_size) == (1, 2, 2)
    assert result.row_coverage == 0.5  # two of my four rows
    assert result.fan_out == (2 * 2 + 2 * 1) / 4  # each meets two rows of bern and one of berne
    assert result.matches().to_pylist() == [
        {"value": "Bern", "partner": "bern", "distance": 0.0, "mine": 2, "theirs": 2},
        {"value": "Bern", "partner": "BERNE", "distance": pytest.approx(0.39, abs=0.1), "mine": 2,
         "theirs": 1},
    ]  # fmt: skip
    assert result.unmatched().to_pylist() == [{"value": "Paris", "mine": 1}]
    assert result.examples == {"matched": ["Bern ~ bern"], "unmatched": ["Paris"]}


def test_examples_that_differ_stand_first(lake: Lake) -> None:
    mine = ["99 Station Road", "99 station road", "3 Elm Road"]
    result = first(lake.similar({"q": mine}, tau=0.45))
    assert result.examples["matched"] == [
        "3 Elm Road ~ 3 Elm Rd.",
        "99 Station Road ~ 99 station road",
    ]


def test_json_and_tables(lake: Lake) -> None:
    answer = lake.similar({"address": STREETS}, tau=0.45)
    document = json.loads(json.dumps(answer.to_dict()))
    assert list(document) == [
        "query", "by", "k", "min", "tau", "within", "metric", "measure", "encoder", "taus", "sure",
        "results", "counters", "notes", "seconds",
    ]  # fmt: skip
    assert document["encoder"] == open_encoder("characters").identity
    (result,) = document["results"]
    assert list(result)[-2:] == ["pairs", "distance"] and result["pairs"] == 5
    assert "12 Main St ~ 12 main street" in result["examples"]["matched"]
    assert answer.to_arrow()["pairs"].to_pylist() == [5]
    assert answer[:0].to_arrow().schema == answer.to_arrow().schema
    assert document["counters"]["values"] > 0
    html = answer._repr_html_()
    assert "12 Main St ~ 12 main street" in html and "distance" in html


def test_sql_joins_the_pairs(lake: Lake) -> None:
    duckdb = pytest.importorskip("duckdb")
    mine = {"address": [*STREETS, "nowhere", "12 main ST"], "n": list(range(7))}
    result = first(lake.similar(mine, on="address", tau=0.45))
    with duckdb.connect() as base:
        base.register("my_table", pa.table(mine))
        base.register("lake_table", lake.table("offices.csv").to_arrow())
        rows = base.execute(result.sql()).fetchall()
    assert sorted((row[0], row[2]) for row in rows) == sorted(
        [*zip(STREETS, LIKE_THEM, strict=True), ("12 main ST", "12 main street")]
    )
    assert len(rows) == round((result.fan_out or 0) * 7)


def test_sql_takes_quotes_and_refuses_too_many_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    duckdb = pytest.importorskip("duckdb")
    lake = meaning_lake(tmp_path, [PlainTable("t.csv", {"c": ["O'Hara", "d\nb"]})])
    result = first(lake.similar({"q": ["o'hara", "D\nB"]}, tau=0.1))
    with duckdb.connect() as base:
        base.register("my_table", pa.table({"q": ["o'hara", "D\nB"]}))
        base.register("lake_table", lake.table("t.csv").to_arrow())
        assert len(base.execute(result.sql()).fetchall()) == 2
    spelled = first(lake.similar({"q": ["o'hara", "O'HARA", "D\nB"]}, tau=0.1))
    monkeypatch.setattr("lakejoin.search.result_sql.MAX_SQL_PAIRS", 2)
    assert spelled.pairs == 2
    with pytest.raises(InputError, match="more than 2 spellings, too many for a SQL query"):
        spelled.sql()
    monkeypatch.setattr("lakejoin.search.result_sql.MAX_SQL_PAIRS", 1)
    with pytest.raises(InputError, match="2 pairs match, too many for a SQL query"):
        result.sql()


# -- measures, copies, several columns -------------------------------------------------------------


def test_measure_all_counts_pairs(tmp_path: Path) -> None:
    many = PlainTable("many.csv", {"c": ["bern", "bern e", "bern x", "y bern"]})
    one = PlainTable("one.csv", {"c": ["oslo", "bern"]})
    lake = meaning_lake(tmp_path, [many, one])
    hits = lake.similar({"q": ["bern", "oslo"]}, tau=0.45, k=2)
    assert [(r.table, r.matched) for r in hits] == [("one.csv", 2), ("many.csv", 1)]
    pairs = lake.similar({"q": ["bern", "oslo"]}, tau=0.45, k=2, measure="all")
    assert [(r.table, r.matched, r.pairs) for r in pairs if isinstance(r, NearResult)] == [
        ("many.csv", 1, 4),
        ("one.csv", 2, 2),
    ]
    assert pairs.measure == "all" and [r.table for r in pairs.at_least(1.0)] == ["one.csv"]
    least = lake.similar({"q": ["bern", "oslo"]}, tau=0.45, min_share=1.0, measure="all")
    assert len(least) == 2  # two pairs for two values are enough


def test_the_table_itself_and_its_copies(lake: Lake) -> None:
    found = lake.similar("offices.csv", on="addr", tau=0.45, k=3)
    assert [(r.table, r.copy) for r in found] == [("offices.csv", "itself"), ("half.csv", "")]
    others = lake.similar("offices.csv", on="addr", tau=0.45, k=3, skip_copies=True)
    assert [r.table for r in others] == ["half.csv"]
    assert others.notes == ("the table itself is left out",)


def test_tables_that_have_gone_are_not_found(tmp_path: Path) -> None:
    lake = meaning_lake(tmp_path, [OFFICES, HALF], dead=[[0]])
    answer = lake.similar({"q": STREETS}, tau=0.45, k=5)
    assert [r.table for r in answer] == ["half.csv"]


def test_every_text_column(lake: Lake) -> None:
    mine = {"street": STREETS, "n": [1, 2, 3, 4, 5], "city": ["Berne", "Oslo"] * 2 + ["Zurich"]}
    answers = lake.similar(mine, "*", tau=0.45)
    assert isinstance(answers, Answers)
    assert [answer.query.columns for answer in answers] == [("street",), ("city",)]
    with pytest.raises(InputError, match="has no text column"):
        lake.similar({"n": [1, 2]}, "*")


def test_the_most_key_like_text_column_is_taken(lake: Lake) -> None:
    answer = lake.similar({"n": [1, 2, 3, 4, 5], "street": STREETS}, tau=0.45)
    assert answer.query.columns == ("street",) and "using 'street'" in answer.notes[0]


def test_threads(lake: Lake) -> None:
    def one(i: int) -> list[tuple[str, int]]:
        answer = lake.similar({"q": STREETS[: 1 + i % 5]}, tau=0.45, k=2)
        return [(r.table, r.matched) for r in answer]

    alone = [one(i) for i in range(5)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, range(40))) == alone * 8
    tables = [{"q": STREETS}, ({"a": [1], "q": ["oak"]}, "nothing"), {"q": ["Bern"]}]
    found = list(lake.search_many(tables, method="similar", tau=0.45, threads=2))
    assert [bool(one.error) for one in found] == [False, True, False]


# -- what is said ----------------------------------------------------------------------------------


def test_unicode(tmp_path: Path) -> None:
    cells = ["Zürich", "Köln", "東京都", "Αθήνα", "🙂 smile", "مرحبا"]
    lake = meaning_lake(tmp_path, [PlainTable("ü.csv", {"Ort": cells})])
    mine = ["zuerich", "ZURICH", "koln", "東京", "Αθηνα", "🙂 smiles", "مرحبا"]
    result = first(lake.similar({"q": mine}, tau=0.45, k=1))
    assert result.columns == ("Ort",)
    partners = dict(
        zip(*(result.matches()[name].to_pylist() for name in ("value", "partner")), strict=True)
    )
    assert partners["koln"] == "Köln" and partners["مرحبا"] == "مرحبا"


def test_nothing_is_said_plainly(lake: Lake) -> None:
    nothing = lake.similar({"q": ["xylophone", "quartz"]}, tau=0.2)
    assert len(nothing) == 0 and nothing.notes == (
        "no text column in the lake has matches within tau 20% for 60% of the 2 values of 'q'; "
        "tau auto shows how many columns would qualify at each tau",
    )
    (note,) = lake.similar({"q": ["xylophone", "quartz"]}, tau=0.2, k=3).notes
    assert note.startswith("none of the 2 values of 'q' has a match within tau 20% in any text")
    (note,) = lake.similar({"q": ["quartz"]}, tau=0.2, skip_copies=True).notes
    assert note.startswith("the only value of 'q' has no match within tau 20% in any other text")


def test_one_value(lake: Lake) -> None:
    result = first(lake.similar({"q": ["bern"]}, tau=0.0))
    assert (result.matched, result.containment, result.distance) == (1, 1.0, 0.0)


def test_numbers_have_no_meaning(lake: Lake) -> None:
    answer = lake.similar({"n": [12, 7, 3]}, tau=0.3)
    assert answer.notes[0] == (
        "'n' has type integer, and search by meaning is for text: results are texts that look like "
        "its values; compare numbers by distance"
    )
    assert "offices.csv" not in [r.table for r in answer]  # its n is no text


def test_values_that_mean_nothing(tmp_path: Path) -> None:
    def vowels(texts: Sequence[str]) -> list[list[float]]:
        return [[text.count(v) for v in "aeiou"] for text in texts]

    lake = meaning_lake(tmp_path, [PlainTable("t.csv", {"c": ["aa", "bb", "ei"]})], encoder=vowels)
    answer = with_encoder(lake, vowels).similar({"q": ["a", "xyz", "bb"]}, tau=0.1, k=1)
    assert answer.notes == ("the encoder has no vector for 2 of the 3 values; they match nothing",)
    assert first(answer).matched == 1


def test_a_lake_without_texts(tmp_path: Path) -> None:
    lake = meaning_lake(tmp_path / "a", [PlainTable("t.csv", {"n": ["1", "2"]})])
    (note,) = lake.similar({"q": ["one"]}).notes
    assert note == "the index has no searched text column"
    (note,) = meaning_lake(tmp_path).similar({"q": ["one"]}).notes
    assert note == "the index is empty"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"by": "overlap", "tau": 0.3}, "tau 0.3 does not apply to search by overlap: it is for "
         "search by meaning"),
        ({"by": "meaning", "within": "5m"}, "within 5m does not apply to search by meaning: use "),
        ({"by": "meaning", "tau": 6}, "tau must be a share .* such as 0.06 or 6%, or auto; got 6"),
        ({"by": "meaning", "tau": "near"}, "auto; got near"),
        ({"by": "meaning", "tau": -0.1}, "auto; got -0.1"),
        ({"by": "meaning", "tau": True}, "auto; got True"),
        ({"by": "meaning", "tau": float("nan")}, "auto; got nan"),
        ({"by": "meaning", "measure": "some"}, "measure must be hit or all, not some"),
        ({"by": "meaning", "verified": False}, "only search by containment can be unverified"),
        ({"by": "meaning", "algorithm": "josie"}, "applies to by='overlap', not to by='meaning'"),
        ({"by": "meaning", "initial": "a"}, "needs two or more columns"),
        ({"by": "meaning", "on": ["a", "b"]}, "search by meaning takes one column"),
        ({"by": "meaning", "on": "c"}, "no column"),
        ({"by": "meaning", "encoder": "no/such.vec"}, "no encoder no/such.vec"),
        ({"by": "meaning", "encoder": 7}, "an encoder is a name, a path or a function, not 7"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(lake: Lake, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        search_by(lake, {"a": ["x"], "b": ["y"]}, **{"on": "a", **options})


def test_an_index_without_vectors(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [[OFFICES]])
    with pytest.raises(InputError, match=r"has no vectors.*lakejoin index --with meaning --index"):
        lake.similar({"q": STREETS})


def test_another_encoder_is_refused(lake: Lake, tmp_path: Path) -> None:
    def vowels(texts: Sequence[str]) -> list[list[float]]:
        return [[text.count(v) for v in "aeiou"] + [1.0] for text in texts]

    with pytest.raises(InputError) as refused:
        with_encoder(lake, vowels).similar({"q": STREETS})
    said = str(refused.value)
    assert "did not make the vectors of this index (characters " in said
    assert "vowels" in said and "omit the encoder" in said and "weights" not in said
    assert said.endswith('with: lakejoin.index(..., parts=["meaning"], encoder=...)')
    own = meaning_lake(tmp_path, [OFFICES], encoder=vowels, keep=True)
    with pytest.raises(InputError, match=r"vowels.* an encoder passed in Python: pass it again"):
        own.similar({"q": STREETS})
    with pytest.raises(
        InputError, match=r"pass .*vowels.* again, or .*--encoder characters --index \S+$"
    ):
        with_encoder(own, "characters").similar({"q": STREETS})
    found = with_encoder(own, vowels).similar({"q": LIKE_THEM})
    assert len(found) == 1
    assert with_encoder(own, vowels).similar({"q": LIKE_THEM}, measure="all").tau == 0.06


def test_the_default_encoder_end_to_end(tmp_path: Path) -> None:
    pytest.importorskip("wordllama")
    folder = tmp_path / "lake"
    folder.mkdir()
    (folder / "jobs.csv").write_text("profession\nphysician\nattorney\nteacher\nbus driver\n")
    lakejoin.index(folder, tmp_path / "index", spark=FakeSpark())
    lake = lakejoin.open(tmp_path / "index")
    answer = lake.similar({"job": ["bus drivers", "Teachers"]})
    assert first(answer).examples["matched"] == ["bus drivers ~ bus driver", "Teachers ~ teacher"]
    auto = lake.similar({"job": ["bus drivers", "Teachers"]}, tau="auto")
    assert auto.taus is not None and auto.tau == auto.taus.taken and auto[0].matched == 2
