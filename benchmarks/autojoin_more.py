"""Some fifty more pairs of tables that must be rewritten to join.

The rows are real (tables of the folders `lake` and `databases` below `--data`); what they look like
in the second table is made by a recipe, or is another column of the same real table. Both tables
have rows that the other has not, columns that mean nothing, and the second has a few typing errors.
All from a seed.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pyarrow as pa

from autojoin_cases import Case, Pairs

Row = dict[str, str]
_YEAR = "January February March April May June July August September October November December"
_MONTHS = _YEAR.split()
_GROUPS = ("north", "south", "east", "west", "centre")


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the label of a row in the second table is made from the columns of the first."""

    name: str
    file: str
    columns: tuple[str, ...]
    made: Callable[[Row], str]
    typos: float = 0.03
    given: Callable[[Row], Row] | None = None  # makes the first table's columns out of these
    many: bool = False  # many rows of the first have the same label
    delimiter: str = ","


def more(folder: Path) -> Iterator[Case]:
    """The cases that were there while joins were being written, if their tables are there."""
    return _cases(folder, RECIPES)


def later(folder: Path) -> Iterator[Case]:
    """Those that were made when that was done: nobody had seen what comes out."""
    return _cases(folder, LATER)


def _cases(folder: Path, recipes: Sequence[Recipe], rows: int = 300) -> Iterator[Case]:
    for number, recipe in enumerate(recipes):
        path = folder / recipe.file
        if path.is_file():
            yield made_case(recipe, _read(path, recipe.delimiter), rows, random.Random(number))


def made_case(recipe: Recipe, real: list[Row], rows: int, rng: random.Random) -> Case:
    """Of the rows drawn, seven tenths are in both tables, the others in one of them."""
    drawn = _drawn(recipe, real, rows, rng)
    labels = sorted({label for _, label in drawn})
    only = {label: rng.random() for label in labels}
    left = [(row, label) for row, label in drawn if only[label] < 0.85]
    kept = [label for label in labels if only[label] > 0.15]
    rng.shuffle(left)
    rng.shuffle(kept)
    place = {label: j for j, label in enumerate(kept)}
    true: Pairs = {(i, place[label]) for i, (_, label) in enumerate(left) if label in place}
    texts = [_typo(label, rng) if rng.random() < recipe.typos else label for label in kept]
    mine = pa.Table.from_pylist([row for row, _ in left])
    return Case(
        recipe.name, _beside(mine, rng), _beside(pa.table({"label": texts}), rng),
        range(len(left)), range(len(kept)), true, tuple(mine.column_names), ("label",),
    )  # fmt: skip


def _drawn(recipe: Recipe, real: list[Row], rows: int, rng: random.Random) -> list[tuple[Row, str]]:
    """Rows with their labels, each there once, unless one label may have many rows."""
    found: list[tuple[Row, str]] = []
    seen: set[str] = set()
    for row in rng.sample(real, len(real)):
        cells = {column: row[column].strip() for column in recipe.columns}
        if not all(cells.values()):
            continue
        label = recipe.made(cells)
        mine = recipe.given(cells) if recipe.given else cells
        names = {"label " + label.lower(), "row " + " ".join(mine.values()).lower()}
        if label and (recipe.many or not names & seen):
            found.append((mine, label))
            seen |= names
        if len(found) == rows:
            break
    return found


def _beside(table: pa.Table, rng: random.Random) -> pa.Table:
    """A table with columns beside it that mean nothing; now and then its rows are numbered."""
    count = table.num_rows
    table = table.append_column("score", pa.array([str(rng.randrange(1000)) for _ in range(count)]))
    table = table.append_column("group", pa.array([rng.choice(_GROUPS) for _ in range(count)]))
    if rng.random() < 0.3:
        table = table.add_column(0, "no", pa.array([str(i + 1) for i in range(count)]))
    return table


def _typo(text: str, rng: random.Random) -> str:
    """One letter left out, doubled, or two swapped."""
    at = rng.randrange(max(1, len(text) - 1))
    return rng.choice(
        (
            text[:at] + text[at + 1 :],
            text[: at + 1] + text[at:],
            text[:at] + text[at + 1 : at + 2] + text[at : at + 1] + text[at + 2 :],
        )
    )


def _read(path: Path, delimiter: str) -> list[Row]:
    with path.open(encoding="utf-8-sig", newline="", errors="replace") as file:
        return [
            {k: v or "" for k, v in row.items() if isinstance(k, str)}
            for row in csv.DictReader(file, delimiter=delimiter)
        ]


def _date(text: str) -> date:
    """1930-07-13, or 7/13/30 with the month first."""
    if "-" in text:
        return date.fromisoformat(text[:10])
    month, day, year = (int(part) for part in text.split("/"))
    return date(year + (0 if year > 99 else 1900 if year > 30 else 2000), month, day)


def _long(text: str) -> str:
    day = _date(text)
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def _american(text: str) -> str:
    day = _date(text)
    return f"{_MONTHS[day.month - 1]} {day.day}, {day.year}"


def _german(text: str) -> str:
    return f"{_date(text):%d.%m.%Y}"


def _phone(row: Row) -> str:
    digits = (row["CIK"] + row["Founded"][:4]).zfill(10)[-10:]
    return f"{digits[:3]} {digits[3:6]} {digits[6:]}"


_PLAYERS = "databases/worldcup_fjelstul/players.csv"
_REFEREES = "databases/worldcup_fjelstul/referees.csv"
_MATCHES = "databases/worldcup_fjelstul/matches.csv"
_STAFF = "databases/employees_small/employee.csv"
_CONGRESS = "lake/fivethirtyeight/congress-age/congress-terms.csv"
_MOVIES = "lake/fivethirtyeight/bechdel/movies.csv"
_SP500 = "lake/datahub-s-and-p-500-companies/data/constituents.csv"
_NAMES = ("given_name", "family_name")
_WORKER = ("first_name", "last_name", "emp_no")
_MEMBER = ("firstname", "middlename", "lastname")

RECIPES = (
    Recipe("last, first", _PLAYERS, _NAMES, lambda r: f"{r['family_name']}, {r['given_name']}"),
    Recipe(
        "last, first to first last", _REFEREES, _NAMES,
        lambda r: f"{r['given_name']} {r['family_name']}",
        given=lambda r: {"referee": f"{r['family_name']}, {r['given_name']}"},
    ),
    Recipe("initial and last", _PLAYERS, _NAMES,
           lambda r: f"{r['given_name'][0]}. {r['family_name']}"),
    Recipe("email", _STAFF, _WORKER,
           lambda r: f"{r['first_name']}.{r['last_name']}@example.org".lower()),
    Recipe("email by initial", _STAFF, _WORKER,
           lambda r: f"{r['first_name'][0]}{r['last_name']}@mail.example.com".lower()),
    Recipe("user name with number", _STAFF, _WORKER,
           lambda r: f"{r['last_name'][:5]}{r['first_name'][0]}{r['emp_no'][-3:]}".lower()),
    Recipe("address of a page", "databases/worldcup_fjelstul/managers.csv", _NAMES,
           lambda r: f"https://example.org/people/{r['given_name']}-{r['family_name']}".lower()),
    Recipe("encyclopedia", _PLAYERS, (*_NAMES, "player_wikipedia_link"),
           lambda r: r["player_wikipedia_link"], typos=0,
           given=lambda r: {c: r[c] for c in _NAMES}),
    Recipe("title and year", "lake/fivethirtyeight/biopics/biopics.csv", ("title", "year_release"),
           lambda r: f"{r['title']} ({r['year_release']})"),
    Recipe("year and title", _MOVIES, ("title", "year"), lambda r: f"{r['year']} - {r['title']}"),
    Recipe("match and long date", _MATCHES, ("match_name", "match_date"),
           lambda r: f"{r['match_name']} ({_long(r['match_date'])})"),
    Recipe("name and german date", _STAFF, ("last_name", "birth_date"),
           lambda r: f"{r['last_name']}, {_german(r['birth_date'])}"),
    Recipe("short date in a text", "lake/fivethirtyeight/daily-show-guests/daily_show_guests.csv",
           ("Raw_Guest_List", "Show"),
           lambda r: f"{r['Raw_Guest_List']} on {_date(r['Show']).isoformat()}"),
    Recipe("resigned", "lake/fivethirtyeight/congress-resignations/congressional_resignations.csv",
           ("Member", "Resignation Date"),
           lambda r: f"{r['Member']} resigned on {_american(r['Resignation Date'])}"),
    Recipe("phone", _SP500, ("CIK", "Founded"), _phone, typos=0.0,
           given=lambda r: {"phone": "({}) {}-{}".format(*_phone(r).split())}),
    Recipe("county code padded", "lake/fivethirtyeight/police-killings/police_killings.csv",
           ("state_fp", "county_fp"),
           lambda r: f"{int(r['state_fp']):02}{int(r['county_fp']):03}", typos=0.0),
    Recipe("number padded", "lake/datahub-world-cities/data/world-cities.csv",
           ("geonameid", "name"), lambda r: r["geonameid"].zfill(10), typos=0.0,
           given=lambda r: {"geonameid": r["geonameid"]}),
    Recipe("invoice", "databases/chinook/Invoice.csv", ("InvoiceId", "InvoiceDate"),
           lambda r: f"INV-{r['InvoiceId'].zfill(6)} of {r['InvoiceDate'][:10]}"),
    Recipe("runway", "lake/ourairports/runways.csv", ("airport_ident", "le_ident", "he_ident"),
           lambda r: f"{r['airport_ident']}:{r['le_ident']}/{r['he_ident']}"),
    Recipe("city, state", "lake/us-cities-states/us_cities_states_counties.csv",
           ("City", "State short"), lambda r: f"{r['City']}, {r['State short']}", delimiter="|"),
    Recipe("city (state) in capitals", "lake/us-zipcodes-midwire/all_us_zipcodes.csv",
           ("city", "state"), lambda r: f"{r['city']} ({r['state']})".upper()),
    Recipe("county and state", "lake/us-cities-states/us_cities_states_counties.csv",
           ("County", "State full"), lambda r: f"{r['County'].title()} County, {r['State full']}",
           delimiter="|"),
    Recipe("security", "lake/datahub-nasdaq-listings/data/nasdaq-listed-symbols.csv",
           ("Company Name", "Security Name"),
           lambda r: r["Company Name"] if r["Company Name"] != r["Security Name"] else "", typos=0,
           given=lambda r: {"security": r["Security Name"]}),
    Recipe("title stripped", _REFEREES, (*_NAMES, "female"),
           lambda r: f"{r['given_name']} {r['family_name']}",
           given=lambda r: {"who": f"{'Mrs' if r['female'] == '1' else 'Mr'}. "
                            f"{r['given_name']} {r['family_name']}"}),
    Recipe("middle initial", _CONGRESS, _MEMBER,
           lambda r: f"{r['lastname']}, {r['firstname']} {r['middlename'][0]}."),
    Recipe("middle name left out", _CONGRESS, _MEMBER,
           lambda r: f"{r['firstname']} {r['lastname']}",
           given=lambda r: {"member": f"{r['firstname']} {r['middlename']} {r['lastname']}"}),
    Recipe("dollars", _MOVIES, ("domgross",),
           lambda r: f"${int(r['domgross']):,}" if r["domgross"].isdigit() else "", typos=0.0),
    Recipe("thousands", "lake/fivethirtyeight/pulitzer/pulitzer-circulation-data.csv",
           ("Daily Circulation, 2004",),
           lambda r: r["Daily Circulation, 2004"].replace(",", ""), typos=0.0),
    Recipe("song and artist", "lake/fivethirtyeight/classic-rock/classic-rock-song-list.csv",
           ("Song Clean", "ARTIST CLEAN"), lambda r: f"{r['ARTIST CLEAN']} - {r['Song Clean']}"),
    Recipe("opening", "lake/chess-openings/a.tsv", ("eco", "name"),
           lambda r: f"{r['name']} ({r['eco']})", delimiter="\t"),
    Recipe("title without year", "lake/fivethirtyeight/fandango/fandango_scrape.csv", ("FILM",),
           lambda r: r["FILM"].rpartition(" (")[0]),
    Recipe("player's slug", "lake/fivethirtyeight/nba-draft-2015/historical_projections.csv",
           ("Player", "ID"), lambda r: r["ID"], typos=0, given=lambda r: {"Player": r["Player"]}),
    Recipe("film's page", _MOVIES, ("imdb", "title"),
           lambda r: f"http://www.imdb.com/title/{r['imdb']}/", typos=0.01),
    Recipe("airport", "databases/openflights/airports.csv", ("city", "iata"),
           lambda r: f"{r['city']} ({r['iata']})" if r["iata"] != "\\N" else ""),
    Recipe("file of a beacon", "lake/ourairports/navaids.csv",
           ("name", "type", "iso_country", "filename"), lambda r: r["filename"], typos=0,
           given=lambda r: {c: r[c] for c in ("name", "type", "iso_country")}),
    Recipe("matches of a tournament", _MATCHES, ("tournament_name", "tournament_id"),
           lambda r: r["tournament_id"], typos=0, many=True,
           given=lambda r: {"tournament": r["tournament_name"]}),
    Recipe("matches of a city", _MATCHES, ("city_name", "country_name"),
           lambda r: f"{r['country_name']}: {r['city_name']}", many=True),
)  # fmt: skip

LATER = (
    Recipe("member of congress", _CONGRESS, ("lastname", "firstname", "party", "state"),
           lambda r: f"{r['firstname']} {r['lastname']} ({r['party']}-{r['state']})"),
    Recipe("symbol and name", _SP500, ("Symbol", "Security"),
           lambda r: f"{r['Symbol']}: {r['Security']}"),
    Recipe("state and seat", _SP500, ("Headquarters Location",),
           lambda r: " - ".join(reversed(r["Headquarters Location"].split(", ")))),
    Recipe("airline", "databases/openflights/airlines.csv", ("name", "icao", "country"),
           lambda r: f"{r['name']} [{r['icao']}]" if len(r["icao"]) == 3 else ""),
    Recipe("film", "databases/sakila/film.csv", ("film_id", "title"),
           lambda r: f"{r['title'].title()} (no. {r['film_id']})"),
    Recipe("order", "databases/northwind/Orders.csv", ("OrderID", "CustomerID"),
           lambda r: f"{r['CustomerID']}-{r['OrderID']}"),
    Recipe("composer and track", "databases/chinook/Track.csv", ("Name", "Composer"),
           lambda r: f"{r['Composer']}: {r['Name']}"),
    Recipe("language", "databases/cldf_wals/languages.csv", ("Name", "ISO639P3code"),
           lambda r: f"{r['Name']} [{r['ISO639P3code']}]"),
    Recipe("stadium", "databases/worldcup_fjelstul/stadiums.csv",
           ("stadium_name", "city_name", "country_name"),
           lambda r: f"{r['stadium_name']}, {r['city_name']} ({r['country_name']})"),
    Recipe("result", _MATCHES,
           ("home_team_code", "away_team_code", "home_team_score", "away_team_score", "match_date"),
           lambda r: f"{r['home_team_code']} {r['home_team_score']}-{r['away_team_score']} "
           f"{r['away_team_code']}, {r['match_date'][:4]}"),
    Recipe("area", "lake/fivethirtyeight/librarians/librarians-by-msa.csv", ("area_name",),
           lambda r: ": ".join(reversed(r["area_name"].split(", ", 1)))),
    Recipe("cover", "lake/the-pudding/vogue/faces.csv", ("model", "date"),
           lambda r: f"{r['model']} ({_MONTHS[_date(r['date']).month - 1][:3]} {r['date'][-4:]})"),
    Recipe("page of a boxer", "lake/fivethirtyeight/undefeated-boxers/undefeated.csv",
           ("name", "url"), lambda r: r["url"].rpartition("/")[2], typos=0,
           given=lambda r: {"url": r["url"]}),
    Recipe("name and day", _STAFF, ("first_name", "last_name", "hire_date"),
           lambda r: f"{r['last_name']} {r['first_name'][0]}. {r['hire_date'].replace('-', '/')}"),
    Recipe("post code and city", "lake/us-zipcodes-midwire/all_us_zipcodes.csv", ("code", "city"),
           lambda r: f"{r['code']} {r['city']}"),
)  # fmt: skip
