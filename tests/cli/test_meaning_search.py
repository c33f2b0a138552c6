"""`lakejoin similar` and `lakejoin nearby` from the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lakejoin
from cli.commands import (
    COMPOSITE,
    CONTAINMENT,
    NEARBY,
    OVERLAP,
    SEARCH,
    SIMILAR,
    Command,
)
from fake_spark import FakeSpark


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with vectors of characters and with points, indexed once."""
    folder = tmp_path_factory.mktemp("near") / "lake"
    folder.mkdir()
    (folder / "offices.csv").write_text(
        "addr,city\n12 main street,Bern\n7 oak avenu,Zürich\n3 Elm Rd.,Oslo\n1 market sq,Thun\n"
    )
    (folder / "stations.csv").write_text(
        "stop,lat,lon,price\nBern,46.9490,7.4390,10\nThun,46.7548,7.6296,20\nOlten,47.352,7.9078,30\n"
    )
    (folder / "spots.tsv").write_text("spot\tposition\na\t46.9491, 7.4391\nb\t46.7547, 7.6297\n")
    index = folder.parent / "index"
    lakejoin.index(folder, index, spark=FakeSpark(), encoder="characters")
    return index


@pytest.fixture
def here(indexed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAKEJOIN_INDEX", str(indexed))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_text(
        "address,people\n12 Main St,1\n7 Oak Avenue,2\n3 Elm Road,3\nxylophone,4\n"
    )
    (tmp_path / "places.csv").write_text("id,lon,lat\n1,7.4391,46.9489\n2,7.6297,46.7549\n")
    return tmp_path


# -- by meaning ------------------------------------------------------------------------------------


def test_what_is_shown(here: Path) -> None:
    shown = SIMILAR.run("mine.csv", "--on", "address", "--tau", "45%").output
    assert "the columns of 3 tables that match at least 60% of the values" in shown
    assert "within tau 45%" in shown and "offices.csv" in shown and "3 of 4" in shown
    assert "12 Main St ~ 12 main street" in shown and "✗ xylophone" in shown
    assert "pairs   median distance" in shown
    assert "to see the pairs of result 1, add --explain 1" in shown
    assert "lakejoin join" not in shown and "values in the lake" in shown


def test_json(here: Path) -> None:
    found = SIMILAR.answer("mine.csv", "--on", "address", "--tau", "0.45")
    assert list(found) == [
        *(
            "query",
            "by",
            "k",
            "min",
            "tau",
            "within",
            "metric",
            "measure",
            "encoder",
            "taus",
            "sure",
        ),
        *("results", "counters", "notes", "seconds"),
    ]
    assert (found["by"], found["tau"], found["measure"], found["min"]) == (
        "meaning",
        0.45,
        "hit",
        0.6,
    )
    assert found["encoder"].startswith("characters ")
    (result,) = found["results"]
    assert result["pairs"] == 3 and 0 <= result["distance"] < 0.45
    assert set(found["counters"]) == {
        *("segments", "values", "bounded", "verified", "near", "encoded", "methods"),
    }


def test_explained(here: Path) -> None:
    asked = ("mine.csv", "--on", "address", "--tau", "0.45", "--explain", "1")
    shown = SIMILAR.run(*asked).output
    assert "3 pairs, nearest first" in shown and "your values that do not match" in shown
    assert "3 Elm Rd." in shown and "xylophone" in shown and "method:" in shown
    assert "lakejoin join" not in shown and "to join them in DuckDB:\n" in shown
    found = SIMILAR.answer(*asked)
    assert list(found) == [
        *(
            "query",
            "by",
            "k",
            "min",
            "tau",
            "within",
            "metric",
            "measure",
            "encoder",
            "taus",
            "sure",
        ),
        *("result", "matches", "unmatched", "counters", "notes", "seconds", "sql", "join"),
    ]
    assert found["tau"] == 0.45 and found["sql"] in shown
    assert list(found["matches"][0]) == ["value", "partner", "distance", "mine", "theirs"]
    assert [pair["partner"] for pair in found["matches"]] == [
        *("12 main street", "3 Elm Rd.", "7 oak avenu"),
    ]
    assert found["unmatched"] == [{"value": "xylophone", "mine": 1}]
    assert found["join"] is None and "VALUES" in found["sql"]


def test_the_farthest_are_shown_of_many(here: Path) -> None:
    rows = "".join(f"{n} elm rd.,{n}\n" for n in range(40))
    (here / "many.csv").write_text(f"street,n\n{rows}")
    asked = ("many.csv", "--on", "street", "--tau", "0.6", "--explain", "1")
    shown = SIMILAR.run(*asked).output
    assert "the farthest pairs within tau 60%" in shown and "more; --json shows all" in shown
    assert "1 pair of equal values" in shown and " other pairs, nearest first" in shown
    assert "to join them in DuckDB: --json prints the SQL" in shown


def test_tau_auto(here: Path) -> None:
    asked = ("mine.csv", "--on", "address", "--tau", "auto")
    shown = SIMILAR.run(*asked).output
    assert "columns with matches for 3 of 4 values, by tau" in shown
    assert "█" in shown and "▲" in shown and "note: tau " in shown
    found = SIMILAR.answer(*asked)
    assert found["tau"] == found["taus"]["taken"] and len(found["taus"]["counts"]) == 50
    assert list(found["taus"]) == ["taken", "why", "least", "values", "counts"]


def test_measure_and_encoder(here: Path) -> None:
    asked = ("mine.csv", "--on", "address", "--tau", "0.45", "-k", "2")
    usual = SIMILAR.answer(*asked)["results"]
    assert SIMILAR.answer(*asked, "--encoder", "characters")["results"] == usual
    pairs = SIMILAR.answer(*asked, "--measure", "all")
    assert pairs["measure"] == "all" and pairs["results"][0]["pairs"] == 3
    shown = SIMILAR.run(*asked, "--measure", "all").output
    assert "the 2 columns of 3 tables that have the most pairs within tau 45%" in shown
    shown = SIMILAR.run(*asked).output
    assert "that match the most values within tau 45%" in shown
    shown = SIMILAR.run(*asked, "--min-share", "0.5").output
    assert "that match the most values, at least 50%, within tau 45%" in shown


def test_every_column_and_batch(here: Path) -> None:
    shown = SIMILAR.run("mine.csv", "--on", "*", "--tau", "0.45").output
    assert "address of mine.csv" in shown and "people of" not in shown
    assert "lakejoin join" not in shown
    done = SIMILAR.run("--batch", "*.csv", "--tau", "0.45", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {line["query"]["table"] for line in lines} == {"mine.csv", "places.csv"}
    assert all(line["by"] == "meaning" for line in lines)


def test_nothing_is_found(here: Path) -> None:
    shown = SIMILAR.run("mine.csv", "--on", "address", "--tau", "0.01").output
    assert "note: no text column in the lake has matches within tau 1% for 60% of the 4" in shown
    assert "there is no result 1" in SIMILAR.refused(
        "mine.csv", "--on", "address", "--tau", "0.01", "--explain", "1"
    )


# -- by distance -----------------------------------------------------------------------------------


def test_places(here: Path) -> None:
    asked = ("places.csv", "--on", "lon", "--on", "lat", "--within", "100m")
    shown = NEARBY.run(*asked).output
    assert "lat + lon of places.csv (2 distinct points in 2 rows)" in shown
    assert "note: using 'lat' as latitude and 'lon' as longitude" in shown
    assert "lat → lat, lon → lon" in shown and "lat, lon → position" in shown
    assert "46.9489, 7.4391 ~ 46.949, 7.439" in shown and " m\n" in shown
    found = NEARBY.answer(*asked)
    assert found["within"] == "100m" and found["metric"] == "haversine" and found["tau"] is None
    assert {tuple(r["columns"]) for r in found["results"]} == {("lat", "lon"), ("position",)}
    unnamed = NEARBY.answer("places.csv", "--within", "100m")
    assert len(unnamed["results"]) == 2 and "no column was named" in unnamed["notes"][0]
    explained = NEARBY.answer(*asked, "--explain", "1")
    assert explained["sql"] is None and explained["join"] is None
    assert explained["matches"][0]["value"].count(", ") == 1
    assert "2 pairs, nearest first" in NEARBY.run(*asked, "--explain", "1").output


def test_numbers(here: Path) -> None:
    (here / "prices.csv").write_text("p\n10.05\n20.1\n999\n")
    found = NEARBY.answer("prices.csv", "--on", "p", "--within", "1%")
    (result,) = found["results"]
    assert result["columns"] == ["price"] and result["matched"] == 2
    shown = NEARBY.run("prices.csv", "--on", "p", "--within", "0.2").output
    assert "within 0.2" in shown and "10.05 ~ 10" in shown


def test_more_pairs_than_can_be_listed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakejoin.search.result.MAX_LISTED_PAIRS", 1)
    asked = ("places.csv", "--on", "lat", "--on", "lon", "--within", "100m")
    shown = NEARBY.run(*asked).output
    assert "2 results have more than 1 pairs, too many to list" in shown
    assert "to see the pairs" not in shown
    said = NEARBY.refused(*asked, "--explain", "1")
    assert "2 matching pairs, but only 1 can be listed" in said


def test_batches_by_distance(here: Path) -> None:
    done = NEARBY.run("--batch", "*.csv", "--within", "100m", "--json")
    found, failed = sorted(map(json.loads, done.stdout.splitlines()), key=len, reverse=True)
    assert found["query"]["table"] == "places.csv" and done.exit_code != 0
    assert "look like coordinates" in failed["error"]


# -- what cannot be asked --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "arguments", "sentence"),
    [
        (SIMILAR, ("--tau", "6"), "such as 0.06 or 6%, or auto; got 6"),
        (SIMILAR, ("--on", "people"), "search by meaning takes one column"),
        (SIMILAR, ("--encoder", "nowhere.vec"), "no encoder nowhere.vec"),
        (NEARBY, ("--within", "soon"), "'soon' is not a distance"),
        (NEARBY, ("--within", "1"), "has no numbers, coordinates or vectors"),
    ],
)
def test_refused(here: Path, command: Command, arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in command.refused("mine.csv", "--on", "address", *arguments)


@pytest.mark.parametrize(
    ("command", "arguments", "sentence"),
    [
        (SEARCH, ("--tau", "0.3"), "No such option"),
        (SEARCH, ("--within", "5m"), "No such option"),
        (SEARCH, ("--min-share", "0.5"), "No such option"),
        (OVERLAP, ("--within", "5m"), "No such option"),
        (CONTAINMENT, ("--encoder", "small"), "No such option"),
        (CONTAINMENT, ("--algorithm", "josie"), "No such option"),
        (OVERLAP, ("--no-verify",), "No such option"),
        (SIMILAR, ("--within", "5m"), "No such option"),
        (SIMILAR, ("--no-verify",), "No such option"),
        (SIMILAR, ("--algorithm", "merge"), "No such option"),
        (COMPOSITE, ("--algorithm", "merge"), "No such option"),
        (COMPOSITE, ("--no-verify",), "No such option"),
        (OVERLAP, ("--initial", "a"), "No such option"),
        (NEARBY, ("--within", "1", "--tau", "0.3"), "No such option"),
        (NEARBY, ("--within", "1", "--initial", "a"), "No such option"),
        (NEARBY, (), "Missing option '--within'"),
    ],
)
def test_each_engine_takes_only_its_own_options(
    here: Path, command: Command, arguments: tuple[str, ...], sentence: str
) -> None:
    done = command.run("mine.csv", "--on", "address", *arguments)
    assert done.exit_code == 2 and sentence in done.output


def test_another_encoder_and_an_index_without(here: Path, small_lake: Path, tmp_path: Path) -> None:
    vectors = tmp_path / "tiny.vec"
    vectors.write_text("2 3\nmain 1 0 0\noak 0 1 0\n")
    said = SIMILAR.refused("mine.csv", "--encoder", str(vectors))
    assert "(characters " in said and "wordfile+characters" in said
    assert f"lakejoin index --with meaning --encoder {vectors}" in said
    bare = tmp_path / "bare"
    lakejoin.index(small_lake, bare, spark=FakeSpark(), parts=[])
    for by, part in (("meaning", "meaning"), ("distance", "distance")):
        within = ("--within", "1") if by == "distance" else ()
        command = NEARBY if by == "distance" else SIMILAR
        said = command.refused("mine.csv", "--on", "people", *within, "--index", str(bare))
        assert f"add them with: lakejoin index --with {part} --index {bare}" in said
