"""A lake of labelled columns among real ones, and which of its columns are right for a query.

The lake: the target columns of all labelled sets (AutoFuzzyJoin, Auto-Join, row-level truth), and
text columns of a real lake. Columns are cut to a sample of their values, but keep the partners of
the queries'. A query's values have *names*: themselves, their labelled partners, and, where labels
are one to one, what else has the same partner. A column is right if at least half of the query's
values have a name in it; if fewer do, but at least a fifth, nobody has labelled whether the rest is
written in another way, and it counts neither way.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from encoder_sets import Labelled, whole_sets
from lakejoin.locations import Location
from lakejoin.store.snapshot import Snapshot
from meaning_quality_matching import Array

MOST_ASKED = 100
MOST_TARGETS = 1_000
MOST_OTHERS = 300
RIGHT, DOUBTFUL = 0.5, 0.2


@dataclass(frozen=True)
class Asked:
    """A query column, and by column in the lake whether it is right (1), wrong (0), unsure (-1)."""

    name: str
    kind: str
    family: str
    values: list[str]
    truth: Array


@dataclass(frozen=True)
class LabelledLake:
    """Columns, laid out one after the other: column i has values[start[i]:start[i + 1]]."""

    names: list[str]
    values: list[str]
    start: Array
    asked: list[Asked]

    def best(self, similarity: Array) -> Array:
        """By query value and column, the similarity of the nearest value of the column."""
        return np.maximum.reduceat(similarity, self.start[:-1], axis=1)


def labelled_lake(data: Path, index: Path | None, others: int) -> LabelledLake:
    """Queries of all sets, and the lake to ask; `index` is of a real lake for other columns."""
    sets = [_cut(one) for one in whole_sets(data)]
    columns = {f"{one.name} target": sorted(set(one.targets) - {""}) for one in sets}
    if index is not None:
        columns |= real_columns(index, others)
    columns = {name: values for name, values in columns.items() if values}
    called = _names(sets)
    held = [set(values) for values in columns.values()]
    asked = []
    for one in sets:
        names = [called[value] | {value} for value in one.queries]
        found = np.array([sum(not own.isdisjoint(column) for own in names) for column in held])
        share = found / len(names)
        truth = np.where(share >= RIGHT, 1, np.where(share >= DOUBTFUL, -1, 0))
        asked.append(Asked(one.name, one.kind, one.family, one.queries, truth))
    sizes = [len(values) for values in columns.values()]
    start = np.concatenate([[0], np.cumsum(sizes)])
    values = [value for own in columns.values() for value in own]
    return LabelledLake(list(columns), values, start, [one for one in asked if one.truth.max() > 0])


def _cut(given: Labelled) -> Labelled:
    """Fewer values on either side; the partners of those that are asked stay."""
    chance = random.Random(11)
    partnered = {query for query, _ in given.pairs}
    queries = sorted((set(given.queries) & partnered) - {""})
    queries = sorted(chance.sample(queries, min(MOST_ASKED, len(queries))))
    asked, present = set(queries), set(given.targets) - {""}
    partners = {target for query, target in given.pairs if query in asked} & present
    rest = sorted(present - partners)
    room = min(len(rest), max(0, MOST_TARGETS - len(partners)))
    targets = sorted(partners | set(chance.sample(rest, room)))
    return replace(given, queries=queries, targets=targets)


def _names(sets: list[Labelled]) -> dict[str, set[str]]:
    """By value, what else it is called."""
    names: dict[str, set[str]] = defaultdict(set)
    same: dict[str, set[str]] = defaultdict(set)
    for one in sets:
        mine, theirs = Counter(q for q, _ in one.pairs), Counter(t for _, t in one.pairs)
        for query, target in one.pairs:
            names[query].add(target)
            if mine[query] == theirs[target] == 1:
                same[target].add(query)
    return {
        query: own | {other for target in own for other in same[target]}
        for query, own in names.items()
    }


def real_columns(index: Path, most: int) -> dict[str, list[str]]:
    """Text columns of an index, at random, with at least ten values."""
    snapshot = Snapshot(Location.of(index))
    places = [
        (s, c)
        for s, segment in enumerate(snapshot.segments)
        for c in np.flatnonzero(segment.has_meaning).tolist()
    ]
    random.Random(13).shuffle(places)
    found: dict[str, list[str]] = {}
    for s, c in places:
        codes = snapshot.segments[s].postings.codes_of(c)
        if len(codes) >= 10:
            step = max(1, len(codes) // MOST_OTHERS)
            some = np.asarray(codes)[::step][:MOST_OTHERS]
            texts = snapshot.segments[s].dictionary.texts.take(some).to_pylist()
            found[f"real {s}/{c}"] = sorted(texts)
        if len(found) == most:
            break
    return found
