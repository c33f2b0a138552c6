"""Find columns that together refer to a key of several columns.

Only columns with similar names are tried together, and not two tables with the same columns, which
are mostly two parts of one table. They join by the most compact predicate over these columns, with
as few pairs as make the same join. It is a relation if these columns are a minimal key of one
table, if nearly all combinations of the other table are among the keys, and if arbitrary
combinations of these values would not be.

If all columns of a key refer to other tables, its table links these, like films and actors. A table
with a film and an actor refers to both by itself; it refers to the linking table only if it uses
nearly every link.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from lakejoin.joins.predicates.coded_tables import CodedTable, CodedTables
from lakejoin.joins.predicates.column_references import CodedColumn, Reference
from lakejoin.joins.predicates.predicate_finder import Pair, PredicateOptions, find_predicates
from lakejoin.model import Array
from lakejoin.signals.chance import evidence
from lakejoin.signals.name_similarity import specific_words

ColumnPair = tuple[CodedColumn, CodedColumn]

_UNIQUE = 0.99  # share of the key table's rows with a unique key
_CONTAINED = 0.85  # share of combinations among the keys
_ENOUGH = 10.0  # nats of evidence against chance
_ALL = 0.99  # share of a linking table's keys in use
_SHARED = 0.5  # share of a column's values in the other column
_MOST_PAIRS = 5_000  # pairs of tables examined
_MOST_ALIKE = 300  # columns of a similar name: more mean nothing


@dataclass(frozen=True, eq=False)
class CompositeReference:
    """Columns that together refer to a key of several columns.

    `matches` of `values` combinations are among the `keys`; `rows` rows have a key.
    """

    children: tuple[CodedColumn, ...]
    parents: tuple[CodedColumn, ...]
    rows: int
    values: int
    matches: int
    keys: int

    @property
    def tables(self) -> tuple[int, int]:
        """The indices of the referring table and of the one with the key."""
        return self.children[0].table, self.parents[0].table

    @property
    def containment(self) -> float:
        """The share of combinations that are keys."""
        return self.matches / max(self.values, 1)

    @property
    def coverage(self) -> float:
        """The share of keys that are used."""
        return self.matches / max(self.keys, 1)


def find_composites(
    columns: Sequence[CodedColumn], references: Iterable[Reference], notes: list[str] | None = None
) -> Iterator[CompositeReference]:
    """Find composite relations between tables that no single column relates."""
    references = list(references)
    referring = {id(reference.child) for reference in references}
    related = {frozenset((ref.child.table, ref.parent.table)) for ref in references}
    left = _MOST_PAIRS
    for tables, alike in _similar_names(columns).items():
        if len(alike) < 2 or tables in related:
            continue
        for directed in (alike, [(parent, child) for child, parent in alike]):
            pairs = [pair for pair in directed if _share_values(*pair)]
            pairs.sort(key=lambda pair: (pair[0].column_index, pair[1].column_index))
            left -= len(pairs) > 1
            if left < 0:
                if notes is not None:
                    notes.append(
                        f"only {_MOST_PAIRS:,} pairs of tables were searched for composite keys: "
                        "give fewer tables at once to search all"
                    )
                return
            composite = _composite(pairs) if len(pairs) > 1 else None
            if composite is None:
                continue
            is_link = all(id(parent) in referring for parent in composite.parents)
            if not is_link or composite.coverage >= _ALL:
                yield composite


def drop_indirect(composites: Sequence[CompositeReference]) -> list[CompositeReference]:
    """The composites that do not follow from two others through a table in between."""
    complete = {
        composite.tables: composite.parents
        for composite in composites
        if composite.containment == 1
    }
    direct = []
    for composite in composites:
        child, parent = composite.tables
        between = (to for start, to in complete if start == child and to != parent)
        if not any(complete.get((table, parent)) == composite.parents for table in between):
            direct.append(composite)
    return direct


def _similar_names(columns: Sequence[CodedColumn]) -> dict[frozenset[int], list[ColumnPair]]:
    """For each two tables: their column pairs of similar names, unless all columns are."""
    by_words: dict[frozenset[str], list[CodedColumn]] = {}
    width: Counter[int] = Counter()
    for column in columns:
        words = specific_words(column.name)
        if column.may_refer and words:
            by_words.setdefault(words, []).append(column)
            width[column.table] += 1
    by_tables: dict[frozenset[int], list[ColumnPair]] = {}
    for alike in by_words.values():
        if len(alike) <= _MOST_ALIKE:
            for left, right in combinations(alike, 2):
                if left.table != right.table:
                    tables = frozenset((left.table, right.table))
                    by_tables.setdefault(tables, []).append((left, right))
    return {
        tables: pairs
        for tables, pairs in by_tables.items()
        if len(pairs) < max(width[table] for table in tables)
    }


def _share_values(child: CodedColumn, parent: CodedColumn) -> bool:
    shared = parent.contains(child.coded.codes)
    return bool(np.count_nonzero(shared) >= _SHARED * len(child.coded))


def _composite(pairs: Sequence[ColumnPair]) -> CompositeReference | None:
    coded, by_name = _encode_pairs(pairs)
    all_columns = _combinations(coded, 1, coded.tables[1].columns)
    if len(np.unique(all_columns)) < _UNIQUE * coded.tables[1].rows:
        return None  # not even all columns together are a key
    best = find_predicates(coded, PredicateOptions("compact", 1, most=1000)).best["compact"]
    if not best:
        return None
    used = best[0].enough
    if len(used) < 2 or len({pair[1] for pair in used}) < len(used):
        return None
    reference = _count_reference(coded, used, by_name)
    if reference.keys < _UNIQUE * coded.tables[1].rows or reference.containment < _CONTAINED:
        return None
    by_chance = reference.keys / prod(len(parent.coded) for parent in reference.parents)
    nats = evidence(reference.values, reference.containment, by_chance)
    return reference if nats >= _ENOUGH else None


def _encode_pairs(
    pairs: Sequence[ColumnPair],
) -> tuple[CodedTables, dict[tuple[int, str], CodedColumn]]:
    """The columns of the pairs as two tables of codes of their own; and the columns by name."""
    sides = [list(dict.fromkeys(pair[side] for pair in pairs)) for side in (0, 1)]
    codes_of = [np.unique(np.concatenate([c.coded.codes for c in columns])) for columns in sides]
    values = np.union1d(*codes_of)
    tables = []
    for columns in sides:
        rows = np.stack([column.coded.rows for column in columns])
        codes = np.where(rows >= 0, np.searchsorted(values, rows), -1).astype(np.int32)
        tables.append(CodedTable(tuple(column.name for column in columns), codes))
    by_name = {
        (side, column.name): column for side, columns in enumerate(sides) for column in columns
    }
    return CodedTables(tuple(tables), len(values)), by_name


def _count_reference(
    coded: CodedTables, used: Sequence[Pair], by_name: dict[tuple[int, str], CodedColumn]
) -> CompositeReference:
    child, key = (_combinations(coded, side, [pair[side][1] for pair in used]) for side in (0, 1))
    met = np.isin(child, key)
    distinct = np.unique(child)
    return CompositeReference(
        tuple(by_name[pair[0]] for pair in used),
        tuple(by_name[pair[1]] for pair in used),
        int(np.count_nonzero(met)),
        len(distinct),
        int(np.count_nonzero(np.isin(distinct, key))),
        len(np.unique(key)),
    )


def _combinations(coded: CodedTables, side: int, names: Iterable[str]) -> Array:
    """The codes of each row without a null in these columns, combined to one value."""
    table = coded.tables[side]
    columns = np.stack([table.codes[table.columns.index(name)] for name in names], axis=1)
    valid = np.ascontiguousarray(columns[(columns >= 0).all(axis=1)])
    return np.asarray(valid.view([("", valid.dtype)] * valid.shape[1]).ravel())
