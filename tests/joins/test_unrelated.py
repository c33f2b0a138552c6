"""Tables that have nothing to do with each other: no join is invented.

Thirty pairs of real tables, put together by subject so that no column of one is about what a column
of the other is about. Many have row numbers, years, small numbers, ids, short codes and names of
people all the same. Of long tables the first rows are taken, to be quick.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

import lakejoin
from lakejoin.formats.file_reader import Table, read
from lakejoin.joins.equal.equal_columns import find_equal_columns

LAKE = (
    Path(
        os.environ.get("LAKEJOIN_TEST_DATA") or Path(__file__).parents[2].parent / "shared" / "data"
    )
    / "lake"
)
ROWS = 400

PAIRS = [
    # paintings on television, sweets
    (
        "fivethirtyeight/bob-ross/elements-by-episode.csv",
        "fivethirtyeight/candy-power-ranking/candy-data.csv",
    ),
    # heroes of comics, newspapers
    (
        "fivethirtyeight/avengers/avengers.csv",
        "fivethirtyeight/pulitzer/pulitzer-circulation-data.csv",
    ),
    # drugs by age, actors
    (
        "fivethirtyeight/drug-use-by-age/drug-use-by-age.csv",
        "fivethirtyeight/mad-men/performer-scores.csv",
    ),
    # tattoos of players, members of cabinets: their surnames meet
    (
        "fivethirtyeight/nba-tattoos/nba-tattoos-data.csv",
        "fivethirtyeight/cabinet-turnover/cabinet-turnover.csv",
    ),
    # tennis, what students study
    ("fivethirtyeight/tennis-time/events_time.csv", "fivethirtyeight/college-majors/all-ages.csv"),
    # accidents of airlines, scenes of a film
    (
        "fivethirtyeight/airline-safety/airline-safety.csv",
        "fivethirtyeight/love-actually/love_actually_appearances.csv",
    ),
    # how people like their steak, berries of a game
    ("fivethirtyeight/steak-survey/steak-risk-survey.csv", "pokeapi/berries.csv"),
    # characters of a game, librarians
    ("pokeapi/natures.csv", "fivethirtyeight/librarians/librarians-by-msa.csv"),
    # sectors of foreign aid, singers
    ("datahub-dac-and-crs-code-lists/data/sectors.csv", "the-pudding/boybands/boys.csv"),
    # the weather of Mars, jokes
    ("the-pudding/mars-weather/mars-weather.csv", "the-pudding/stand-up/ali-wong--topics.csv"),
    # pockets of trousers, kinds of aircraft
    ("the-pudding/pockets/measurements.csv", "openflights/planes.dat"),
    # what pupils may wear, currencies
    ("the-pudding/dress-codes/body_percentages.csv", "datahub-currency-codes/data/codes-all.csv"),
    # speeches of presidents, ingredients of biscuits
    (
        "fivethirtyeight/presidential-commencement-speeches/commencement_speeches.csv",
        "the-pudding/cookies/choc_chip_cookie_ingredients.csv",
    ),
    # marks of films, codes of languages: three letters meet
    (
        "fivethirtyeight/fandango/fandango_score_comparison.csv",
        "datahub-language-codes/data/language-codes-3b2.csv",
    ),
    # openings of chess, votes of judges
    ("chess-openings/a.tsv", "fivethirtyeight/tenth-circuit/tenth-circuit.csv"),
    # plants of a desert, a game of castles
    (
        "portal-ecology/Plants/Portal_plant_species.csv",
        "fivethirtyeight/riddler-castles/castle-solutions-4.csv",
    ),
    # figure skating, domains of the internet
    (
        "buzzfeed-skating/data/tidy/programs.csv",
        "datahub-top-level-domain-names/data/top-level-domain-names.csv",
    ),
    # songs of video games, features of grammar
    ("the-pudding/skate-music/soundtrack_data.csv", "cldf-wals/cldf/codes.csv"),
    # suspended players, moves of a game
    ("fivethirtyeight/nfl-suspensions/nfl-suspensions-data.csv", "pokeapi/moves.csv"),
    # a show of suitors, prices of houses
    (
        "fivethirtyeight/bachelorette/bachelorette.csv",
        "datahub-house-prices-us/data/national-month.csv",
    ),
    # boxers, things of a game
    ("fivethirtyeight/undefeated-boxers/undefeated.csv", "pokeapi/items.csv"),
    # songs of rock, airlines: three letters meet
    ("fivethirtyeight/classic-rock/classic-rock-song-list.csv", "openflights/airlines.dat"),
    # lines of songs, whales in captivity
    (
        "fivethirtyeight/hip-hop-candidate-lyrics/genius_hip_hop_lyrics.csv",
        "the-pudding/cetaceans/acquisitions.csv",
    ),
    # balls of baseball, shades of make-up
    ("fivethirtyeight/foul-balls/foul-balls.csv", "the-pudding/makeup-shades/shades.csv"),
    # curses in films, shares
    (
        "fivethirtyeight/tarantino/tarantino.csv",
        "datahub-nasdaq-listings/data/nasdaq-listed-symbols.csv",
    ),
    # a survey about commas, laughter
    ("fivethirtyeight/comma-survey/comma-survey.csv", "the-pudding/laugh/reddit-laughs.csv"),
    # words of songs, votes by county
    (
        "the-pudding/kidz-bop/KB_word-overview.csv",
        "us-county-elections/2020_US_County_Level_Presidential_Results.csv",
    ),
    # a survey about earthquakes, books
    ("fivethirtyeight/san-andreas/earthquake_data.csv", "the-pudding/summer-reading/hipster.csv"),
    # sweets, airlines: digits of prices meet row numbers
    ("fivethirtyeight/candy-power-ranking/candy-data.csv", "openflights/airlines.dat"),
    # drugs by age, radio beacons: digits glued together meet ids
    ("fivethirtyeight/drug-use-by-age/drug-use-by-age.csv", "ourairports/navaids.csv"),
    # members of cabinets, things of a game: digits at the end of names meet days
    ("fivethirtyeight/cabinet-turnover/cabinet-turnover.csv", "pokeapi/items.csv"),
]

pytestmark = pytest.mark.skipif(
    not LAKE.exists(), reason="the real tables (LAKEJOIN_TEST_DATA) are not here"
)


@cache
def table(name: str) -> pa.Table:
    found = read(LAKE / name)
    assert isinstance(found, Table)
    return found.to_arrow().slice(0, ROWS)


def test_there_are_thirty() -> None:
    assert len(set(PAIRS)) >= 30


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_no_join_is_invented(left: str, right: str) -> None:
    equal = find_equal_columns(table(left), table(right))
    assert equal is None or not equal.believed, equal
    join = lakejoin.join(table(left), table(right))
    assert not join, join.steps
