"""Do the tables rank first that a person would put first? Fused search against each engine alone.

    python benchmarks/fused_quality.py DATA --index INDEX

DATA/queries/questions.json has questions about tables in the lake that INDEX was built from: the
columns to search with (`table`, `on`), the tables that are `right`, and those that share values
only by coincidence (`accidental`). Engines return columns; here a table ranks where its first
column does. The search by meaning runs as a user would run it, for columns that match 60 % of the
values: without that bound it takes long (`--engines` leaves engines out). An engine that cannot
answer a question is measured without it, and its line says how many it answered. A question `by`
distance is only for the fused search and the search by distance.

- RR: one by the place of the first right table;
- P@5, P@10: the right ones among the first, of as many as could be (5 or 10, or all right ones);
- R@20: the share of the right ones that is among the first 20;
- above: accidental tables among the first ten that stand above a right one (one that was not found
  stands below all), and in how many of the questions there is any.

What a fused search tells apart as accidental is not found; only for `above` it stands at the end.
Versions of a table, which are one result, count as if each were one, behind the best of them.
Where a question says that the right ones are some among others, figures are lower bounds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import lakejoin
from harness import record
from lakejoin.errors import LakejoinError
from lakejoin.lake import Lake
from lakejoin.ranking.answer import FusedAnswer
from lakejoin.search.options import SearchOptions

_MOST = 200  # columns that are asked for


@dataclass(frozen=True, slots=True)
class Question:
    """A table and its columns, with what is right and what is accidental."""

    name: str
    table: str
    on: tuple[str, ...]
    right: frozenset[str]
    accidental: frozenset[str]
    within: str | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """Tables in order, and those that were listed separately as coincidental."""

    found: tuple[str, ...]
    apart: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Figures:
    """How good an order is."""

    rr: float
    p5: float
    p10: float
    r20: float
    above: int
    seconds: float


Engine = Callable[[Lake, Question], Ranked]


def questions(file: Path) -> list[Question]:
    """The questions of a file."""
    asked = json.loads(file.read_text(encoding="utf-8"))
    return [
        Question(
            one["id"],
            one["table"],
            tuple(one["on"]),
            frozenset(one["right"]),
            frozenset(one["accidental"]),
            one.get("within"),
        )
        for one in asked
    ]


def plain(by: str) -> Engine:
    """An engine alone; several columns are searched for together where it can."""

    def ask(lake: Lake, question: Question) -> Ranked:
        options = SearchOptions(by, _MOST, others=True)
        return _tables(lake.search_with(question.table, list(question.on), options))

    return ask


def meaning(lake: Lake, question: Question) -> Ranked:
    """The search by meaning, with its own bound."""
    return _tables(lake.similar(question.table, list(question.on), skip_copies=True))


def distance(lake: Lake, question: Question) -> Ranked:
    """The search by distance."""
    on, within = list(question.on), question.within
    return _tables(lake.nearby(question.table, on, _MOST, skip_copies=True, within=within))


def fused(lake: Lake, question: Question) -> Ranked:
    """All together."""
    return ranked(lake.search(question.table, list(question.on), k=_MOST))


def ranked(answer: FusedAnswer) -> Ranked:
    """The tables of an answer, each with its versions and the files of its series behind it."""
    found = tuple(name for one in answer for name in (one.table, *one.versions, *one.members))
    return Ranked(found, tuple(one.table for one in answer.misses))


ENGINES: dict[str, Engine] = {
    "overlap": plain("overlap"),
    "containment": plain("containment"),
    "meaning": meaning,
    "fused": fused,
}


def _tables(answer: Any) -> Ranked:
    return Ranked(tuple(dict.fromkeys(one.table for one in answer)))


def measured(ranked: Ranked, question: Question, seconds: float = 0.0) -> Figures:
    """How good an order is for a question."""
    places = [i for i, table in enumerate(ranked.found, 1) if table in question.right]
    right = len(question.right)

    def among(first: int) -> int:
        return sum(place <= first for place in places)

    order = [*ranked.found, *ranked.apart]
    last = max((order.index(one) if one in order else len(order)) for one in question.right)
    above = sum(one in question.accidental for one in order[: min(10, last)])
    return Figures(
        1 / places[0] if places else 0.0,
        among(5) / min(5, right),
        among(10) / min(10, right),
        among(20) / right,
        above,
        seconds,
    )


def ask_all(lake: Lake, engine: Engine, asked: Sequence[Question]) -> dict[str, Figures]:
    """The figures of the questions that an engine can answer."""
    found = {}
    for question in asked:
        begin = time.perf_counter()
        try:
            ranked = engine(lake, question)
        except LakejoinError as problem:
            print(f"    {question.name} is not asked: {problem}")
            continue
        found[question.name] = measured(ranked, question, time.perf_counter() - begin)
    return found


HEAD = f"{'':20} questions     RR   P@5  P@10  R@20  above (in questions)  median seconds"


def line(name: str, found: Sequence[Figures]) -> str:
    """The means of an engine."""
    means = [mean(getattr(one, what) for one in found) for what in ("rr", "p5", "p10", "r20")]
    above, some = sum(one.above for one in found), sum(one.above > 0 for one in found)
    shares = "  ".join(f"{one:.2f}" for one in means)
    return (
        f"{name:20} {len(found):9}  {means[0]:.3f}  {shares[6:]}  {above:5} ({some})"
        f"{median(one.seconds for one in found):26.2f}"
    )


def main() -> None:
    """Asks every engine every question, prints the means, and records all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--index", required=True)
    parser.add_argument("--each", action="store_true", help="print every question")
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), default=list(ENGINES))
    given = parser.parse_args()
    every = questions(given.data / "queries" / "questions.json")
    lake = lakejoin.open(given.index)
    near = [one for one in every if one.within]
    asked = [one for one in every if not one.within]
    fused(lake, asked[0])  # compiles, and reads what all need
    results = {
        name: ask_all(lake, ENGINES[name], every if name == "fused" else asked)
        for name in given.engines
    }
    if near:
        results["distance (its own)"] = ask_all(lake, distance, near)
    results = {name: found for name, found in results.items() if found}
    print(HEAD)
    for name, found in results.items():
        print(line(name, list(found.values())))
        # An engine that is asked less is compared over what it was asked.
        if "fused" in results and name != "fused":
            both = [results["fused"][one] for one in found]
            print(line("  fused, of these", both))
        for question, figures in found.items() if given.each else ():
            print("    " + line(question, [figures]))
    record(
        "fused_quality",
        {name: {q: asdict(f) for q, f in found.items()} for name, found in results.items()},
    )


if __name__ == "__main__":
    main()
