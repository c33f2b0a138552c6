"""Labelled pairs of values that mean the same: AutoFuzzyJoin, Auto-Join, and row-level truth."""

from __future__ import annotations

import csv
import hashlib
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

MOST_QUERIES = 200
MOST_TARGETS = 3000
FEWEST_PAIRS = 5


@dataclass(frozen=True)
class Labelled:
    """Queries, the values to find partners among, and the right pairs (query, target)."""

    name: str
    queries: list[str]
    targets: list[str]
    pairs: frozenset[tuple[str, str]]

    @property
    def kind(self) -> str:
        """The collection: autofj, autojoin or row_level."""
        return self.name.partition("/")[0]

    @property
    def family(self) -> str:
        """Sets of one family are about the same things, so they stay in one half."""
        return re.sub(r"_?\d+$", "", self.name) if self.kind == "autojoin" else self.name


def canonical(text: str) -> str:
    """The part of lakejoin's canonical form that matters for these texts."""
    return " ".join(text.casefold().split())


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        rows = csv.DictReader(file)
        return [{(k or "").strip(): v or "" for k, v in row.items() if k} for row in rows]


def _values(rows: list[dict[str, str]], column: str) -> list[str]:
    return [canonical(row[column]) for row in rows]


def labelled_sets(data: Path) -> list[Labelled]:
    """Every set that can be read and has pairs that equality does not find."""
    kept = [_sampled(one) for one in whole_sets(data)]
    return [one for one in kept if _findable(one) >= FEWEST_PAIRS]


def whole_sets(data: Path) -> list[Labelled]:
    """Every set that can be read, with all its values."""
    return [
        *_autofj(data / "autofj"),
        *_autojoin(data / "autojoin"),
        *_rows_of(data / "queries"),
    ]


def _autofj(folder: Path) -> Iterator[Labelled]:
    for place in sorted(folder.iterdir()):
        truth = _rows(place / "gt.csv")
        pairs = zip(_values(truth, "title_r"), _values(truth, "title_l"), strict=True)
        yield Labelled(
            f"autofj/{place.name}",
            _values(_rows(place / "right.csv"), "title"),
            _values(_rows(place / "left.csv"), "title"),
            frozenset(pairs),
        )


def _autojoin(folder: Path) -> Iterator[Labelled]:
    for place in sorted(folder.iterdir()):
        columns, _, looked_up = (place / "join_columns.txt").read_text().partition("\n")
        left, _, right = columns.strip().partition(":")
        truth = _rows(place / "ground_truth.csv")
        prefix = ("source-", "target-") if "source-" + left in truth[0] else ("", "")
        try:
            queries = _values(_rows(place / "source.csv"), left)
            targets = _values(_rows(place / "target.csv"), right)
            pairs = set(
                zip(
                    _values(truth, prefix[0] + left),
                    _values(truth, prefix[1] + right),
                    strict=True,
                )
            )
        except KeyError as missing:
            print(f"autojoin/{place.name} left out: no column {missing}")
            continue
        if looked_up.strip().startswith("source"):  # the source is the side of the keys
            queries, targets, pairs = targets, queries, {(b, a) for a, b in pairs}
        yield Labelled(f"autojoin/{place.name}", queries, targets, frozenset(pairs))


def _rows_of(folder: Path) -> Iterator[Labelled]:
    for name in ("DF1", "DF2", "DT2", "DT3"):
        truth = _rows(folder / "row_level" / f"{name}.csv")
        queries, targets = _values(truth, "source_value"), _values(truth, "target_value")
        pairs = frozenset(zip(queries, targets, strict=True))
        yield Labelled(f"row_level/{name}", queries, targets, pairs)


def _sampled(given: Labelled) -> Labelled:
    """Fewer queries, none with an equal partner, and fewer targets, but all the right ones."""
    chance = random.Random(7)
    queries = sorted({q for q in given.queries if q and (q, q) not in given.pairs})
    queries = sorted(chance.sample(queries, min(MOST_QUERIES, len(queries))))
    asked = set(queries)
    present = set(given.targets) - {""}
    right = {target for query, target in given.pairs if query in asked} & present
    rest = sorted(present - right)
    room = min(len(rest), max(0, MOST_TARGETS - len(right)))
    targets = sorted(right | set(chance.sample(rest, room)))
    return Labelled(given.name, queries, targets, given.pairs)


def _findable(given: Labelled) -> int:
    present = set(given.targets)
    asked = set(given.queries)
    return len({q for q, t in given.pairs if q in asked and t in present})


def halves(sets: list[Labelled]) -> tuple[list[Labelled], list[Labelled]]:
    """(for tuning, held out) of labelled sets."""
    return split_by_family(sets)


class HasFamily(Protocol):
    """Anything about the things of a family."""

    @property
    def family(self) -> str:
        """Its name, of the form collection/family."""


Familiar = TypeVar("Familiar", bound=HasFamily)


def split_by_family(given: list[Familiar]) -> tuple[list[Familiar], list[Familiar]]:
    """(for tuning, held out): by family, alternating within a collection, in an order by hash."""

    def order(family: str) -> tuple[str, str]:
        return family.partition("/")[0], hashlib.blake2b(family.encode()).hexdigest()

    chosen = set(sorted({one.family for one in given}, key=order)[0::2])
    return (
        [one for one in given if one.family in chosen],
        [one for one in given if one.family not in chosen],
    )
