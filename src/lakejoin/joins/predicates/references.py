"""Which columns may refer to which? Candidates among all columns of many tables.

Every column is encoded once, in one dictionary. A column may be referred to where it is nearly
unique; another may refer to it where nearly all its values are among them. That is asked of a
sample of the distinct values first, and then of all; rows of two tables are compared only where a
relation is likely (see `relations`). The time grows with the columns that are nearly unique times
the sampled values of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.joins.given import subject
from lakejoin.joins.options import Progress
from lakejoin.joins.shared_values import Coded
from lakejoin.lake.columns import encode_query
from lakejoin.lake.texts import TextTable
from lakejoin.model import ColumnType, Loss, ValueRules
from lakejoin.signals.chance import Wrong, chance_of, evidence, wrong_values
from lakejoin.signals.likely_names import NamesAlike, identifies, is_named_for, names_alike

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

UNIQUE = 0.95  # the share of its rows in which a key has a value of its own
CONTAINED = 0.65  # the share of a column's values that a key must hold at the least
_HALF_EMPTY = 0.5  # a key of fewer rows than that is none
_SAMPLE = 500  # distinct values of a column that are looked up first
_WRONG = 200  # values of a column that are made wrong to measure chance
_LOWEST = 0.5  # what a sample must have of `CONTAINED`
_NO_KEYS = (ColumnType.EMPTY, ColumnType.BOOLEAN, ColumnType.DECIMAL, ColumnType.DATE)


@dataclass(frozen=True, slots=True, eq=False)
class TableGiven:
    """A table by its name, with rows that are read when they are encoded and then forgotten;
    `losses` are what reading its file left out."""

    name: str
    load: Callable[[], pa.Table]
    losses: tuple[Loss, ...] = ()


@dataclass(frozen=True, eq=False)
class Column:
    """A column of one of the tables: the number of the table, its name, and its place there."""

    table: int
    table_name: str
    place: int
    beside: frozenset[str]  # the names of all columns of the table
    coded: Coded
    dictionary: TextTable = field(repr=False)

    @property
    def name(self) -> str:
        """Its name."""
        return self.coded.name

    @cached_property
    def subject(self) -> str:
        """What its table's name says that it is about."""
        return subject(self.table_name)

    @cached_property
    def is_own_key(self) -> bool:
        """Whether its name says that it identifies the rows of its table."""
        return self.identifies and self.is_of_table

    @cached_property
    def identifies(self) -> bool:
        """Whether its name is one of an identifier."""
        return identifies(self.name)

    @cached_property
    def is_of_table(self) -> bool:
        """Whether its name says nothing but what its table is about."""
        return is_named_for(self.name, self.subject)

    @cached_property
    def sorted_codes(self) -> Array:
        """The codes of its values, ascending."""
        return np.sort(self.coded.codes)

    @cached_property
    def wrong(self) -> list[Wrong]:
        """Values that it might as well hold, as codes, -1 where there is none; see `chance`."""
        import pyarrow as pa

        found = []
        for one in wrong_values(self.coded.data.tokens, _WRONG):
            texts = pa.array([text for way in one.ways for text in way], pa.large_string())
            codes = self.dictionary.add(texts).astype(np.int64)
            codes[~np.asarray(texts.is_valid())] = -1
            found.append(Wrong(one.share, codes.reshape(len(one.ways), -1)))
        return found

    def holds(self, codes: Array) -> Array:
        """Whether it holds these values."""
        places = np.minimum(np.searchsorted(self.sorted_codes, codes), len(self.sorted_codes) - 1)
        return np.asarray(self.sorted_codes[places] == codes)

    @property
    def may_be_key(self) -> bool:
        """Whether its values are nearly unique, and nearly all there."""
        profile = self.coded.profile
        if profile.type in _NO_KEYS or profile.distinct < 2 or profile.uniqueness < UNIQUE:
            return False
        return profile.nulls <= _HALF_EMPTY * profile.rows

    @property
    def may_refer(self) -> bool:
        """Whether its values may be those of a key."""
        return self.coded.profile.type not in _NO_KEYS and len(self.coded) > 0


@dataclass(frozen=True, eq=False)
class Reference:
    """A column whose values are nearly all in another one, which is nearly a key.

    `met` of the distinct values of the child are in the parent.
    """

    child: Column
    parent: Column
    met: int

    @property
    def containment(self) -> float:
        """The share of the child's distinct values that the parent holds."""
        return self.met / len(self.child.coded)

    @property
    def coverage(self) -> float:
        """The share of the parent's distinct values that the child holds."""
        return self.met / len(self.parent.coded)

    @cached_property
    def names(self) -> NamesAlike:
        """Whether the names say that the child refers to the parent's table."""
        child, parent = self.child, self.parent
        return names_alike(child.name, parent.name, child.subject, parent.subject)

    @cached_property
    def evidence(self) -> float:
        """How much more is met than chance would have met, in nats."""
        met = [
            Wrong(one.share, np.where(one.ways < 0, -1, self.parent.holds(one.ways)))
            for one in self.child.wrong
        ]
        return evidence(len(self.child.coded), self.containment, chance_of(met))

    @cached_property
    def rows(self) -> Array:
        """The parent's row that each row of the child refers to, -1 for none."""
        codes, parents = self.child.coded.rows, self.parent.coded.rows
        size = int(max(codes.max(initial=-1), parents.max(initial=-1))) + 1
        row = np.full(size + 1, -1, np.int64)
        held = np.flatnonzero(parents >= 0)[::-1]  # the first row of a value is written last
        row[parents[held]] = held
        return np.asarray(row[codes])


def encoded_columns(
    tables: Sequence[TableGiven], rules: ValueRules | None = None, tell: Progress | None = None
) -> tuple[list[Column], int]:
    """All columns of the tables in one dictionary's numbers, and the size of the dictionary."""
    dictionary = TextTable()
    columns = []
    for number, table in enumerate(tables):
        if tell is not None:
            tell(f"reading values: table {number + 1:,} of {len(tables):,}")
        rows = table.load()
        names = frozenset(rows.column_names)
        for place, name in enumerate(rows.column_names):
            data = encode_query(rows.column(place), rules or ValueRules())
            codes = dictionary.add(data.tokens).astype(np.int64)
            coded = Coded(name, data, codes)
            columns.append(Column(number, table.name, place, names, coded, dictionary))
    return columns, dictionary.count


def references(columns: Sequence[Column], size: int) -> Iterator[Reference]:
    """All pairs of columns of which one may refer to the other."""
    children = [column for column in columns if column.may_refer]
    if not children:
        return
    sampled = [_sample(column.coded.codes) for column in children]
    starts = np.cumsum([0, *map(len, sampled[:-1])])
    flat, lengths = np.concatenate(sampled), np.array([len(one) for one in sampled])
    held = np.zeros(size, np.bool_)
    for parent in columns:
        if not parent.may_be_key:
            continue
        held[parent.coded.codes] = True
        shares = np.add.reduceat(held[flat], starts, dtype=np.int64) / lengths
        for place in np.flatnonzero(shares >= CONTAINED * _LOWEST).tolist():
            child = children[place]
            if child is parent:
                continue
            met = int(np.count_nonzero(held[child.coded.codes]))
            if met >= CONTAINED * len(child.coded):
                yield Reference(child, parent, met)
        held[parent.coded.codes] = False


def _sample(codes: Array) -> Array:
    if len(codes) <= _SAMPLE:
        return codes
    return np.random.default_rng(0).choice(codes, _SAMPLE, replace=False)
