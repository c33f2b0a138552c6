"""Joins of names of kinds that are hard to tell apart, made by respelling real names.

Latin species and genera, brands, seasons of years and numbered titles, from the titles of
AutoFuzzyJoin's tables. Some keys are taken away and asked for all the same: such a text has no
match, but others look like it. Seeds are fixed.
"""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from autojoin_cases import Case, Pairs

Respell = Callable[[str, random.Random], str]

MOST_KEYS = 1500
AWAY = 0.15  # share of the names that are no keys
ASKED = 0.3  # share of the keys and of the others that are asked for
SERIES = (
    "Apollo", "Soyuz", "Cosmos", "Intelsat", "Gemini", "Vega", "Progress", "Luna", "Astra",
    "Eutelsat", "Mega Man", "Final Fantasy", "Rocky", "Super Bowl", "WrestleMania", "NGC",
    "Messier", "Foton",
)  # fmt: skip


def names(folder: Path) -> Iterator[Case]:
    """The five cases, where the folder has AutoFuzzyJoin's tables."""
    if not (folder / "autofj").is_dir():
        return
    creatures = titles(folder, "Reptile", "Amphibian")
    yield respelt(
        "latin species", (t for t in creatures if re.fullmatch("[A-Z][a-z]+ [a-z]+", t)), latin, 0
    )
    yield respelt("genera", (t for t in creatures if re.fullmatch("[A-Z][a-z]{4,}", t)), brand, 0)
    short = titles(folder, "ShoppingMall", "Stadium", "Museum", "UnitOfWork", "Wrestler")
    plain = (t for t in short if len(t.split()) <= 2 and not re.search(r"[(\d]", t))
    yield respelt("brands", plain, brand, 1)
    dated = titles(
        folder, "MotorsportSeason", "SoccerClubSeason", "FootballLeagueSeason", "Tournament",
        "Race", "NCAATeamSeason",
    )  # fmt: skip
    yield respelt("seasons", (t for t in dated if re.search(YEARS, t)), season, 2)
    rng = random.Random(4)
    counted = (f"{name} {no}" for name in SERIES for no in rng.sample(range(1, 80), 40))
    yield respelt("numbered", counted, numbered, 3)


def titles(folder: Path, *tables: str) -> list[str]:
    found: list[str] = []
    for table in tables:
        path = folder / "autofj" / table / "left.csv"
        with path.open(encoding="utf-8-sig", newline="") as file:
            found += [row["title"] for row in csv.DictReader(file)]
    return found


def respelt(name: str, keys: Iterable[str], respell: Respell, seed: int) -> Case:
    """A case of these keys, some of which are asked for in another spelling."""
    rng, known = random.Random(seed), sorted(set(keys))
    rng.shuffle(known)
    known = known[:MOST_KEYS]
    cut = int(len(known) * (1 - AWAY))
    asked: list[str] = []
    true: Pairs = set()
    for place, key in enumerate(known):
        if rng.random() < ASKED:
            if place < cut:
                true.add((len(asked), place))
            asked.append(respell(key, rng))
    left, right = (pa.table({"title": texts}) for texts in (asked, known[:cut]))
    on = ("title",)
    return Case(name, left, right, range(len(asked)), range(cut), true, on, on)


def typo(text: str, rng: random.Random) -> str:
    """A letter lost, added, changed, or two swapped."""
    place, letter = rng.randrange(1, max(2, len(text) - 1)), rng.choice("aeioulnrst")
    head, rest = text[:place], text[place:]
    swapped = rest[1:2] + rest[:1] + rest[2:]
    return head + rng.choice([rest[1:], letter + rest, letter + rest[1:], swapped])


def latin(text: str, rng: random.Random) -> str:
    first, last = text.split()
    author = rng.choice(["(Linnaeus, 1758)", "Boulenger, 1885", "Günther, 1864", "Cope 1868"])
    ended = re.sub("(us|a|um|is)$", lambda _: rng.choice(["us", "a", "um", "is", "i", "ae"]), last)
    return rng.choice(
        [f"{first} {ended}", f"{first[0]}. {last}", f"{text} {author}", f"{text} {last}",
         typo(text, rng), f"{first} {typo(last, rng)}"]
    )  # fmt: skip


def brand(text: str, rng: random.Random) -> str:
    ending = rng.choice([" Inc.", " GmbH", " Ltd", " (brand)", " Group"])
    return rng.choice(
        [typo(text, rng), re.sub("[ -]", "", text), text + ending, text.upper(),
         re.sub("([a-z])([A-Z])", r"\1 \2", text), f"{text}'s", typo(typo(text, rng), rng)]
    )  # fmt: skip


YEARS = r"\b((?:19|20)\d\d)(?:[-–](\d\d))?\b"


def season(text: str, rng: random.Random) -> str:
    found = re.search(YEARS, text)
    assert found
    year, until = found[1], found[2]
    rest = " ".join((text[: found.start()] + text[found.end() :]).split())
    years = f"{year}–{until}" if until else year
    longer = f"{year}-{year[:2]}{until}" if until else year
    return rng.choice(
        [f"{rest} {years}", f"{rest} ({years})", f"{rest}, {longer}", f"{longer} {rest}",
         f"{years} {typo(rest, rng)}", f"{years} {rest.replace('season', '').strip()}"]
    )  # fmt: skip


def numbered(text: str, rng: random.Random) -> str:
    name, _, number = text.rpartition(" ")
    no = int(number)
    return rng.choice(
        [f"{name}-{no}", f"{name} {roman(no)}" if no < 50 else f"{name} No. {no}", f"{name}{no}",
         f"{typo(name, rng)} {no}", f"{name} #{no}", f"{name} {no:02}"]
    )  # fmt: skip


def roman(number: int) -> str:
    for value, digits in ((40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        if number >= value:
            return digits + roman(number - value)
    return ""
