"""Which columns others would join on: FastFK and SMaSh, as the paper on schemaless joins runs them.

Written after what is published, on the same numbers for values that lakejoin uses, two tables at a
time.

FastFK (Chen, Narasayya, Chaudhuri: Fast Foreign-Key Detection in Microsoft SQL Server PowerPivot
for Excel, 2014) takes one pair of columns: the one side has no value twice, and holds all but a
tenth of the distinct values of the other. Of these pairs the best score wins, a mean of how much is
held, how many of the key's values are used, how much of the key's range is, and whether the other
side is no key too; with names, that counts one half and the likeness of the names the other. Its
weights are not known to us: all parts weigh the same. Its step for more than two tables, and what
it excludes by declared types, are left out.

SMaSh (Hassanzadeh et al.: Discovering Linkage Points over Web Data, 2013) takes every pair of
columns whose sets of values have a Jaccard similarity of 0.5; filtered, only those with a strength
of 0.5 and a coverage of 0.001. `best` takes the most similar of the filtered pairs alone, which the
paper does not do, but whoever wants one key would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.model import Array, null_id
from lakejoin.values.column_encoder import encode_query
from lakejoin.values.text_arrays import TextTable
from predicates_data import Predicate

EPSILON = 0.1  # of the values that need not be in the key
JACCARD, STRENGTH, COVERAGE = 0.5, 0.5, 0.001
NOTHING: Predicate = frozenset()


@dataclass(frozen=True, eq=False)
class Column:
    """The distinct values of a column, their numbers (ascending), and how many rows have each."""

    name: str
    texts: pa.LargeStringArray
    values: Array
    counts: Array

    @cached_property
    def is_key(self) -> bool:
        """Whether no value is there twice."""
        return len(self.values) > 0 and bool((self.counts == 1).all())

    @cached_property
    def as_numbers(self) -> Array | None:
        """The values as numbers, None if one of them is none."""
        try:
            return np.asarray(self.texts.cast(pa.float64()))
        except pa.ArrowInvalid:
            return None


@dataclass(frozen=True, eq=False)
class Side:
    """A table as its columns."""

    name: str
    rows: int
    columns: Sequence[Column]

    @classmethod
    def of(cls, name: str, table: pa.Table, dictionary: TextTable) -> Side:
        """A table, its values as lakejoin takes them, numbered by the dictionary."""
        named = zip(table.column_names, table.columns, strict=True)
        return cls(name, table.num_rows, [_column(n, cells, dictionary) for n, cells in named])


def _column(name: str, cells: pa.ChunkedArray, dictionary: TextTable) -> Column:
    data = encode_query(cells)
    tokens = len(data.tokens)
    ids = data.cells[data.cells != null_id(data.cells.dtype)]
    by_id = np.bincount(ids, minlength=tokens + len(data.spellings))
    counts = by_id[:tokens].copy()
    np.add.at(counts, data.spelling_token, by_id[tokens:])
    numbers = dictionary.add(data.tokens)
    order = np.argsort(numbers)
    return Column(name, data.tokens.take(pa.array(order)), numbers[order], counts[order])


@dataclass(frozen=True, slots=True)
class Shared:
    """What two columns have in common."""

    values: int
    involved: int
    inner: int

    @classmethod
    def of(cls, a: Column, b: Column) -> Shared:
        _, i, j = np.intersect1d(a.values, b.values, assume_unique=True, return_indices=True)
        r, s = a.counts[i], b.counts[j]
        return cls(len(i), int(r.sum() + s.sum()), int(np.dot(r.astype(float), s.astype(float))))


Baseline = Callable[[Side, Side], Predicate]


def fastfk(left: Side, right: Side, names: bool = False) -> Predicate:
    """The best pair of columns of which one may be a key of the other's values."""
    best, winner = -1.0, NOTHING
    for child, parent, flipped in ((left, right, False), (right, left, True)):
        for a in child.columns:
            for b in parent.columns:
                score = _as_foreign_key(a, b)
                if score is not None and names:
                    score = (score + name_likeness(child.name, a.name, parent.name, b.name)) / 2
                if score is not None and score > best:
                    best, pair = score, (b.name, a.name) if flipped else (a.name, b.name)
                    winner = frozenset({pair})
    return winner


def fastfk_names(left: Side, right: Side) -> Predicate:
    return fastfk(left, right, names=True)


def _as_foreign_key(child: Column, parent: Column) -> float | None:
    """How likely the child's values refer to the parent's, None if they do not."""
    few = (1 - EPSILON) * len(child.values)
    if not parent.is_key or not len(child.values) or len(parent.values) < few:
        return None
    shared = Shared.of(child, parent).values
    if shared < few:
        return None
    held = shared / len(child.values)
    used = shared / len(parent.values)
    parts = (held, used, _range(child, parent), 0.0 if child.is_key else 1.0)
    return sum(parts) / len(parts)


def _range(child: Column, parent: Column) -> float:
    """The share of the key's values from the child's smallest value to its largest."""
    if child.as_numbers is not None and parent.as_numbers is not None:
        keys = parent.as_numbers
        inside = (keys >= child.as_numbers.min()) & (keys <= child.as_numbers.max())
        return float(inside.mean())
    ends = pc.min_max(child.texts)
    inside = pc.and_(
        pc.greater_equal(parent.texts, ends["min"]), pc.less_equal(parent.texts, ends["max"])
    )
    return float(pc.mean(inside).as_py())


def name_likeness(child: str, column: str, parent: str, key: str) -> float:
    """How alike two columns are called, with or without the name of the key's table.

    >>> name_likeness("orders", "customer_id", "customer", "id")
    1.0
    """
    from rapidfuzz.distance import JaroWinkler

    said = _plain(column)
    return max(JaroWinkler.similarity(said, _plain(name)) for name in (key, f"{parent}{key}"))


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def smash(left: Side, right: Side) -> Predicate:
    """Every pair of columns with sets of values that are alike."""
    return frozenset(pair for pair, _ in _linked(left, right, filtered=False))


def smash_filtered(left: Side, right: Side) -> Predicate:
    return frozenset(pair for pair, _ in _linked(left, right, filtered=True))


def smash_best(left: Side, right: Side) -> Predicate:
    found = list(_linked(left, right, filtered=True))
    return frozenset({max(found, key=lambda one: one[1])[0]}) if found else NOTHING


def _linked(left: Side, right: Side, filtered: bool) -> Iterator[tuple[tuple[str, str], float]]:
    """Pairs of columns with their Jaccard similarity."""
    for a in left.columns:
        for b in right.columns:
            few, many = sorted((len(a.values), len(b.values)))
            if few == 0 or few < JACCARD * many:
                continue
            shared = Shared.of(a, b)
            likeness = shared.values / (few + many - shared.values)
            if likeness < JACCARD:
                continue
            strength = shared.involved / (2 * shared.inner)
            coverage = shared.involved / (left.rows + right.rows)
            if not filtered or (strength >= STRENGTH and coverage >= COVERAGE):
                yield (a.name, b.name), likeness


BASELINES: dict[str, Baseline] = {
    "SMaSh": smash,
    "SMaSh filtered": smash_filtered,
    "SMaSh best": smash_best,
    "FastFK": fastfk,
    "FastFK names": fastfk_names,
}
