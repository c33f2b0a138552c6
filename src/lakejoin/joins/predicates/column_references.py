"""Find candidate references among the columns of many tables: single columns, and composite keys.

Every column is encoded once, in one dictionary. A nearly unique column may be a key; another column
may refer to it if nearly all its values are in the key. That is checked on a sample of the distinct
values first, then on all; rows of two tables are compared only if a relation is likely (see
`key_relations`). The time grows with the number of nearly unique columns times the sampled values.

Columns may refer together to a key of several columns. Only columns with similar names are tried
together, and not two tables with the same columns, which are mostly two parts of one table. They
join by the most compact predicate over these columns, with as few pairs as make the same join. It
is a relation if these columns are a minimal key of one table, if nearly all combinations of the
other table are among the keys, and if arbitrary combinations of these values would not be.

If all columns of a key refer to other tables, its table links these, like films and actors. A table
with a film and an actor refers to both by itself; it refers to the linking table only if it uses
nearly every link.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np
import pyarrow as pa

from lakejoin.joins.equal.shared_values import EncodedColumn, encode_column, may_refer, sample_codes
from lakejoin.joins.join_inputs import table_subject
from lakejoin.joins.options import Progress
from lakejoin.joins.predicates.coded_tables import CodedTable, CodedTables
from lakejoin.joins.predicates.predicate_finder import Pair, PredicateOptions, find_predicates
from lakejoin.joins.row_keys import find_first_rows
from lakejoin.model import Array, ColumnType, Loss, ValueRules
from lakejoin.signals.chance import WrongValues, combine_chances, evidence, wrong_values
from lakejoin.signals.name_similarity import (
    NameSimilarity,
    compare_names,
    is_identifier_name,
    is_named_for,
    specific_words,
)
from lakejoin.values.text_arrays import TextTable

UNIQUE = 0.95  # the least uniqueness of a key
CONTAINED = 0.65  # the least share of a column's values that a key must contain
_HALF_EMPTY = 0.5  # the largest share of nulls in a key
_SAMPLE = 500  # distinct values of a column that are looked up first
_WRONG = 200  # values of a column that are altered to measure chance
_LOWEST = 0.5  # the share of `CONTAINED` that a sample must reach
_NO_KEYS = (ColumnType.EMPTY, ColumnType.BOOLEAN, ColumnType.DECIMAL, ColumnType.DATE)


@dataclass(frozen=True, slots=True, eq=False)
class NamedTable:
    """A table by name, whose rows are loaded for encoding and then released; `losses` are what
    reading its file lost."""

    name: str
    load: Callable[[], pa.Table]
    losses: tuple[Loss, ...] = ()


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A column of one of the tables: table index and name, and its index there."""

    table: int
    table_name: str
    column_index: int
    table_columns: frozenset[str]  # names of all columns of the table
    coded: EncodedColumn
    dictionary: TextTable = field(repr=False)

    @property
    def name(self) -> str:
        return self.coded.name

    @cached_property
    def subject(self) -> str:
        return table_subject(self.table_name)

    @cached_property
    def is_own_key(self) -> bool:
        """Whether its name says that it identifies rows of its table."""
        return self.identifies and self.is_of_table

    @cached_property
    def identifies(self) -> bool:
        return is_identifier_name(self.name)

    @cached_property
    def is_of_table(self) -> bool:
        """Whether its name says only what its table is about."""
        return is_named_for(self.name, self.subject)

    @cached_property
    def sorted_codes(self) -> Array:
        """The codes of its values, ascending."""
        return np.sort(self.coded.codes)

    @cached_property
    def wrong(self) -> list[WrongValues]:
        """Plausible wrong values as codes, -1 for none; see `chance`."""
        coded = []
        for wrong in wrong_values(self.coded.data.tokens, _WRONG):
            texts = pa.array(
                [text for variant in wrong.variants for text in variant], pa.large_string()
            )
            codes = self.dictionary.add(texts).astype(np.int64)
            codes[~np.asarray(texts.is_valid())] = -1
            coded.append(WrongValues(wrong.share, codes.reshape(len(wrong.variants), -1)))
        return coded

    def contains(self, codes: Array) -> Array:
        at = np.minimum(np.searchsorted(self.sorted_codes, codes), len(self.sorted_codes) - 1)
        return np.asarray(self.sorted_codes[at] == codes)

    @property
    def may_be_key(self) -> bool:
        """Whether its values are nearly unique, and mostly not null."""
        profile = self.coded.profile
        if profile.type in _NO_KEYS or profile.distinct < 2 or profile.uniqueness < UNIQUE:
            return False
        return profile.nulls <= _HALF_EMPTY * profile.rows

    @property
    def may_refer(self) -> bool:
        return self.coded.profile.type not in _NO_KEYS and len(self.coded) > 0


@dataclass(frozen=True, eq=False)
class Reference:
    """A column whose values are nearly all in another one, which is nearly a key.

    `matches` of the child's distinct values are in the parent.
    """

    child: CodedColumn
    parent: CodedColumn
    matches: int

    @property
    def containment(self) -> float:
        """The share of the child's distinct values that are in the parent."""
        return self.matches / len(self.child.coded)

    @property
    def coverage(self) -> float:
        """The share of the parent's distinct values that are in the child."""
        return self.matches / len(self.parent.coded)

    @property
    def is_possible(self) -> bool:
        """Whether numbers may refer to a key, though any numbers in its range would match: all are
        in a key named for its table, and use most of it, and do not just count rows."""
        child, parent = self.child, self.parent
        return (
            parent.is_own_key
            and bool(specific_words(parent.name))
            and not child.is_own_key
            and child.table != parent.table
            and may_refer(child.coded, parent.coded, self.matches)
        )

    @cached_property
    def names(self) -> NameSimilarity:
        """How much the names suggest that the child refers to the parent's table."""
        child, parent = self.child, self.parent
        return compare_names(child.name, parent.name, child.subject, parent.subject)

    @cached_property
    def evidence(self) -> float:
        """The evidence that more values match than by chance, in nats."""
        met = [
            WrongValues(
                wrong.share, np.where(wrong.variants < 0, -1, self.parent.contains(wrong.variants))
            )
            for wrong in self.child.wrong
        ]
        return evidence(len(self.child.coded), self.containment, combine_chances(met))

    @cached_property
    def rows(self) -> Array:
        """The parent row that each child row refers to, -1 for none."""
        codes, parents = self.child.coded.rows, self.parent.coded.rows
        size = int(max(codes.max(initial=-1), parents.max(initial=-1))) + 1
        return np.asarray(find_first_rows(parents, size)[codes])


def encode_columns(
    tables: Sequence[NamedTable], rules: ValueRules | None = None, report: Progress | None = None
) -> tuple[list[CodedColumn], int]:
    """Encode all columns of the tables in one dictionary; returns them and its size."""
    dictionary = TextTable()
    columns = []
    for table_index, table in enumerate(tables):
        if report is not None:
            report(f"reading values: table {table_index + 1:,} of {len(tables):,}")
        rows = table.load()
        names = frozenset(rows.column_names)
        for column_index, name in enumerate(rows.column_names):
            cells = rows.column(column_index)
            coded = encode_column(name, cells, rules or ValueRules(), dictionary)
            columns.append(
                CodedColumn(table_index, table.name, column_index, names, coded, dictionary)
            )
    return columns, dictionary.count


def find_references(columns: Sequence[CodedColumn], size: int) -> Iterator[Reference]:
    """Yield all pairs of columns of which one may refer to the other."""
    children = [column for column in columns if column.may_refer]
    if not children:
        return
    sampled = [sample_codes(column.coded.codes, _SAMPLE) for column in children]
    starts = np.cumsum([0, *map(len, sampled[:-1])])
    flat, lengths = np.concatenate(sampled), np.array([len(codes) for codes in sampled])
    in_parent = np.zeros(size, np.bool_)
    for parent in columns:
        if not parent.may_be_key:
            continue
        in_parent[parent.coded.codes] = True
        shares = np.add.reduceat(in_parent[flat], starts, dtype=np.int64) / lengths
        for index in np.flatnonzero(shares >= CONTAINED * _LOWEST).tolist():
            child = children[index]
            if child is parent:
                continue
            matches = int(np.count_nonzero(in_parent[child.coded.codes]))
            if matches >= CONTAINED * len(child.coded):
                yield Reference(child, parent, matches)
        in_parent[parent.coded.codes] = False


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
