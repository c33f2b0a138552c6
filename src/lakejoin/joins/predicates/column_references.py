"""Find candidate references among the columns of many tables.

Every column is encoded once, in one dictionary. A nearly unique column may be a key; another column
may refer to it if nearly all its values are in the key. That is checked on a sample of the distinct
values first, then on all; rows of two tables are compared only if a relation is likely (see
`key_relations`). The time grows with the number of nearly unique columns times the sampled values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from lakejoin.joins.equal.shared_values import (
    EncodedColumn,
    encode_column,
    may_refer,
    sample_codes,
)
from lakejoin.joins.join_inputs import table_subject
from lakejoin.joins.options import Progress
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
