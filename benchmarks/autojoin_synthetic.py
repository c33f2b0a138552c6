"""The four synthetic cases of the Auto-Join thesis, section 4.7.1, made from a seed.

The thesis takes them from Warren and Tompa: the target is made from columns of the source by
cutting and concatenating, with the rows in another order. Names come from a small stock, so that
few of them are unique, as the thesis says of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

_FIRST = (
    "James Mary Robert Patricia John Jennifer Michael Linda David Elizabeth William Barbara Richard"
    " Susan Joseph Jessica Thomas Sarah Charles Karen Daniel Lisa Matthew Nancy Anthony Betty"
)
_LAST = (
    "Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez"
    " Gonzalez Wilson Anderson Thomas Taylor Moore Jackson Martin Lee Perez Thompson White Harris"
    " Sanchez Clark Ramirez Lewis Robinson Walker Young Allen King Wright Scott Torres Nguyen Hill"
)
_WORDS = (
    "fast learning data query index join graph stream text search model cache parallel storage"
    " adaptive robust optimal sampling mining secure large scale web table schema matching"
)
FIRST, LAST, WORDS = _FIRST.split(), _LAST.split(), _WORDS.split()


@dataclass(frozen=True, slots=True)
class Case:
    """Two tables, and for every target row the source row that it was made from."""

    name: str
    source: pa.Table
    target: pa.Table
    truth: list[int]


def cases(rows: int = 1000, seed: int = 7) -> list[Case]:
    """UserID, Time, NameConcat and Citeseer, each with distinct targets."""
    made = (("UserID", _user), ("Time", _time), ("NameConcat", _name), ("Citeseer", _cited))
    return [_case(name, make, rows, random.Random(seed)) for name, make in made]


Row = tuple[dict[str, str], str]


def _case(name: str, make: Callable[[random.Random], Row], rows: int, rng: random.Random) -> Case:
    found: dict[str, dict[str, str]] = {}
    for _ in range(rows * 3):
        row, target = make(rng)
        if len(found) < rows:
            found.setdefault(target, row)
    order = list(range(len(found)))
    rng.shuffle(order)
    targets = list(found)
    target = pa.table({"made": [targets[i] for i in order]})
    return Case(name, pa.Table.from_pylist(list(found.values())), target, order)


def _user(rng: random.Random) -> Row:
    first, last = rng.choice(FIRST), rng.choice(LAST) + rng.choice(["", "son", "sen", "man"])
    number = f"{rng.randrange(100):02}"
    row = {"first": first, "last": last, "number": number}
    return row, (first[0] + last[:6] + number).lower()


def _time(rng: random.Random) -> Row:
    row = {
        "second": f"{rng.randrange(60):02}",
        "minute": f"{rng.randrange(60):02}",
        "hour": f"{rng.randrange(24):02}",
    }
    return row, f"{row['hour']}:{row['minute']}:{row['second']}"


def _name(rng: random.Random) -> Row:
    row = {"first": rng.choice(FIRST), "middle": rng.choice(FIRST), "last": rng.choice(LAST)}
    return row, f"{row['first']} {row['middle']} {row['last']}"


def _cited(rng: random.Random) -> Row:
    authors = " and ".join(
        f"{rng.choice(FIRST)} {rng.choice(LAST)}" for _ in range(rng.randrange(1, 4))
    )
    title = " ".join(rng.sample(WORDS, rng.randrange(4, 8))).capitalize()
    row = {"authors": authors, "title": title, "year": str(rng.randrange(1985, 2020))}
    return row, f"{authors}. {title}, {row['year']}"
