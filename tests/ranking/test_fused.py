"""Fused search: right tables rank above those that share more by coincidence; how each is
described."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lakejoin
from cli.commands import OVERLAP, SEARCH
from fake_spark import FakeSpark
from lakejoin.errors import InputError
from lakejoin.lake import Lake
from lakejoin.ranking.answer import FusedAnswer
from lakejoin.ranking.join_score import Signals, score_join
from oracle.lakes import PlainTable
from oracle.search import search_by
from search.key_lakes import key_lake

RANDOM = random.Random(8)
CODES = ["".join(letters) for letters in product(ascii_lowercase, repeat=2)]
MINE = RANDOM.sample(CODES, 80)
NUMBERS = [str(n) for n in RANDOM.sample(range(1000, 9999), 80)]
DAYS = [(date(2020, 1, 1) + timedelta(n)).isoformat() for n in range(366)]


def name_of(code: str) -> str:
    return f"Company{sum(ord(c) * 31**i for i, c in enumerate(code))} of {code[::-1]}ville"


COMPANIES = PlainTable(
    "companies.csv",
    {
        "code": MINE,
        "name": [name_of(code) for code in MINE],
        "office": NUMBERS,
        "founded": RANDOM.sample(DAYS, 80),
        "kind": ["steel", "bank"] * 40,
        "nothing": [None] * 80,
    },
)
LISTED = [*MINE[:30], *RANDOM.sample(sorted(set(CODES) - set(MINE)), 50)]
LISTING = PlainTable(
    "listing.csv",
    {"symbol": LISTED, "title": [name_of(code) for code in LISTED], "price": NUMBERS[::-1]},
)
SPOKEN = RANDOM.sample(CODES, 500)
LANGUAGES = PlainTable(
    "languages.csv",
    {"code": SPOKEN, "language": [f"tongue{n}" for n in range(500)]},
)
OFFICES = PlainTable(
    "offices.csv",
    {"number": [*NUMBERS[:40], *map(str, range(20_000, 20_400, 37))], "rent": ["x y"] * 51},
)
COUNT = PlainTable("count.csv", {"id": [str(n) for n in range(1, 10_000)]})
WEATHER = PlainTable("weather.csv", {"day": DAYS, "rain": [f"{n % 7} mm" for n in range(366)]})
PAIRS = RANDOM.sample(
    list(product(map("first{}".format, range(12)), map("name{}".format, range(30)))), 40
)
PEOPLE = PlainTable(
    "people.csv",
    {
        "first": [first for first, _ in PAIRS],
        "last": [last for _, last in PAIRS],
        "town": [f"town {n}" for n in range(40)],
    },
)
CLUB = PlainTable(
    "club.csv",
    {"nachname": [last for _, last in PAIRS[:36]], "vorname": [first for first, _ in PAIRS[:36]]},
)
MIXED = PlainTable(  # the same names, in other combinations
    "mixed.csv",
    {"last": [f"name{n}" for n in range(30)], "first": [f"first{n % 12}" for n in range(30)]},
)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """Two segments, with decimals and dates that are searched."""
    groups = [[COMPANIES, LANGUAGES, COUNT, PEOPLE, CLUB], [LISTING, OFFICES, WEATHER, MIXED]]
    yield key_lake(tmp_path_factory.mktemp("fused"), *groups)


def tables(answer: FusedAnswer) -> list[str]:
    return [one.table for one in answer]


def misses(answer: FusedAnswer) -> list[str]:
    return [one.table for one in answer.misses]


# -- what is found ---------------------------------------------------------------------------------


def test_rows_that_agree_tell_a_true_partner_from_codes_that_are_all_taken(lake: Lake) -> None:
    by_overlap = [one.table for one in lake.overlap("companies.csv", "code", skip_copies=True)]
    assert by_overlap[:2] == ["languages.csv", "listing.csv"], "plainly the wrong one is first"
    answer = lake.search("companies.csv", "code")
    assert tables(answer) == ["listing.csv"]
    assert "languages.csv" in misses(answer)
    reasons = {one.kind: one.nats for one in answer[0].candidates[0].join_score.reasons}
    assert reasons["rows"] > 10
    assert "of random values would match too" in answer.misses[0].accidental


def test_row_numbers_hold_any_number_by_accident(lake: Lake) -> None:
    answer = lake.search("companies.csv", "office")
    assert set(tables(answer)) == {"offices.csv", "listing.csv"}
    assert misses(answer) == ["count.csv"]
    assert answer.misses[0].candidates[0].result.containment == 1.0


def test_days_meet_days_by_accident(lake: Lake) -> None:
    answer = lake.search("companies.csv", "founded")
    assert tables(answer) == []
    assert misses(answer) == ["weather.csv"]


def test_every_key_of_the_table_where_none_is_named(lake: Lake) -> None:
    answer = lake.search("companies.csv")
    assert {("code",), ("name",), ("office",)} <= set(answer.columns)
    assert ("nothing",) not in answer.columns
    assert set(tables(answer)) == {"listing.csv", "offices.csv"}
    assert {"languages.csv", "count.csv"} <= set(misses(answer))
    listing = next(one for one in answer if one.table == "listing.csv")
    assert len({way.query_columns for way in listing.candidates}) > 1, (
        "several ways, and one result"
    )
    assert {one.name for one in listing.adds} in ({"symbol", "price"}, {"symbol", "title"})
    assert len(set(tables(answer)) & set(misses(answer))) == 0


def test_a_composite_key(lake: Lake) -> None:
    answer = lake.search("people.csv", ["first", "last"])
    assert tables(answer)[0] == "club.csv"
    assert answer[0].candidates[0].pairs == "first = vorname and last = nachname"
    assert (answer[0].candidates[0].result.matched, answer.columns) == (36, (("first", "last"),))
    assert "composite" in answer.seconds_by


def test_nothing_is_found(lake: Lake) -> None:
    answer = lake.search({"word": ["quux", "frob", "blarg"], "n": ["a", "b", "c"]})
    assert (len(answer), answer.misses) == (0, ())
    assert "no joins found" in repr(answer)
    near = lake.search({"day": DAYS[::40]}, on="day")
    assert (tables(near), misses(near)[0]) == ([], "weather.csv")
    assert "nearest misses" in repr(near) and "weather.csv" in repr(near)


def test_frames_files_and_tables_of_the_lake_are_answered_alike(lake: Lake, tmp_path: Path) -> None:
    frame = pd.DataFrame({**COMPANIES.columns, "code": [f" {c.upper()}" for c in MINE]})
    file = tmp_path / "mine.csv"
    frame.to_csv(file, index=False)
    known = lake.search("companies.csv", "code").to_dict()
    for given_table in (frame, file):
        found = lake.search(given_table, "code").to_dict()
        for mine, other in zip(found["results"], known["results"], strict=True):
            assert (mine["table"], mine["score"]) == (other["table"], other["score"])
            assert mine["ways"] == other["ways"]


def test_a_table_of_one_column_has_no_rows_to_agree(lake: Lake) -> None:
    answer = lake.search([name_of(code) for code in MINE])
    assert tables(answer)[0] in ("listing.csv", "companies.csv")
    assert {one.kind for one in answer[0].candidates[0].join_score.reasons} <= {"values", "rarity"}


def test_names_that_repeat_and_rows_without_a_value(lake: Lake) -> None:
    names = [None, *map(name_of, MINE), None]
    mine = pa.Table.from_arrays([pa.array(names), pa.array(["", *MINE, ""])], ["x", "x"])
    answer = lake.search(mine, 1)
    assert tables(answer)[0] == "companies.csv"
    assert tables(answer)[1:] == ["listing.csv"]
    assert answer[1].candidates[0].result.row_coverage == 30 / 82
    assert {way.query_columns for way in lake.search(mine)[0].candidates} == {("x",)}


def test_ways_by_a_key_go_first(tmp_path: Path) -> None:
    sectors = [f"sector {n % 40}" for n in range(120)]
    symbols = [f"sym{n * 7}x" for n in range(120)]
    mine = {"sector": sectors, "symbol": [*symbols[:60], *(f"own{n}" for n in range(60))]}
    theirs = PlainTable("theirs.csv", {"sector": sectors, "ticker": symbols})
    (result,) = key_lake(tmp_path, [theirs]).search(mine)
    first, second = result.candidates
    assert first.query_columns == ("symbol",)
    assert first.result.containment < second.result.containment
    assert result.score > first.join_score.score > second.join_score.score, "both join"


def test_columns_that_are_not_indexed_are_searched_for_where_they_are_named(tmp_path: Path) -> None:
    shares = [f"{n}.5" for n in RANDOM.sample(range(100_000), 60)]
    texts = [f"v{n}" for n in range(60)]
    one = PlainTable("one.csv", {"share": shares, "text": texts})
    other = PlainTable("other.csv", {"label": [*shares[:50], "none of these"] + ["x"] * 9})
    lake = key_lake(tmp_path, [one], [other], all_columns=False)
    answer = lake.search("one.csv", "share")
    assert tables(answer) == ["other.csv"]
    assert any("does not search" in note for note in answer.notes)
    assert ("share",) not in lake.search("one.csv").columns


# -- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"min": 0.5}, "min (0.5) does not apply to by='fused'"),
        ({"initial": "code", "on": ["code", "name"]}, "does not apply to by='fused'"),
        ({"algorithm": "josie"}, "applies to by='overlap'"),
        ({"verified": False}, "only search by containment"),
        ({"tau": 0.3}, "tau 0.3 does not apply to fused search"),
        ({"k": 0}, "k must be a positive integer"),
        ({"on": "nothing"}, "has no values to search for"),
        ({"on": "cod"}, "has no column 'cod'"),
    ],
)
def test_what_does_not_go_with_it_is_refused(
    lake: Lake, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        search_by(lake, "companies.csv", **{"by": "fused", **options})


def test_a_table_without_a_key_is_refused(lake: Lake) -> None:
    with pytest.raises(InputError, match="no column that looks like a key"):
        lake.search({"a": [None, None]})


# -- how it is weighed -----------------------------------------------------------------------------

SHARES = st.floats(0, 1)
SIGNALS = st.builds(
    Signals, st.integers(2, 5000), SHARES, st.floats(0.02, 1), SHARES, SHARES, st.floats(0, 300)
)


@given(SIGNALS, st.sampled_from(["share", "containment", "names", "rows"]), SHARES)
def test_more_of_a_signal_never_scores_less(signals: Signals, which: str, more: float) -> None:
    from dataclasses import replace

    top = 300.0 if which == "rows" else 1.0
    before = getattr(signals, which)
    better = replace(signals, **{which: before + (top - before) * more})
    one, other = score_join(signals), score_join(better)
    assert other.score >= one.score - 1e-9
    assert not other.accidental or one.accidental
    assert 0 <= one.score <= 1


@given(SIGNALS, SHARES)
def test_more_chance_never_scores_more(signals: Signals, more: float) -> None:
    from dataclasses import replace

    worse = replace(signals, chance=signals.chance + (1 - signals.chance) * more)
    assert score_join(worse).score <= score_join(signals).score + 1e-9
    assert not score_join(signals).accidental or score_join(worse).accidental


# -- how it looks ----------------------------------------------------------------------------------

KEYS = ["query", "by", "k", "total", "results", "misses", "notes", "seconds", "seconds_by"]
RESULT = [
    *("rank", "table", "score", "ways", "adds", "already_joined", "versions", "members"),
    *("together", "accidental", "reason"),
]
WAY = [
    *(
        "kind",
        "how",
        "program",
        "tau",
        "radius",
        "mine",
        "theirs",
        "also_equal",
        "repeats",
        "superseded",
        "matched",
        "containment",
        "row_coverage",
        "fan_out",
        "chance",
    ),
    *("score", "sure", "verdict", "words", "reasons", "accidental"),
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files with an index: a table whose column names repeat, and one that matches by
    coincidence."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "lake").mkdir()

    def written(name: str, head: str, rows: list[str]) -> None:
        (folder / name).write_text("\n".join([head, *rows, ""]))

    part = [f"P-{n * 7919 % 10_007:05}" for n in range(60)]
    written("mine.csv", "part,n", [f"{one},{n}" for n, one in enumerate(part, 1)])
    written(
        "lake/parts.csv",
        "code,code,<b>",
        [f"x{n},{one},thing {n}" for n, one in enumerate(part[:50])],
    )
    written("lake/count.csv", "id,word", [f"{n},w{n}" for n in range(1, 300)])
    lakejoin.index(folder / "lake", folder / "index", spark=FakeSpark())
    return folder


def asked(shop: Path, *arguments: str) -> tuple[str, ...]:
    return str(shop / "mine.csv"), "--index", str(shop / "index"), *arguments


def test_json_has_the_documented_keys(shop: Path) -> None:
    found = SEARCH.answer(*asked(shop))
    assert list(found) == KEYS
    assert [list(one) for one in found["results"] + found["misses"]] == [RESULT] * 2
    (result,), (miss,) = found["results"], found["misses"]
    assert (result["table"], miss["table"]) == ("parts.csv", "count.csv")
    assert [list(way) for way in result["ways"] + miss["ways"]] == [WAY] * 2
    reasons = result["ways"][0]["reasons"]
    assert reasons and all(list(one) == ["what", "nats", "words"] for one in reasons)
    full = {"full": 50 / 60, "known_as": None}
    assert result["adds"] == [{"name": name, **full} for name in ("code", "<b>")]
    assert miss["adds"] == [{"name": "word", "full": None, "known_as": None}]
    assert result["accidental"] == ""
    opened = SEARCH.answer(*asked(shop, "--explain", "1"))
    assert opened["result"] == result and "parts.csv" in opened["sql"]


def test_the_command_tells_how_it_joins_and_what_it_adds(shop: Path) -> None:
    shown = SEARCH.run(*asked(shop)).stdout
    assert "part = code" in shown and "50 of 60" in shown
    assert "adds 2 columns for 83% of your rows: code, <b>" in shown
    assert "--on part=code_2 -o joined.csv" in shown, "the second of the columns called code"
    assert "coincidental overlap: count.csv (n = id: " in shown
    assert "nats" not in shown
    for explained in (("--explain",), ("--explain", "1")):
        tree = SEARCH.run(*asked(shop, *explained)).stdout
        assert "─ values " in tree and "└─ " in tree and " nats " in tree
    none = SEARCH.run(*asked(shop, "--on", "n", "--explain")).stdout
    assert "no joins found" in none and "└─ coincidental: " in none


def test_the_command_refuses_what_does_not_go_with_it(shop: Path) -> None:
    assert "no result 7" in SEARCH.refused(*asked(shop, "--explain", "7"))
    place = str(shop / "mine.csv"), "--index", str(shop / "index")
    for words in (
        ("--min-share", "0.5"),
        ("--initial", "part"),
        ("--algorithm", "josie"),
        ("--no-verify",),
        ("--within", "5m"),
    ):
        done = SEARCH.run(*place, *words)
        assert done.exit_code == 2 and f"No such option '{words[0]}'" in done.output
    assert "needs the number of a result" in OVERLAP.refused(*place, "--explain")


def test_an_answer_prints_and_escapes(shop: Path) -> None:
    lake = lakejoin.open(shop / "index")
    answer = lake.search(shop / "mine.csv")
    assert "parts.csv" in repr(answer) and "coincidental overlap: count.csv" in repr(answer)
    assert repr(answer[0]).startswith(" 1   parts.csv\n") and "score 0.9" in repr(answer[0])
    page = answer._repr_html_()
    assert "&lt;b&gt;" in page and "<b>" not in page.partition("</b>")[2]
    assert (len(answer[:0]), answer[:1].results) == (0, answer.results)
    (several,) = lake.search_many([pa.table({"part": ["P-00000", "P-07919"]})])
    assert isinstance(several, FusedAnswer)


def test_the_same_identifier_is_as_good_as_a_key() -> None:
    """Nine employees of thousands of orders: any numbers would match, but the names agree."""
    from dataclasses import replace

    signals = Signals(
        9, 1.0, 0.9, 1.0, names=1.0, specificity=0.7, identify=True, row_uniqueness=0.01
    )
    named, other = score_join(signals), score_join(replace(signals, names=0.3, identify=False))
    assert named.coincidence is None and named.score > 0.5
    assert other.coincidence is not None and other.score < 0.1
    some = score_join(replace(signals, share=0.5))
    assert some.coincidence is not None, "names do not count if half of the values do not match"
