"""What could the lake add to my rows? All columns of the tables that join, for a sample of rows.

Nothing here knows the target. The sample is of keys: those with the lowest hashes, so that of
every table the same ones are looked at, with all rows of mine that have them (a correlation sketch;
Santos et al., 2021). What many rows of a table say of one key is made one value: the mean of
numbers, the most frequent of other values; and how many rows there are is a column too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.enrich.lines import KeyLines, key_hashes, lines_of
from lakejoin.enrich.linking import Link
from lakejoin.enrich.their_table import TheirTable
from lakejoin.joins.given import subject

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.enrich.partners import Partners
    from lakejoin.store.snapshot import Snapshot

Array = np.ndarray[Any, Any]

ROWS = "rows"  # the column that says how many rows a partner has
_COLUMNS = 100  # of one table that are looked at
_COVERED, _FEWEST = 0.05, 10  # of my rows that must get a value
_REPEATED = 0.5  # distinct texts for each row: what is said once tells nothing of other rows


@dataclass(frozen=True)
class Column:
    """A column of a table that joins: what is made of it ("mean", "most frequent", "rows"), and
    what it is called beside mine. `link` is the number of its link."""

    link: int
    table: str
    place: int
    name: str
    made: str
    called: str


@dataclass(frozen=True, eq=False)
class Values:
    """A column for the sampled keys of mine: numbers, with NaN for none. Those of texts are numbers
    of `texts`, the most frequent first."""

    column: Column
    of_line: Array
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Gathered:
    """The columns that the lake could add, for the sampled `rows` of mine.

    `keys` has the key of each of these rows, by which folds are made. `lines` has for each set of
    my columns that tables are joined by the line of each of the rows.
    """

    links: tuple[Link, ...]
    rows: Array
    keys: Array
    lines: dict[tuple[str, ...], Array]
    values: tuple[Values, ...]
    met: dict[int, Array]  # by link, whether each of the rows has a partner

    def mine(self, values: Values) -> tuple[str, ...]:
        """The columns of mine by which a column comes."""
        return self.links[values.column.link].mine

    def at_rows(self, values: Values) -> Array:
        """A column for each of the sampled rows."""
        return np.append(values.of_line, np.nan)[self.lines[self.mine(values)]]

    @cached_property
    def matrix(self) -> Array:
        """All columns, one after the other, for the sampled rows."""
        columns = [self.at_rows(one) for one in self.values]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.rows), 0))


def gather(
    snapshot: Snapshot,
    mine: pa.Table,
    links: Sequence[Link],
    on: Sequence[str] | None,
    most: int = 2_000,
) -> Gathered:
    """What the tables of some links could add to my rows; `most` rows of mine are looked at."""
    grouped = list(on) if on is not None else list(links[0].mine if links else mine.column_names)
    rows, keys = sampled(mine, grouped, snapshot, most)
    some = mine.take(rows)
    lines = {one: lines_of(some, one) for one in dict.fromkeys(link.mine for link in links)}
    values: list[Values] = []
    met = {}
    taken = set(mine.column_names)
    for number, link in enumerate(links):
        table = TheirTable(snapshot, link.table)
        partners = link.partners(lines[link.mine], table)
        met[number] = np.append(partners.met, False)[lines[link.mine].of_row]
        found = _Reader(number, link, table, partners, lines[link.mine])
        values += found.columns(taken)
    of_rows = {one: found.of_row for one, found in lines.items()}
    return Gathered(tuple(links), rows, keys, of_rows, tuple(values), met)


def sampled(
    mine: pa.Table, on: Sequence[str], snapshot: Snapshot, most: int
) -> tuple[Array, Array]:
    """Rows of mine, ascending: all of some keys, those with the lowest hashes; and their keys. A
    row without a key is one of its own."""
    lines = lines_of(mine, on)
    keys = lines.of_row.copy()
    keys[keys < 0] = len(lines) + np.arange(int((keys < 0).sum()))
    if mine.num_rows <= most:
        return np.arange(mine.num_rows), keys
    hashes = np.append(key_hashes(lines, snapshot.manifest.options.rules), np.uint64(2**64 - 1))
    order = np.argsort(hashes[lines.of_row], kind="stable")
    rows = np.sort(order[:most])
    return rows, keys[rows]


class _Reader:
    """Reads the columns of one table for the sampled keys."""

    def __init__(
        self, number: int, link: Link, table: TheirTable, partners: Partners, lines: KeyLines
    ) -> None:
        self._number = number
        self._link = link
        self._table = table
        self._partners = partners
        self._rows_of_line = np.bincount(lines.of_row[lines.of_row >= 0], minlength=len(lines))
        counts = np.bincount(partners.which, minlength=partners.count)
        self._counts = counts
        self._several = bool((counts > 1).any())

    def columns(self, taken: set[str]) -> list[Values]:
        """The columns that may tell something; `taken` are names that others have."""
        found = []
        if self._several:
            found.append(self._values(-1, ROWS, ROWS, self._counts.astype(np.float64)))
        for place, column in enumerate(self._table.columns[:_COLUMNS]):
            if column.name not in self._link.theirs and column.profile.distinct > 1:
                found.append(self._column(place, column.name))
        useful = [one for one in found if self._tells(one)]
        return [_named(one, self._several, taken) for one in useful]

    def _column(self, place: int, name: str) -> Values:
        numbers = self._table.numbers(place, self._partners)
        if numbers is not None:
            return self._values(place, name, "mean", numbers)
        texts = self._table.most_frequent(place, self._partners)
        numbers, names = _numbered(texts)
        return self._values(place, name, "most frequent", numbers, names)

    def _values(
        self, place: int, name: str, made: str, of_partner: Array, texts: tuple[str, ...] = ()
    ) -> Values:
        column = Column(self._number, self._link.table, place, name, made, name)
        return Values(column, np.append(of_partner, np.nan)[self._partners.of_line], texts)

    def _tells(self, values: Values) -> bool:
        there = ~np.isnan(values.of_line)
        rows = int(self._rows_of_line[there].sum())
        if rows < max(_FEWEST, _COVERED * int(self._rows_of_line.sum())):
            return False
        distinct = len(np.unique(values.of_line[there]))
        return distinct > 1 and not (values.texts and distinct > _REPEATED * int(there.sum()))


def _named(values: Values, several: bool, taken: set[str]) -> Values:
    """The same with a name that is not taken: that of the table, and of the column."""
    column = values.column
    made = {"mean": "_mean", "most frequent": "_mode"}.get(column.made, "") if several else ""
    base = f"{subject(column.table)}.{column.name}{made}"
    called, number = base, 2
    while called in taken:
        called, number = f"{base}_{number}", number + 1
    taken.add(called)
    kept = Column(column.link, column.table, column.place, column.name, column.made, called)
    return Values(kept, values.of_line, values.texts)


def _numbered(texts: pa.LargeStringArray) -> tuple[Array, tuple[str, ...]]:
    """Texts as numbers, those of the most frequent ones the lowest."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counted = pc.value_counts(texts.drop_null()).to_pylist()
    names = [one["values"] for one in sorted(counted, key=lambda c: (-c["counts"], c["values"]))]
    places = pc.index_in(texts, value_set=pa.array(names, pa.large_string()))
    numbers = places.to_numpy(zero_copy_only=False).astype(np.float64)
    return numbers, tuple(names)
