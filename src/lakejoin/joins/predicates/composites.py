"""Which columns together refer to a key of several columns?

Only columns that are called alike are tried together, and no two tables with the same columns,
which are mostly two parts of one table. What they join by is the most compact predicate over these
columns, of which as few pairs are kept as make the same join. That is a relation where these
columns are a key of one table and no fewer are, where the other table's combinations are nearly all
among the keys, and where not just any combination of these values would be.

A key all of whose columns refer to other tables is that of a table which links these, as films and
actors. What has a film and an actor refers to both by itself; it refers to the link only where it
uses every one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from lakejoin.joins.predicates.coded import CodedTable, CodedTables
from lakejoin.joins.predicates.finding import Pair, PredicateOptions, find_predicates
from lakejoin.joins.predicates.references import Column, Reference
from lakejoin.signals.chance import evidence
from lakejoin.signals.likely_names import telling_words

Array = np.ndarray[Any, Any]
ColumnPair = tuple[Column, Column]

_UNIQUE = 0.99  # of the rows of the key table
_CONTAINED = 0.85  # of the combinations, in the keys
_ENOUGH = 10.0  # nats that speak against chance
_ALL = 0.99  # of the keys of a table that links others, used
_SHARED = 0.5  # of a column's values, in the other column
_MOST_PAIRS = 5_000  # of tables that are looked at
_MOST_ALIKE = 300  # columns that are called alike: more say nothing


@dataclass(frozen=True, eq=False)
class Composite:
    """Columns that together refer to a key of several columns.

    `met` of `values` combinations are among the `keys`, in `rows` rows.
    """

    children: tuple[Column, ...]
    parents: tuple[Column, ...]
    rows: int
    values: int
    met: int
    keys: int

    @property
    def containment(self) -> float:
        """The share of the combinations that are keys."""
        return self.met / max(self.values, 1)

    @property
    def coverage(self) -> float:
        """The share of the keys that are used."""
        return self.met / max(self.keys, 1)


def composites(
    columns: Sequence[Column], known: Iterable[Reference], notes: list[str] | None = None
) -> Iterator[Composite]:
    """The relations by several columns between tables that none of one column relates."""
    known = list(known)
    refer = {id(one.child) for one in known}
    related = {frozenset((one.child.table, one.parent.table)) for one in known}
    left = _MOST_PAIRS
    for tables, alike in _named_alike(columns).items():
        if len(alike) < 2 or tables in related:
            continue
        for turned in (alike, [(parent, child) for child, parent in alike]):
            pairs = [pair for pair in turned if _share_values(*pair)]
            pairs.sort(key=lambda pair: (pair[0].place, pair[1].place))
            left -= len(pairs) > 1
            if left < 0:
                if notes is not None:
                    notes.append(
                        f"keys of several columns were looked for in {_MOST_PAIRS:,} pairs of "
                        "tables, and there are more: give fewer tables at once to find all"
                    )
                return
            found = _composite(pairs) if len(pairs) > 1 else None
            if found is not None and (found.coverage >= _ALL or not _links(found, refer)):
                yield found


def without_steps(found: Sequence[Composite]) -> list[Composite]:
    """Those that do not follow from two others, of which one leads on where the other leads to."""
    ways = {(_child(one), _parent(one)): one.parents for one in found if one.containment == 1}
    kept = []
    for one in found:
        between = (to for start, to in ways if start == _child(one) and to != _parent(one))
        if not any(ways.get((table, _parent(one))) == one.parents for table in between):
            kept.append(one)
    return kept


def _child(one: Composite) -> int:
    return one.children[0].table


def _parent(one: Composite) -> int:
    return one.parents[0].table


def _links(found: Composite, refer: set[int]) -> bool:
    """Whether every column of the key refers to another table."""
    return all(id(parent) in refer for parent in found.parents)


def _named_alike(columns: Sequence[Column]) -> dict[frozenset[int], list[ColumnPair]]:
    """By two tables: the pairs of columns that are called alike, unless all are."""
    by_words: dict[frozenset[str], list[Column]] = {}
    width: Counter[int] = Counter()
    for column in columns:
        words = telling_words(column.name)
        if column.may_refer and words:
            by_words.setdefault(words, []).append(column)
            width[column.table] += 1
    found: dict[frozenset[int], list[ColumnPair]] = {}
    for several in by_words.values():
        if len(several) <= _MOST_ALIKE:
            for one, other in combinations(several, 2):
                if one.table != other.table:
                    found.setdefault(frozenset((one.table, other.table)), []).append((one, other))
    return {
        tables: pairs
        for tables, pairs in found.items()
        if len(pairs) < max(width[table] for table in tables)
    }


def _share_values(child: Column, parent: Column) -> bool:
    shared = parent.holds(child.coded.codes)
    return bool(np.count_nonzero(shared) >= _SHARED * len(child.coded))


def _composite(pairs: Sequence[ColumnPair]) -> Composite | None:
    coded, places = _coded(pairs)
    together = _combinations(coded, 1, coded.tables[1].columns)
    if len(np.unique(together)) < _UNIQUE * coded.tables[1].rows:
        return None  # not even all columns are a key
    best = find_predicates(coded, PredicateOptions("compact", 1, most=1000)).best["compact"]
    if not best:
        return None
    used = best[0].enough
    if len(used) < 2 or len({pair[1] for pair in used}) < len(used):
        return None
    found = _counted(coded, used, places)
    if found.keys < _UNIQUE * coded.tables[1].rows or found.containment < _CONTAINED:
        return None
    any_other = found.keys / prod(len(parent.coded) for parent in found.parents)
    return found if evidence(found.values, found.containment, any_other) >= _ENOUGH else None


def _coded(
    pairs: Sequence[ColumnPair],
) -> tuple[CodedTables, dict[tuple[int, str], Column]]:
    """The columns of the pairs as two tables of codes that only these two hold."""
    sides = [list(dict.fromkeys(pair[side] for pair in pairs)) for side in (0, 1)]
    held = [np.unique(np.concatenate([one.coded.codes for one in side])) for side in sides]
    values = np.union1d(*held)
    tables = []
    for side in sides:
        codes = np.stack([_renumbered(one.coded.rows, values) for one in side])
        names = tuple(one.name for one in side)
        tables.append(CodedTable(names, codes))
    places = {(n, one.name): one for n, side in enumerate(sides) for one in side}
    return CodedTables(tuple(tables), len(values)), places


def _renumbered(rows: Array, values: Array) -> Array:
    return np.where(rows >= 0, np.searchsorted(values, rows), -1).astype(np.int32)


def _counted(
    coded: CodedTables, used: Sequence[Pair], places: dict[tuple[int, str], Column]
) -> Composite:
    child, key = (_combinations(coded, side, [pair[side][1] for pair in used]) for side in (0, 1))
    met = np.isin(child, key)
    distinct = np.unique(child)
    return Composite(
        tuple(places[pair[0]] for pair in used),
        tuple(places[pair[1]] for pair in used),
        int(np.count_nonzero(met)),
        len(distinct),
        int(np.count_nonzero(np.isin(distinct, key))),
        len(np.unique(key)),
    )


def _combinations(coded: CodedTables, side: int, names: Iterable[str]) -> Array:
    """One value for the codes of each row that has no null among these columns."""
    table = coded.tables[side]
    columns = np.stack([table.codes[table.columns.index(name)] for name in names], axis=1)
    valid = np.ascontiguousarray(columns[(columns >= 0).all(axis=1)])
    return np.asarray(valid.view([("", valid.dtype)] * valid.shape[1]).ravel())
