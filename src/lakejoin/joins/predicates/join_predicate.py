"""The best predicates for users: with names, scores, rows, joins and code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from lakejoin.errors import InputError, NoJoin
from lakejoin.joins.join_inputs import Side, table_subject
from lakejoin.joins.options import JoinOptions
from lakejoin.joins.predicates.coded_tables import CodedTables, encode_sides
from lakejoin.joins.predicates.predicate_finder import (
    ColumnRef,
    Pair,
    Predicate,
    PredicateOptions,
    find_predicates,
)
from lakejoin.joins.predicates.predicate_rows import joined_column_names, joined_rows, unique_labels
from lakejoin.joins.predicates.preferences import Facts, Preference, find_preferences
from lakejoin.model import Array

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.join import Join
    from lakejoin.joins.options import Progress

_AS_CODE = "join() takes two tables; for more, use table(), to_sql() or the other code writers"


@dataclass(frozen=True, eq=False)
class PredicateTables:
    """The joined tables: their rows, unique labels, and codes."""

    sides: tuple[Side, ...]
    labels: tuple[str, ...]
    coded: CodedTables
    options: PredicateOptions

    @property
    def are_two(self) -> bool:
        """Whether there are two tables, so that columns need no table name."""
        return len(self.sides) == 2

    def column_label(self, column: ColumnRef) -> str:
        """A column as text: its name, prefixed with the table if there are more than two."""
        table, name = column
        return name if self.are_two else f"{self._short[table]}.{name}"

    @cached_property
    def _short(self) -> tuple[str, ...]:
        short = tuple(table_subject(label) for label in self.labels)
        return short if len(set(short)) == len(short) and all(short) else self.labels


@dataclass(frozen=True, eq=False, repr=False)
class JoinPredicate:
    """Pairs of columns that must all be equal, with the facts and the result of their join."""

    found: Predicate
    tables: PredicateTables

    @cached_property
    def pairs(self) -> tuple[tuple[Any, Any], ...]:
        """The pairs of column names; with more than two tables, each column is a pair of the names
        of its table and itself."""
        if self.tables.are_two:
            return self.found.on
        labels = self.tables.labels
        return tuple(
            ((labels[left], left_name), (labels[right], right_name))
            for (left, left_name), (right, right_name) in self.found.pairs
        )

    @property
    def scores(self) -> dict[str, float]:
        """The score by each preference, by name."""
        return self.found.scores

    @property
    def facts(self) -> Facts:
        """The facts behind the scores."""
        return self.found.facts

    @property
    def words(self) -> str:
        """The equalities as text."""
        return self.format_pairs(self.found.pairs)

    @property
    def enough(self) -> tuple[tuple[Any, Any], ...]:
        """A subset of the pairs that makes the same join and implies the others."""
        all_pairs = zip(self.pairs, self.found.pairs, strict=True)
        return tuple(named for named, pair in all_pairs if pair in self.found.enough)

    @property
    def fewer_words(self) -> str:
        """These as text, if they are fewer than all."""
        few = self.found.enough
        return self.format_pairs(few) if len(few) < len(self.found.pairs) else ""

    def format_pairs(self, pairs: Sequence[Pair]) -> str:
        """Some equalities as text."""
        return " and ".join(
            " = ".join(self.tables.column_label(ref) for ref in pair) for pair in pairs
        )

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What to know before using it."""
        from lakejoin.joins.predicates.predicate_text import predicate_notes

        return tuple(predicate_notes(self))

    def table(self, limit: int | None = None) -> pa.Table:
        """The rows of the inner join, all or the first `limit`, as a `pyarrow.Table`."""
        import pyarrow as pa

        sides = self.tables.sides
        names = joined_column_names([side.columns for side in sides])
        rows_of = _first(joined_rows(self.tables.coded, self.found.enough), limit, len(sides))
        columns = [
            column.take(pa.array(rows))
            for side, rows in zip(sides, rows_of, strict=True)
            for column in side.rows.columns
        ]
        return pa.table(columns, names=names)

    def join(self, how: str = "inner") -> Join:
        """The join of two tables by this predicate."""
        from lakejoin.joins.join_finder import join_tables

        if not self.tables.are_two:
            raise InputError(_AS_CODE)
        options = JoinOptions(self.found.on, how, "equal", rules=self.tables.options.rules)
        left, right = self.tables.sides
        return join_tables(left.rows, right.rows, options, None, (left.name, right.name))

    def to_sql(self, *names: str, dialect: str = "duckdb") -> str:
        """The inner join as one SQL query over tables of these names.

        The default names are `left_table` and `right_table`, or `table_1`, `table_2`, …
        """
        from lakejoin.joins.predicates.predicate_code import write_sql

        self._check_names(names)
        if self.tables.are_two:
            left, right = names or ("left_table", "right_table")
            return self._inner.to_sql(left, right, dialect)
        return write_sql(self, names, dialect)

    def to_pandas_code(self) -> str:
        """The inner join as a Python function of pandas DataFrames."""
        from lakejoin.joins.predicates.predicate_code import write_pandas

        return self._inner.to_pandas_code() if self.tables.are_two else write_pandas(self)

    def to_polars_code(self) -> str:
        """The inner join as a Python function of polars DataFrames."""
        from lakejoin.joins.predicates.predicate_code import write_polars

        return self._inner.to_polars_code() if self.tables.are_two else write_polars(self)

    def to_pyspark_code(self) -> str:
        """The inner join as a Python function of Spark DataFrames."""
        from lakejoin.joins.predicates.predicate_code import write_pyspark

        return self._inner.to_pyspark_code() if self.tables.are_two else write_pyspark(self)

    def __repr__(self) -> str:
        from lakejoin.joins.predicates.predicate_text import predicate_text

        return predicate_text(self)

    def _repr_html_(self) -> str:
        from lakejoin.joins.predicates.predicate_text import predicate_html

        return predicate_html(self)

    @cached_property
    def _inner(self) -> Join:
        return self.join()

    def _check_names(self, names: Sequence[str]) -> None:
        if names and len(names) != len(self.tables.sides):
            raise InputError(f"give a name for each of the {len(self.tables.sides)} tables")


@dataclass(frozen=True, eq=False, repr=False)
class Predicates(Sequence[JoinPredicate]):
    """The best predicates, best first; empty if no rows of the tables can match.

    With several preferences, those of the first come first, and `best` has them by preference.
    `complete` is false if the search was cut short, so that there may be better ones.
    """

    best: dict[str, tuple[JoinPredicate, ...]]
    preferences: tuple[Preference, ...]
    tables: PredicateTables
    looked_at: int
    complete: bool

    @cached_property
    def _all(self) -> tuple[JoinPredicate, ...]:
        ranked = (found for preference in self.preferences for found in self.best[preference.name])
        return tuple({predicate.found.pairs: predicate for predicate in ranked}.values())

    def __len__(self) -> int:
        return len(self._all)

    @overload
    def __getitem__(self, place: int) -> JoinPredicate: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[JoinPredicate, ...]: ...
    def __getitem__(self, place: int | slice) -> JoinPredicate | tuple[JoinPredicate, ...]:
        return self._all[place]

    def __iter__(self) -> Iterator[JoinPredicate]:
        return iter(self._all)

    @property
    def winner(self) -> JoinPredicate:
        """The best by the first preference; raises `NoJoin` if there is none."""
        if not self:
            raise NoJoin(self.none)
        return self[0]

    @property
    def none(self) -> str:
        """Why no predicate joins the tables."""
        from lakejoin.joins.predicates.predicate_text import no_predicate_reason

        return no_predicate_reason(self)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What to know about the search."""
        from lakejoin.joins.predicates.predicate_text import search_notes

        return tuple(search_notes(self))

    def __repr__(self) -> str:
        from lakejoin.joins.predicates.predicate_text import predicates_text

        return predicates_text(self)

    def _repr_html_(self) -> str:
        from lakejoin.joins.predicates.predicate_text import predicates_html

        return predicates_html(self)


def best_predicates(
    sides: Sequence[Side],
    options: PredicateOptions | None = None,
    progress: Progress | None = None,
) -> Predicates:
    """Find the best predicates over these tables.

    >>> import pyarrow as pa
    >>> people = pa.table({"id": [1, 2, 3], "boss": [3, 3, 1]})
    >>> calls = pa.table({"caller": [2, 2, 3, 1, 3], "minutes": [1, 3, 3, 2, 1]})
    >>> found = best_predicates([Side("people", lambda: people), Side("calls", lambda: calls)])
    >>> found[0].pairs, found[0].facts.inner
    ((('id', 'caller'),), 5)
    """
    options = options or PredicateOptions()
    preferences = find_preferences(options.prefer)
    if options.most is not None and options.most < 1:
        raise InputError(f"`most` must be at least 1, or None to look at all; got {options.most}")
    if len(sides) < 2:
        raise InputError("a predicate needs at least two tables: name another one")
    report = progress or (lambda doing: None)
    report("reading values")
    coded = encode_sides(sides, options.rules)
    tables = PredicateTables(
        tuple(sides), unique_labels([side.name for side in sides]), coded, options
    )
    report("looking for predicates")
    found = find_predicates(coded, options, report)
    best = {
        name: tuple(JoinPredicate(predicate, tables) for predicate in predicates)
        for name, predicates in found.best.items()
    }
    return Predicates(best, preferences, tables, found.looked_at, found.complete)


def _first(batches: Iterator[list[Array]], limit: int | None, tables: int) -> list[Array]:
    """The row indices of all rows, or of the first ones."""
    taken, count = [], 0
    for batch in batches:
        if limit is not None and count >= limit:
            break
        taken.append(batch)
        count += len(batch[0])
    if not taken:
        return [np.empty(0, np.int64)] * tables
    return [np.concatenate(batches)[:limit] for batches in zip(*taken, strict=True)]
